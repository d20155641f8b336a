"""Faulty servers: each answers a request in a way no server should, as raw bytes on a socket.

`with MadServer(endless_text()) as server` serves it on loopback, with a thread per connection.
"""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

Bytes = Iterator[bytes]
Answer = Callable[[dict[str, Any]], Bytes]
"""Returns the bytes of the whole response, headers included, for a request's JSON."""

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n%s\r\n"
_MEGABYTE = 1_000_000


def head(kind: str = "text/event-stream", more: str = "") -> bytes:
    """Return a status line and headers; the body ends with the connection."""
    return _HEAD % (kind.encode(), more.encode())


def event(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    """Return one event of a stream. more: may contain NaN, which is not JSON."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps({"id": "x", "choices": choices, **more}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def short_answer(words: str = "ok", finish: str = "stop", **more: Any) -> bytes:
    """Return a short answer that ends normally."""
    return event({"content": words}) + event({}, finish, **more) + DONE


def calls(*made: dict[str, Any]) -> bytes:
    """Return an answer of tool calls."""
    return event({"tool_calls": list(made)}) + event({}, "tool_calls") + DONE


def call(index: Any, call_id: Any, name: str, arguments: Any = "{}") -> dict[str, Any]:
    """Return one tool call in the format of the API."""
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _for_ever(first: bytes, again: bytes) -> Answer:
    """again: sent as fast as the client reads it."""

    def answer(request: dict[str, Any]) -> Bytes:
        yield first
        while True:
            yield again

    return answer


def _once(*parts: bytes) -> Answer:
    return lambda _: iter(parts)


def _script(*answers: bytes) -> Answer:
    """Answer with one after the other, and with the last for ever."""
    left = list(answers)
    return lambda _: iter([head(), left.pop(0) if len(left) > 1 else left[0]])


def _drip(first: bytes, again: bytes, pause_s: float) -> Answer:
    def answer(request: dict[str, Any]) -> Bytes:
        yield first
        while True:
            time.sleep(pause_s)  # slow on purpose
            yield again

    return answer


def endless_text() -> Answer:
    return _for_ever(head(), event({"content": "word " * 200}) * 20)


def endless_thoughts() -> Answer:
    return _for_ever(head(), event({"reasoning_content": "hm " * 300}) * 20)


def endless_nothing() -> Answer:
    return _for_ever(head(), event({}) * 200)


def endless_line() -> Answer:
    return _for_ever(head() + b"data: ", b"x" * _MEGABYTE)


def endless_event() -> Answer:
    return _for_ever(head(), b"data: " + b"x" * 1000 + b"\n")


def endless_comments() -> Answer:
    return _drip(head(), b": still here\n\n", 0.02)


def endless_headers() -> Answer:
    return _for_ever(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"y" * 1000 + b"\r\n")


def endless_json() -> Answer:
    return _for_ever(head("application/json") + b'{"choices": "', b"x" * _MEGABYTE)


def endless_error() -> Answer:
    return _for_ever(b"HTTP/1.1 500 Mad\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n", b"<p>no</p>" * 10_000)


def long_arguments(megabytes: int = 100) -> Answer:
    """Return a call whose arguments come in pieces of a kilobyte."""

    def answer(request: dict[str, Any]) -> Bytes:
        yield head() + event({"tool_calls": [call(0, "a", "write_file", '{"path": "x", "content": "')]})
        piece = event({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 1000}}]}) * 100
        for _ in range(megabytes * 10):
            yield piece
        yield event({}, "tool_calls") + DONE

    return answer


def long_arguments_at_once(megabytes: int = 100) -> Answer:
    """Return the same in one event."""

    def answer(request: dict[str, Any]) -> Bytes:
        start, _, rest = event({"tool_calls": [call(0, "a", "write_file", "@")]}).partition(b"@")
        yield head() + start
        for _ in range(megabytes):
            yield b"x" * _MEGABYTE
        yield rest + DONE

    return answer


def many_calls() -> Answer:
    def answer(request: dict[str, Any]) -> Bytes:
        yield head()
        for number in range(100_000):
            yield event({"tool_calls": [call(number, f"c{number}", "no_such_tool")]})

    return answer


def packed(megabytes: int = 1_000) -> Answer:
    """Return a decompression bomb: a megabyte on the wire for a gigabyte of events."""
    data = event({"content": "x" * 900}) * 1_000
    body = b"".join(gzip.compress(data * 10, 9) for _ in range(max(megabytes // 10, 1)))
    return _once(head(more=f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"), body)


def packed_blanks(megabytes: int = 1_000) -> Answer:
    """Return a decompression bomb without any event."""
    body = gzip.compress(b" " * 10 * _MEGABYTE, 9) * (megabytes // 10)
    return _once(head("application/json", f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"), body)


def wrong_kind(kind: str, body: bytes) -> Answer:
    return _once(head(kind), body)


def absurd_bill() -> Answer:
    """Return invalid numbers in the usage of three consecutive turns."""
    return _script(
        short_answer(usage={"prompt_tokens": float("nan"), "completion_tokens": -5, "cost": float("inf")}),
    )


def huge_bill() -> Answer:
    return _script(
        short_answer(usage={"prompt_tokens": 10**30, "completion_tokens": -1, "total_tokens": "many", "cost": 1e300})
    )


def twin_calls() -> Answer:
    """Return two calls with the same id, one of an unknown tool, and one with invalid arguments."""
    made = (
        call(0, "same", "list_files", '{"path": "."}'),
        call(1, "same", "list_files", '{"path": "."}'),
        call(2, "", "no_such_tool"),
        call(3, "odd", "read_file", "not json"),
        call(-7, None, "read_file", {"path": ["x"]}),
        call("x", {"id": 1}, "", None),
    )
    return _script(calls(*made), short_answer("done"))


def calls_for_ever() -> Answer:
    """Return another call in every answer, never the same twice."""
    count = iter(range(1_000_000))
    return lambda _: iter(
        [head(), calls(call(0, f"c{(n := next(count))}", "list_files", f'{{"path": "./{"./" * n}"}}'))]
    )


def delegates_for_ever() -> Answer:
    """Tell every agent to start another."""
    count = iter(range(1_000_000))
    return lambda _: iter([head(), calls(call(0, f"d{next(count)}", "delegate", '{"task": "delegate this"}'))])


def redirect(target: str, status: int = 307) -> Answer:
    return _once(
        f"HTTP/1.1 {status} There\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )


class MadServer:
    """Serves one way of answering; GET /models is answered normally."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        """The headers of each request to /chat/completions."""
        self.sent = 0
        """Bytes of answers read by clients."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> "MadServer":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as lines:
            request = lines.readline()
            while request:
                lines_of_head = [request]
                while (line := lines.readline()) not in (b"\r\n", b""):
                    lines_of_head.append(line)
                length = next((int(h[15:]) for h in lines_of_head if h.lower().startswith(b"content-length:")), 0)
                body = lines.read(length)
                if b"/chat/completions" not in request:
                    models = b'{"data": [{"id": "test-model", "max_model_len": 128000}]}'
                    connection.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(models)
                        + models
                    )
                    request = lines.readline()
                    continue
                self.requests.append(b"".join(lines_of_head))
                for part in self._answer(json.loads(body)):
                    connection.sendall(part)
                    self.sent += len(part)
                return
