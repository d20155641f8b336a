"""A scripted server of Anthropic Messages over real HTTP on 127.0.0.1, like the chat server.

with MessagesServer([answer(thinking("Hm.", "c2ln"), tool("read_file", path="a.py")), answer("Done.")]) as server:
    ...  # a base URL of server.url, api="messages"
assert server.requests[0].body["system"][0]["cache_control"]
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.support.chat_server import ChatServer, Part, Recorded, Reply

_numbers = count(1)


class MessagesServer(ChatServer):
    """See `ChatServer`; the script answers POSTs to .../messages."""

    def _choose(self, request: Recorded) -> Reply:
        if request.method == "POST" and request.path.endswith("/messages"):
            self.requests.append(request)
            return self._next(request)
        return super()._choose(request)


def thinking(text: str, signature: str = "") -> dict[str, Any]:
    """A block of thinking."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A tool call."""
    return {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": given}


def event(kind: str, **data: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def answer(*blocks: str | dict[str, Any], stop: str = "", usage: dict[str, Any] | None = None) -> Reply:
    """Return a streamed answer of these blocks; text is a text block. usage: None counts a token per four bytes."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    reason = stop or ("tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn")

    def render(request: Recorded) -> Iterator[Part]:
        billed = usage or {"input_tokens": len(request.raw) // 4, "output_tokens": len(json.dumps(content)) // 4}
        start = {"type": "message", "role": "assistant", "content": [], "model": "m", "usage": billed}
        yield event("message_start", message=start)
        for index, block in enumerate(content):
            yield from _block(index, block)
        yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": billed["output_tokens"]})
        yield event("message_stop")

    return Reply(render)


def whole(*blocks: str | dict[str, Any], stop: str = "end_turn") -> Reply:
    """Return the same answer, not streamed."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    body = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    body["usage"] = {"input_tokens": 10, "output_tokens": 5}
    return Reply(lambda _: [json.dumps(body).encode()], content_type="application/json")


def refusal(message: str, status: int = 400, kind: str = "invalid_request_error") -> Reply:
    """Return an error in Anthropic's format."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Reply(lambda _: [json.dumps(body).encode()], status=status, content_type="application/json")


def _block(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    """Return a block in pieces of about ten characters."""
    begins = dict(block)
    pieces: list[dict[str, Any]] = []
    match block["type"]:
        case "text":
            begins["text"] = ""
            pieces = [{"type": "text_delta", "text": part} for part in _cut(block["text"])]
        case "thinking":
            begins |= {"thinking": "", "signature": ""}
            pieces = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"])]
            if block["signature"]:
                pieces.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use":
            begins["input"] = {}
            pieces = [{"type": "input_json_delta", "partial_json": part} for part in _cut(json.dumps(block["input"]))]
        case _:
            pass
    yield event("content_block_start", index=index, content_block=begins)
    for piece in pieces:
        yield event("content_block_delta", index=index, delta=piece)
    yield event("content_block_stop", index=index)


def _cut(text: str) -> list[str]:
    return [text[at : at + 10] for at in range(0, len(text), 10)]
