"""The thread archive has every message, including trimmed ones."""

from pathlib import Path

import pytest

from clio.memory.transcripts.session_text import ThreadArchive, extract_first_user_text
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore

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


def test_messages_by_id_and_by_span(session: Session) -> None:
    archive = ThreadArchive(session)
    assert archive.get(["m-dddd-4", "nowhere", "m-aaaa-1"]) == (MESSAGES[3], MESSAGES[0])
    assert archive.list_messages_of_trim("T1 ") == tuple(MESSAGES[:3])
    assert archive.list_messages_of_trim("t2") == archive.list_messages_of_trim("t9") == ()
    assert archive.list_messages_of_trim(session.id) == tuple(MESSAGES)
    assert archive.list_messages_between("m-bbbb-2", "m-dddd-4") == tuple(MESSAGES[1:4])
    assert archive.list_messages_between("m-dddd", "m-bbbb") == tuple(MESSAGES[1:4])  # beginnings, in reverse order
    assert archive.list_messages_between("m-", "m-dddd-4") == archive.list_messages_between("m-bbbb-2", "nowhere") == ()


def test_new_messages_are_found_immediately(session: Session) -> None:
    archive = ThreadArchive(session)
    assert archive.get(["new"]) == ()
    session.append(UserMessage(content="zebra", id="new"))
    assert [found.id for found in archive.search("zebra")] == ["new"]
    assert len(archive.get(["new"])) == 1


def test_search_ranks_the_exact_phrase_first_and_the_newest_on_ties(session: Session) -> None:
    archive = ThreadArchive(session)
    found = [hit.id for hit in archive.search("parser of dates")]
    assert found == ["m-dddd-4", "m-aaaa-1", "m-bbbb-2"]
    assert [hit.id for hit in archive.search("dates parser", 1)] == ["m-dddd-4"]
    assert archive.search("nothing shares this") == ()
    assert archive.search("") == ()


def test_text_inserted_by_clio_is_not_found(session: Session) -> None:
    session.append(UserMessage(content="parser parser", origin="recovery"))
    assert all(hit.id.startswith("m-") for hit in ThreadArchive(session).search("parser"))


def test_a_span_begins_with_a_user_message() -> None:
    assert extract_first_user_text(MESSAGES) == "fix the parser of dates"
    assert extract_first_user_text(MESSAGES[1:4]) == ""
