"""/commit, /pr and a worktree in a real terminal, with a real git."""

import base64
import sys
import time
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, Pause, Reply, chunk, text
from tests.support.pty_session import PtySession
from tests.support.repositories import NOBODY, git, make, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    place = make_place(tmp_path, server)
    make(place.project, {"calc.py": "one\n", ".gitignore": ".clio/\n"}, subject="feat: begin")
    return place


GUARD_S = 1.2  # keys pressed sooner after a question appears count as typed for the next line


def press_after_pause(clio: PtySession, key: str, shown: str) -> None:
    """Answer a question as a user does who has read it."""
    end = time.monotonic() + GUARD_S
    while time.monotonic() < end:
        clio.take_in(0.05)
    clio.send(key)
    clio.wait_for(shown)


def test_a_commit_is_shown_edited_made_and_copied_to_the_clipboard(place: Place, server: ChatServer) -> None:
    write(place.project, {"calc.py": "two\n"})
    editor = place.home / "editor.sh"
    editor.write_text("#!/bin/sh\necho 'By hand.' >> \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    server.add(text("fix: count to two\n\n- and no further"), text("Count to two\n\nAll of it."))
    with place.clio(EDITOR=str(editor), **NOBODY) as clio:
        clio.wait_for("test-model")
        clio.line("/commit")
        clio.wait_for("reword")
        shown = clio.text
        assert "? commit · 1 file, +1 −1 · on main" in shown
        assert "    fix: count to two\n\n    - and no further\n\n  M calc.py  +1 −1\n" in shown
        press_after_pause(clio, "d", "+two")
        press_after_pause(clio, "e", "By hand.")
        press_after_pause(clio, "\r", "  committed ")
        clio.line("/pr HEAD~1")
        clio.wait_for("All of it.")
        clio.wait_for("❯")
        clio.line("/exit")
        assert clio.wait_exit() == 0
    assert git(place.project, "log", "-1", "--format=%B") == "fix: count to two\n\n- and no further\nBy hand."
    assert b"\x1b]52;c;" + base64.b64encode(b"Count to two\n\nAll of it.") in bytes(clio.raw)


def test_escape_while_the_message_is_written_uses_rules_and_a_second_one_cancels(
    place: Place, server: ChatServer
) -> None:
    write(place.project, {"calc.py": "two\n"})
    server.add(Reply(lambda request: [chunk({"content": "fix"}), Pause(60)]))
    with place.clio(**NOBODY) as clio:
        clio.wait_for("test-model")
        clio.line("/commit")
        clio.wait_for("esc to interrupt")
        press_after_pause(clio, "\x1b", "generated from the diff")
        clio.wait_for("chore: update calc.py")
        press_after_pause(clio, "n", "nothing was committed")
    assert git(place.project, "log", "-1", "--format=%s") == "feat: begin"


@pytest.mark.fast
def test_work_continues_in_a_worktree(place: Place, server: ChatServer) -> None:
    server.add(text("hello from the side"))
    with place.clio("--worktree", "side", **NOBODY) as clio:
        clio.wait_for("test-model")
        assert "clio: new worktree" in clio.everything
        assert "clio/side" in clio.text
        clio.line("hello")
        clio.wait_for("hello from the side")
        clio.line("/exit")
        assert clio.wait_exit() == 0
    assert list((place.project / ".clio/sessions").glob("*.json"))
    assert not (place.project.parent / "project-side/.clio").exists()
