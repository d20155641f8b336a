"""Recorded streams of real servers, read by clio and by the vendors' own packages."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
from msgspec import Struct

from clio.messages import ReasoningItem
from clio.providers.base import AnswerDecoder, Chunk
from clio.providers.http1 import EventStream

FOLDER = Path(__file__).parents[1] / "fixtures" / "recorded_streams"


class Recorded(Struct, frozen=True, kw_only=True):
    """One answer. source: where it was recorded. request: what was asked, with long strings shortened."""

    kind: str
    source: str
    url: str
    request: dict[str, Any]
    stream: str


class JoinedAnswer(Struct, kw_only=True):
    """A complete answer, joined from its chunks."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = []
    finish: str = ""
    items: tuple[ReasoningItem, ...] = ()
    usage: Any = None


def recordings(kind: str) -> Iterator[Recorded]:
    for line in (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Recorded(**{name: row[name] for name in Recorded.__struct_fields__})


def events_of(stream: str, cut: int = 0) -> list[object]:
    """Return the events of a body fed in pieces of `cut` bytes; 0 feeds all at once."""
    reader, body = EventStream(), stream.encode()
    pieces = [body[at : at + cut] for at in range(0, len(body), cut)] if cut else [body]
    found = [data for piece in pieces for data in reader.feed(piece)]
    if last := reader.end():
        found.append(last)
    return [json.loads(data) for data in found if not data.startswith(b"[DONE]")]


def join_answer(decoder: AnswerDecoder, events: list[object]) -> JoinedAnswer:
    """Return the answer that clio decodes from the events."""
    joined, calls = JoinedAnswer(), dict[int, list[str]]()

    def take(chunk: Chunk) -> None:
        joined.text += chunk.text
        joined.reasoning += chunk.reasoning
        for delta in chunk.tool_calls:
            call = calls.setdefault(delta.index, ["", "", ""])
            call[0] = delta.id or call[0]
            call[1] = delta.name or call[1]
            call[2] += delta.arguments

    for event in events:
        for chunk in decoder.take(event):
            take(chunk)
    end = decoder.ending()
    joined.finish, joined.items, joined.usage = end.finish_reason, end.reasoning_items, end.usage
    joined.calls = [(call[0], call[1], call[2]) for _, call in sorted(calls.items())]
    return joined


def answering(stream: str) -> httpx.AsyncClient:
    """Return a client that gets this body for every request."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream.encode())

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def run(work: Any) -> Any:
    return asyncio.run(work)
