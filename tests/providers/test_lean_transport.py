"""Features of clio's own HTTP client beyond the openai package: limits, tolerance of servers, a second attempt."""

import asyncio
import gzip
import math
from typing import Any

import pytest

from clio.providers.auth import Auth
from clio.providers.failure import TransportFailed
from clio.providers.lean_transport import LeanTransport
from tests.providers.test_transport import DONE, EVENT, events, failed, failure, make, play, received
from tests.support.byte_server import CLOSE, GONE, SSE, TO_THE_END, ByteServer, Part, answer, chunk, sse
from tests.support.rows import each_row

LEAN = "clio.providers.lean_transport"


@pytest.mark.parametrize("last", [[CLOSE], [answer(b"", "408 Request Timeout"), CLOSE]], ids=["closed", "said so"])
def test_a_connection_closed_while_it_was_reused_is_replaced(last: list[Part]) -> None:
    async def use(transport: Any, server: ByteServer) -> int:
        assert await events(transport) == [{"n": 1}]
        assert await events(transport, b'{"again": 1}') == [{"n": 1}]
        assert server.requests[1] == server.requests[2]
        return server.connections

    assert play("lean", use, sse(EVENT, DONE), last, sse(EVENT, DONE)) == 2


def test_no_second_attempt_after_an_answer_began() -> None:
    async def use(transport: Any, server: ByteServer) -> int:
        await events(transport)
        assert (await failure(events(transport))).kind == "timeout"
        return len(server.requests)

    assert play("lean", use, sse(EVENT, DONE), [b"HTTP/1.1 2", CLOSE]) == 2


def test_no_second_attempt_over_a_new_connection() -> None:
    async def use(transport: Any, server: ByteServer) -> int:
        assert (await failure(events(transport))).kind == "timeout"
        return len(server.requests)

    assert play("lean", use, [CLOSE]) == 1


def test_a_connection_is_reused_only_for_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(transport: Any, server: ByteServer) -> int:
        await events(transport)
        monkeypatch.setattr(f"{LEAN}._MAX_IDLE_S", -1.0)
        await events(transport)
        return server.connections

    assert play("lean", use, sse(EVENT, DONE), sse(EVENT, DONE)) == 2


def test_bytes_beyond_the_announced_length_close_the_connection() -> None:
    async def use(transport: Any, server: ByteServer) -> int:
        await transport.get("/models", 5)
        assert await events(transport) == [{"n": 1}]
        return server.connections

    assert play("lean", use, [answer(b"{}") + b"HTTP/1.1 200 OK\r\n\r\nplanted"], sse(EVENT, DONE)) == 2


def test_one_transport_in_two_event_loops() -> None:
    transport: Any = None

    async def once() -> list[object]:
        nonlocal transport
        async with ByteServer([sse(EVENT, DONE)]) as server:
            if transport is None:
                transport = make("lean", server.url)
            else:
                transport._connector._port = server.port
            return await events(transport)

    assert [asyncio.run(once()) for _ in range(2)] == [[{"n": 1}], [{"n": 1}]]


def test_formally_wrong_answers_are_read() -> None:
    assert received("lean", *sse(b"\xef\xbb\xbf" + EVENT, DONE)) == [{"n": 1}]
    assert received("lean", *sse(b"event: ping\n\n", EVENT)) == [{"n": 1}]  # an event without data
    assert received("lean", *sse(b'id: 1\ndata: {"a": 1}\n\n\n\n', EVENT)) == [{"a": 1}, {"n": 1}]
    assert received("lean", *sse(EVENT, b'data: {"last": 1}')) == [{"n": 1}, {"last": 1}]  # no empty line at the end
    assert received("lean", *sse(EVENT, b'data: {"las')) == [{"n": 1}]
    assert received("lean", *sse(EVENT, b"data: [DONE]")) == [{"n": 1}]
    torn = received("lean", *sse(b'data: {"a": "\xe6\xbc"}\n\n'))
    assert torn == [{"a": "\ufffd"}]
    assert math.isnan(received("lean", *sse(b'data: {"n": NaN}\n\n'))[0]["n"])  # type: ignore[index]
    bare = b"HTTP/1.1 200\nContent-Type: application/json\nX-Folded: a\n  b\nContent-Length: 2\n\n{}"
    assert received("lean", bare) == [{}]


def test_a_truncated_error_is_still_the_error() -> None:
    error = failed("lean", answer(b'{"error": "the reason"}', "400 No")[:-2], CLOSE)
    assert (error.kind, error.status, error.body) == ("status", 400, '{"error": "the reason')


@each_row(
    "parts",
    [
        [b"SSH-2.0-OpenSSH_9.2\r\n", GONE],
        [b"\x15\x03\x03\x00\x02\x02\x0a\r\n", GONE],
        [b"HTTP/1.1 two hundred\r\n\r\n", GONE],
        [b"HTTP/2 200 OK\r\n\r\n", GONE],
        [b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", GONE],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", GONE],
        [b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", GONE],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", GONE],
        [b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", GONE],
        [SSE, b"zz\r\n", GONE],
        [SSE, b"-5\r\n", GONE],
        [SSE, b"2\r\nabc\r\n", GONE],
        [answer(b"not packed", "200 OK", "Content-Encoding: gzip"), GONE],
        [b"HTTP/1.1 100 Continue\r\n\r\n" * 20, GONE],
        [b"x" * 100_000, GONE],
        [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, GONE],
        [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, GONE],
        [SSE, b"1;" + b"x" * 100_000, GONE],
    ],
)
def test_invalid_http_ends_quickly_and_closes_the_connection(parts: list[Part]) -> None:
    async def use(transport: Any, server: ByteServer) -> str:
        error = await failure(events(transport))
        await server.gone.wait()
        return error.kind

    assert play("lean", use, parts) == "malformed"


def test_events_before_a_broken_frame_are_returned() -> None:
    async def use(transport: Any, _: ByteServer) -> list[object]:
        found: list[object] = []
        with pytest.raises(TransportFailed) as caught:
            async for together in transport.events("/chat/completions", b"{}", lambda: False):
                found += together
        assert caught.value.failure.kind == "malformed"
        return found

    assert play("lean", use, [SSE + chunk(EVENT) + b"zz\r\n", GONE]) == [{"n": 1}]


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.providers.http1.MAX_EVENT_BYTES", 100_000)
    monkeypatch.setattr(f"{LEAN}.MAX_ANSWER_BYTES", 100_000)
    monkeypatch.setattr(f"{LEAN}.MAX_ERROR_BYTES", 100_000)
    bomb = gzip.compress(b" " * 50_000_000)
    packed = "Content-Encoding: gzip"
    assert failed("lean", TO_THE_END + b"data: " + b"x" * 200_000, GONE).kind == "endless"
    assert failed("lean", TO_THE_END + b"data: x\n" * 200_000, GONE).kind == "endless"
    assert failed("lean", answer(bomb, "200 OK", packed), GONE).kind == "endless"
    assert failed("lean", answer(bomb, "200 OK", packed, kind="text/event-stream"), GONE).kind == "endless"
    assert len(failed("lean", answer(bomb, "500 No", packed), GONE).body) == 100_000


def test_a_deeply_nested_answer() -> None:
    assert failed("lean", *sse(b"data: " + b"[" * 100_000 + b"\n\n")).kind == "malformed"


def test_a_path_with_non_ascii_letters_and_a_default_port() -> None:
    head = LeanTransport("https://models.test:443/ä b/v1", Auth(""))._encode_head("GET", "/models", 0, {})
    assert head.startswith(b"GET /%C3%A4%20b/v1/models HTTP/1.1\r\nHost: models.test\r\n")
    assert b"Authorization" not in head


def test_idle_connections_are_few_and_closed_in_the_end() -> None:
    async def use(transport: Any, server: ByteServer) -> None:
        await asyncio.gather(*(transport.get("/models", 5) for _ in range(6)))
        assert server.connections == 6
        assert len(transport._idle) == 4
        idle = list(transport._idle)
        await transport.close()
        assert all(one.writer.is_closing() for one in idle)

    play("lean", use, *[[chunk(b"")[:0] + answer(b"{}")]] * 6)
