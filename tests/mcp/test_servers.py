"""Servers as real processes and over real HTTP: what they offer, their results, and how they fail."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clio.config.loaded import McpServer
from clio.mcp import connection, values
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown
from tests.support.mcp_peer import HttpPeer
from tests.support.waiting import wait_until_async
from tests.support.wording import mentions

ROOT = Path(__file__).parent.parent.parent
ENV = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-mine", "LANG": "C.UTF-8", "HTTPS_PROXY": "http://u:pw@proxy:1"}


def peer(*flags: str, name: str = "peer", **fields: Any) -> McpServer:
    """Return the test server as a child process."""
    env = {"PYTHONPATH": str(ROOT), **fields.pop("env", {})}
    arguments = ("-S", "-m", "tests.support.mcp_peer", *flags)
    return McpServer(name=name, where="mcp.yaml:1", own=True, command=sys.executable, args=arguments, env=env, **fields)


@asynccontextmanager
async def opened(folder: Path, *servers: McpServer, **given: Any) -> AsyncGenerator[tuple[McpServers, list[str]]]:
    notices: list[str] = []
    found = McpServers(servers, [], project=folder, env=ENV, folder=folder / "cache", tell=notices.append, **given)
    try:
        await found.settle()
        yield found, notices
    finally:
        await found.close()


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await work()

    asyncio.run(bounded())


def ignore(line: str) -> None:
    pass


@pytest.fixture
def http() -> Iterator[HttpPeer]:
    server = HttpPeer(needs="Bearer right")
    yield server
    server.close()


def test_a_result_without_its_type_is_complete(tmp_path: Path) -> None:
    modern = HttpPeer(is_modern=True)
    server = McpServer(name="web", where="mcp.yaml:1", own=True, kind="http", url=modern.url)

    async def work() -> None:
        async with opened(tmp_path, server) as (servers, notices):
            assert notices == []
            assert (await servers.call("web", "add", {"a": 2, "b": 3}, ignore)).text == "5"

    try:
        run(work)
    finally:
        modern.close()


@pytest.mark.fast
def test_everything_a_server_offers_is_used(tmp_path: Path) -> None:
    """One process for many checks, because starting is slow."""

    async def work() -> None:
        updates: list[str] = []
        asked: list[tuple[str, tuple[str, ...]]] = []

        async def answer(question: str, options: tuple[str, ...]) -> str:
            asked.append((question, options))
            return "Ada" if len(asked) == 1 else ""

        async with opened(tmp_path, peer("--noisy"), ask=answer) as (servers, notices):
            assert [one.name for one in servers.offered][:3] == ["mcp_peer_add", "mcp_peer_fail", "mcp_peer_die"]
            assert len(servers.offered) == 10
            assert [(server, one.uri) for server, one in servers.resources()] == [
                ("peer", "demo://a"),
                ("peer", "demo://b"),
            ]
            [(_, prompt)] = servers.prompts()
            assert [(one.name, one.required) for one in prompt.arguments] == [("path", True), ("tone", False)]

            async def say(tool: str, **given: Any) -> str:
                return (await servers.call("peer", tool, given, updates.append)).text

            assert await say("add", a=2, b=40) == "42"
            assert not (await servers.call("peer", "fail", {}, ignore)).ok
            assert await say("slow") == "done"
            assert updates == ["50 % part 1", "100 % part 2"]
            assert (await say("blocks")).split("\n\n") == [
                "a text\x1b[31m",
                "[image: image/png, 3 bytes, not shown]",
                "[resource demo://b: b - the second]",
                "[resource demo://a]\ninside",
            ]
            assert json.loads(await say("ask")) == {"action": "accept", "content": {"name": "Ada", "age": 30}}
            assert asked == [
                ("The MCP server 'peer' asks, in its own words:\n\n```\nWho?\n\nname\n```", ()),
                ("The MCP server 'peer' asks, in its own words:\n\n```\nWho?\n\nage\n```\n\n(Enter: 30)", ()),
            ]
            assert "not supported" in (await say("sample")).lower()
            seen = json.loads(await say("env"))
            assert (seen["LANG"], seen.get("OPENAI_API_KEY"), seen.get("HTTPS_PROXY")) == ("C.UTF-8", None, None)
            assert "line 2 of demo://a" in (await servers.read("peer", "demo://a")).text
            asked_for = await servers.prompt("peer", "review", {"path": "a.py"})
            assert asked_for.text == "Review a.py in a kind way."
            with pytest.raises(CallFailed, match="no tool nothing"):
                await say("nothing")
            assert notices == []
        log = (tmp_path / "cache" / "mcp" / "peer.log").read_text(encoding="utf-8")
        assert "stdout: Welcome to the peer!" in log

    run(work)


def test_the_next_session_knows_the_tools_without_starting_the_server(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path, peer()) as (first, _):
            names = [one.name for one in first.offered]
        async with opened(tmp_path, peer()) as (second, _):
            assert [one.name for one in second.offered] == names
            assert [one.state for one in second.list_statuses()] == ["not started"]
            assert (await second.call("peer", "add", {"a": 1}, ignore)).text == "1"
            assert [one.state for one in second.list_statuses()] == ["running"]
        async with opened(tmp_path, peer(tools=("add",))) as (third, _):
            assert [one.name for one in third.offered] == ["mcp_peer_add"]

    run(work)


def test_a_catalog_is_stored_before_closing_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = values.store_catalog

    def slowly(*given: Any) -> None:
        time.sleep(0.3)  # slow on purpose: closing has to wait for it
        keep(*given)

    monkeypatch.setattr(values, "store_catalog", slowly)

    async def work() -> None:
        async with opened(tmp_path, peer()):
            pass
        async with opened(tmp_path, peer()) as (servers, _):
            assert [one.state for one in servers.list_statuses()] == ["not started"]

    run(work)


def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path, peer()) as (servers, _):
            with pytest.raises(ServerDown, match=r"exited with code 7: out of memory.*unknown whether the call"):
                await servers.call("peer", "die", {}, ignore)
            assert (await servers.call("peer", "add", {"a": 5}, ignore)).text == "5"

    run(work)


def test_a_server_that_keeps_failing_is_restarted_with_delays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RESTART_DELAYS_S", (0.0, 50.0))

    async def work() -> None:
        async with opened(tmp_path, peer(env={"PYTHONPATH": "/nowhere"}, name="gone")) as (servers, notices):
            assert len(notices) == 1
            assert mentions(notices[0], "'gone'", "exited with code 1")
            assert servers.offered == ()
            with pytest.raises(ServerDown, match="exited with code 1"):
                await servers.call("gone", "add", {}, ignore)
            with pytest.raises(ServerDown, match="started again in 50 s"):
                await servers.call("gone", "add", {}, ignore)

    run(work)


def test_a_silent_server_does_not_delay_the_turn(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path, peer()):
            pass
        async with opened(tmp_path, peer("--mute", name="mute"), peer(), first_wait_s=0.1) as (servers, notices):
            assert len(notices) == 1 and mentions(notices[0], "starting", "'mute'", "/mcp reload", "next session")
            assert {one.server for one in servers.offered} == {"peer"}

    run(work)


def test_a_call_without_an_answer_is_cancelled(tmp_path: Path) -> None:
    heard = tmp_path / "heard"

    async def work() -> None:
        server = peer(timeout_s=0.2, env={"MCP_PEER_HEARD": str(heard)})
        async with opened(tmp_path, server) as (servers, _):
            with pytest.raises(CallFailed, match=r"no answer within 0\.2 s"):
                await servers.call("peer", "hang", {}, ignore)
            running = asyncio.create_task(servers.call("peer", "hang", {}, ignore))
            await wait_until_async(lambda: heard.read_text(encoding="utf-8").count('"hang"') >= 2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await wait_until_async(lambda: heard.read_text(encoding="utf-8").count("notifications/cancelled") >= 2)
            assert (await servers.call("peer", "add", {"a": 3}, ignore)).text == "3"

    run(work)


def test_a_server_that_exits_at_the_newer_handshake(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path, peer("--only-old")) as (servers, told):
            assert (told, len(servers.offered)) == ([], 10)

    run(work)


def test_http_with_a_header_from_the_environment(tmp_path: Path, http: HttpPeer) -> None:
    async def work() -> None:
        headers = {"Authorization": "Bearer ${WORD:-right}"}
        web = McpServer(name="web", where="mcp.yaml:1", own=True, kind="http", url=http.url, headers=headers)
        shut = McpServer(name="shut", where="mcp.yaml:2", own=True, kind="http", url=http.url)
        lost = McpServer(name="lost", where="mcp.yaml:3", own=True, kind="http", url="http://127.0.0.1:9/mcp")
        bare = McpServer(name="bare", where="mcp.yaml:4", own=True, kind="http", url="http://h/${NO_SUCH}")
        async with opened(tmp_path, web, shut, lost, bare) as (servers, told):
            assert (await servers.call("web", "add", {"a": 2, "b": 2}, ignore)).text == "4"
            assert {one.server for one in servers.offered} == {"web"}
            said = " ".join(sorted(told))
            assert "'lost' cannot be used: can't connect" in said
            assert mentions(said, "'bare'", "mcp.yaml:4", "environment variable")
            assert mentions(said, "'shut'", "401")

    run(work)


def test_incognito_writes_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        servers = McpServers([peer("--noisy")], [], project=tmp_path, env=ENV, folder=None)
        await servers.settle()
        assert len(servers.offered) == 10
        await servers.close()
        assert list(tmp_path.iterdir()) == []

    run(work)
