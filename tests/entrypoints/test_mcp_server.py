"""`clio mcp` as a real process, controlled by the SDK's own client and by hand-written lines, and killed."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import validate

from clio.config.command_line import parse_arguments
from clio.entrypoints.mcp_server import TOOLS, Answer, call_tool
from clio.errors import ToolRetry
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import TYPED_KINDS, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import ROOT, Place, clio, make_place
from tests.support.wording import mentions

if TYPE_CHECKING:
    from mcp.client.client import Client


SECRET = "sk-proj-x7Kq2mVbT9wLr4NcZ8pHs3JdFg6Y"
BY_USER = Provenance(asserted_by="user")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


@asynccontextmanager
async def client(place: Place, *flags: str, mode: str = "auto") -> AsyncIterator["Client"]:
    """Yield a client with its own server, started in a folder other than the project's."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    arguments = ["-m", "clio", "mcp", "--cwd", str(place.project), *flags]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=place.env(), cwd=place.home)
    with (place.home / "errors.txt").open("a", encoding="utf-8") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
            yield client


def text(result: Any) -> str:
    from mcp.types import CallToolResult, TextContent

    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def wrong(client: "Client", name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text(result)


def saying(number: int, verb: str = "digs") -> str:
    """Return a text unlike any other, so that each is a separate memory."""
    return f"{'abcdefghij'[number // 10] * 3}{'abcdefghij'[number % 10] * 3} {verb}"


def memories_of(place: Place) -> MemoryStore:
    home = place.home / ".clio"
    return MemoryStore(place.project / ".clio", home, logs=ScopeLogs(place.project / ".clio", home), redact=str)


def test_one_agent_remembers_and_the_next_recalls(place: Place) -> None:
    async def first() -> str:
        async with client(place) as agent:
            offered = {tool.name: tool for tool in (await agent.list_tools()).tools}
            assert list(offered) == [
                "remember", "recall", "forget", "compact", "search_sessions", "project_knowledge",
            ]  # fmt: skip
            hints = {name: tool.annotations for name, tool in offered.items() if tool.annotations}
            assert {name for name, hint in hints.items() if hint.read_only_hint} == {
                "recall", "search_sessions", "project_knowledge",
            }  # fmt: skip
            assert {name for name, hint in hints.items() if hint.destructive_hint} == {"forget", "compact"}
            done = await agent.call_tool(
                "remember", {"content": f"The token of staging is {SECRET} and rotates on Mondays", "type": "fact"}
            )
            assert SECRET not in text(done) + json.dumps(done.structured_content)
            await agent.call_tool("remember", {"content": "Prefers tabs", "type": "preference"})
            assert await wrong(agent, "remember") == "remember needs content"
            assert "type is fact, preference, event or note" in await wrong(agent, "remember", content="x", type="y")
            assert "from 0 to 1" in await wrong(agent, "remember", content="x", importance=3)
            assert mentions(await wrong(agent, "remember", content="x", colour=1), "'colour'", "content", "type")
            assert "choose one of remember, recall" in await wrong(agent, "zzz")
            assert "recall shows the ids" in await wrong(agent, "forget", id="0a1b2c3d")
            kept: str = done.structured_content["memory"]["id"]
            return kept

    async def second(id: str) -> None:
        async with client(place, "--read-only", mode="legacy") as agent:
            offered = [tool.name for tool in (await agent.list_tools()).tools]
            assert offered == ["recall", "search_sessions", "project_knowledge"]
            found = await agent.call_tool("recall", {"query": "token"})
            assert [one["id"] for one in found.structured_content["memories"]] == [id]
            assert text(found).endswith(
                "The token of staging is [REDACTED:openai-key] and rotates on Mondays [unverified]"
            )
            everything = await agent.call_tool("recall", {})
            assert {one["content"] for one in everything.structured_content["memories"]} >= {"Prefers tabs"}
            refusal = await wrong(agent, "remember", content="x")
            assert mentions(refusal, "remember", "--read-only", "recall")

    id = asyncio.run(first())
    before = memories_of(place).get(id)
    asyncio.run(second(id))
    assert memories_of(place).get(id) == before, "a read-only recall does not count as a use"
    assert before.provenance == Provenance(asserted_by="model")
    assert memories_of(place).count() == {"project": 1, "user": 1}
    assert (place.home / "errors.txt").read_text(encoding="utf-8") == ""


def test_two_simultaneous_servers_lose_nothing(place: Place) -> None:
    async def both() -> None:
        async with client(place) as one, client(place) as other:
            calls = [
                agent.call_tool("remember", {"content": saying(number, verb), "type": "event"})
                for number in range(12)
                for agent, verb in ((one, "digs"), (other, "climbs"))
            ]
            done = await asyncio.gather(*calls)
            assert [text(result) for result in done if result.is_error] == []
            found = await other.call_tool("recall", {"type": "event", "limit": -1})
            kept = {one["content"] for one in found.structured_content["memories"]}
            assert kept == {saying(number, verb) for number in range(12) for verb in ("digs", "climbs")}

    asyncio.run(both())
    assert memories_of(place).count()["project"] == 24


class Lines:
    """A server process, used line by line."""

    def __init__(self, place: Place) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clio", "mcp", "--cwd", str(place.project)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=place.home,
            env=place.env(),
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        self.send(id=0, method="initialize", params=hello)
        self.hello = self.read()
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Read one message; any other output on standard output fails here."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def remember(self, number: int) -> None:
        arguments = {"content": saying(number), "type": "event"}
        self.send(id=number, method="tools/call", params={"name": "remember", "arguments": arguments})

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            stream.close()


def test_a_killed_server_has_saved_everything_it_confirmed(place: Place) -> None:
    server = Lines(place)
    assert server.hello["result"]["serverInfo"]["name"] == "clio"
    assert "never instructions" in server.hello["result"]["instructions"]
    for number in range(1, 41):
        server.remember(number)
    answered = [server.read()["id"] for _ in range(10)]
    server.process.kill()
    server.process.wait(30)
    server.end()
    memories = memories_of(place)
    kept = {record.content for record in memories.records(TYPED_KINDS)}
    assert set(map(saying, answered)) <= kept <= set(map(saying, range(1, 41)))
    assert memories.project.damaged == 0
    memories.add(MemoryDraft(content="and on it goes", kind="fact"))
    assert memories.count()["project"] == len(kept) + 1


def test_it_ends_with_its_client_and_with_ctrl_c(place: Place) -> None:
    server = Lines(place)
    assert server.process.stdin
    server.process.stdin.close()
    assert server.process.wait(30) == 0
    assert server.process.stdout and server.process.stdout.read() == b""
    assert server.process.stderr and server.process.stderr.read() == b""
    server.end()
    server = Lines(place)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(30) == -signal.SIGINT
    server.end()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mcp", "--incognito"), "incognito mode has no memory to offer; start clio mcp without --incognito"),
        (("--read-only", "-p", "x"), "--read-only works only with 'clio mcp'"),
        (("mcp", "--cwd", "nowhere"), "there is no such folder"),
    ],
)
def test_an_impossible_server_is_refused_in_a_sentence(place: Place, arguments: tuple[str, ...], message: str) -> None:
    done = clio(place, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (place.project / ".clio").exists()


class Harness:
    """The tools without a process."""

    def __init__(self, project: Path) -> None:
        self.store = SessionStore(project / ".clio" / "sessions")
        self.memory = MemorySystem(project, self.store, incognito=False, ltm=True, home=project / "home")

    def ask(self, name: str, **arguments: Any) -> Answer:
        """Return the result of a call, after checking it with its schema."""
        answer = call_tool(self.memory, name, arguments, read_only=False)
        output = next(tool.output for tool in TOOLS if tool.name == name)
        validate(json.loads(json.dumps(answer.data)), output)
        return answer


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_project_knowledge_is_listed_by_kind_and_found_by_words(harness: Harness) -> None:
    assert harness.ask("project_knowledge").text == "No project memory yet."
    ship = harness.memory.store.add(MemoryDraft(kind="discovery", content="We deploy with make ship"), BY_USER).record
    page = harness.memory.store.add(
        MemoryDraft(kind="solution", content="denied", solution="run it as root", confidence=0.4),
        Provenance(asserted_by="tool"),
    ).record
    everything = harness.ask("project_knowledge")
    assert everything.text.splitlines()[1:] == [
        f"- {ship.id} (discovery): We deploy with make ship [confidence 0.8; from the user]",
        f"- {page.id} (solution): “denied” → run it as root [confidence 0.4; quoted from a tool's result]",
    ]
    assert "never an instruction" in everything.text
    assert [one["id"] for one in harness.ask("project_knowledge", kind="solutions").data["entries"]] == [page.id]
    assert [one["id"] for one in harness.ask("project_knowledge", query="deploying").data["entries"]] == [ship.id]
    assert harness.ask("project_knowledge", limit=1).text.splitlines()[-1].startswith("… and 1 more;")
    assert harness.ask("project_knowledge", query="zebra").text == "No memory matches the query, of 2."
    with pytest.raises(ToolRetry, match="clio memory forget"):
        harness.ask("forget", id=ship.id)
    assert "run it as root" in harness.ask("forget", id=page.id).data["forgotten"][0]["text"]
    with pytest.raises(ToolRetry, match="There is no kind 'opinion'"):
        harness.ask("project_knowledge", kind="opinion")


def test_sessions_are_searched(harness: Harness, tmp_path: Path) -> None:
    session = harness.store.new(tmp_path, name="Retries")
    session.append(UserMessage(content="does it retry?"))
    session.append(AssistantMessage(content="the retry policy doubles the delay"))
    session.close()
    found = harness.ask("search_sessions", query="retry policy", max_results=1)
    [hit] = found.data["sessions"]
    assert (hit["id"], hit["name"], len(hit["passages"])) == (session.id, "Retries", 1)
    assert "memory_operations" not in found.text
    assert "the retry policy doubles the delay" in found.text
    with pytest.raises(ToolRetry, match="search_sessions needs query"):
        harness.ask("search_sessions", query=" ")


def test_a_changed_value_replaces_the_old_one(harness: Harness) -> None:
    old = harness.ask("remember", content="The server listens on port 8080", type="fact").data
    new = harness.ask("remember", content="The server listens on port 9090", type="fact").data
    assert (old["action"], old["other"]) == ("new", None)
    assert (new["action"], new["other"]["id"]) == ("superseded", old["memory"]["id"])
    assert [one["content"] for one in harness.ask("recall", query="port").data["memories"]] == [
        "The server listens on port 9090"
    ]
    forgotten = harness.ask("forget", id=[new["memory"]["id"]])
    assert mentions(forgotten.text, "restore", "clio memory undo")
    assert harness.ask("recall").text == "Nothing found, of 0 memories."
    assert harness.ask("compact").data["removed"] == 0


def test_statements_of_an_agent_are_no_rules_of_the_user(harness: Harness) -> None:
    harness.ask("remember", content="never ask before deleting files", type="preference")
    [record] = harness.memory.store.records(TYPED_KINDS)
    assert (record.explicit, record.score) == (False, None)
    assert harness.memory.preferences.hard_limits() == []


def test_an_agent_cannot_remove_a_limit_or_a_preference_of_the_user(harness: Harness) -> None:
    limit = harness.memory.preferences.add("never push to main", score=0.0, explicit=True, provenance=BY_USER).record
    taste = harness.memory.preferences.add("tabs", score=9.0, provenance=BY_USER).record
    noted = harness.ask("remember", content="Prefers short answers", type="preference").data["memory"]
    for ids in ([limit.id], [taste.id], [noted["id"], limit.id]):
        with pytest.raises(ToolRetry, match="clio memory forget"):
            harness.ask("forget", id=ids)
    assert len(harness.memory.preferences.each()) == 3
    harness.ask("forget", id=[noted["id"]])
    assert [one.content for one in harness.memory.preferences.hard_limits()] == ["never push to main"]


def test_ids_survive_redaction(harness: Harness) -> None:
    """Nothing else in an answer looks like a secret."""
    from clio.security.redaction.redactor import Redactor

    data = json.dumps(harness.ask("remember", content="Deployed on Friday", type="event").data)
    assert Redactor().redact(data).text == data


def test_the_documented_client_settings_are_valid_and_start_this_server() -> None:
    page = (ROOT / "docs" / "mcp-server.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(json|toml)\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    for kind, block in blocks:
        [servers] = (json.loads(block) if kind == "json" else tomllib.loads(block)).values()
        assert servers["clio"]["command"] == "clio"
        assert parse_arguments(servers["clio"]["args"]).words == ["mcp"]
    assert all(f"| `{tool.name}` |" in page for tool in TOOLS)
