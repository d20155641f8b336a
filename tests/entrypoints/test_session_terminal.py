"""Sessions in a real terminal: searched and resumed with Enter, copied, exported, deleted; in the shell and outside."""

import re
import sys
from pathlib import Path

import pytest

from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.own_sessions import own_store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
OFFLINE = ("--provider", "offline")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = make_place(tmp_path)
    make_session(place, "does the client retry?", "the retry policy doubles the delay up to 30 seconds", name="Retries")
    make_session(place, "write the release notes", "here is a draft")
    return place


def store_of(place: Place) -> SessionStore:
    return own_store(place.project, place.home / ".clio")


def make_session(place: Place, question: str, answer: str, name: str | None = None) -> None:
    session = store_of(place).new(place.project, name=name)
    session.append(UserMessage(content=question))
    session.append(AssistantMessage(content=answer))
    session.close()


def test_enter_resumes_the_session_found_by_a_search(place: Place) -> None:
    with place.clio(*OFFLINE, columns=100, lines=40) as clio:
        clio.wait_for("offline · ask")
        clio.line("/session search retry policy")
        clio.wait_for(r"❯ /session switch [0-9a-f-]+\n", regex=True)
        shown = " ".join(clio.text.split())
        assert "Enter resumes “Retries”." in shown
        assert "the retry policy doubles the delay" in shown
        clio.key("enter")
        clio.wait_for("session Retries · 2 messages")


def test_the_command_suggested_by_a_search_can_be_deleted(place: Place) -> None:
    with place.clio(*OFFLINE, columns=40, lines=40) as clio:
        clio.wait_for("offline · ask")
        clio.line("/session search retry policy")
        clio.wait_for(r"❯ /session switch [0-9a-f-]+\n", regex=True)
        assert max(map(len, clio.lines)) <= 40
        clio.key("ctrl-c")
        clio.line("/session show")
        clio.wait_for("from its first message")
        assert "session Retries" not in clio.everything


def test_work_continues_in_a_copy_and_the_original_can_be_resumed(place: Place) -> None:
    with place.clio(*OFFLINE, "-r", "Retries", columns=100, lines=40) as clio:
        clio.wait_for(r"offline · ask · .*Retries", regex=True)
        clio.line("/session fork")
        clio.wait_for("session Retries (copy) · 2 messages")
        back = re.search(r"/session switch [0-9a-f-]+", clio.everything)
        assert back is not None
        clio.line(back[0])
        clio.wait_for("session Retries · 2 messages")
    assert sorted(info.name or "" for info in store_of(place).list()) == ["", "Retries", "Retries (copy)"]


def test_an_export_includes_the_latest_message(place: Place) -> None:
    with place.clio(*OFFLINE, columns=100, lines=40) as clio:
        clio.wait_for("offline · ask")
        clio.line("a word like quokka")
        clio.wait_for(r"\d requests? · [^\n]*\n\n❯ Ask[^\n]*\n", regex=True)
        clio.line("/session export talk.html")
        clio.wait_for("Wrote talk.html: ")
        clio.line("/session export talk.html")
        clio.wait_for("'talk.html' already exists; add --force to replace it")
        assert "a word like quokka" in (place.project / "talk.html").read_text(encoding="utf-8")


def test_outside_a_conversation_enter_opens_the_best_session(place: Place) -> None:
    with place.clio("sessions", "search", "retry", "policy", columns=100, lines=40) as clio:
        clio.wait_for("Resume which session (Enter: best match, q: none)?")
        clio.key("enter")
        clio.wait_for("session Retries · 2 messages")
        clio.wait_for("offline · ask")
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0


@pytest.mark.parametrize("keys", ["q\r", "\x04"])
def test_a_search_can_be_cancelled(place: Place, keys: str) -> None:
    with place.clio("sessions", "search", "retry", columns=40, lines=40) as clio:
        clio.wait_for("Resume which")
        clio.send(keys)
        assert clio.wait_exit() == 0
        assert max(map(len, clio.lines)) <= 40


def test_deleting_asks_on_a_terminal(place: Place) -> None:
    for answer, code, left in (("n", 2, 2), ("y", 0, 1)):
        with place.clio("sessions", "delete", "Retries", columns=100, lines=20) as clio:
            clio.wait_for("Delete the session 'Retries' (2 messages) permanently? [y/N]")
            clio.line(answer)
            assert clio.wait_exit() == code, clio.everything
        assert len(store_of(place).list()) == left


@pytest.mark.parametrize("keys", ["\x1b[B\r", "retr\r"], ids=["arrows", "typed letters"])
def test_the_resume_flag_offers_a_list(place: Place, keys: str) -> None:
    with place.clio(*OFFLINE, "-r", columns=100, lines=40) as clio:
        clio.wait_for("type to filter")
        clio.send(keys)
        clio.wait_for("session Retries · 2 messages")


def test_sessions_and_memories_are_chosen_from_a_list(place: Place) -> None:
    with place.clio(*OFFLINE, columns=100, lines=40) as clio:
        clio.wait_for("offline · ask")
        clio.line("/session")
        clio.wait_for("Switch to which session?")
        clio.send("retr\r")
        clio.wait_for("session Retries · 2 messages")
        at_prompt(clio)
        clio.line("#staging listens on port 5433")
        clio.wait_for("Saved to project memory")
        clio.line("/memory")
        clio.wait_for("1 memory: show which one?")
        clio.wait_for_screen("› [^\n]*staging listens on port 5433")
        clio.send("\r")
        clio.wait_for("first stated")


def test_a_note_is_changed_in_the_editor(place: Place) -> None:
    editor = place.home / "editor"
    editor.write_text("#!/bin/sh\nprintf 'changed' > \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    argv = ("note", "set", "build", "as it was")
    with place.clio(*argv, columns=80, lines=20) as clio:
        assert clio.wait_exit() == 0, clio.everything
    with place.clio("note", "edit", "build", columns=80, lines=20, EDITOR=str(editor)) as clio:
        assert clio.wait_exit() == 0, clio.everything
    with place.clio("note", "show", "build", columns=80, lines=20) as clio:
        clio.wait_for("changed")
