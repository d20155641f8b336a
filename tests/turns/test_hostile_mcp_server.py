"""Turns with an MCP server that attacks by its lists, names, texts, questions, and tools that change later."""

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import ToolProgress
from clio.commands.registry import run_command
from clio.mcp.server_requests import MAX_DECLINED
from clio.security.approval import Answer
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness
from tests.turns.test_mcp import ROOT, Peers, loaded_sdk, notices, played, restart, results

__all__ = ("loaded_sdk",)


@pytest.fixture
def peers(make_harness: MakeHarness, tmp_path: Path) -> Peers:
    return Peers(make_harness, tmp_path)


def begin(peers: Peers, replies: list[Any]) -> Harness:
    folder = peers._folder  # pyright: ignore[reportPrivateUsage]
    entry = {
        "command": sys.executable,
        "args": ["-S", "-m", "tests.support.hostile_mcp_server", str(folder / "starts")],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    peers.write({"mcpServers": {"peer": entry}})
    return peers.bare(replies)


def call(name: str) -> Any:
    return tool_calls([(f"mcp_peer_{name}", {})])


def has_control(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text)


@played
async def test_lists_and_names_are_limited_and_sanitized(peers: Peers) -> None:
    harness = begin(peers, [text("hi")])
    harness.user.approvals = [Answer(kind="once")]
    assert (await harness.turn("hi")).status == "done"
    offered = harness.app.runtime.servers.offered
    names = [one.tool.name for one in offered]
    assert "ask" in names and len(names) <= 300 and len(set(names)) == len(names)
    assert all(name.isprintable() and len(name) <= 200 for name in names)
    # A tool with the name of one of clio's is a different tool.
    assert "mcp_peer_run_command" in [one.name for one in offered]
    catalog = harness.project / ".clio" / "cache" / "mcp.json"
    assert catalog.stat().st_size < 1_000_000
    [resource] = {one.uri for _, one in harness.app.runtime.servers.resources()}
    assert resource == "demo://good"
    sent = json.dumps(harness.server.requests[0].body, ensure_ascii=False)
    assert not has_control(sent) and len(sent) < 400_000
    listed = run_command(harness.app, "/mcp")
    assert listed.table is not None and not has_control(str(listed.table.rows))


@played
async def test_a_flood_of_progress_and_unrequested_replies_ends_nothing(peers: Peers) -> None:
    harness = begin(peers, [call("flood"), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    assert (await harness.turn("go")).status == "done"
    [result] = results(harness)
    assert result.ok
    assert len(harness.seen(ToolProgress)) < 100
    answer = harness.server.requests[1].body["messages"][-1]["content"]
    assert len(answer) < 30_000 and not has_control(answer)


@played
async def test_forms_cannot_pretend_to_be_clio_or_repeat_for_ever(peers: Peers) -> None:
    harness = begin(peers, [call("ask"), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    harness.user.answers = [""] * 20
    assert (await harness.turn("go")).status == "done"
    assert len(harness.user.questions) == MAX_DECLINED
    for question in harness.user.questions:
        head, fence = question.splitlines()[0], question.splitlines()[-1]
        assert head.startswith("Warning:") and "'peer'" in head
        # All of the server's text is in one block that nothing in it can end.
        assert set(fence) == {"`"} and question.count(fence) == 2
        before = question.partition(fence)[0]
        assert "API key to go on" not in before and "'peer' asks" in before
    assert sum("not shown any more" in line for line in notices(harness)) == 1


@played
async def test_tools_that_change_after_trust_are_named_and_still_limited(peers: Peers) -> None:
    harness = begin(peers, [call("quote"), text("1"), call("quote"), text("2")])
    harness.user.approvals = [Answer(kind="always")]
    await harness.turn("one")
    await restart(harness)
    before = [tool["function"] for tool in harness.server.requests[0].body["tools"]]
    await harness.turn("two")
    # The user's rule still applies; the model gets the tools as listed before, and the user is told.
    after = [tool["function"] for tool in harness.server.requests[2].body["tools"]]
    # How many fit depends on what was learned about the model meanwhile.
    assert len(after) > 20 and after == before[: len(after)]
    assert [one.ok for one in results(harness)] == [True, True] and len(harness.user.asked) == 1
    assert sum("has changed its tools" in line for line in notices(harness)) == 1
    assert not has_control(json.dumps(harness.server.requests[3].body, ensure_ascii=False))
