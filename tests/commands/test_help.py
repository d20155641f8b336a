"""`/help` fits on one screen, names every key, and suggests the right name for a typing error."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.arguments import OTHER_AGENTS_COMMANDS, suggest_name
from clio.commands.registry import COMMANDS, KEYS, find_command, make_help_table, make_key_table, run_command
from clio.config.command_line import SUBCOMMANDS, Subcommand
from clio.ui.tables import render_table
from tests.commands.harness import Harness, make_harness, ok, refused

NAMES = [name for command in COMMANDS for name in (command.name, *command.aliases)]


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return make_harness(tmp_path)


def test_help_fits_a_screen_and_lists_every_command(harness: Harness) -> None:
    result = run_command(harness, "/help")
    assert result.table is not None
    heading, lines = render_table(result.table, 80)
    text_rows = len(result.text) // 80 + 1
    assert 1 + len(lines) + text_rows + 3 <= 24, "heading, rows, the sentence, blank rows and the prompt"
    words = "\n".join(lines).replace("\n", " ").split()
    assert heading and {f"/{command.name}" for command in COMMANDS} <= set(words)


def test_a_command_without_a_group_is_listed_too() -> None:
    assert ("More", "/brandnew") in make_help_table(["help", "brandnew"]).rows


def test_help_may_follow_the_command(harness: Harness) -> None:
    for line in ("/memory help", "/memory --help", "/prefs help", "/undo --help"):
        assert ok(harness, line).table == ok(harness, f"/help {line.split()[0][1:]}").table, line
    assert "unknown argument 'hel'" in refused(harness, "/memory hel")
    assert ok(harness, "/note set help me").text.startswith("Saved")


def test_help_keys_lists_every_key(harness: Harness) -> None:
    table = run_command(harness, "/help keys").table
    assert table == make_key_table()
    assert {row[1] for row in table.rows} == {key.keys for _, keys in KEYS for key in keys}


@pytest.mark.parametrize("width", [40, 80, 200])
def test_tables_fit_the_terminal(width: int) -> None:
    for table in (make_key_table(), make_help_table([command.name for command in COMMANDS])):
        heading, lines = render_table(table, width)
        assert max(map(len, [heading, *lines])) <= width


def make_typing_errors(name: str) -> Iterator[str]:
    """Return the name with two letters swapped, one left out, or one doubled; the first letter is right."""
    for at in range(1, len(name)):
        yield name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]
        yield name[:at] + name[at] + name[at:]
        if len(name) > 4:
            yield name[:at] + name[at + 1 :]


@pytest.mark.parametrize("name", NAMES)
def test_a_typing_error_gets_the_right_name_as_suggestion(name: str) -> None:
    for typed in make_typing_errors(name):
        if typed not in NAMES:
            suggested = suggest_name(typed, NAMES, "/")
            assert any(find_command(word.strip("/?")) is find_command(name) for word in suggested.split("'")[1::2]), (
                f"{typed}: {suggested}"
            )


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("/se", "did you mean '/session'?"),
        ("/re", "did you mean '/recall', '/redo', '/rewind' or '/review'?"),
        ("/compact", "use /session trim"),
        ("/resume", "use /session list"),
        ("/remember", "use /memory remember"),
        ("/qqqq", "/help shows all of them"),
    ],
)
def test_prefixes_other_names_and_random_words_get_the_expected_suggestion(
    harness: Harness, typed: str, suggested: str
) -> None:
    assert run_command(harness, typed).text == f"There is no command {typed!r}; {suggested}"


@pytest.mark.parametrize("one", SUBCOMMANDS, ids=lambda one: one.name)
def test_a_subcommand_is_a_slash_command_too_or_the_user_is_told_to_use_the_shell(
    harness: Harness, one: Subcommand
) -> None:
    assert (find_command(one.name) is None) == one.is_shell_only
    if one.is_shell_only:
        for name in (one.name, *one.aliases):
            assert f"use clio {name} in a shell" in run_command(harness, f"/{name}").text


def test_names_of_other_programs_get_a_suggestion() -> None:
    assert not set(OTHER_AGENTS_COMMANDS) & set(NAMES)
