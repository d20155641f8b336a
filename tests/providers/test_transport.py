"""Behaviour of both transports: clio's own and that of the openai package."""

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from clio.providers.auth import Auth
from clio.providers.failure import Failure, TransportFailed
from clio.providers.lean_transport import LeanTransport, Transport
from clio.providers.openai_transport import OpenAITransport
from tests.support.byte_server import CLOSE, GONE, SSE, TO_THE_END, ByteServer, Part, answer, chunk, sse
from tests.support.waiting import run_loop_once

MODULES = {"lean": "clio.providers.lean_transport", "openai": "clio.providers.openai_transport"}
PATH = "/chat/completions"
EVENT = b'data: {"n": 1}\n\n'
DONE = b"data: [DONE]\n\n"
Use = Callable[[Transport, ByteServer], Coroutine[Any, Any, Any]]


@pytest.fixture(params=list(MODULES))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def never() -> bool:
    return False


def make(kind: str, url: str, key: str | None = "sk-test") -> Transport:
    auth = Auth(key or "")
    return LeanTransport(url, auth) if kind == "lean" else OpenAITransport(url, auth)


async def events(transport: Transport, body: bytes = b"{}") -> list[object]:
    async with aclosing(transport.events(PATH, body, never)) as found:
        return [event async for together in found for event in together]


async def failure(work: Coroutine[Any, Any, Any]) -> Failure:
    with pytest.raises(TransportFailed) as caught:
        await work
    return caught.value.failure


def play(kind: str, use: Use, *script: Sequence[Part], **options: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(20), ByteServer(script, **options) as server:
            transport = make(kind, server.url)
            try:
                return await use(transport, server)
            finally:
                await transport.close()

    return asyncio.run(main())


def received(kind: str, *script: Part, body: bytes = b"{}") -> list[object]:
    return play(kind, lambda transport, _: events(transport, body), script)


def failed(kind: str, *script: Part, body: bytes = b"{}", **options: Any) -> Failure:
    return play(kind, lambda transport, _: failure(events(transport, body)), script, **options)


def test_the_request_is_sent(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> bytes:
        await events(transport, b'{"model": "m"}')
        return server.requests[0]

    head, _, body = play(kind, use, sse(EVENT, DONE)).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/chat/completions HTTP/1.1"
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    assert headers["authorization"] == "Bearer sk-test"
    assert headers["content-type"] == headers["accept"] == "application/json"
    assert headers["content-length"] == "14"
    assert headers["host"].startswith("127.0.0.1:")
    assert body == b'{"model": "m"}'


STREAM = (
    ': a comment\r\n\r\nevent: x\r\nretry: 5\r\ndata: {"a":\r\ndata:  "ä漢😀"}\r\n\r\n'
    'data:{"b": [1]}\n\n\n\nother: {}\ndata: {"c": null}\r\rdata: [DONE]\n\n'
).encode()
WHOLE = [{"a": "ä漢😀"}, {"b": [1]}, {"c": None}]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_read_however_they_are_split(kind: str, size: int) -> None:
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert received(kind, SSE, b"".join(map(chunk, pieces)) + chunk(b"")) == WHOLE  # split into chunks
    assert received(kind, TO_THE_END, *pieces, CLOSE) == WHOLE  # split into packets


@pytest.mark.parametrize(
    ("rest", "fault"),
    [(chunk(b"data: {nonsense\n\n"), "malformed"), (b"5\r\nhe", "broken")],
    ids=["no JSON", "no end"],
)
def test_events_before_an_error_are_returned(kind: str, rest: bytes, fault: str) -> None:
    async def use(transport: Transport, _: ByteServer) -> tuple[list[object], Failure]:
        found: list[object] = []
        with pytest.raises(TransportFailed) as caught:
            async for together in transport.events(PATH, b"{}", never):
                found += together
        return found, caught.value.failure

    found, error = play(kind, use, [SSE + chunk(EVENT) + rest, CLOSE])
    assert found == [{"n": 1}]
    assert error.kind == fault


def test_every_way_to_give_the_length_of_a_body(kind: str) -> None:
    stream = EVENT + DONE
    length = answer(stream, kind="text/event-stream; charset=utf-8")
    extended = b"4;x=y\r\ndata\r\n" + b"%X \r\n" % (len(stream) - 4) + stream[4:] + b"\r\n0\r\nTrailer: 1\r\n\r\n"
    old = TO_THE_END.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Connection: close\r\n", b"") + stream
    early = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + length
    for parts in ([length], [SSE + extended], [TO_THE_END + stream, CLOSE], [old, CLOSE], [early]):
        assert received(kind, *parts) == [{"n": 1}]


def test_an_answer_that_is_not_a_stream(kind: str) -> None:
    assert received(kind, answer(b'{"choices": []}')) == [{"choices": []}]


def test_a_compressed_answer(kind: str) -> None:
    packed = gzip.compress(EVENT + DONE)
    head = answer(packed, "200 OK", "Content-Encoding: gzip", kind="text/event-stream")
    assert received(kind, head) == [{"n": 1}]
    assert failed(kind, answer(gzip.compress(b'{"m": 1}'), "400 No", "Content-Encoding: gzip")).body == '{"m": 1}'


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413, 429, 500, 503])
def test_an_error_status_has_the_servers_message(kind: str, status: int) -> None:
    error = failed(kind, answer(b'{"error": "no"}', f"{status} No", "Retry-After: 7", "Location: http://other.test/"))
    assert (error.kind, error.status, error.body) == ("status", status, '{"error": "no"}')
    assert error.headers["retry-after"] == "7"
    assert error.headers["location"] == "http://other.test/"


def test_an_error_in_the_stream_is_passed_on(kind: str) -> None:
    async def use(transport: Transport, _: ByteServer) -> str:
        try:
            return json.dumps(await events(transport))
        except TransportFailed as error:
            return error.failure.body

    assert "too long" in play(kind, use, sse(EVENT, b'data: {"error": {"message": "too long"}}\n\n'))


def test_a_large_request_refused_before_it_was_read(kind: str) -> None:
    error = failed(kind, answer(b"too large", "413 Too Large"), GONE, body=b"x" * 8_000_000, heads_only=True)
    assert (error.status, error.body) == (413, "too large")


def test_consecutive_requests_use_one_connection(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> int:
        assert await events(transport) == [{"n": 1}]
        assert (await failure(events(transport))).status == 429
        assert await transport.get("/models", 5) == {"data": []}
        assert await transport.get(f"{server.url.removesuffix('v1')}props?x=1", 5) == {"n_ctx": 9}
        assert await events(transport) == [{"n": 1}]
        assert server.requests[2].startswith(b"GET /v1/models HTTP/1.1\r\n")
        assert server.requests[3].startswith(b"GET /props?x=1 HTTP/1.1\r\n")
        return server.connections

    stream = sse(EVENT, DONE)
    script = [stream, [answer(b"", "429 No")], [answer(b'{"data": []}')], [answer(b'{"n_ctx": 9}')], stream]
    assert play(kind, use, *script) == 1


def test_two_simultaneous_requests(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> int:
        first = transport.events(PATH, b"{}", never)
        assert await anext(first) == [{"n": 1}]
        assert await events(transport) == [{"n": 2}]
        await first.aclose()
        return server.connections

    assert play(kind, use, [SSE, chunk(EVENT), GONE], sse(b'data: {"n": 2}\n\n', DONE)) == 2


@pytest.mark.parametrize("stale", [[CLOSE], [b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", CLOSE]])
def test_a_connection_closed_by_the_server_is_replaced(kind: str, stale: list[Part]) -> None:
    async def use(transport: Transport, server: ByteServer) -> int:
        assert await events(transport) == [{"n": 1}]
        await server.closed.wait()
        await run_loop_once(5)  # the end of the connection arrives
        assert await events(transport) == [{"n": 1}]
        return server.connections

    assert play(kind, use, [*sse(EVENT, DONE), *stale], sse(EVENT, DONE)) == 2


def test_after_closing_a_new_connection_is_opened(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> int:
        for _ in range(2):
            assert await events(transport) == [{"n": 1}]
            await transport.close()
        return server.connections

    assert play(kind, use, *[sse(EVENT, DONE)] * 2) == 2


def test_a_server_that_sends_on_after_the_end_is_not_waited_for(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> None:
        assert await events(transport) == [{"n": 1}]
        await server.gone.wait()
        assert await events(transport) == [{"n": 2}]

    play(kind, use, [SSE, chunk(EVENT), chunk(DONE), GONE], sse(b'data: {"n": 2}\n\n', DONE))


@pytest.mark.parametrize(
    "parts",
    [
        [SSE, chunk(EVENT), CLOSE],
        [SSE, chunk(EVENT), b"20\r\ndata", CLOSE],
        [answer(EVENT, "200 OK", kind="text/event-stream")[:-5], CLOSE],
        [answer(b'{"choices": []}')[:-5], CLOSE],
    ],
    ids=["between chunks", "in a chunk", "of known length", "not streamed"],
)
def test_a_truncated_stream_is_an_error(kind: str, parts: list[Part]) -> None:
    assert failed(kind, *parts).kind == "broken"


def test_no_answer_is_an_error(kind: str) -> None:
    assert failed(kind, CLOSE).kind == "timeout"


def test_invalid_json_is_an_error(kind: str) -> None:
    assert failed(kind, *sse(b"data: {oops\n\n")).kind == "malformed"
    assert failed(kind, answer(b'{"choices"')).kind == "malformed"


@pytest.mark.parametrize("parts", [[GONE], [SSE, chunk(EVENT), GONE]], ids=["before the answer", "in the stream"])
def test_a_silent_server_times_out(kind: str, parts: list[Part], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULES[kind]}.SILENCE_TIMEOUT_S", 0.05)

    async def use(transport: Transport, server: ByteServer) -> Failure:
        error = await failure(events(transport))
        await server.gone.wait()
        return error

    assert play(kind, use, parts).kind == "timeout"


def test_a_missing_model_list_times_out(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> Failure:
        error = await failure(transport.get("/models", 0.05))
        await server.gone.wait()
        return error

    assert play(kind, use, [GONE]).kind == "timeout"
    assert play(kind, use, [answer(b'{"data": []}')[:-4], GONE]).kind == "timeout"


@pytest.mark.parametrize(
    "parts", [[GONE], [b"HTTP/1.1 200", GONE], [SSE, chunk(EVENT), GONE]], ids=["asked", "in the head", "streaming"]
)
def test_cancelling_closes_the_connection_immediately(kind: str, parts: list[Part]) -> None:
    async def use(transport: Transport, server: ByteServer) -> None:
        task = asyncio.create_task(events(transport))
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.gone.wait()

    play(kind, use, parts)


def test_closing_the_iterator_closes_the_connection_immediately(kind: str) -> None:
    async def use(transport: Transport, server: ByteServer) -> None:
        stream = transport.events(PATH, b"{}", never)
        assert await anext(stream) == [{"n": 1}]
        await stream.aclose()
        await server.gone.wait()

    play(kind, use, [SSE, chunk(EVENT), GONE])


def test_a_server_without_tls_is_an_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULES[kind]}.CONNECT_TIMEOUT_S", 0.05)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr("httpx2.create_ssl_context", lambda *_, **__: context)  # making a real one takes long
    monkeypatch.setattr("clio.providers.http1.make_tls_context", lambda: context)

    async def main() -> Failure:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            transport = make(kind, f"https://127.0.0.1:{silent.getsockname()[1]}/v1")
            try:
                return await failure(events(transport))
            finally:
                await transport.close()

    assert asyncio.run(main()).kind == "connect_timeout"
