"""A scripted server for all three protocols: each scripted answer is sent in the protocol of its request.

with ProtocolServer([Said(text="Done.", reasoning="hm", calls=[("read_file", {"path": "a.py"})])]) as server:
    ...  # server.url ends in /v1; the protocol is in server.requests[0].path

"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.chat_server import ChatServer, Part, Pause, Recorded, Reply, Script, chunk, pieces_of, sse

PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
_calls = count(1)


@dataclass(frozen=True)
class ProtocolAnswer:
    """One answer. calls: names and arguments. usage: prompt, completion, cache read and cache write tokens."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    finish: str = ""
    usage: tuple[int, int, int, int] | None = None
    signature: str = "sealed"
    stalls: bool = False
    """Whether the server sends nothing after the text, for interrupts."""

    def reply(self) -> Reply:
        """Return the answer as a script for `ChatServer`."""
        numbered = [(f"call_{next(_calls)}", name, _text(arguments)) for name, arguments in self.calls]

        def render(request: Recorded) -> Iterable[Part]:
            parts = speak(request)
            if not self.stalls:
                yield from parts
                return
            for part in parts:
                if isinstance(part, bytes) and self.text[-5:].encode() in part:
                    yield part
                    yield Pause(60.0)
                yield part

        def speak(request: Recorded) -> Iterable[Part]:
            match protocol_of(request):
                case "responses":
                    return self._responses(request, numbered)
                case "messages":
                    return self._messages(request, numbered)
                case _:
                    return self._chat(request, numbered)

        return Reply(render)

    def _usage(self, request: Recorded) -> tuple[int, int, int, int]:
        size = len(self.text) + len(self.reasoning) + 40 * len(self.calls)
        return self.usage or (len(request.raw) // 4, size // 4 + 1, 0, 0)

    def _chat(self, request: Recorded, calls: list[tuple[str, str, str]]) -> Iterator[Part]:
        prompt, completion, read, _ = self._usage(request)
        for piece in pieces_of(self.reasoning, 20) if self.reasoning else ():
            yield chunk({"reasoning_content": piece})
        for piece in pieces_of(self.text, 20) if self.text else ():
            yield chunk({"content": piece})
        for index, (call_id, name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": arguments}
            yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        yield chunk({}, self.finish or ("tool_calls" if calls else "stop"))
        details = {"cached_tokens": read}
        yield chunk(
            None,
            usage={"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details},
        )
        yield b"data: [DONE]\n\n"

    def _responses(self, request: Recorded, calls: list[tuple[str, str, str]]) -> Iterator[Part]:
        prompt, completion, read, written = self._usage(request)
        place = count()
        output: list[dict[str, Any]] = []

        def event(kind: str, **data: Any) -> bytes:
            return b"event: " + kind.encode() + b"\n" + sse({"type": kind} | data)

        yield event("response.created", response={"id": "resp_1", "status": "in_progress", "output": []})
        if self.reasoning:
            index = next(place)
            item: dict[str, Any] = {"id": f"rs_{index}", "type": "reasoning", "summary": [], "encrypted_content": ""}
            yield event("response.output_item.added", output_index=index, item=item)
            for piece in pieces_of(self.reasoning, 20):
                yield event("response.reasoning_summary_text.delta", output_index=index, summary_index=0, delta=piece)
            summary = [{"type": "summary_text", "text": self.reasoning}]
            whole = item | {"summary": summary, "encrypted_content": self.signature}
            output.append(whole)
            yield event("response.output_item.done", output_index=index, item=whole)
        if self.text:
            index = next(place)
            message: dict[str, Any] = {"id": f"msg_{index}", "type": "message", "role": "assistant", "content": []}
            yield event("response.output_item.added", output_index=index, item=message)
            for piece in pieces_of(self.text, 20):
                yield event("response.output_text.delta", output_index=index, content_index=0, delta=piece)
            content: list[dict[str, Any]] = [{"type": "output_text", "text": self.text, "annotations": []}]
            output.append(message | {"content": content})
            yield event("response.output_item.done", output_index=index, item=output[-1])
        for call_id, name, arguments in calls:
            index = next(place)
            call = {"id": f"fc_{index}", "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
            yield event("response.output_item.added", output_index=index, item=call)
            for piece in pieces_of(arguments, 20):
                yield event("response.function_call_arguments.delta", output_index=index, delta=piece)
            output.append(call | {"arguments": arguments})
            yield event("response.output_item.done", output_index=index, item=output[-1])
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": len(self.reasoning) // 4},
            "total_tokens": prompt + completion,
        }
        kind = "incomplete" if self.finish == "length" else "completed"
        details = {"reason": "max_output_tokens"} if self.finish == "length" else None
        response = {"id": "resp_1", "object": "response", "status": kind, "output": output, "usage": usage}
        yield event(f"response.{kind}", response=response | {"incomplete_details": details})

    def _messages(self, request: Recorded, calls: list[tuple[str, str, str]]) -> Iterator[Part]:
        prompt, completion, read, written = self._usage(request)
        place = count()

        def event(kind: str, **data: Any) -> bytes:
            return b"event: " + kind.encode() + b"\n" + sse({"type": kind} | data)

        usage = {
            "input_tokens": prompt - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 1,
        }
        yield event("message_start", message={"id": "msg_1", "role": "assistant", "content": [], "usage": usage})
        if self.reasoning:
            index = next(place)
            block = {"type": "thinking", "thinking": "", "signature": ""}
            yield event("content_block_start", index=index, content_block=block)
            for piece in pieces_of(self.reasoning, 20):
                yield event("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": piece})
            delta = {"type": "signature_delta", "signature": self.signature}
            yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        if self.text:
            index = next(place)
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for piece in pieces_of(self.text, 20):
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
            yield event("content_block_stop", index=index)
        for call_id, name, arguments in calls:
            index = next(place)
            call: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            yield event("content_block_start", index=index, content_block=call)
            for piece in pieces_of(arguments, 20):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        reason = {"length": "max_tokens"}.get(self.finish, self.finish) or ("tool_use" if calls else "end_turn")
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": completion})
        yield event("message_stop")


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def protocol_of(request: Recorded) -> str:
    """Return chat, responses or messages by the path, "" for another path."""
    return next((name for name, path in PATHS.items() if request.path.split("?")[0].endswith(path)), "")


class ProtocolServer(ChatServer):
    """See `ChatServer`; `requests` holds the POSTs in all three protocols."""

    def __init__(self, answers: Iterable[ProtocolAnswer | Script] = (), **options: Any) -> None:
        super().__init__(
            [answer.reply() if isinstance(answer, ProtocolAnswer) else answer for answer in answers], **options
        )

    def _choose(self, request: Recorded) -> Reply:
        if request.method == "POST" and protocol_of(request) in ("responses", "messages"):
            self.requests.append(request)
            return self._next(request)
        return super()._choose(request)
