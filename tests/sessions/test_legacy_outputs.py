"""Complete outputs that the original saved next to a session: read in place, copied by the first save."""

import hashlib
from pathlib import Path

import pytest

from clio.messages import ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from tests.sessions.talk import files, kill, store_in
from tests.support.perl_tree import LONG, OUTPUT, lay_out_perl_tree

DIGEST = hashlib.sha256(OUTPUT.encode()).hexdigest()
HANDLE = DIGEST[:16]


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    lay_out_perl_tree(tmp_path / ".clio")
    return store_in(tmp_path)


def outputs(store: SessionStore) -> Path:
    return store.folder / LONG / "tool_results"


def result(session: Session, call: str = "call_489_0") -> ToolMessage:
    found = [m for m in session.messages if isinstance(m, ToolMessage) and m.tool_call_id == call]
    return found[0]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files(folder)}


def test_the_whole_output_is_read_without_changing_files(store: SessionStore) -> None:
    before = contents(store.folder)
    for persist in (False, True):
        session = store.open(LONG, persist=persist)
        message = result(session)
        assert message.blob == HANDLE
        assert session.read_blob(HANDLE) == OUTPUT
        session.close()
    assert contents(store.folder) == before


def test_the_message_names_read_output(store: SessionStore) -> None:
    content = result(store.open(LONG, persist=False)).content
    assert content.startswith("log line 1\nlog line 2\n")
    shown, _, notice = content.partition("[… ")
    lines = OUTPUT.splitlines()
    offset = shown.rstrip("\n").count("\n") + 1
    assert f'read_output(handle="{HANDLE}", offset={offset}) …]' in notice
    assert lines[offset - 1].startswith(shown.splitlines()[-1])  # the line that is cut is read again
    assert "read_tool_result" not in content
    assert "TOOL_RESULT" not in content


def test_the_first_save_keeps_it_as_a_blob(store: SessionStore) -> None:
    session = store.open(LONG)
    session.append(UserMessage(content="more"))
    assert (store.folder / LONG / "blobs" / DIGEST).read_text() == OUTPUT
    kill(session)
    assert store.open(LONG, persist=False).read_blob(HANDLE) == OUTPUT

    session = store.open(LONG)
    session.append(UserMessage(content="and more"))
    session.close()
    assert (outputs(store) / "call_489_0.txt").read_text() == OUTPUT  # the original's file is kept
    (outputs(store) / "call_489_0.txt").unlink()
    again = store.open(LONG)
    assert (result(again).blob, again.read_blob(HANDLE)) == (HANDLE, OUTPUT)
    again.close()


def test_a_renamed_session_keeps_it_too(store: SessionStore) -> None:
    session = store.open(LONG)
    session.rename("a name")
    session.close()
    assert store.open(LONG, persist=False).read_blob(HANDLE) == OUTPUT


def test_where_it_cannot_be_stored_the_session_is_not_rewritten(store: SessionStore) -> None:
    before = (store.folder / f"{LONG}.json").read_bytes()
    (store.folder / LONG / "blobs").write_text("in the way")
    session = store.open(LONG)
    session.append(UserMessage(content="more"))
    session.close()
    assert session.unsaved_reason
    assert (store.folder / f"{LONG}.json").read_bytes() == before
    (store.folder / LONG / "blobs").unlink()
    again = store.open(LONG)
    assert again.messages[-1].content == "more"
    assert again.read_blob(HANDLE) == OUTPUT
    again.close()
    assert (store.folder / LONG / "blobs" / DIGEST).is_file()


def test_a_missing_output_keeps_its_preview(store: SessionStore) -> None:
    (outputs(store) / "call_489_0.txt").unlink()
    message = result(store.open(LONG, persist=False))
    assert message.blob is None
    assert "TOOL_RESULT_STORED" in message.content


def test_links_are_not_followed(store: SessionStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (outputs(store) / "call_489_1.txt").symlink_to(secret)
    session = store.open(LONG, persist=False)
    assert result(session, "call_489_1").blob is None
    assert result(session).blob == HANDLE


def test_a_doubly_encoded_output_is_repaired(store: SessionStore) -> None:
    text = "données 漢字 ✓\n" * 10
    (outputs(store) / "call_489_1.txt").write_bytes(text.encode().decode("latin-1").encode())
    session = store.open(LONG)
    message = result(session, "call_489_1")
    assert message.content == "File created successfully"
    assert session.read_blob(message.blob or "") == text
    session.append(UserMessage(content="more"))
    session.close()
    assert store.open(LONG, persist=False).read_blob(message.blob or "") == text


def test_a_fork_has_it_while_the_original_is_untouched(store: SessionStore) -> None:
    before = contents(store.folder)
    fork = store.fork(LONG)
    after = contents(store.folder)
    assert {name: data for name, data in after.items() if fork not in name} == before
    store.delete(LONG)
    session = store.open(fork)
    assert session.read_blob(HANDLE) == OUTPUT
    assert session.todos[0].title == "Read code"
    assert (session.parent, session.name) == (LONG, None)
    session.close()


def test_deleting_the_session_deletes_it(store: SessionStore) -> None:
    store.delete(LONG)
    assert not (store.folder / LONG).exists()
