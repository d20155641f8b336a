"""Complete outputs next to the session."""

import hashlib
from pathlib import Path

import pytest

from clio.messages import UserMessage
from clio.sessions.session_files import BlobNotFound
from tests.sessions.talk import files, store_in
from tests.support.rows import each_row


def test_blobs_are_named_by_content_and_stored_once(tmp_path: Path) -> None:
    session = store_in(tmp_path).new(tmp_path)
    session.append(UserMessage(content="go"))
    text = "größe\r\nline\n" * 500
    handles = {session.write_blob(text) for _ in range(3)}
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert handles == {digest[:16]}
    blobs = tmp_path / ".clio" / "sessions" / session.id / "blobs"
    assert files(blobs) == [digest]
    assert (blobs / digest).read_bytes() == text.encode()
    for handle in (digest[:16], digest, digest[:8]):
        assert session.read_blob(handle) == text
    session.close()


@each_row("handle", ["", "0123", "0" * 16, "../../secret", "*" * 16, "0123456789abcdef/../x", "ABCDEF01"])
def test_an_invalid_handle_is_not_found(tmp_path: Path, handle: str) -> None:
    session = store_in(tmp_path).new(tmp_path)
    session.append(UserMessage(content="go"))
    session.write_blob("text")
    (tmp_path / ".clio" / "sessions" / "secret").write_text("x", encoding="utf-8")
    with pytest.raises(BlobNotFound, match="handle"):
        session.read_blob(handle)
    session.close()


def test_blobs_stay_in_memory_before_the_first_message(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    handle = session.write_blob("early")
    assert files(tmp_path) == []
    assert session.read_blob(handle) == "early"
    session.append(UserMessage(content="go"))
    session.close()
    again = store.open(session.id)
    assert again.read_blob(handle) == "early"
    again.close()
