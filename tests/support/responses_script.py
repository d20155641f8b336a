"""Scripted answers of OpenAI Responses, for `ChatServer`.

with ChatServer([reasons([("read_file", {"path": "a.py"})]), says("Done.")]) as server:
    ...
assert server.requests[0].path.endswith("/responses")
"""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from tests.support.chat_server import Part, Recorded, Reply, pieces_of, sse

_numbers = count(1)


def event(kind: str, **fields: Any) -> bytes:
    """Return one event with its name line, as OpenAI sends it."""
    return b"event: " + kind.encode() + b"\n" + sse({"type": kind, **fields})


def message(text: str, *, phase: str = "") -> dict[str, Any]:
    """Return a complete message item."""
    part = {"type": "output_text", "text": text, "annotations": []}
    named = {"phase": phase} if phase else {}
    return {"type": "message", "id": _new("msg"), "role": "assistant", "status": "completed", "content": [part]} | named


def function_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a complete call item."""
    call = {"type": "function_call", "id": _new("fc"), "call_id": _new("call"), "status": "completed"}
    return call | {"name": name, "arguments": json.dumps(arguments)}


def reasoning(*summaries: str, **fields: Any) -> dict[str, Any]:
    """Return a complete reasoning item, encrypted by default."""
    rows = [{"type": "summary_text", "text": text} for text in summaries]
    item = {
        "type": "reasoning",
        "id": _new("rs"),
        "summary": rows,
        "encrypted_content": _new("secret"),
        "content": None,
    }
    return item | fields


def answer(
    *items: dict[str, Any], status: str = "completed", streamed: bool = True, usage: Any = None, **fields: Any
) -> Reply:
    """Return an answer of these items. streamed: send pieces before each complete item. fields: of the last event."""

    def render(request: Recorded) -> Iterator[Part]:
        base = {"id": "resp_1", "object": "response", "model": "test-model", "output": [], "error": None}
        yield event("response.created", response=base | {"status": "in_progress", "usage": None})
        for place, item in enumerate(items):
            if streamed:
                yield from _pieces(place, item)
            yield event("response.output_item.done", output_index=place, item=item)
        billed = usage or {
            "input_tokens": len(request.raw) // 4,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 12 + len(request.raw) // 4,
        }
        done = base | {"status": status, "output": list(items), "usage": billed, "incomplete_details": None}
        yield event(f"response.{status}", response=done | fields)

    return Reply(render)


def says(text: str, **options: Any) -> Reply:
    """Return an answer of text."""
    return answer(message(text), **options)


def reasons(calls: Sequence[tuple[str, dict[str, Any]]], text: str = "", thought: str = "I look first.") -> Reply:
    """Return an answer with reasoning, optional text, and calls."""
    words = [message(text, phase="commentary")] if text else []
    return answer(reasoning(thought), *words, *(function_call(name, given) for name, given in calls))


def _pieces(place: int, item: dict[str, Any]) -> Iterator[bytes]:
    at = {"output_index": place, "item_id": item["id"]}
    begun = {name: value for name, value in item.items() if name not in ("content", "encrypted_content")}
    begun |= {"status": "in_progress"} | ({"arguments": ""} if "arguments" in item else {})
    yield event("response.output_item.added", output_index=place, item=begun)
    for number, part in enumerate(item.get("content") or ()):
        for piece in pieces_of(part["text"], 20):
            yield event("response.output_text.delta", content_index=number, delta=piece, **at)
    for number, part in enumerate(item.get("summary") or ()):
        for piece in pieces_of(part["text"], 20):
            yield event("response.reasoning_summary_text.delta", summary_index=number, delta=piece, **at)
    for piece in pieces_of(item["arguments"], 9) if "arguments" in item else ():
        yield event("response.function_call_arguments.delta", delta=piece, **at)


def _new(kind: str) -> str:
    return f"{kind}_{next(_numbers)}"
