"""A fork is a separate session, and does not change its original."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clio.errors import SessionNotFound, UserError
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions import loading
from clio.sessions.state import Bill, Todo, Trim
from clio.sessions.store import INTERRUPTED, SessionStore
from tests.sessions.talk import a_turn, kill, say, store_in


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return store_in(tmp_path)


def tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return content, inode and time of each file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def a_session(store: SessionStore, tmp_path: Path, turns: int = 3) -> str:
    """Return a closed session with outputs, todos, usage and a trim."""
    session = store.new(tmp_path, name="source")
    for number in range(turns):
        say(session, a_turn(number))
    handle = session.write_blob("a long output\n" * 1_000)
    session.append(ToolMessage(tool_call_id="late", content="a long", blob=handle, created=200.0))
    session.set_todos((Todo(id=1, title="read", status="in_progress"),))
    session.add_bill(Bill(model="m", prompt_tokens=10))
    session.add_trim(Trim(handle="t1", dropped=(session.messages[0].id,), freed_tokens=9, created=102.5))
    session.add_trim(
        Trim(handle="t2", dropped=(session.messages[1].id,), shrunk={session.messages[2].id: 0}, created=250.0)
    )
    session.set_token_ratio(3.5)
    session.set_model("m")
    session.close()
    return session.id


def test_a_fork_contains_everything_except_bills_and_name(store: SessionStore, tmp_path: Path) -> None:
    source = a_session(store, tmp_path)
    before = tree(store.folder)
    fork = store.fork(source, name="try  another\nway")
    after = tree(store.folder)
    assert {name: kept for name, kept in after.items() if fork not in name} == before

    original, copy = store.open(source), store.open(fork)
    assert copy.parent == source
    assert copy.name == "try another way"
    assert copy.messages == original.messages
    assert (copy.window_ids, copy.trims, copy.todos) == (original.window_ids, original.trims, original.todos)
    assert (copy.model, copy.token_ratio, copy.bills) == ("m", 3.5, [])
    assert copy.working_directory == original.working_directory
    last = copy.messages[-1]
    assert isinstance(last, ToolMessage)
    assert copy.read_blob(last.blob or "") == "a long output\n" * 1_000
    assert store.latest() == fork
    copy.append(UserMessage(content="only here"))
    copy.close()
    assert len(store.read(source)) == len(original.messages)
    original.close()
    store.delete(source)
    again = store.open(fork)
    assert again.read_blob(last.blob or "").startswith("a long output")
    again.close()


def test_a_fork_up_to_a_message_restores_its_window(store: SessionStore, tmp_path: Path) -> None:
    source = a_session(store, tmp_path)
    messages = store.read(source)
    fork = store.open(store.fork(source, upto=messages[4].id))
    assert fork.messages == list(messages[:5])
    assert [trim.handle for trim in fork.trims] == []  # both came after the fifth message, which is of 101.0
    assert fork.window_ids == [message.id for message in messages[:5]]
    fork.close()

    later = store.open(store.fork(source, upto=messages[11].id))
    assert [trim.handle for trim in later.trims] == ["t1"]
    assert later.window_ids == [message.id for message in messages[1:12]]
    later.close()


def test_a_running_session_is_forked_as_it_is(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    say(session, a_turn())
    handle = session.write_blob("whole")
    session.append(ToolMessage(tool_call_id="x", content="w", blob=handle))
    before = tree(store.folder)
    fork = store.fork(session.id)
    assert {name: kept for name, kept in tree(store.folder).items() if fork not in name} == before
    assert list(store.read(fork)) == session.messages
    session.append(UserMessage(content="goes on"))
    session.close()
    copy = store.open(fork)
    assert copy.read_blob(handle) == "whole"
    assert copy.name is None
    copy.close()


@pytest.mark.parametrize("earlier", [False, True])
def test_a_session_that_closes_while_it_is_read_is_read_completely(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    """Closing moves the journal into a new snapshot: a reader between the two would miss all of it."""
    session = store.new(tmp_path)
    say(session, a_turn())
    if earlier:
        session.close()
        session = store.open(session.id)
        session.append(UserMessage(content="since"))
    read_lines = loading.read_lines

    def close_first(path: Path) -> object:
        session.close()
        return read_lines(path)

    monkeypatch.setattr(loading, "read_lines", close_first)
    assert list(store.read(store.fork(session.id))) == session.messages


def test_a_killed_session_is_forked_from_its_journal(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    say(session, a_turn())
    kill(session)
    assert list(store.read(store.fork(session.id))) == session.messages


def test_calls_that_are_open_at_the_cut_are_answered_on_open(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    calls = tuple(ToolCall(id=f"c{number}", name="read_file") for number in range(2))
    session.append(UserMessage(content="both"))
    session.append(AssistantMessage(tool_calls=calls))
    session.append(ToolMessage(tool_call_id="c0", content="one", id="one"))
    session.append(ToolMessage(tool_call_id="c1", content="two"))
    session.close()
    copy = store.open(store.fork(session.id, upto="one"))
    results = [message for message in copy.messages if isinstance(message, ToolMessage)]
    assert [(result.tool_call_id, result.content) for result in results] == [("c0", "one"), ("c1", INTERRUPTED)]
    copy.close()


def test_an_unknown_message_and_an_unknown_session_are_refused(store: SessionStore, tmp_path: Path) -> None:
    source = a_session(store, tmp_path)
    before = tree(store.folder)
    with pytest.raises(UserError, match="no message 'nowhere'"):
        store.fork(source, upto="nowhere")
    with pytest.raises(SessionNotFound):
        store.fork("nobody")
    assert tree(store.folder) == before


def test_a_fork_copies_unknown_fields(store: SessionStore, tmp_path: Path) -> None:
    source = a_session(store, tmp_path)
    path = store.folder / f"{source}.json"
    document = msgspec.json.decode(path.read_bytes())
    document["tags"] = ["mine"]
    document["history"][0]["mood"] = "good"
    path.write_bytes(msgspec.json.encode(document))
    fork = store.fork(source, upto=document["history"][1]["id"])
    copy = msgspec.json.decode((store.folder / f"{fork}.json").read_bytes())
    assert (copy["tags"], copy["history"][0]["mood"], len(copy["history"])) == (["mine"], "good", 2)


@pytest.mark.parametrize("step", ["write_atomic", "link_or_copy"])
def test_a_failed_fork_leaves_no_files(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    source = a_session(store, tmp_path)
    before = tree(store.folder)
    monkeypatch.setattr(loading, step, full)
    with pytest.raises(OSError, match="No space"):
        store.fork(source)
    assert tree(store.folder) == before
    assert [info.id for info in store.list()] == [source]


KILLED = """
import os, sys
from pathlib import Path
from clio.sessions import loading
from clio.sessions.store import SessionStore

step, folder, source = sys.argv[1:]
original = getattr(loading, step)

def die(*args):
    if step == "_copy_outputs":
        original(*args)
    os.kill(os.getpid(), 9)

setattr(loading, step, die)
SessionStore(Path(folder)).fork(source)
"""


@pytest.mark.parametrize("step", ["_copy_outputs", "write_atomic"])
def test_a_fork_killed_half_way_is_not_listed(store: SessionStore, tmp_path: Path, step: str) -> None:
    """Just after the outputs were copied, and instead of the write of the snapshot."""
    source = a_session(store, tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, step, str(store.folder), source], timeout=60, check=False)
    assert done.returncode == -9
    assert [info.id for info in store.list()] == [source]
    copy = store.open(store.fork(source))
    assert copy.parent == source
    copy.close()
