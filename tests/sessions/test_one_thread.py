"""A session is changed by one thread at a time and never after `close`; a refused change writes nothing."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.messages import UserMessage
from clio.sessions.session import Session
from clio.sessions.store import SessionStore

CHANGES: dict[str, Callable[[Session], object]] = {
    "append": lambda session: session.append(UserMessage(content="second")),
    "rename": lambda session: session.rename("second"),
    "write_blob": lambda session: session.write_blob("second"),
    "sync": lambda session: session.sync(),
    "close": lambda session: session.close(),
    "undo_trim": lambda session: session.undo_trim(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_during_another_threads_change_is_refused(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SessionStore(tmp_path).new(tmp_path)
    session.append(UserMessage(content="first"))
    inside, go_on = threading.Event(), threading.Event()
    disk = session._disk  # pyright: ignore[reportPrivateUsage]
    assert disk is not None
    write = disk.write

    def write_slowly(line: bytes) -> None:
        inside.set()
        assert go_on.wait(10)
        write(line)

    monkeypatch.setattr(disk, "write", write_slowly)
    other = threading.Thread(target=lambda: session.append(UserMessage(content="other")))
    other.start()
    assert inside.wait(10)
    with pytest.raises(RuntimeError, match=f"{session.id}.*two threads"):
        CHANGES[change](session)
    go_on.set()
    other.join(10)
    monkeypatch.undo()
    CHANGES[change](session)  # the same thread may do it now
    session.close()
    assert [message.content for message in SessionStore(tmp_path).read(session.id)][:2] == ["first", "other"]


def test_different_threads_may_change_it_one_after_the_other(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).new(tmp_path)
    for number in range(20):
        thread = threading.Thread(target=session.append, args=(UserMessage(content=str(number)),))
        thread.start()
        thread.join(10)
    session.close()
    assert [message.content for message in SessionStore(tmp_path).read(session.id)] == [
        str(number) for number in range(20)
    ]


LATE_CHANGES: dict[str, Callable[[Session], object]] = {
    **{name: change for name, change in CHANGES.items() if name != "close"},
    "write_data": lambda session: session.write_data(b"\x00second"),
    "set_model": lambda session: session.set_model("second"),
}


@pytest.mark.parametrize("change", LATE_CHANGES)
@pytest.mark.parametrize("persistent", [True, False])
def test_a_change_after_close_is_refused_and_writes_nothing(change: str, persistent: bool, tmp_path: Path) -> None:
    session = SessionStore(tmp_path / "sessions").new(tmp_path, persist=persistent)
    session.append(UserMessage(content="first"))
    handle = session.write_blob("an output")
    session.close()
    session.close()  # a second call does nothing
    before = read_tree(tmp_path)
    with pytest.raises(ValueError, match=f"{session.id}.*closed"):
        LATE_CHANGES[change](session)
    assert read_tree(tmp_path) == before
    assert [message.content for message in session.messages] == ["first"]
    assert session.read_blob(handle) == "an output"


def test_a_late_write_does_not_keep_the_session_from_another_process(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    session = store.new(tmp_path)
    session.append(UserMessage(content="first"))
    session.close()
    with pytest.raises(ValueError, match="closed"):
        session.write_blob("late")
    code = (
        "import sys; from pathlib import Path; from clio.messages import UserMessage; "
        "from clio.sessions.store import SessionStore; session = SessionStore(Path(sys.argv[1])).open(sys.argv[2]); "
        "session.append(UserMessage(content='other')); session.close()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), session.id], check=True, timeout=30)
    assert [message.content for message in store.read(session.id)] == ["first", "other"]


def read_tree(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below the folder, by its path."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
