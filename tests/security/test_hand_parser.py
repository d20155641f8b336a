"""The hand-written parser follows `cd` in a line, rejects rare syntax, and must agree with the other parser."""

import pytest

from clio.security.shell.command_line import PossibleFolders, Word
from clio.security.shell.hand_parser import HandParser
from clio.security.shell.parser import parse_command_line
from tests.support.rows import each_row


def where(line: str, *, plain: bool = False) -> PossibleFolders:
    """Return the folders in which `run` may run."""
    parser = HandParser(line.encode(), plain=plain)
    assert parser.failure == ""
    (place,) = [place for place, words in parser.calls.items() if words[0] == Word("run")]
    return parser.folders_at[place]


@each_row(
    ("line", "folders"),
    [
        ("cd a && x 2>&1 | y && run", ("a",)),
        ("cd a || run", ("",)),
        ("! cd a && run", ("",)),
        ("cd a || x; run", ("", "a")),
        ("if cd a; then run; fi", ("a",)),
        ("if cd a; then x; else run; fi", ("",)),
        ("case x in x) cd a;; esac; run", ("", "a")),
        ("x | cd a; run", ("",)),
        ("cd a & run", ("",)),
        ("(cd a && x); run", ("",)),
        ("$(cd a; x) `cd b`; run", ("",)),
        ("x $(cd a && run)", ("a",)),
        ("{ cd a && x; } && run", ("a",)),
        ("cat <<E && cd a\n$(run)\nE\n", ("",)),
        ("while x; do cd a; done; run", None),
        ("f() { run; }; cd a", None),
        ("pushd a && pushd && run", None),
        ("command -- cd a && run", ("a",)),
    ],
)
def test_a_cd_affects_what_bash_runs_after_it(line: str, folders: PossibleFolders) -> None:
    assert where(line) == folders


@pytest.mark.parametrize("line", ["x | cd a; run", "cd a && x & run"])
def test_another_shell_may_enter_a_folder_that_bash_does_not(line: str) -> None:
    assert where(line) == ("",)
    assert set(where(line, plain=True) or ()) == {"", "a"}


@each_row(
    "line",
    [
        "select x in a; do x; done",
        "coproc x",
        "time { x; }",
        "a[$(x)]=1",
        "x @(a|b)",
        "$'\\x{72}m'",
        "cd() { x; }; cd a",
        "x <<E",
        "x <<E \\\n| y\nE",
        "x |\\\n| y",
        "${x:-'a'}",
        "x )",
        "fi",
    ],
)
def test_unknown_syntax_is_rejected_and_not_guessed(line: str) -> None:
    assert HandParser(line.encode(), plain=False).failure
    assert parse_command_line(line).unknown


@pytest.mark.parametrize("line", ["cat <<'E' | grep -v #1\ntext\nE\nrm x", "[ -f > out in ]"])
def test_an_ambiguous_line_is_unknown(line: str) -> None:
    assert any("two parsers" in reason for reason in parse_command_line(line).unknown)
