"""A session is changed by one thread at a time; a second one is refused before it has written anything."""

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


def test_threads_may_take_turns(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).new(tmp_path)
    for number in range(20):
        thread = threading.Thread(target=session.append, args=(UserMessage(content=str(number)),))
        thread.start()
        thread.join(10)
    session.close()
    assert [message.content for message in SessionStore(tmp_path).read(session.id)] == [
        str(number) for number in range(20)
    ]
