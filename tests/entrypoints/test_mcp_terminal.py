"""MCP servers in the real shell: a call that the user interrupts."""

import json
import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.waiting import wait_until
from tests.turns.test_mcp import ENTRY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def read_received(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_escape_cancels_a_running_call_and_notifies_its_server(
    place: Place, server: ChatServer, tmp_path: Path
) -> None:
    received = tmp_path / "heard.jsonl"
    entry = ENTRY | {"env": {**ENTRY["env"], "MCP_PEER_HEARD": str(received)}}
    (place.home / ".clio").mkdir(parents=True, exist_ok=True)
    (place.home / ".clio" / "mcp.yaml").write_text(json.dumps({"mcpServers": {"peer": entry}}), encoding="utf-8")
    server.add(
        tool_calls([("mcp_peer_hang", {})]), tool_calls([("mcp_peer_add", {"a": 2, "b": 3})]), text("It is two.")
    )
    with place.clio(columns=80, lines=24) as clio:
        clio.wait_for("test-model · ")
        clio.line("hang")
        clio.wait_for("yes")
        clio.send("y")
        wait_until(lambda: any(one.get("method") == "tools/call" for one in read_received(received)))
        clio.key("escape")
        clio.wait_for("interrupted")
        wait_until(lambda: any(one.get("method") == "notifications/cancelled" for one in read_received(received)))
        [call] = [one for one in read_received(received) if one.get("method") == "tools/call"]
        [cancelled] = [one for one in read_received(received) if one.get("method") == "notifications/cancelled"]
        params = cancelled["params"]
        assert isinstance(params, dict) and params["requestId"] == call["id"]
        # The same process answers the next call.
        clio.line("add")
        clio.wait_for("yes")
        clio.send("y")
        clio.wait_for("It is two.")
    assert sum(one.get("method") == "initialize" for one in read_received(received)) <= 1
    assert [message["content"] for message in server.requests[1].body["messages"] if message["role"] == "tool"] == [
        "interrupted"
    ]
