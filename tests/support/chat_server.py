"""A scripted OpenAI-compatible server over real HTTP on 127.0.0.1.

    with ChatServer([tool_calls([("read_file", {"path": "a.py"})]), text("Done.")]) as server:
        ...  # server.url ends in /v1
    assert server.requests[0].body["messages"][-1]["content"] == "..."

One reply answers one POST to .../chat/completions, in order; a callable `(body) -> Reply` decides when it is asked, and
a callable instead of the list answers every request. When the script runs out the answer is 400, which no one retries.
For another process: `python -m tests.support.chat_server script.json` prints the URL and serves until stdin closes;
the script is a list such as `[{"text": "hi"}, {"tool_calls": [["git", {"operation": "status"}]]}, {"error": 500}]`,
where further keys are the builder's keyword arguments. `--repeat` answers the last reply for ever.
"""

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Literal

Billing = tuple[int, int] | tuple[int, int, int] | Literal["auto"] | None
"""Prompt, completion and cached tokens; "auto" counts one token per four bytes; None sends no usage."""
Where = Literal["final", "finish"]
"""Usage in a last chunk with empty choices, or in the chunk with the finish reason."""
Split = Literal["whole", "pieces", "characters", "llamacpp"]
"""How tool arguments are split; "llamacpp" repeats id and name in every piece."""


@dataclass(frozen=True)
class Pause:
    """Seconds of silence; ends early if the client disconnects."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection is reset here."""


Part = bytes | Pause | Cut


@dataclass(frozen=True)
class Reply:
    """The answer to one request. `render` makes the parts of the body from the request."""

    render: Callable[["Recorded"], Iterable[Part]]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    before_s: float = 0.0


Script = Reply | Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Recorded:
    """One request as received. `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        """The parsed JSON body, {} if there is none."""
        return json.loads(self.raw) if self.raw else {}


def sse(data: Any) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **extra: Any) -> bytes:
    """Return one chat.completion.chunk; `delta` None leaves `choices` empty."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return sse(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test-model"}
        | {"choices": choices}
        | extra
    )


def bill(usage: Billing, request: Recorded, answer: str) -> dict[str, Any] | None:
    """Return the usage object."""
    if usage is None:
        return None
    numbers = (len(request.raw) // 4, len(answer) // 4 + 1, 0) if usage == "auto" else (*usage, 0)[:3]
    prompt, completion, cached = numbers
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def pieces_of(value: str, size: int) -> list[str]:
    """Split the text into pieces of `size` characters."""
    return [value[at : at + size] for at in range(0, len(value), size)] or [""]


def _ending(request: Recorded, answer: str, finish: str, usage: Billing, usage_in: Where) -> Iterator[bytes]:
    billed = bill(usage, request, answer)
    if billed is None:
        yield chunk({}, finish)
    elif usage_in == "finish":
        yield chunk({}, finish, usage=billed)
    else:
        yield chunk({}, finish)
        yield chunk(None, usage=billed)
    yield DONE


def text(
    words: str,
    *,
    usage: Billing = "auto",
    usage_in: Where = "final",
    reasoning: str = "",
    reasoning_key: str = "reasoning_content",
    chunk_size: int = 20,
    pause_s: float = 0.0,
    finish_reason: str = "stop",
) -> Reply:
    """Return an answer of text, `chunk_size` characters per chunk with `pause_s` between them."""

    def render(request: Recorded) -> Iterator[Part]:
        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces_of(reasoning, chunk_size) if reasoning else []:
            yield chunk({reasoning_key: piece})
        for piece in pieces_of(words, chunk_size):
            yield chunk({"content": piece})
            if pause_s:
                yield Pause(pause_s)
        yield from _ending(request, words, finish_reason, usage, usage_in)

    return Reply(render)


def finish(reason: str, words: str, **options: Any) -> Reply:
    """Return an answer with another finish reason, such as "length" or "content_filter"."""
    return text(words, finish_reason=reason, **options)


_call_numbers = count(1)


def tool_calls(
    calls: Sequence[tuple[str, dict[str, Any] | str]],
    words: str = "",
    *,
    usage: Billing = "auto",
    usage_in: Where = "final",
    split: Split = "pieces",
    ids: Sequence[str] | None = None,
    finish_reason: str = "tool_calls",
    reasoning: str = "",
) -> Reply:
    """Return parallel tool calls; arguments given as text are sent unchanged. Ids `call_<n>` are never repeated."""
    names = ids or [f"call_{next(_call_numbers)}" for _ in calls]

    def render(request: Recorded) -> Iterator[Part]:
        yield chunk({"role": "assistant", "content": None})
        if reasoning:
            yield chunk({"reasoning_content": reasoning})
        if words:
            yield chunk({"content": words})
        sent = words
        for index, ((name, arguments), call_id) in enumerate(zip(calls, names, strict=True)):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            sent += written
            for delta in _call_deltas(index, call_id, name, written, split):
                yield chunk({"tool_calls": [delta]})
        yield from _ending(request, sent, finish_reason, usage, usage_in)

    return Reply(render)


def _call_deltas(index: int, call_id: str, name: str, arguments: str, split: Split) -> Iterator[dict[str, Any]]:
    head = {"index": index, "id": call_id, "type": "function"}
    if split == "whole":
        yield head | {"function": {"name": name, "arguments": arguments}}
    elif split == "llamacpp":
        for piece in pieces_of(arguments, 7):
            yield head | {"function": {"name": name, "arguments": piece}}
    else:
        yield head | {"function": {"name": name, "arguments": ""}}
        for piece in pieces_of(arguments, 1 if split == "characters" else 7):
            yield {"index": index, "function": {"arguments": piece}}


def error(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
    """Return an error response. `body`: an object for JSON, text sent unchanged, or None for OpenAI's error object."""
    if body is None:
        body = {"error": {"message": f"scripted error {status}", "type": "error", "code": str(status)}}
    kind = "text/plain" if isinstance(body, str) else "application/json"
    sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Reply(lambda _: [sent], status=status, headers=headers or {}, content_type=kind)


def json_reply(body: Any) -> Reply:
    """Return a 200 response with this JSON as its body, like servers that ignore `stream`."""
    return Reply(lambda _: [json.dumps(body).encode()], content_type="application/json")


def cut(words: str, after: int | None = None, *, reply: Reply | None = None) -> Reply:
    """Return an answer reset after `after` characters of `words` (default: all), or after `after` parts of `reply`."""

    def render(request: Recorded) -> Iterator[Part]:
        if reply is not None:
            yield from list(reply.render(request))[:after]
        else:
            yield chunk({"role": "assistant", "content": ""})
            yield chunk({"content": words[:after]})
        yield Cut()

    return Reply(render)


def slow(first_byte_s: float, reply: Reply) -> Reply:
    """Return the reply delayed by a silence in which not even the status line is sent."""
    return Reply(reply.render, reply.status, reply.headers, reply.content_type, first_byte_s)


def stall(words: str, seconds: float = 60.0) -> Reply:
    """Send the beginning of an answer and then nothing until the client disconnects: for interrupts."""
    return Reply(lambda _: [chunk({"role": "assistant", "content": words}), Pause(seconds), Cut()])


def empty_stream() -> Reply:
    """Return a 200 response without events, as llama.cpp answers a request that does not fit."""
    return Reply(lambda _: [])


def raw_sse(lines: Iterable[str | bytes | dict[str, Any]]) -> Reply:
    """Return these events: texts and bytes are sent followed by a blank line, objects as `data: …`."""
    parts = [sse(line) if isinstance(line, dict) else _line(line) for line in lines]
    return Reply(lambda _: parts)


def _line(line: str | bytes) -> bytes:
    return (line.encode() if isinstance(line, str) else line) + b"\n\n"


MODELS: tuple[dict[str, Any], ...] = ({"id": "test-model", "object": "model"},)


class ChatServer:
    """The server; a context manager that runs it in its own thread.

    models: the rows of GET /models with any fields that describe the context window, or a Reply such as error(500).
    repeat: repeat the last reply for ever instead of running out.
    record: save every request; turn it off in long benches to keep memory constant.
    responses: whether OpenAI Responses are answered too, with the same script; see `responses_script`.
    """

    def __init__(
        self,
        replies: Iterable[Script] | Callable[[dict[str, Any]], Reply] = (),
        *,
        models: Sequence[dict[str, Any]] | Reply = MODELS,
        repeat: bool = False,
        record: bool = True,
        port: int = 0,
        responses: bool = False,
    ) -> None:
        self._paths = ("/chat/completions", *(("/responses",) if responses else ()))
        self._always = replies if callable(replies) else None
        self.replies: list[Script] = [] if callable(replies) else list(replies)
        self.models = models
        self.requests: list[Recorded] = []
        """The POSTs to .../chat/completions, and to .../responses where `responses` is set."""
        self.others: list[Recorded] = []
        """All other requests, such as GET /v1/models."""
        self.connections = 0
        self.disconnected = threading.Event()
        """Set when a client disconnects while an answer is being sent."""
        self._repeat, self._record, self._port = repeat, record, port
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="chat-server", daemon=True)

    @property
    def url(self) -> str:
        """The base URL, with /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def port(self) -> int:
        return self._port

    def add(self, *replies: Script) -> None:
        """Add replies to the script while the server runs."""
        self.replies.extend(replies)

    def __enter__(self) -> "ChatServer":
        self._thread.start()
        assert self._started.wait(10), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the server; does nothing if it has stopped already."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            self.connections += 1
            try:
                with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await self._connection(reader, writer)
            finally:
                tasks.discard(task)
                writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", self._port, limit=2**26)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            first, *lines = head.decode("latin-1").rstrip().split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            raw = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Recorded(method, path, headers, raw)
            await self._send(self._choose(request), request, reader, writer)
            if headers.get("connection") == "close":
                return

    def _choose(self, request: Recorded) -> Reply:
        if request.method == "POST" and request.path.endswith(self._paths):
            if self._record:
                self.requests.append(request)
            return self._next(request)
        self.others.append(request)
        if request.method == "GET" and request.path.endswith("/models"):
            if isinstance(self.models, Reply):
                return self.models
            return json_reply({"object": "list", "data": list(self.models)})
        return error(404, {"error": {"message": f"no route {request.path}", "type": "not_found"}})

    def _next(self, request: Recorded) -> Reply:
        if self._always is not None:
            return self._always(request.body)
        if not self.replies:
            return error(400, {"error": {"message": "the script has no more replies", "type": "script"}})
        script = self.replies[0] if self._repeat and len(self.replies) == 1 else self.replies.pop(0)
        return script if isinstance(script, Reply) else script(request.body)

    async def _send(
        self, reply: Reply, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if await self._gone_after(reply.before_s, reader):
            raise ConnectionResetError
        headers = {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked"} | reply.headers
        lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join(lines) + "\r\n"
        ready = bytearray(head.encode("latin-1") + b"\r\n")
        for part in reply.render(request):
            if isinstance(part, bytes):
                ready += b"%x\r\n%b\r\n" % (len(part), part) if part else b""
                continue
            writer.write(bytes(ready))
            ready.clear()
            await writer.drain()
            if isinstance(part, Cut) or await self._gone_after(part.seconds, reader):
                raise ConnectionResetError
        writer.write(bytes(ready) + b"0\r\n\r\n")
        await writer.drain()

    async def _gone_after(self, seconds: float, reader: asyncio.StreamReader) -> bool:
        """Wait; whether the client went away meanwhile. (No one pipelines requests, so any byte means the end.)"""
        if not seconds:
            return False
        try:
            async with asyncio.timeout(seconds):
                await reader.read(1)
        except TimeoutError:
            return False
        self.disconnected.set()
        return True


def from_script(rows: list[dict[str, Any]]) -> list[Reply]:
    """The replies a JSON script describes."""
    builders: dict[str, Callable[..., Reply]] = {
        "text": text,
        "tool_calls": tool_calls,
        "error": error,
        "cut": cut,
        "stall": stall,
        "raw_sse": raw_sse,
        "json": json_reply,
    }
    replies: list[Reply] = []
    for row in rows:
        options = dict(row)
        wait_s = options.pop("slow", 0.0)
        kind = next(key for key in options if key in builders)
        reply = builders[kind](options.pop(kind), **options)
        replies.append(slow(wait_s, reply) if wait_s else reply)
    return replies


def main() -> None:
    """Serve a script until stdin closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("--repeat", action="store_true")
    parser.add_argument("--no-record", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    replies = from_script(json.loads(options.script.read_text(encoding="utf-8")))
    with ChatServer(replies, repeat=options.repeat, record=not options.no_record, port=options.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
