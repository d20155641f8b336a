"""The row of a failed call is for the user: it has no tool names and no advice for the model."""

import json
import sys

import pytest

from tests.entrypoints.repl_support import Place, clio
from tests.support.chat_server import ChatServer, text, tool_calls

CALLS = [
    ("read_file", {"path": "missing.py"}),
    ("no_such_tool", {"path": "a.py"}),
    ("edit_file", {"path": 3}),
    ("edit_file", {"path": "here.py", "old_text": "absent", "new_text": "x"}),
    ("write_file", {"path": "here.py", "content": "x\n"}),
    ("apply_patch", {"patch": "nonsense"}),
    ("memory_operations", {"operation": "nonsense"}),
    ("git", {"operation": "commit", "message": "x"}),
]
FOR_THE_MODEL = (
    "read it first",
    "you ",
    "read_file",
    "edit_file",
    "write_file",
    "apply_patch",
    "_operations",
    "no_such_tool",
    "{",
    "old_text",
)


def test_failed_rows_contain_nothing_meant_for_the_model(place: Place, server: ChatServer) -> None:
    (place.project / "here.py").write_text("y\n", encoding="utf-8")
    server.add(tool_calls(CALLS), text("Done."))
    done = clio(place, "-p", "go", "--approve", "all", "--output", "stream-json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [event for event in events if event["type"] == "tool_finished"]
    assert len(rows) == len(CALLS)
    for row in rows:
        shown = " ".join((row["title"], row["summary"], row["preview"]))
        assert not row["ok"], shown
        assert not [words for words in FOR_THE_MODEL if words in shown], shown
    tool_results = {
        message["tool_call_id"]: message["content"]
        for message in server.requests[-1].body["messages"]
        if message["role"] == "tool"
    }
    assert any("read_file" in words or "the tools are" in words for words in tool_results.values())  # complete


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_failed_row_in_a_terminal(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("read_file", {"path": "missing.py"}), ("no_such_tool", {})]), text("Done."))
    with place.clio("--approve", "all") as session:
        session.wait_for("test-model · all")
        session.line("go")
        session.wait_for("2 requests")
        shown = session.everything
    assert "the model asked for a tool that does not exist" in " ".join(shown.split())
    assert "read_file" not in shown and "no_such_tool" not in shown
