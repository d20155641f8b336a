"""Trimmed messages are returned verbatim."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest

from clio.errors import ToolRetry
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore
from clio.tools.base import ToolOutput
from clio.tools.memory import MemoryArgs, MemoryTool
from clio.tools.session_answers import PAGE_CHARS
from tests.support.wording import mentions


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = SessionStore(tmp_path / ".clio" / "sessions").new(tmp_path)
    session.append(UserMessage(content="Fix the naïve\nparser", id="aaaa-1"))
    session.append(AssistantMessage(tool_calls=(ToolCall(id="c", name="read_file", arguments='{"path": "p.py"}'),)))
    session.append(
        ToolMessage(tool_call_id="c", name="read_file", content="\n".join(f"{n} zebra" for n in range(4_000)))
    )
    session.append(AssistantMessage(content="The parser is fixed.", id="bbbb-4"))
    session.append(UserMessage(content="recovery words", origin="recovery"))
    session.add_trim(Trim(handle="t1", dropped=tuple(message.id for message in session.messages[:3])))
    return session


def ask(session: Session, tmp_path: Path, *, incognito: bool = False, **arguments: object) -> ToolOutput:
    memory = MemorySystem(tmp_path, SessionStore(tmp_path / "s"), incognito=incognito, ltm=True)
    args = msgspec.convert({"operation": "recall_messages", **arguments}, MemoryArgs)
    return asyncio.run(MemoryTool(memory, session).prepare(args).run(lambda line: None))


def pages(session: Session, tmp_path: Path, **arguments: object) -> list[str]:
    """Return the lines of all pages, following the calls named in their heads."""
    lines: list[str] = []
    offset: int | None = 1
    while offset:
        head, _, body = ask(session, tmp_path, offset=offset, **arguments).text.partition("\n")
        assert len(body) <= PAGE_CHARS
        lines += body.split("\n")
        more = re.search(r"continue with offset=(\d+)", head)
        offset = int(more[1]) if more else None
    return lines


def test_a_span_is_returned_completely_over_its_pages(session: Session, tmp_path: Path) -> None:
    lines = pages(session, tmp_path, handle="t1")
    assert lines[:3] == ["#1 user", "Fix the naïve", "parser"]
    assert '[called read_file {"path": "p.py"}]' in lines
    result = lines.index("#3 result of read_file")
    assert lines[result + 1 :] == [f"{n} zebra" for n in range(4_000)]


def test_messages_by_number_and_by_id(session: Session, tmp_path: Path) -> None:
    assert ask(session, tmp_path, **{"from": "1"}).text.endswith("#1 user\nFix the naïve\nparser")
    both = ask(session, tmp_path, **{"from": "#4", "to": "5"}).text
    assert both.endswith("#4 assistant\nThe parser is fixed.\n\n#5 clio\nrecovery words")
    assert ask(session, tmp_path, **{"from": "bbbb-4", "to": "5"}).text == both
    assert "#1 user" in ask(session, tmp_path, to="aaaa-1").text


def test_messages_by_their_text(session: Session, tmp_path: Path) -> None:
    text = ask(session, tmp_path, query="parser fixed").text
    assert text.index("#4 assistant") < text.index("#1 user")
    long = ask(session, tmp_path, query="zebra").text
    assert 'whole with from="3"' in long
    assert re.search(r"\[lines \d+-4000 left out\]$", long)
    assert len(long) < 2_000
    assert "No message" in ask(session, tmp_path, query="xylophone").text
    assert "No message" in ask(session, tmp_path, query="recovery").text, "clio's own text is no result"


def test_it_works_while_memory_is_off_and_reports_errors(session: Session, tmp_path: Path) -> None:
    assert "#1 user" in ask(session, tmp_path, incognito=True, handle="T1").text
    for arguments, message in (
        ({}, "needs handle, or from and to, or query"),
        ({"handle": "t9"}, "the spans are t1"),
        ({"from": "nobody"}, "give ids, or places from 1 to 5"),
        ({"handle": "t1", "offset": 99_999}, "past their end"),
    ):
        with pytest.raises(ToolRetry, match=message):
            ask(session, tmp_path, **arguments)


@pytest.fixture
def conversation(tmp_path: Path) -> Session:
    session = SessionStore(tmp_path / ".clio" / "talk").new(tmp_path)
    session.append(UserMessage(content="the gateway listens on port 8080", id="first-001", created=60.0))
    log = [f"line {number} of the log" for number in range(600)]
    log[300] = "gateway: connection refused by upstream 10.0.0.7"
    session.append(ToolMessage(tool_call_id="c", name="run_command", content="\n".join(log), id="log-00002"))
    session.append(AssistantMessage(content="The upstream was down.", id="down-0003"))
    session.append(UserMessage(content="the gateway moved to port 9000", id="second-04"))
    session.append(AssistantMessage(content="Noted, the gateway is on 9000.", id="noted-005"))
    session.add_trim(Trim(handle="t1", dropped=("first-001", "log-00002", "down-0003")))
    return session


def test_a_query_searches_only_the_given_span(conversation: Session, tmp_path: Path) -> None:
    whole = ask(conversation, tmp_path, query="gateway port").text
    assert "9000" in whole and "8080" in whole
    assert whole.index("9000") < whole.index("8080"), "of equal results the newest comes first"
    for span in ({"handle": "t1"}, {"from": "1", "to": "3"}, {"handle": "t1", "from": "1", "to": "5"}):
        inside = ask(conversation, tmp_path, query="gateway port", **span).text
        assert "8080" in inside and "9000" not in inside, span
    assert "9000" not in ask(conversation, tmp_path, query="gateway", handle="t1", **{"from": "2"}).text
    with pytest.raises(ToolRetry, match="give one of the two alone"):
        ask(conversation, tmp_path, query="gateway", handle="t1", **{"from": "4"})


def test_lines_around_a_match_are_shown_and_the_omitted_ones_named(conversation: Session, tmp_path: Path) -> None:
    text = ask(conversation, tmp_path, handle="t1", query="upstream refused").text
    lines = text.splitlines()
    at = lines.index("gateway: connection refused by upstream 10.0.0.7")
    assert lines[at - 3 : at] == [f"line {number} of the log" for number in (297, 298, 299)]
    assert lines[at - 4] == "[lines 1-297 left out]" and lines[at + 4] == "[lines 305-600 left out]"
    assert 'whole with from="2"' in text
    assert len(text) < 1_500


def test_a_span_without_the_words_names_where_they_are(conversation: Session, tmp_path: Path) -> None:
    text = ask(conversation, tmp_path, handle="t1", query="noted").text
    assert "No message of t1 of this session" in text and "#5" in text


def test_other_forms_misspellings_and_the_end_of_an_id_find_a_message(conversation: Session, tmp_path: Path) -> None:
    assert "10.0.0.7" in ask(conversation, tmp_path, query="conections refusing").text
    assert ask(conversation, tmp_path, **{"from": "econd-04"}).text.endswith("the gateway moved to port 9000")
    assert "No message" in ask(conversation, tmp_path, query="9001").text, "another number is another result"


def test_more_matches_than_requested_are_counted(conversation: Session, tmp_path: Path) -> None:
    text = ask(conversation, tmp_path, query="gateway", max_results=2).text
    assert mentions(text, "earlier messages", "2 of 4 messages", "match")
    assert "max_results=4 shows more" in text
