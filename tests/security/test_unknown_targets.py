"""Mode `all` asks if a path to delete or overwrite is only known when the line runs, and only then."""

from pathlib import Path

import pytest

from clio.security.actions import RunCommand, Workspace
from clio.security.approval import Allow, Ask, Deny, Policy
from tests.support.rows import each_row


def read_lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("D", "E", "f", "d", "tmp", "NAME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@each_row("line", read_lines("unknown_targets.txt"))
def test_a_target_known_only_at_run_time_needs_approval(root: Path, line: str) -> None:
    policy = Policy(Workspace(root), "all")
    action = RunCommand(command=line, cwd=root)
    verdict = policy.judge(action)
    assert isinstance(verdict, Ask | Deny), line
    if isinstance(verdict, Ask):
        assert verdict.risk == "high"
        assert verdict.in_every_mode
        policy.allow_for_session(action)
        assert isinstance(policy.judge(action), Allow)


@each_row("line", read_lines("known_targets.txt"))
def test_a_target_given_in_the_line_needs_none(root: Path, line: str) -> None:
    assert isinstance(Policy(Workspace(root), "all").judge(RunCommand(command=line, cwd=root)), Allow), line
