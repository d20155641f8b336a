"""`clio mcp --http` as a real process: authentication, permissions, and how it ends."""

import asyncio
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clio.entrypoints.mcp_http import (
    _MAX_CONNECTIONS,  # pyright: ignore[reportPrivateUsage]
    # pyright: ignore[reportPrivateUsage]
    FAILURE_BURST,
    Bucket,
    HttpOptions,
    find_token_file,
    open_socket,
    parse_http_options,
    read_token,
)
from clio.errors import UsageError
from tests.entrypoints.repl_support import ROOT, Place, clio, make_place

TOOLS: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


class Served:
    """A running server: its port, and its token."""

    def __init__(self, port: int, token: str, process: "subprocess.Popen[bytes]") -> None:
        self.port, self.token, self.process = port, token, process

    def ask(self, message: object = TOOLS, method: str = "POST", path: str = "/mcp", **headers: str) -> tuple[int, str]:
        """Return status and body; a header with an empty value is omitted."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        } | headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        body = json.dumps(message).encode()
        for name, value in {**given, "Content-Length": str(len(body))}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


@contextmanager
def serving(place: Place, *flags: str) -> Generator[Served]:
    command = [sys.executable, "-m", "clio", "mcp", "--http", "--port", "0", "--cwd", str(place.project), *flags]
    process = subprocess.Popen(command, env=place.env(), cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        assert process.stderr
        lines = ""
        while "bearer token from" not in lines:
            line = process.stderr.readline().decode()
            assert line, lines
            lines += line
        port = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", " ".join(lines.split()))
        assert port, lines
        [path] = (file for file in (place.home / ".clio" / "mcp-tokens").iterdir() if file.suffix != ".lock")
        yield Served(int(port[1]), path.read_text(encoding="utf-8").strip(), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        process.stderr.close() if process.stderr else None


def test_authentication_is_required_and_nothing_can_be_written(place: Place) -> None:
    with serving(place) as server:
        status, text = server.ask()
        assert status == 200
        assert {tool["name"] for tool in json.loads(text)["result"]["tools"]} == {
            "recall", "search_sessions", "project_knowledge",
        }  # fmt: skip
        call = {"name": "remember", "arguments": {"content": "x"}}
        status, text = server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        assert json.loads(text)["result"]["isError"]
        refused = {
            "no token": (server.ask(Authorization=""), 401),
            "a wrong token": (server.ask(Authorization="Bearer " + "x" * 43), 401),
            "another scheme": (server.ask(Authorization=f"Basic {server.token}"), 401),
            "a name of an attacker": (server.ask(Host=f"evil.example:{server.port}"), 421),
            "a name with an address in front": (server.ask(Host="127.0.0.1?.evil.example"), 421),
            "a name with an address and a path": (server.ask(Host="127.0.0.1/.evil.example"), 421),
            "a name with an address in brackets": (server.ask(Host="[::1].evil.example"), 421),
            "a page with such a name": (server.ask(Origin="http://localhost?.evil.example"), 403),
            "a page of an attacker": (server.ask(Origin="https://evil.example"), 403),
            "a page in a sandbox": (server.ask(Origin="null"), 403),
            "another path": (server.ask(path="/other"), 404),
            "a stream": (server.ask(method="GET"), 405),
            "too much": (server.ask({"x": "y" * 1_100_000}), 413),
        }
        assert {name: status for name, ((status, _), _) in refused.items()} == {
            name: wanted for name, (_, wanted) in refused.items()
        }
        assert server.ask(Origin=f"http://localhost:{server.port}")[0] == 200
        statuses = {server.ask(Authorization="Bearer wrong")[0] for _ in range(int(FAILURE_BURST) + 2)}
        assert 429 in statuses
        assert server.ask()[0] == 200, "the right token is not locked out"


def test_a_request_with_two_lengths_is_refused_and_its_rest_is_not_read(place: Place) -> None:
    body = json.dumps(TOOLS)
    with serving(place) as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        )
        two = f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n"
        connection.sendall((two + f"{head}Content-Length: {len(body)}\r\n\r\n{body}").encode())
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1


def test_saved_text_has_no_control_characters(place: Place) -> None:
    with serving(place, "--write") as server:
        call = {"name": "remember", "arguments": {"content": "a\x00 \x1b]0;title\x07b\u202e c", "type": "fact"}}
        status, text = server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
        assert status == 200
        assert json.loads(text)["result"]["structuredContent"]["memory"]["content"] == "a b c"


def test_idle_connections_do_not_block_others(place: Place) -> None:
    with serving(place) as server, ExitStack() as stack:
        connections: list[socket.socket] = []
        for number in range(_MAX_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.settimeout(60)
            if number % 2:
                connection.sendall(b"POST /mcp HTTP/1.1\r\nx: ")
            connections.append(connection)
        if (status := server.ask()[0]) != 200:
            assert status == 503
            # The server ends each of them itself; a slow machine only takes longer.
            assert [connection.recv(1) for connection in connections] == [b""] * len(connections)
        assert server.ask()[0] == 200


def test_a_second_request_on_a_connection_is_limited_too(place: Place) -> None:
    with serving(place) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/mcp", headers={"Authorization": f"Bearer {server.token}"}, body=b"{}")
        connection.getresponse().read()
        connection.sock.sendall(b"POST /mcp HTTP/1.1\r\nx: ")
        assert connection.sock.recv(1) == b""
        connection.close()


def test_writing_must_be_allowed_and_the_sdks_client_is_served(place: Place) -> None:
    async def remember(server: Served) -> list[str]:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as connection,
            Client(streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=connection)) as agent,
        ):
            await agent.call_tool("remember", {"content": "The port is 5432", "type": "fact"})
            found = await agent.call_tool("recall", {"query": "port"})
            return [memory["content"] for memory in found.structured_content["memories"]]

    with serving(place, "--write") as server:
        assert asyncio.run(remember(server)) == ["The port is 5432"]


@pytest.mark.fast
def test_errors_are_reported(tmp_path: Path) -> None:
    for words, message in (
        (["--http", "--port", "x"], "--port"),
        (["--http", "--write", "--read-only"], "--write"),
        (["--http", "now"], "now"),
        (["--http", "--prot", "1"], "--port"),
    ):
        with pytest.raises(UsageError, match=message):
            parse_http_options(words)
    names = parse_http_options(["--http", "--allow-host", "a.example", "--allow-host=b.example", "--host", "[::1]"])
    assert names == HttpOptions(host="::1", allowed_hosts=("a.example", "b.example"))


def test_a_port_in_use_and_incognito_are_refused(place: Place) -> None:
    with serving(place) as server:
        done = clio(place, "mcp", "--http", "--port", str(server.port))
        assert done.returncode == 1
        assert "--port" in done.stderr
    assert clio(place, "mcp", "--http", "--incognito").returncode == 2


@pytest.mark.fast
def test_each_project_has_its_own_permanent_token(tmp_path: Path) -> None:
    one, other = (find_token_file(tmp_path, tmp_path / name / "shop") for name in ("a", "b"))
    first = read_token(one)
    assert read_token(one) == first
    assert read_token(other) != first
    assert read_token(one, new=True) != first
    if sys.platform != "win32":
        assert one.stat().st_mode & 0o777 == 0o600
        one.chmod(0o644)
        read_token(one)
        assert one.stat().st_mode & 0o777 == 0o600
    one.write_text("short\n", encoding="utf-8")
    assert len(read_token(one)) >= 32


@pytest.mark.fast
def test_a_token_bucket_is_empty_after_its_burst_and_fills_again() -> None:
    bucket = Bucket(per_second=1_000_000.0, burst=2.0)
    slow = Bucket(per_second=0.001, burst=2.0)
    assert [slow.take() > 0 for _ in range(3)] == [False, False, True]
    assert bucket.take() == bucket.take() == 0.0


def test_an_answer_is_sent_at_once() -> None:
    """Otherwise its body waits until the client has acknowledged its headers, 40 ms later."""
    listener = open_socket(HttpOptions(port=0))
    with listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
