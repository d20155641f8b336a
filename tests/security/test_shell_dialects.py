"""A line is judged for the shell that runs it: bash, a plain `sh`, the old bash of macOS, or cmd.exe."""

from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Policy
from clio.security.shell import command_line as shell_dialects
from clio.security.shell.command_line import explain_shell_doubt
from clio.security.shell.parser import parse_command_line
from clio.tools.shell.processes import make_command_environment, make_shell_argv
from tests.support.rows import each_row

MAC = ("/bin/bash", "-c")
CMD = ("cmd.exe", "/d", "/s", "/c")


def test_without_bash_a_line_in_bash_syntax_needs_approval(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shell_dialects.shutil, "which", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    assert make_shell_argv("ls") == ["/bin/sh", "-c", "ls"]
    policy = Policy(Workspace(tmp_path), "ask")
    verdicts = {line: policy.judge(RunCommand(command=line, cwd=tmp_path)) for line in ("ls", "ls &> /dev/null")}
    assert [line for line, verdict in verdicts.items() if isinstance(verdict, Allow)] == ["ls"]


def test_the_environment_cannot_redirect_cd() -> None:
    assert "CDPATH" not in make_command_environment({"CDPATH": "/etc", "SHELLOPTS": "posix", "A": "b"})


def test_nested_scripts_are_read_for_the_shell_that_runs_them() -> None:
    assert parse_command_line("ls &> x").unknown == ()
    assert parse_command_line("ls &> x", plain=True).unknown
    assert parse_command_line("bash -c 'ls &> x'", plain=True).unknown  # the text is read by the plain shell too
    assert parse_command_line("eval 'ls &'\">\" x", plain=True).unknown
    assert parse_command_line("sh -c 'eval \"ls &\"\\> x'").unknown
    assert parse_command_line("bash -c 'ls &> x'").unknown == ()


@pytest.mark.parametrize(
    ("line", "clear"),
    [
        ("git commit -m \"$(cat <<'EOF'\nfix: one\nEOF\n)\"", True),
        ("git commit -m \"$(cat <<'EOF'\nit's; rm -rf src; '\nEOF\n)\"", False),
        ("echo $(ls # it's\n)", False),
        ("echo 'it is' # it's", True),
    ],
)
def test_the_old_bash_of_macos_misreads_substitutions(line: str, clear: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert explain_shell_doubt(line, MAC) == ""
    monkeypatch.setattr(shell_dialects.sys, "platform", "darwin")
    assert (explain_shell_doubt(line, MAC) == "") is clear


@each_row(
    ("line", "clear"),
    [
        ("git status --short", True),
        ("pytest tests/test_x.py -q", True),
        ("echo 'a & del x'", False),
        ("ls ^& del x", False),
        ("sort a /O b", False),
        ("ls %USERPROFILE%", False),
        ("ls\ndel x", False),
    ],
)
def test_cmd_accepts_only_the_simplest_words(line: str, clear: bool) -> None:
    assert (explain_shell_doubt(line, CMD) == "") is clear
