"""Command lines that would cost clio or the shell time and memory without bound are asked about, and quickly."""

import time
from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Ask, Policy

COSTLY = {
    "braces that make 2^40 words": "echo " + "{a,b}" * 40,
    "braces in a loop": "for i in " + "{a,b}" * 40 + "; do echo hi; done",
    "a row of braces with rows of numbers": "echo {1..999}{1..999}",
    "many wrappers": "env " * 3000 + "ls",
    "many options that may take a value": "git " + "-z " * 60 + "log",
    "many options with values": "git " + "-c a=b " * 5000 + "log",
    "many substitutions": "echo " + "".join(f"$(ls {number}) " for number in range(1900)),
}


@pytest.mark.parametrize("line", COSTLY.values(), ids=COSTLY)
def test_a_line_without_bound_is_asked_about_in_seconds(line: str, tmp_path: Path) -> None:
    policy = Policy(Workspace(tmp_path), "ask", deny=("git push", "docker run *"))
    began = time.monotonic()
    verdict = policy.judge(RunCommand(command=line, cwd=tmp_path))
    assert isinstance(verdict, Ask)
    assert time.monotonic() - began < 5
