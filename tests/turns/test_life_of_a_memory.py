"""The life of one memory in a real shell: saved, trimmed, recalled, contradicted, undone."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, Recorded, text, tool_calls

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
OLD = "the staging database listens on port 5433"
NEW = "the staging database now listens on port 5544"
HELD = "the staging database listens on port 5544"
ASKED = "which port does the staging db use?"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(models=[{"id": "test-model", "max_model_len": 32_000}]) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    return make_place(tmp_path, server)


def remember(content: str) -> Any:
    return tool_calls([("memory_operations", {"operation": "remember", "content": content, "type": "fact"})])


def last_words(request: Recorded) -> str:
    """Return the text of the newest user message with its context."""
    return [message for message in request.body["messages"] if message["role"] == "user"][-1]["content"]


def test_a_memory_is_saved_recalled_corrected_and_restored(place: Place, server: ChatServer) -> None:
    # Saved in the first session, and trimmed there.
    server.add(remember(OLD), text("Noted."), text("Something else."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line(f"Please note: {OLD}.")
        clio.wait_for(r"Noted\.\s+[^\n]*request[^\n]*\n\n❯ Ask[^\n]*\n", regex=True)
        clio.line("and now something else")
        clio.wait_for("Something else.")
        clio.line("/session trim")
        clio.wait_for(r"Moved \d+ messages to the archive \(t1\)", regex=True)
        clio.line("/exit")
        clio.wait_exit()

    # A second session about something else: the memory is not recalled.
    server.add(text("Sunny."))
    with place.clio("--new", columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("what is the weather like?")
        clio.wait_for("Sunny.")
        clio.line("/exit")
        clio.wait_exit()
    assert "5433" not in str(server.requests[-1].body)

    # A third one asks in other words: it is in the request, with its reason.
    server.add(text("It is 5433."), remember(NEW), text("Changed."), text("It is 5544."), text("It is 5433 again."))
    with place.clio("--new", columns=100, lines=60) as clio:
        clio.wait_for("test-model · ask")
        clio.line(ASKED)
        clio.wait_for("It is 5433.")
        assert OLD in last_words(server.requests[-1])
        clio.line("/memory why")
        clio.wait_for("matches ")
        assert "5433" in clio.text and "evidence" in clio.text

        # Contradicted: the new value is in the request of the next session, the old one in its history.
        clio.line(f"No: {NEW}.")
        clio.wait_for("Changed.")
        clio.line("/exit")
        clio.wait_exit()
    with place.clio("--new", columns=100, lines=60) as clio:
        clio.wait_for("test-model · ask")
        clio.line(ASKED)
        clio.wait_for("It is 5544.")
        words = last_words(server.requests[-1])
        assert HELD in words and OLD not in words
        clio.line("/memory recall staging")
        found = clio.wait_for(r"\n(\w{8})\s[^\n]*listens on port 5544", regex=True)
        row = next(line for line in found.splitlines() if "listens on port 5544" in line and "·" not in line)
        clio.line(f"/memory history {row.split()[0]}")
        clio.wait_for("listens on port 5433")

        # Undone: the old value again.
        clio.line("/memory undo")
        clio.wait_for("Undone: ")
        clio.line("/exit")
        clio.wait_exit()
    with place.clio("--new", columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line(ASKED)
        clio.wait_for("It is 5433 again.")
        words = last_words(server.requests[-1])
        assert OLD in words and "5544" not in words
