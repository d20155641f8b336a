"""Several clios in one project: one writer per session, any number of sessions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.errors import SessionLocked
from clio.messages import UserMessage
from tests.sessions.talk import a_turn, files, kill, say, store_in

ROOT = Path(__file__).parent.parent.parent
KEEP_OPEN = """
import sys
from pathlib import Path
from clio.sessions.store import SessionStore
store = SessionStore(Path(sys.argv[1]))
session = store.open(sys.argv[2])
print("open", flush=True)
sys.stdin.readline()
session.close()
"""
MAKE = """
import sys
from pathlib import Path
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
sys.stdin.readline()
for number in range(20):
    session = SessionStore(Path(sys.argv[1])).new(Path("/project"))
    session.append(UserMessage(content="hello"))
    session.close()
    print(session.id, session.unsaved_reason, flush=True)
"""


def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The id of a session, and the process that has it open."""
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    session.close()
    child = start(KEEP_OPEN, str(store.folder), session.id)
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    yield session.id, child
    child.kill()
    child.communicate()


def test_a_locked_session_is_refused_until_its_process_dies(
    tmp_path: Path, elsewhere: tuple[str, "subprocess.Popen[str]"]
) -> None:
    session_id, child = elsewhere
    store = store_in(tmp_path)
    for _ in range(2):
        with pytest.raises(SessionLocked, match=f"process {child.pid} "):
            store.open(session_id)
        with pytest.raises(SessionLocked, match=f"process {child.pid} "):
            store.delete(session_id)
    assert [info.running for info in store.list()] == [True]
    assert len(store.read(session_id)) == 4
    child.kill()
    child.wait()
    assert [info.running for info in store.list()] == [False]
    session = store.open(session_id)
    assert len(session.messages) == 4
    session.close()


def test_open_after_the_other_one_closed(tmp_path: Path, elsewhere: tuple[str, "subprocess.Popen[str]"]) -> None:
    session_id, child = elsewhere
    child.communicate("\n")
    store = store_in(tmp_path)
    store.open(session_id).close()
    assert files(store.folder) == [f"{session_id}.json"]


def test_the_same_process_cannot_open_it_twice(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    session.append(UserMessage(content="hello"))
    with pytest.raises(SessionLocked):
        store.open(session.id)
    session.append(UserMessage(content="still mine"))
    assert session.unsaved_reason is None
    kill(session)


def test_processes_can_create_sessions_concurrently(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    children = [start(MAKE, str(store.folder)) for _ in range(3)]
    for child in children:  # all are started: now they begin together
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    lines = [line for child in children for line in child.communicate(timeout=60)[0].splitlines()]
    assert len(lines) == 60
    assert all(line.endswith(" None") for line in lines)
    assert {info.id for info in store.list()} == {line.split()[0] for line in lines}
    assert (tmp_path / ".clio" / ".gitignore").read_bytes() == b"*\n"
