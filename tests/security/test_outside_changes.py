"""Mode `all` asks before a line removes what does not belong to the project, and runs everyday work."""

import os
from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from tests.support.examples import sample
from tests.support.rows import each_row

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are bash's, the paths are POSIX")


def read_lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in a home folder that has another project and a file."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "D", "d", "f", "X"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("project/src", "project/dist", "other/src", "other/.git", "third", ".cache/pip"):
        (home / folder).mkdir(parents=True)
    for name in ("notes.txt", "other/README.md", "other/src/a.py", "other/db.sqlite", "project/README.md"):
        (home / name).write_text("x", encoding="utf-8")
    return home / "project"


@pytest.mark.sampled
@each_row("line", sample(read_lines("outside_asked.txt"), 400))
def test_removing_what_is_not_the_projects_needs_approval(root: Path, line: str) -> None:
    policy = Policy(Workspace(root), "all")
    action = RunCommand(command=line, cwd=root)
    verdict = policy.judge(action)
    assert isinstance(verdict, Ask | Deny), line
    if isinstance(verdict, Ask):
        assert verdict.risk == "high"
        assert verdict.in_every_mode
        policy.allow_for_session(action)
        assert isinstance(policy.judge(action), Allow)


@each_row("line", read_lines("outside_run.txt"))
def test_everyday_work_needs_no_approval(root: Path, line: str) -> None:
    assert isinstance(Policy(Workspace(root), "all").judge(RunCommand(command=line, cwd=root)), Allow), line


def test_a_rule_of_the_user_prevents_the_question(root: Path) -> None:
    action = RunCommand(command="apt-get remove nodejs", cwd=root)
    assert isinstance(Policy(Workspace(root), "all", allow=("apt-get remove *",)).judge(action), Allow)
    assert isinstance(Policy(Workspace(root), "all", allow=("apt-get install *",)).judge(action), Ask)
