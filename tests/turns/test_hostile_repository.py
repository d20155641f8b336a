"""An unpacked repository with programs in its configuration: none runs, whatever a user does with clio in it."""

from pathlib import Path

import pytest

from tests.sandbox.test_git_traps import READS
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.hostile_repository import HostileRepository
from tests.turns.test_oneshot import clio


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> HostileRepository:
    return HostileRepository(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def project(hostile: HostileRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLIO_HOME", str(tmp_path / "home"))
    hostile.forget()
    return hostile.copied(tmp_path / "project")


def test_turns_with_changes_commands_and_sub_agents_start_nothing(hostile: HostileRepository, project: Path) -> None:
    looks = [("git", call) for call in READS]
    changes = [
        ("write_file", {"path": "a.x", "content": "ten\n"}),
        ("write_file", {"path": "deep/f.x", "content": "new\n"}),
        ("run_command", {"command": "echo more > d.w; rm c.i"}),
        ("run_command", {"command": "true git commit -q"}),
    ]
    with ChatServer(
        [
            tool_calls(looks),
            tool_calls(changes),
            tool_calls([("delegate", {"task": "look around"})]),
            tool_calls(looks[:3]),
            text("seen"),
            text("done"),
        ]
    ) as server:
        done = clio(project, "-p", "work", "--approve", "all", server=server)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "six" in str(server.requests[1].body["messages"])
    assert (project / "deep" / "f.x").exists() and not (project / "c.i").exists()
    assert hostile.find_run_traps() == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-p", "/review"), 0),
        (("-p", "/pr HEAD~1"), 0),
        (("--worktree", "side", "-p", "hi"), 2),
        (("doctor",), 0),
        (("memory", "share", "status"), 0),
        (("config", "trust"), 0),
    ],
)
def test_commands_start_nothing(hostile: HostileRepository, project: Path, words: tuple[str, ...], code: int) -> None:
    with ChatServer([text("fine")] * 3) as server:
        done = clio(project, *words, server=server)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert hostile.find_run_traps() == set()
    assert "Traceback" not in done.stderr
    if words[0] == "--worktree":
        assert "clio config trust" in done.stderr
    if words[0] == "config":
        assert "git filter.trap.clean" in done.stdout and "git hook pre-commit" in done.stdout
