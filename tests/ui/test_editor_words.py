"""Parsing of the variables that name an editor or a pager."""

import pytest

from clio.ui.terminal_handoff import split_program


@pytest.mark.parametrize(
    ("command", "windows", "words"),
    [
        ("code --wait", False, ["code", "--wait"]),
        ("'/my apps/ed' -n", False, ["/my apps/ed", "-n"]),
        (r"C:\tools\vim.exe -n", True, [r"C:\tools\vim.exe", "-n"]),
        (r'"C:\Program Files\ed.exe" /w', True, [r"C:\Program Files\ed.exe", "/w"]),
    ],
)
def test_a_program_with_options_is_parsed(command: str, windows: bool, words: list[str]) -> None:
    assert split_program(command, windows=windows) == words
