"""Spans of ids in a snapshot: shorter, expanding to the same ids; and files edited by hand."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.messages import UserMessage
from clio.sessions.state import compress_ids, expand_spans
from tests.sessions.talk import a_turn, say, store_in

ORDER = [f"m{number}" for number in range(12)]


def test_runs_of_three_and_more_are_pairs() -> None:
    assert compress_ids(["m0", "m1", "m3", "m4", "m5", "m9"], ORDER) == ["m0", "m1", ("m3", "m5"), "m9"]
    assert compress_ids(ORDER, ORDER) == [("m0", "m11")]
    assert compress_ids([], ORDER) == []


@given(
    ids=st.lists(st.sampled_from([*ORDER, "elsewhere"]), max_size=20)
    | st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda ends: ORDER[ends[0] : ends[1]]),
    order=st.just(ORDER) | st.lists(st.sampled_from(ORDER), max_size=12),
)
def test_compressed_ids_expand_to_the_same_ids(ids: list[str], order: list[str]) -> None:
    assert expand_spans(msgspec.json.decode(msgspec.json.encode(compress_ids(ids, order))), order) == ids


def test_spans_outside_the_history_are_skipped() -> None:
    assert expand_spans(["m1", ["m1", "gone"], ["m4", "m2"], ["m1"], 3, None, {"m1": "m2"}, ["m2", "m3"]], ORDER) == [
        "m1", "m2", "m3",
    ]  # fmt: skip


@pytest.mark.parametrize("edit", ["an id taken away", "a message put in", "a message twice", "a message taken out"])
def test_an_edited_file_is_read_tolerantly_with_the_same_result(tmp_path: Path, edit: str) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    turns = a_turn(1) + a_turn(2)
    say(session, turns)
    session.close()
    path = store.folder / f"{session.id}.json"
    document = msgspec.json.decode(path.read_bytes())
    history = document["history"]
    match edit:
        case "an id taken away":
            del history[4]["id"]
        case "a message put in":
            history.insert(4, {"role": "user", "content": "by hand"})
        case "a message twice":
            history[3] = history[7]
        case _:
            del history[4:]
    path.write_bytes(msgspec.json.encode(document))
    before = path.read_bytes()
    first, second = store.read(session.id), store.read(session.id)
    assert first == second
    assert len({message.id for message in first}) == len(first)
    assert path.read_bytes() == before
    again = store.open(session.id)
    again.append(UserMessage(content="go on"))
    again.close()
    assert path.with_name(path.name + ".original").read_bytes() == before
    assert store.read(session.id)[: len(first)] == first
