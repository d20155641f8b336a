"""Memories whose text is already in the request are not recalled."""

from pathlib import Path

import pytest

from clio.memory.retrieval.scoring import Candidate, Place
from clio.memory.retrieval.turn_memory import RequestText
from clio.messages import AssistantMessage, ToolCall, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore

FIRST = "please move the parser of dates into a module of its own and keep the old name as an alias"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = SessionStore(tmp_path / "sessions").new(tmp_path)
    session.append(UserMessage(content=FIRST, id="first"))
    arguments = '{"operation": "remember", "content": "the heron is a train"}'
    calls = (ToolCall(id="c", name="memory_operations", arguments=arguments),)
    session.append(AssistantMessage(content="I begin.", tool_calls=calls, id="second"))
    return session


def make_candidate(text: str, message: str = "") -> Candidate:
    where = Place(session="s", message=message) if message else None
    return Candidate(source="trimmed", id=text, text=text, where=where)


def test_messages_in_the_window_count_with_text_and_arguments(session: Session) -> None:
    text = RequestText(session, [])
    assert text.has(make_candidate(FIRST.upper())) and text.has(make_candidate("The heron is\na train"))
    assert not text.has(make_candidate("the heron is a bird"))
    assert text.has(make_candidate("put in other words", message="second"))


def test_trimmed_or_shortened_messages_do_not_count(session: Session) -> None:
    session.add_trim(Trim(handle="t1", dropped=("first",), shrunk={"second": 0}))
    text = RequestText(session, [])
    assert not text.has(make_candidate(FIRST)) and not text.has(
        make_candidate("the heron is a train", message="second")
    )


def test_the_summary_counts_although_its_end_is_cut(session: Session) -> None:
    session.add_trim(Trim(handle="t1", dropped=("first",)))
    summary = f"Requests of the user:\n- {FIRST[:-6]}…"
    assert RequestText(session, [summary]).has(make_candidate(FIRST))
    assert not RequestText(session, [summary]).has(
        make_candidate("please move the parser of times into a file of its own")
    )


def test_without_a_session_only_the_other_texts_count() -> None:
    assert RequestText(None, ["port 8443"]).has(make_candidate("port 8443"))
    assert not RequestText(None, []).has(make_candidate("port 8443"))
