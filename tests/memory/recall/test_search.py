"""The door to recall: what it answers, whatever state the sessions and the index are in."""

from pathlib import Path

import pytest

from clio.memory.recall.docs import Recall
from clio.memory.recall.search import SessionRecall
from clio.sessions.store import SessionStore
from tests.memory.recall.sessions import said, saved


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / ".clio" / "sessions")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / ".clio" / "cache"


def found(recall: Recall) -> list[str]:
    return [hit.session_id for hit in recall.sessions]


def test_a_session_is_found_by_what_was_said_in_it(store: SessionStore, cache: Path) -> None:
    wanted = saved(store, said("why does the parser fail on empty input?"), name="parser")
    saved(store, said("write a poem about ferns"))
    answer = SessionRecall(store, cache).search("parser empty")
    assert found(answer) == [wanted]
    assert answer.sessions[0].session_name == "parser"
    assert answer.passages[0].message_id == store.read(wanted)[0].id
    assert (answer.unsearched, answer.unreadable) == (0, ())
