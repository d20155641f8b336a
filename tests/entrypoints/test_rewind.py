"""Turns are undone, viewed and rewound in a real terminal."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.pty_session import PtySession
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
PLAN = "one\ntwo\nthree\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    replies = [
        tool_calls([("write_file", {"path": "plan.txt", "content": PLAN})]),
        text("The plan is written."),
        tool_calls([("run_command", {"command": "sed -i s/two/2/ plan.txt && mkdir docs && echo hi > docs/hi.md"})]),
        text("Numbers are digits now."),
        text("I see."),
    ]
    with ChatServer(replies) as server:
        place = make_place(tmp_path, server)
        yield place


def two_turns(clio: PtySession) -> None:
    clio.wait_for("test-model · all")
    clio.line("write a plan")
    clio.wait_for("The plan is written.")
    clio.line("edit the digits, and say hi in docs")
    clio.wait_for("Numbers are digits now.")


def test_a_turn_is_undone_and_redone(place: Place) -> None:
    plan = place.project / "plan.txt"
    with place.clio("--approve", "all") as clio:
        two_turns(clio)
        clio.line("/undo")
        clio.wait_for("Undid turn 2")
        assert plan.read_text(encoding="utf-8") == PLAN
        assert not (place.project / "docs").exists()
        clio.line("/redo")
        clio.wait_for("Restored the undone changes: 2 files")
        assert (place.project / "docs" / "hi.md").exists()


def test_a_conflicting_edit_is_shown(place: Place) -> None:
    plan = place.project / "plan.txt"
    with place.clio("--approve", "all") as clio:
        two_turns(clio)
        plan.write_text("one\n2\nthree, and mine\n", encoding="utf-8")
        clio.line("/undo")
        clio.wait_for("/undo --force")
        shown = clio.text
        assert "-three" in shown
        assert "+three, and mine" in shown
        assert plan.read_text(encoding="utf-8") == "one\n2\nthree, and mine\n"


def test_after_a_kill_the_next_clio_reports_the_changes(place: Place) -> None:
    assert place.server is not None
    place.server.replies[:] = [tool_calls([("run_command", {"command": "echo half > plan.txt; sleep 60"})])]
    with place.clio("--approve", "all") as clio:
        clio.wait_for("test-model · all")
        clio.line("write a plan")
        clio.wait_for("run echo half")
        wait_until((place.project / "plan.txt").exists)
        os.kill(clio.pid, signal.SIGKILL)
        clio.wait_exit()
    with place.clio("-c") as clio:
        clio.wait_for("clio was killed while a call ran; changed since then: plan.txt")
        clio.line("/undo --force")
        clio.wait_for("Undid turn 1")
    assert not (place.project / "plan.txt").exists()


def test_rewinding_both_asks_and_continues_in_a_copy(place: Place) -> None:
    with place.clio("--approve", "all") as clio:
        two_turns(clio)
        clio.line("/diff")
        clio.wait_for("new docs/hi.md +1")
        clio.line("/rewind")
        clio.wait_for("you said")
        assert "write a plan" in clio.text
        clio.key("enter")  # the newest turn
        clio.wait_for("Go back to before turn 2")
        clio.key("enter")  # files and conversation
        clio.wait_for("Back to before turn 2")
        clio.send("y")
        clio.wait_for("Your message was")
        clio.wait_for("4 messages")
        assert (place.project / "plan.txt").read_text(encoding="utf-8") == PLAN
        clio.line("and now?")
        clio.wait_for("I see.")
    assert place.server is not None
    user_texts = [
        message["content"] for message in place.server.requests[-1].body["messages"] if message["role"] == "user"
    ]
    assert len(user_texts) == 2
    assert not any("digits" in words for words in user_texts)
