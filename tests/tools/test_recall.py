"""What left the window comes back word for word."""

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
from clio.tools.recall import PAGE_CHARS


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
    return asyncio.run(MemoryTool(memory, lambda: session).prepare(args).run(lambda line: None))


def pages(session: Session, tmp_path: Path, **arguments: object) -> list[str]:
    """The lines of all pages, followed as their heads say."""
    lines: list[str] = []
    offset: int | None = 1
    while offset:
        head, _, body = ask(session, tmp_path, offset=offset, **arguments).text.partition("\n")
        assert len(body) <= PAGE_CHARS
        lines += body.split("\n")
        more = re.search(r"go on with offset=(\d+)", head)
        offset = int(more[1]) if more else None
    return lines


def test_a_span_comes_back_whole_over_its_pages(session: Session, tmp_path: Path) -> None:
    lines = pages(session, tmp_path, handle="t1")
    assert lines[:3] == ["#1 user", "Fix the naïve", "parser"]
    assert '[called read_file {"path": "p.py"}]' in lines
    result = lines.index("#3 result of read_file")
    assert lines[result + 1 :] == [f"{n} zebra" for n in range(4_000)]


def test_messages_by_place_and_by_id(session: Session, tmp_path: Path) -> None:
    assert ask(session, tmp_path, **{"from": "1"}).text.endswith("#1 user\nFix the naïve\nparser")
    both = ask(session, tmp_path, **{"from": "#4", "to": "5"}).text
    assert both.endswith("#4 assistant\nThe parser is fixed.\n\n#5 clio\nrecovery words")
    assert ask(session, tmp_path, **{"from": "bbbb-4", "to": "5"}).text == both
    assert "#1 user" in ask(session, tmp_path, to="aaaa-1").text


def test_messages_by_their_words(session: Session, tmp_path: Path) -> None:
    text = ask(session, tmp_path, query="parser fixed").text
    assert text.index("#4 assistant") < text.index("#1 user")
    long = ask(session, tmp_path, query="zebra").text
    assert long.endswith('[cut; whole with from="3"]')
    assert len(long) < 2_000
    assert "No message" in ask(session, tmp_path, query="xylophone").text
    assert "No message" in ask(session, tmp_path, query="recovery").text, "clio's own words are no answer"


def test_it_works_where_memory_is_off_and_says_what_is_wrong(session: Session, tmp_path: Path) -> None:
    assert "#1 user" in ask(session, tmp_path, incognito=True, handle="T1").text
    for arguments, said in (
        ({}, "needs handle, or from and to, or query"),
        ({"handle": "t9"}, "the spans are t1"),
        ({"from": "nobody"}, "give ids, or places from 1 to 5"),
        ({"handle": "t1", "offset": 99_999}, "behind their end"),
    ):
        with pytest.raises(ToolRetry, match=said):
            ask(session, tmp_path, **arguments)
