"""Discovery of model servers on ports of this machine."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from clio.providers.registry import FoundServer, ask_models, discover_server, find_local_server, list_models
from tests.support.chat_server import ChatServer, Reply, error, json_reply, slow
from tests.support.rows import each_row


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nothing listens, reserved so that nothing else uses it meanwhile."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def test_a_server_is_found() -> None:
    with ChatServer(models=[{"id": "qwen"}, {"id": "llama"}]) as server:
        found = find_local_server({server.port: "ollama"})
    assert found == FoundServer(name="ollama", base_url=f"http://127.0.0.1:{server.port}/v1", models=("qwen", "llama"))


def test_of_unknown_servers_the_first_port_is_used() -> None:
    with (
        ChatServer(models=[{"id": "b"}]) as second,
        ChatServer(models=[{"id": "a"}]) as first,
        silent_port() as silent,
        closed_port() as closed,
    ):
        ports = {silent: "x", closed: "y", first.port: "first", second.port: "second"}
        found = asyncio.run(discover_server(ports, time_limit_s=0.5))
    assert found is not None
    assert (found.name, found.models) == ("first", ("a",))


def test_discovery_works_inside_a_running_event_loop() -> None:
    async def inside() -> FoundServer | None:
        return find_local_server({server.port: "vllm"})

    with ChatServer(models=[{"id": "a"}]) as server:
        found = asyncio.run(inside())
    assert found is not None


@each_row(
    "answer",
    [
        error(404),
        error(500),
        error(401),
        json_reply({"object": "list", "data": []}),
        json_reply({"status": "ok"}),
        json_reply("hello"),
        Reply(lambda _: [b"<html>"], content_type="text/html"),
        slow(5, error(200)),
    ],
)
def test_other_servers_are_ignored(answer: Reply) -> None:
    with ChatServer(models=answer) as server:
        assert find_local_server({server.port: "llamacpp"}) is None


def test_no_server_and_no_answer_are_ignored() -> None:
    with silent_port() as silent, closed_port() as closed:
        assert find_local_server({silent: "a", closed: "b"}) is None


def test_all_ports_are_queried_in_parallel() -> None:
    """None of these servers answers before all of them were queried."""

    async def scene() -> FoundServer | None:
        everybody = asyncio.Barrier(4)

        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            await everybody.wait()
            writer.write(b'HTTP/1.0 200 OK\r\n\r\n{"data":[{"id": "one"}]}')
            writer.close()

        servers = [await asyncio.start_server(reply, "127.0.0.1", 0) for _ in range(4)]
        ports = {server.sockets[0].getsockname()[1]: "x" for server in servers}
        found = await discover_server(ports, time_limit_s=5)
        for server in servers:
            server.close()
        return found

    assert asyncio.run(scene()) is not None


def test_loaded_models_come_first_and_embedding_models_last() -> None:
    rows = [{"id": "text-embedding-x"}, {"id": "a", "state": "not-loaded"}, {"id": "b", "state": "loaded"}]
    with ChatServer(models=rows) as server:
        assert list_models(server.url, None) == ("b", "a")
    with ChatServer(models=rows[:1]) as server:
        assert list_models(server.url, None) == ("text-embedding-x",)


def test_the_key_is_sent() -> None:
    with ChatServer(models=[{"id": "a"}]) as server:
        assert asyncio.run(ask_models(server.url, 1.0, "k")) == ("a",)
        assert server.others[0].headers["authorization"] == "Bearer k"


@each_row(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{"data":[{"id": "one"}]}',
        b'HTTP/1.0 200 OK\r\n\r\n{"data":[{"id": "one"}]}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{"data":[{\r\ne\r\n"id": "one"}]}\r\n0\r\n\r\n',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
    ids=["length", "to the end", "chunked", "broken chunks", "too short", "another protocol", "nothing"],
)
def test_answers_with_any_framing_are_read(answer: bytes) -> None:
    async def serve_once() -> tuple[str, ...]:
        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(reply, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await ask_models(f"http://127.0.0.1:{port}/v1", 1.0)

    expected = ("one",) if b"one" in answer else ()
    assert asyncio.run(serve_once()) == expected
