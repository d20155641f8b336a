"""Whatever a disk does to the files, a session opens with what can be read, and damaged files are kept."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import CorruptDocument, NewerDocument
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from tests.sessions.talk import a_turn, kill, say, store_in


def prepared(store: SessionStore, *, closed: bool) -> tuple[str, list[str]]:
    """Return a session of three turns: the first two in the snapshot if `closed`, the last in the journal."""
    session = store.new(Path("/project"), name="demo")
    say(session, a_turn(1) + a_turn(2))
    if closed:
        session.close()
        session = store.open(session.id)
    say(session, a_turn(3))
    kill(session)
    return session.id, [message.id for message in session.messages]


def ids_after_reopening(store: SessionStore, session_id: str) -> list[str]:
    """Open, add a message, kill; open again, close; open: all must agree. Return the ids without the last."""
    session = store.open(session_id)
    before = [message.id for message in session.messages]
    session.append(UserMessage(content="more"))
    after = [message.id for message in session.messages]
    kill(session)
    session = store.open(session_id)
    assert [message.id for message in session.messages] == after
    session.close()
    assert [message.id for message in store.read(session_id)] == after
    return before


def is_message(line: bytes) -> bool:
    try:
        return json.loads(line)["type"] == "message"
    except ValueError:
        return False


@given(cut=st.integers(1, 4000))
def test_a_journal_cut_anywhere(cut: int) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        session_id, ids = prepared(store, closed=True)
        journal = store.folder / f"{session_id}.journal.jsonl"
        data = journal.read_bytes()
        data = data[: max(0, len(data) - cut)]
        journal.write_bytes(data)
        whole = 8 + sum(is_message(line) for line in data.split(b"\n"))
        found = ids_after_reopening(store, session_id)
        assert found[:whole] == ids[:whole]
        assert all(id not in ids for id in found[whole:])  # only answers to calls whose results were cut off


@given(where=st.integers(0, 9_999), bit=st.integers(0, 7))
def test_a_journal_with_flipped_bits(where: int, bit: int) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        session_id, ids = prepared(store, closed=True)
        journal = store.folder / f"{session_id}.journal.jsonl"
        content = bytearray(journal.read_bytes())
        place = where * len(content) // 10_000
        content[place] ^= 1 << bit
        journal.write_bytes(content)
        before = bytes(content)
        if re.search(rb'"version":[2-9],', content):
            return  # a valid line that claims to be newer: see below

        found = ids_after_reopening(store, session_id)
        assert found[:8] == ids[:8]
        # One line is damaged, or two if it was a line end; a flip inside an id makes another id.
        assert len([id for id in found if id in ids]) >= len(ids) - 2
        damaged = list(store.folder.glob("*.journal.jsonl.corrupt-*"))
        for path in damaged:
            assert path.read_bytes().startswith(before.rpartition(b"\n")[0])


@given(junk=st.binary(max_size=200))
def test_a_journal_of_random_bytes(junk: bytes) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        session_id, ids = prepared(store, closed=True)
        (store.folder / f"{session_id}.journal.jsonl").write_bytes(junk)
        assert ids_after_reopening(store, session_id) == ids[:8]


@given(where=st.integers(0, 9_999), cut=st.booleans())
def test_a_snapshot_damaged_anywhere(where: int, cut: bool) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        session_id, ids = prepared(store, closed=True)
        snapshot = store.folder / f"{session_id}.json"
        content = bytearray(snapshot.read_bytes().rstrip())
        place = where * len(content) // 10_000
        if cut:
            del content[place:]
        else:
            content[place] = 0
        snapshot.write_bytes(content)

        session = store.open(session_id)
        found = [message.id for message in session.messages]
        assert found[-4:] == ids[-4:]  # the journal's
        assert session.warnings and str(snapshot) in session.warnings[0]
        aside = [path for path in store.folder.iterdir() if ".json.corrupt-" in path.name]
        assert [path.read_bytes() for path in aside] == [bytes(content)]
        kill(session)
        assert ids_after_reopening(store, session_id) == found


def test_all_but_the_damaged_line_of_a_snapshot_is_rescued(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session_id, ids = prepared(store, closed=True)
    snapshot = store.folder / f"{session_id}.json"
    content = snapshot.read_bytes().replace(b"question 2", b'question "2', 1)
    snapshot.write_bytes(content)
    session = store.open(session_id)
    assert [message.id for message in session.messages] == ids[:4] + ids[5:]
    assert session.name == "demo"
    assert session.window_ids == ids[:4] + ids[5:]
    session.close()


def test_a_file_without_content_is_set_aside_and_reported(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.folder.mkdir(parents=True)
    (store.folder / "abc.json").write_bytes(b'{"history": [')
    assert [info.id for info in store.list()] == ["abc"]
    with pytest.raises(CorruptDocument) as caught:
        store.read("abc")
    assert caught.value.moved_to is None
    assert (store.folder / "abc.json").exists()
    with pytest.raises(CorruptDocument) as caught:
        store.open("abc")
    moved_to = caught.value.moved_to
    assert moved_to is not None and moved_to.read_bytes() == b'{"history": ['
    assert [path.name for path in store.folder.iterdir()] == [moved_to.name]


@pytest.mark.parametrize("part", ["snapshot", "journal"])
def test_a_newer_version_is_refused_and_not_changed(tmp_path: Path, part: str) -> None:
    store = store_in(tmp_path)
    session_id, _ = prepared(store, closed=True)
    path = store.folder / (f"{session_id}.json" if part == "snapshot" else f"{session_id}.journal.jsonl")
    path.write_bytes(re.sub(rb'"version":\d', b'"version":9', path.read_bytes(), count=1))
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    for _ in range(2):
        with pytest.raises(NewerDocument, match=r"by a newer clio \(version 9; .* left unchanged; update clio"):
            store.open(session_id)
        with pytest.raises(NewerDocument):
            store.read(session_id)
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before
    assert [info.id for info in store.list()] == [session_id]


def test_unknown_fields_survive_a_rewrite(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session_id, _ = prepared(store, closed=True)
    path = store.folder / f"{session_id}.json"
    document = msgspec.json.decode(path.read_bytes())
    document["tags"] = ["mine", {"deep": 1.50}]
    document["history"][2]["starred"] = True
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
    session = store.open(session_id)
    assert session.warnings == []
    session.close()
    after = msgspec.json.decode(path.read_bytes())
    assert after["tags"] == ["mine", {"deep": 1.50}]
    assert after["history"][2]["starred"] is True
    assert len(after["history"]) == 12


def test_a_hand_edited_file_with_a_wrong_type_opens_and_is_copied(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session_id, ids = prepared(store, closed=False)
    store.open(session_id).close()
    path = store.folder / f"{session_id}.json"
    document = msgspec.json.decode(path.read_bytes())
    document["history"][1]["usage"] = "much"
    document["token_ratio"] = "four"
    path.write_bytes(msgspec.json.encode(document))
    edited = path.read_bytes()
    session = store.open(session_id)
    assert [message.id for message in session.messages] == ids
    session.append(UserMessage(content="more"))
    session.close()
    assert (store.folder / f"{session_id}.json.original").read_bytes() == edited
    assert len(store.read(session_id)) == 13


def test_messages_without_ids_get_the_same_ones_at_every_opening(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session_id, _ = prepared(store, closed=True)
    for path, lost in ((f"{session_id}.json", b'"id":"call_1'), (f"{session_id}.journal.jsonl", b'"id":"call_3')):
        content = (store.folder / path).read_bytes()
        assert lost in content
        kept = content.replace(lost, b"CALL").replace(b'"id":"', b'"was":"').replace(b"CALL", lost)
        head = content.find(b'"id":"')
        (store.folder / path).write_bytes(content[: head + 6] + kept[head + 7 :])
    first, second = store.read(session_id), store.read(session_id)
    assert len(first) == 12
    assert first == second
    assert ids_after_reopening(store, session_id) == [message.id for message in first]


def test_a_journal_that_ends_in_zeros_is_reported(tmp_path: Path) -> None:
    """What a file system leaves if it loses power before the data was written."""
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    turn = a_turn()
    say(session, turn)
    kill(session)
    journal = store.folder / f"{session.id}.journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-25] + bytes(25))
    again = store.open(session.id)
    assert again.messages == turn[:3]
    [warning] = again.warnings
    assert "were damaged and have been removed" in warning and journal.name in warning
    again.append(turn[3])
    again.close()
    assert store.read(session.id) == tuple(turn)
