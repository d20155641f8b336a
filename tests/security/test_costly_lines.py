"""Command lines that would cost clio or the shell unlimited time and memory need approval, decided quickly."""

import time
from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Ask, Deny, Policy
from clio.security.command_policy import CommandView

COSTLY = {
    "braces that make 2^40 words": "echo " + "{a,b}" * 40,
    "braces in a loop": "for i in " + "{a,b}" * 40 + "; do echo hi; done",
    "a row of braces with rows of numbers": "echo {1..999}{1..999}",
    "many wrappers": "env " * 3000 + "ls",
    "many options that may take a value": "git " + "-z " * 60 + "log",
    "many options with values": "git " + "-c a=b " * 5000 + "log",
    "a pattern with very many folders": "cat " + "*/" * 2000,
    "a recursive pattern with very many folders": "ls " + "**/" * 500 + "*",
    "a pattern of very many characters": "ls " + "?" * 59_000,
    "a pattern to write to": "true > " + "*/" * 2000 + "x",
    "a path longer than any file's": "cat " + "a/" * 29_000,
    "a path above the project, longer than any file's": "cat " + "../" * 15_000 + "x",
    "many prefixes": "time " * 11_000 + "ls",
    "a character that no file name can have": "ls \ud800",
    "many substitutions": "echo " + "".join(f"$(ls {number}) " for number in range(1900)),
}


@pytest.mark.parametrize("line", COSTLY.values(), ids=COSTLY)
def test_an_unlimited_line_needs_approval_within_seconds(line: str, tmp_path: Path) -> None:
    policy = Policy(Workspace(tmp_path), "ask", deny=("git push", "docker run *"))
    began = time.process_time()
    verdict = policy.judge(RunCommand(command=line, cwd=tmp_path))
    assert isinstance(verdict, Ask)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["*/" * 2000, "**/" * 500 + "*", "?" * 59_000])
def test_deletions_by_a_pattern_that_cannot_be_checked_need_approval_in_every_mode(
    pattern: str, tmp_path: Path
) -> None:
    for mode in ("ask", "edits", "all"):
        verdict = Policy(Workspace(tmp_path), mode).judge(RunCommand(command=f"rm -r {pattern}", cwd=tmp_path))
        assert isinstance(verdict, Ask) and "file pattern" in verdict.reason
    assert isinstance(
        Policy(Workspace(tmp_path), "plan").judge(RunCommand(command=f"ls {pattern}", cwd=tmp_path)), Deny
    )


def test_a_reason_is_one_short_sentence(tmp_path: Path) -> None:
    verdict = Policy(Workspace(tmp_path), "ask").judge(RunCommand(command="cat " + "a/" * 29_000, cwd=tmp_path))
    assert isinstance(verdict, Ask) and "outside the workspace" in verdict.reason and len(verdict.reason) < 200


def test_a_line_on_which_a_check_recurses_too_deeply_needs_approval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No such line is known; the limits of the checks are below Python's.
    def recurse(self: CommandView) -> bool:
        return recurse(self)

    monkeypatch.setattr(CommandView, "is_read_only", property(recurse))
    verdict = Policy(Workspace(tmp_path), "ask").judge(RunCommand(command="ls", cwd=tmp_path))
    assert isinstance(verdict, Ask) and verdict.reason == "is nested too deeply to check"
