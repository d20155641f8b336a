"""Which arguments of a command line belong to clio, and which to a subcommand."""

import pytest

from clio.config import command_line
from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS, command_help_text, help_text
from clio.entrypoints.subcommand import format_help
from clio.errors import UsageError
from clio.ui.terminal_text import wrap_text
from tests.support.rows import each_row


def parsed(*argv: str) -> tuple[tuple[str, ...], dict[str, object]]:
    arguments = command_line.parse_arguments(argv)
    return tuple(arguments.words), {name: value for name, value in vars(arguments).items() if name != "words"}


@each_row(
    ("argv", "words", "given"),
    [
        (("sessions",), ("sessions",), {}),
        (("sessions", "list", "--json"), ("sessions", "list"), {"json": True}),
        (("--cwd", "x", "session", "list"), ("session", "list"), {"cwd": "x"}),
        (("notes", "set", "k", "v", "--cwd=x"), ("notes", "set", "k", "v"), {"cwd": "x"}),
        (("memory", "prune", "--days", "30", "--cwd", "x"), ("memory", "prune", "--days", "30"), {"cwd": "x"}),
        (("memory", "add", "rule", "--", "--json"), ("memory", "add", "rule", "--", "--json"), {}),
        (("note", "set", "k", "with --json in it"), ("note", "set", "k", "with --json in it"), {}),
        (("note", "set", "k", "-m"), ("note", "set", "k", "-m"), {}),
        (("sessions", "--help"), ("sessions",), {"help": True}),
        (("--incognito", "--no-color", "memory"), ("memory",), {"incognito": True, "no_color": True}),
        (("-r", "memory"), (), {"resume": "memory"}),
        (("--model", "memory"), (), {"model": "memory"}),
        (("-r", "--model", "m", "sessions"), None, {}),
    ],
)
def test_flags_and_words_are_distinguished(
    argv: tuple[str, ...], words: tuple[str, ...] | None, given: dict[str, object]
) -> None:
    if words is None:
        with pytest.raises(UsageError, match=r"is not an option of 'clio sessions'"):
            command_line.parse_arguments(argv)
    else:
        assert parsed(*argv) == (words, given)


@each_row(
    ("argv", "message"),
    [
        (("-p", "fix", "memory"), "unexpected argument 'memory'; put the whole prompt in quotes after -p"),
        (("-c", "sessions"), "--continue is not an option of 'clio sessions'; see clio sessions --help"),
        (("--output", "json", "notes"), "--output is not an option of 'clio notes'; see clio notes --help"),
        (("memroy",), "unknown sub-command 'memroy'; did you mean 'memory'?"),
        (
            ("memroy", "add", "we", "deploy", "with", "make"),
            "unknown sub-command 'memroy'; did you mean 'memory'? To ask something, put it in quotes after -p: "
            "clio -p 'what to do'",
        ),
        (("sesions", "list"), "unknown sub-command 'sesions list'; did you mean 'sessions'?"),
        (("memory", "list", "--cwd"), "--cwd needs a value; see clio --help"),
        (("--modle=x", "memory"), "unknown option '--modle'; did you mean '--model'?"),
    ],
)
def test_invalid_arguments_are_named(argv: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        command_line.parse_arguments(argv)
    assert str(caught.value) == message


def test_the_help_of_each_subcommand_lists_every_usage_within_a_hundred_columns() -> None:
    for subcommand in SUBCOMMANDS:
        lines = format_help(subcommand.name, 100).splitlines()
        assert max(map(len, lines)) <= 100, subcommand.name
        assert all(line.startswith(("  ", "options")) or not line for line in lines)
        assert f"clio {subcommand.name}" in lines[0]
        assert format_help(subcommand.name) == format_help(
            subcommand.aliases[0] if subcommand.aliases else subcommand.name
        )


@pytest.mark.parametrize("command", dict.fromkeys(words[0] for words in COMMANDS if words[0] not in ("acp", "mcp")))
def test_each_subcommand_prints_its_own_help(command: str) -> None:
    text = command_help_text([command])
    assert len(text.splitlines()) < 15 and "--model" not in text
    assert all(f"clio {' '.join(words)}" in text for words in COMMANDS if words[0] == command)
    assert all((flag.long_name in text) == (command in flag.only) for flag in FLAGS if flag.only)


def test_the_help_of_an_unknown_subcommand_suggests_the_known_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'doctor'"):
        command_help_text(["doctr"])


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_help_is_wrapped_between_words_and_loses_none(columns: int) -> None:
    wrapped = wrap_text(help_text(), columns)
    assert max(map(len, wrapped.splitlines())) <= columns
    assert "".join(wrapped.split()) == "".join(help_text().split())
