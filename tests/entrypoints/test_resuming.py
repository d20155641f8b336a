"""A resumed session is on the screen before the app is loaded, and the app continues with it."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.entrypoints.repl.components import terminal_size
from clio.entrypoints.repl.start import SessionResume, render_session, summarize_session
from clio.errors import SessionLocked
from clio.messages import AssistantMessage, ToolCall, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import PlanMode
from clio.sessions.store import open_session_store
from clio.ui.hanging_text import HangingText
from clio.ui.screen import Screen
from clio.ui.theme import Terminal
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.support.pty_session import PtySession

LIVE = Terminal(live=True, escapes=False, colour=False, reflows=True)
PROGRAM = """
import os, sys
import clio.entrypoints.repl.repl
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.repl.start import SessionResume
from clio.ui.theme import Terminal
from pathlib import Path
loaded = load_config(Options(cwd=Path.cwd()), os.environ)
resuming = SessionResume(loaded, Terminal(live=True, escapes=False, colour=False, reflows=True))
assert resuming.show(resuming.choose(Options(cwd=Path.cwd(), continue_latest=True)))
print({"clio.app", "clio.agent.conversation", "clio.ui.screen"} & set(sys.modules))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = make_place(tmp_path, starts_python=True)
    monkeypatch.chdir(place.project)
    for name in list(os.environ):
        if name.startswith(("CLIO_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place.home))
    return place


def loaded() -> LoadedConfig:
    """Return the configuration in this folder."""
    return load_config(Options(cwd=Path.cwd()), os.environ)


def make_session(*, proposed: bool = False, open_call: bool = False) -> Session:
    """Return an open session with messages."""
    session = open_session_store(loaded()).new(Path.cwd(), name="Retries")
    session.append(UserMessage(content="does the client retry?"))
    calls = (ToolCall(id="c", name="read_file", arguments='{"path": "clio/retry.py"}'),) if open_call else ()
    session.append(AssistantMessage(content="it doubles the delay", tool_calls=calls))
    if proposed:
        session.set_plan_mode(PlanMode(proposed=True))
    return session


def resuming(terminal: Terminal = LIVE) -> SessionResume:
    return SessionResume(loaded(), terminal)


def test_its_end_is_shown_without_the_app(place: Place) -> None:
    make_session().close()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=place.env(), cwd=place.project, check=False
    )
    assert done.stdout.splitlines() == [
        "session Retries · 2 messages",
        "",
        "❯ does the client retry?",
        "",
        "◆ it doubles the delay",
        "",
        "set()",
    ], done.stderr


@pytest.mark.parametrize(
    ("words", "called"),
    [("does the client retry?", "“does the client retry?”"), ("word " * 40, f"“{('word ' * 10)[:49]}…”")],
)
def test_an_unnamed_session_is_titled_by_its_first_words(place: Place, words: str, called: str) -> None:
    session = open_session_store(loaded()).new(Path.cwd())
    session.append(UserMessage(content=words))
    assert next(summarize_session(session)) == f"session {called} · 1 message"
    session.close()


def test_messages_and_questions_that_come_first_wait_for_the_app(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = make_session(proposed=True)
    planned.close()
    damaged = make_session()
    journal = open_session_store(loaded()).folder / f"{damaged.id}.journal.jsonl"
    assert damaged._disk is not None
    damaged._disk.release()
    journal.write_bytes(journal.read_bytes() + b"{nonsense}\n")
    plain = make_session()
    plain.close()
    for session, terminal in ((planned, LIVE), (damaged, LIVE), (plain, Terminal(
        live=False, escapes=False, colour=False, reflows=False
    ))):  # fmt: skip
        one = resuming(terminal)
        assert not one.show(session.id)
        one.close()
    assert capsys.readouterr().out == ""
    assert resuming().show(None)
    assert not resuming(Terminal(live=False, escapes=False, colour=False, reflows=False)).show(None)


def test_a_session_that_no_app_continues_is_released(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    session = make_session(open_call=True)
    session.close()
    one = resuming()
    assert one.show(session.id)
    with pytest.raises(SessionLocked):
        resuming().show(session.id)
    one.close()
    one.close()
    again = open_session_store(loaded()).open(session.id)
    assert len(again.messages) == 3  # the open call gets a result, once and on disk
    again.close()
    shown = capsys.readouterr().out
    assert "session Retries · 3 messages" in shown
    assert "● read clio/retry.py … interrupted" in shown


def test_it_looks_like_on_the_live_screen(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    session = make_session()
    session.append(UserMessage(content="words " * 40 + "\x1b[31mred\n\n漢字" * 50))
    session.close()
    terminal = Terminal(live=True, escapes=True, colour=True, reflows=True)
    one = resuming(terminal)
    assert one.show(session.id)
    one.close()
    shown = capsys.readouterr().out
    screen = Screen(sys.stdout, terminal, terminal_size)
    screen.show_parts(render_session(session, terminal.theme, terminal_size()[0]))
    assert shown.count("\n") > 8
    # a frame is drawn at once; the blank line before the prompt follows with the prompt
    assert shown == re.sub(r"\x1b\[\?2026[hl]", "", capsys.readouterr().out) + "\n"


def test_user_messages_look_like_in_the_conversation(place: Place) -> None:
    session = make_session()
    session.append(UserMessage(content="and\nhow long?"))
    session.close()
    parts = list(render_session(session, LIVE.theme, 80))
    users = [part.body for part in parts if isinstance(part.body, HangingText)]
    assert [row.plain for row in users] == ["❯ does the client retry?", "❯ and", "  how long?"]
    assert all(row.style == LIVE.theme.user_message for row in users)


def test_it_is_shown_on_a_terminal_that_is_not_utf_8_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session()
    session.close()
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    one = resuming()
    assert one.show(session.id)
    one.close()
    narrow.seek(0)
    assert narrow.read().splitlines()[:3] == ["session Retries - 2 messages", "", "> does the client retry?"]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_text_typed_at_once_continues_that_session(place: Place) -> None:
    session = make_session()
    session.close()

    def clio() -> PtySession:
        return place.clio("--provider", "offline", "-c", columns=100, lines=40)

    with clio() as shell:
        shell.send("and how long?\r")
        shell.wait_for(
            r"session Retries · 2 messages\n\n❯ does the client retry\?\n\n◆ it doubles the delay\n\n❯", regex=True
        )
        shell.wait_for(r"\d requests? · ", regex=True)
        with clio() as second:
            assert "is open in another clio" in second.wait_for("is open in another clio")
            second.wait_for("Enter to cancel")
            second.key("enter")
            assert second.wait_exit() == 0
        shell.key("ctrl-d")
        shell.wait_for("Retries")
        assert shell.wait_exit() == 0
    words = [message.content for message in open_session_store(loaded()).read(session.id)]
    assert words[:3] == ["does the client retry?", "it doubles the delay", "and how long?"]
    assert len(words) > 3


@pytest.fixture
def open_elsewhere(place: Place) -> Iterator[Session]:
    """Return the newest session, which this process has open; an older one is free."""
    older = open_session_store(loaded()).new(Path.cwd())
    older.append(UserMessage(content="older question"))
    older.close()
    session = open_session_store(loaded()).new(Path.cwd())
    session.append(UserMessage(content="newer question"))
    yield session
    session.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(
    ("letter", "continued", "count"), [("c", "“newer question”", 3), ("n", "“older question”", 2), ("s", "", 2)]
)
def test_a_session_in_use_elsewhere_offers_alternatives(
    place: Place, open_elsewhere: Session, letter: str, continued: str, count: int
) -> None:
    with place.clio("--provider", "offline", "-c", PAGER="cat") as session:
        session.send("early")  # typed before the question, so it answers nothing
        session.wait_for("is open in another clio")
        session.wait_for("n  continue the next one: “older question”")
        session.wait_for("Enter to cancel")
        session.line("x")
        session.wait_for(r"(Enter to cancel[\s\S]*){2}", regex=True)
        session.line("v")
        session.wait_for("❯ newer question")
        session.wait_for(r"(Enter to cancel[\s\S]*){3}", regex=True)
        session.line(letter)
        if continued:
            session.wait_for(f"session {continued} · 1 message")
        session.wait_for("❯ early")
    assert len(open_session_store(loaded()).list()) == count


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_enter_leaves_a_session_in_use_elsewhere_alone(place: Place, open_elsewhere: Session) -> None:
    with place.clio("--provider", "offline", "-r", open_elsewhere.id) as session:
        session.wait_for("Enter to cancel")
        assert "continue the next one" not in session.text
        session.key("enter")
        assert session.wait_exit() == 0


def test_a_run_without_a_terminal_lists_the_alternatives(place: Place, open_elsewhere: Session) -> None:
    place_options = ("--provider", "offline", "-p", "hello")
    refused = clio(place, *place_options, "-c")
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert f"clio -r {open_elsewhere.id} --fork" in refused.stderr
    assert "--new" in refused.stderr
    for which in ("-c", f"--resume={open_elsewhere.id}"):
        assert clio(place, *place_options, which, "--fork").returncode == 0
    copies = [info for info in open_session_store(loaded()).list() if info.first_words == "newer question"]
    assert len(copies) == 3
    assert clio(place, *place_options, "--fork").returncode == 2
