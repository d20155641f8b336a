"""Instructions of a user are remembered with one line of output, confirmed if unclear, and can be undone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    return make_place(tmp_path, server)


def system_of(server: ChatServer) -> str:
    return str(server.requests[-1].body["messages"][0]["content"])


def words_of(server: ChatServer) -> str:
    return str(server.requests[-1].body["messages"][-1]["content"])


def test_a_rule_applies_at_once_and_in_every_later_session_and_can_be_undone(place: Place, server: ChatServer) -> None:
    server.add(text("Understood."), text("Hello."), text("Hello again."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("Never push to main on Fridays.")
        clio.wait_for("Saved to user memory: never push to main on Fridays (hard limit) · /memory undo")
        clio.wait_for("Understood.")
        assert "never push to main on Fridays" in words_of(server)  # with the limits too
        assert words_of(server).index("<hard_limits") < words_of(server).index("Never push")
        clio.line("/exit")
        clio.wait_exit()
    with place.clio("--new", columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("hello")
        clio.wait_for("Hello.")
        assert "- never push to main on Fridays" in system_of(server)
        clio.line("/memory undo")
        clio.wait_for("Undone: ")
        clio.line("/exit")
        clio.wait_exit()
    with place.clio("--new", columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("hello")
        clio.wait_for("Hello again.")
        assert "Fridays" not in str(server.requests[-1].body)


def test_a_rule_is_saved_in_a_one_shot_run_too_and_reported_on_stderr(place: Place, server: ChatServer) -> None:
    server.add(text("Understood."), text("Hello."))
    command = [sys.executable, "-m", "clio", "-p"]
    env = place.env()
    done = subprocess.run(
        [*command, "Always run make lint before you commit."],
        cwd=place.project,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert done.stdout == "Understood.\n"
    assert mentions(done.stderr, "Saved", "user memory", "always run make lint before you commit")
    assert "· clio memory undo" in done.stderr, "no slash command can be typed after a one-shot run"
    again = [*command, "commit this"]
    subprocess.run(again, cwd=place.project, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    assert "always run make lint" in str(server.requests[-1].body)


def test_the_report_says_whether_what_was_saved_is_liked(place: Place, server: ChatServer) -> None:
    server.add(text("Understood."), text("Yes."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("too verbose")
        clio.wait_for("Saved to user memory: verbose answers (disliked) · /memory undo")
        clio.wait_for("Understood.")
        clio.line("I prefer early returns")
        clio.wait_for("Saved to user memory: prefer early returns (liked) · /memory undo")


def test_with_auto_remember_off_nothing_is_saved(place: Place, server: ChatServer) -> None:
    (place.home / ".clio" / "config.yaml").write_text("notice: false\n", encoding="utf-8")
    server.add(text("Understood."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("Never push to main on Fridays.")
        clio.wait_for("Understood.")
        assert "Saved to" not in clio.everything
    assert not (place.home / ".clio" / "memories.json").exists()


@pytest.mark.parametrize(("key", "kept"), [("y", True), ("n", False)])
def test_a_limit_that_may_be_temporary_needs_confirmation(
    place: Place, server: ChatServer, key: str, kept: bool
) -> None:
    server.add(text("Understood."), text("Hello."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("Never touch main.py in this change.")
        clio.wait_for("Remember for later work in this project: “never touch main.py")
        assert "Saved to" not in clio.everything
        clio.send(key)
        clio.wait_for("Saved to project memory" if kept else "❯ Ask clio")
        clio.line("hello")
        clio.wait_for("Hello.")
        assert mentions(clio.everything, "project memory", "never touch main.py") is kept


@pytest.mark.parametrize("limit", ["don't add comments in this function", "don't touch the tests in this commit"])
def test_a_limit_for_one_part_of_the_task_needs_no_confirmation(place: Place, server: ChatServer, limit: str) -> None:
    server.add(text("Understood."))
    with place.clio(columns=100, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line(f"{limit}.")
        clio.wait_for("Understood.")
        clio.wait_for("1 request")
        assert mentions(clio.everything, "Applied to this session", limit)
        assert "y/N" not in clio.everything
    assert limit.removeprefix("don't ") in str(server.requests[-1].body).partition("</stated_limits>")[0]


def test_a_blank_row_separates_a_message_from_what_was_remembered(place: Place, server: ChatServer) -> None:
    server.add(text("Noted."), text("Noted."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        for fact in ("staging listens on port 9090", "the build box has 64 cores"):
            clio.line(f"remember that {fact}")
            clio.wait_for(f"Saved to project memory: {fact}")
            clio.wait_for("1 request")
            rows = [line.rstrip() for line in clio.text.splitlines()]
            saved = next(number for number, row in enumerate(rows) if row.startswith("Saved") and fact in row)
            assert rows[saved - 1] == "" and rows[saved - 2].endswith(f"remember that {fact}")
            clio.line("/scenario")  # output of a command belongs to the same section of the screen
            clio.wait_for("task type")
        clio.line("/exit")
        clio.wait_exit()
