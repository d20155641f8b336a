"""Background work while the prompt is shown in a real terminal: its questions, notices and repetitions."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.chat_server import ChatServer, Reply, stall, text, tool_calls
from tests.support.harness import git
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def make_repository(place: Place) -> None:
    git(place.project, "init", "-q")
    git(place.project, "config", "user.email", "a@example.org")
    git(place.project, "config", "user.name", "A")
    (place.project / "a.txt").write_text("one\n")
    git(place.project, "add", ".")
    git(place.project, "commit", "-qm", "first")


def test_a_question_appears_while_a_line_is_typed_and_the_line_is_kept(tmp_path: Path) -> None:
    edit = [("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"})]
    top = [
        tool_calls([("delegate", {"task": "change it", "background": True, "edits": True})]),
        text("It has begun."),
        text("All seen."),
    ]
    agent: list[Any] = [tool_calls(edit), text("Changed.")]

    def script(request: dict[str, Any]) -> Reply:
        is_agent = "sub-agent of clio" in request["messages"][0]["content"]
        if is_agent and len(agent) == 2:
            wait_until((tmp_path / "go").exists)
        return (agent if is_agent else top).pop(0)

    with ChatServer(script) as server:
        place = make_place(tmp_path, server)
        make_repository(place)
        with place.clio() as session:
            at_prompt(session)
            session.line("change it in the background")
            session.wait_for("It has begun.")
            at_prompt(session)
            session.send("half a line")
            session.wait_for("half a line")
            (tmp_path / "go").touch()
            session.wait_for_screen(r"agent1[\s\S]*a\.txt")
            session.send("y")
            session.wait_for("agent1 has ended")
            session.wait_for_screen(r"half a line")
            session.line(" and more")
            session.wait_for("All seen.")
            at_prompt(session)
            session.line("/agents merge 1")
            session.wait_for("Merged 1 file")
        assert "half a line and more" in str(server.requests[-1].body["messages"][-1])
    assert (place.project / "a.txt").read_text() == "two\n"
    assert (
        subprocess.run(["git", "worktree", "list"], cwd=place.project, capture_output=True, check=True).stdout.count(
            b"\n"
        )
        == 1
    )


def test_a_loop_repeats_a_message_until_its_count_is_reached(tmp_path: Path) -> None:
    with ChatServer([text("First."), text("Second."), text("Typed.")]) as server:
        place = make_place(tmp_path, server)
        with place.clio() as session:
            at_prompt(session)
            session.line("/loop 2s --times 2 look again")
            session.wait_for("First.")
            session.wait_for("loop 1/2")
            session.send("half")
            session.wait_for("Second.")
            session.wait_for("loop ended")
            session.wait_for_screen("half")
            session.line(" a line")
            session.wait_for("Typed.")
    asked = [request.body["messages"][-1]["content"] for request in server.requests]
    assert ["look again" in text for text in asked] == [True, True, False]
    assert "half a line" in asked[2]


def test_a_narrow_window_shows_that_a_message_is_repeated(tmp_path: Path) -> None:
    with ChatServer([text("First.")]) as server:
        place = make_place(tmp_path, server)
        with place.clio(columns=40) as session:
            at_prompt(session)
            session.line("/loop 10m --times 3 look")
            session.wait_for("First.")
            session.wait_for("loop 1/3 in 10 min")


def test_escape_ends_a_loop_at_the_prompt_and_in_a_turn(tmp_path: Path) -> None:
    with ChatServer([text("First."), text("Again."), stall("Thinking")]) as server:
        place = make_place(tmp_path, server)
        with place.clio() as session:
            at_prompt(session)
            session.line("/loop 1h look")
            session.wait_for("First.")
            session.wait_for("loop 1/20 in 1 h")
            session.key("escape")
            session.wait_for("loop ended")
            session.line("/loop 1s look")
            session.wait_for("Again.")
            session.wait_for("waiting for the model")
            session.key("escape")
            session.wait_for("did not finish")
    assert len(server.requests) == 3


def test_a_loop_repeats_a_command_and_refuses_what_it_cannot_repeat(tmp_path: Path) -> None:
    with ChatServer([]) as server:
        place = make_place(tmp_path, server)
        with place.clio() as session:
            at_prompt(session)
            session.line("/loop 1s --times 2 /todo")
            session.wait_for("loop ended: 2 times")
            session.line("/loop /loop x")
            session.wait_for("cannot repeat itself")
            session.line("/loop stop")
            session.wait_for("no message is repeated")
    assert server.requests == []
