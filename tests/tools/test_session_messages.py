"""Every message of a session can be named and found, including trimmed ones."""

from pathlib import Path

import pytest

from clio.errors import ToolRetry
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore
from clio.tools.session_answers import list_messages_between, list_messages_of_trim, search_messages

MESSAGES: list[Message] = [
    UserMessage(content="fix the parser of dates", created=10.0, id="m-aaaa-1"),
    AssistantMessage(
        content="", tool_calls=(ToolCall(id="c", name="read_file", arguments='{"path": "dates.py"}'),), id="m-bbbb-2"
    ),
    ToolMessage(tool_call_id="c", name="read_file", content="def parse(text): ...", id="m-cccc-3"),
    AssistantMessage(content="The parser of dates is fixed.", created=40.0, id="m-dddd-4"),
    UserMessage(content="now the numbers", created=50.0, id="m-eeee-5"),
]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = SessionStore(tmp_path / ".clio" / "sessions").new(tmp_path)
    for message in MESSAGES:
        made.append(message)
    made.add_trim(Trim(handle="t1", dropped=tuple(message.id for message in MESSAGES[:3])))
    made.add_trim(Trim(handle="t2", shrunk={MESSAGES[3].id: 0}))
    return made


def test_messages_by_id_number_and_span(session: Session) -> None:
    assert list_messages_of_trim(session, "T1 ") == MESSAGES[:3]
    assert list_messages_of_trim(session, session.id) == MESSAGES
    assert (
        list_messages_between(session, "m-dddd-4", "m-dddd-4")
        == list_messages_between(session, "#4", "4")
        == [MESSAGES[3]]
    )
    assert list_messages_between(session, "m-bbbb-2", "m-dddd-4") == MESSAGES[1:4]
    assert list_messages_between(session, "m-dddd", "m-bbbb") == MESSAGES[1:4]  # beginnings, in reverse order
    assert list_messages_between(session, "2", "99") == MESSAGES[1:]


@pytest.mark.parametrize(("first", "last"), [("m-", "m-dddd-4"), ("m-bbbb-2", "nowhere"), ("", "")])
def test_an_unknown_or_ambiguous_id_is_an_error(session: Session, first: str, last: str) -> None:
    with pytest.raises(ToolRetry, match="places from 1 to 5"):
        list_messages_between(session, first, last)


@pytest.mark.parametrize("handle", ["t2", "t9"])
def test_a_trim_without_messages_is_an_error(session: Session, handle: str) -> None:
    with pytest.raises(ToolRetry, match=handle):
        list_messages_of_trim(session, handle)


def test_new_messages_are_found_immediately(session: Session) -> None:
    assert search_messages(session, "zebra") == []
    session.append(UserMessage(content="zebra", id="new"))
    assert [found.id for found in search_messages(session, "zebra")] == ["new"]
    assert len(list_messages_between(session, "new", "new")) == 1


def test_search_ranks_the_exact_phrase_first_and_the_newest_on_ties(session: Session) -> None:
    found = [hit.id for hit in search_messages(session, "parser of dates")]
    assert found == ["m-dddd-4", "m-aaaa-1", "m-bbbb-2"]
    assert [hit.id for hit in search_messages(session, "dates parser", 1)] == ["m-dddd-4"]
    assert search_messages(session, "nothing shares this") == []
    assert search_messages(session, "") == []


def test_text_inserted_by_clio_is_not_found(session: Session) -> None:
    session.append(UserMessage(content="parser parser", origin="recovery"))
    assert all(hit.id.startswith("m-") for hit in search_messages(session, "parser"))
