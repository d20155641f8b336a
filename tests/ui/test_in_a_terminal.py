"""Screen, keys and questions together in a real pseudo-terminal with a real event loop."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pty_session import PtySession

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from prompt_toolkit.output import create_output
from clio.agent.user_interface import *
from clio.messages import Usage
from clio.security.actions import RunCommand
from clio.security.approval import ApprovalRequest, Ask
from clio.ui.approval_dialog import TerminalApprover, TerminalAsker
from clio.ui.prompt_io import PromptIO
from clio.ui.keyboard import KeyWatch
from clio.ui.terminal_handoff import make_suspender
from clio.ui.screen import Screen
from clio.ui.pipe_screen import PipeScreen
from clio.ui.theme import detect_terminal
from clio.ui.keyboard import TypedKeys
from clio.ui.keyboard import TypingState

async def main():
    terminal = detect_terminal(os.environ, is_tty=sys.stdout.isatty())
    output = create_output()
    def size():
        now = output.get_size()
        return now.columns, now.rows
    screen = Screen(sys.stdout, terminal, size) if terminal.live else PipeScreen(sys.stdout, sys.stdout)
    stop, typed = asyncio.Event(), TypedKeys()
    keys = KeyWatch(stop.set, typed=typed, on_change=lambda: screen.set_typed(TypingState(line=typed.line)))
    pause = make_suspender(screen, lambda: keys)
    prompt_io = PromptIO(sys.stdout, terminal, size, pause, stop.set)
    async with keys:
        screen.handle(TurnStarted(session_id="s", text="t", model="m"))
        screen.handle(TextDelta(text="Streaming **words** "))
        await asyncio.sleep(0.1)  # the pause of a model that has begun to answer: a frame is drawn
        screen.handle(ToolStarted(call_id="1", name="run", title="run git log"))
        request = ApprovalRequest(title="run git log", verdict=Ask("low", "a command", "git log *"),
                                  action=RunCommand(command="git log", cwd=Path.cwd()))
        answer = await TerminalApprover(prompt_io, lambda path: ".").ask(request)
        screen.handle(Notice(text=f"answer was {answer.kind}"))
        word = await TerminalAsker(prompt_io).ask("Which one?", ("left", "right"))
        screen.handle(ToolFinished(call_id="1", name="run", title="run git log", ok=True, summary=word, seconds=1))
        limit = await TerminalAsker(prompt_io).ask("Any limit?", ("1", "2"))
        screen.handle(Notice(text=f"limit: {limit}"))
        screen.handle(TextDelta(text="now waiting"))
        await stop.wait()
        screen.handle(TurnFinished(status="interrupted", text="", steps=1, usage=Usage(), seconds=1.0))
    screen.close()
    print("typed ahead:", repr(keys.pop_text()), "echo:", os.popen("stty -a").read().count(" echo "))

asyncio.run(main())
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[PtySession]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent), "COLUMNS": "33"}
    for name in ("NO_COLOR", "XTERM_VERSION", "STY"):
        env.pop(name, None)
    with PtySession([sys.executable, str(program)], cwd=tmp_path, env=env, columns=70, lines=20) as running:
        yield running


def test_a_turn_with_questions_and_an_interruption(session: PtySession) -> None:
    session.wait_for("a always allow git log *")
    assert "esc to interrupt" not in session.text
    session.send("a")
    session.wait_for("answer was always")
    session.wait_for("› 1 left")
    session.key("down")
    session.wait_for("› 2 right")
    session.key("enter")
    session.wait_for("run git log … right")
    assert "1 left" not in session.text  # the question has collapsed into the row of the call
    session.wait_for("Any limit?")
    session.send("none, ")
    session.wait_for("answer: none,")
    session.line("2 would do")
    session.wait_for("limit: none, 2 would do")
    session.wait_for("now waiting")
    session.wait_for("esc to interrupt")
    session.send("next ")
    session.wait_for("❯ next")
    session.key("escape")
    session.wait_for("typed ahead: 'next ' echo: 1")
    assert session.wait_exit() == 0
    assert session.everything.count("Streaming words") == 1
    assert "esc to interrupt" not in session.everything
    assert "git log *" not in session.text.replace("always allowed: git log *", "")


def test_a_dumb_terminal_gets_no_control_sequences(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent), "TERM": "dumb"}
    with PtySession([sys.executable, str(program)], cwd=tmp_path, env=env, columns=70, lines=20) as session:
        session.wait_for("and say why:")
        session.line("y")
        session.wait_for("answer was once")
        session.wait_for("number or answer:")
        session.line("left")
        session.wait_for("run git log ... left")
        # Text typed before the prompt does not answer the question.
        session.wait_for(r"Any limit\?[\s\S]*number or answer:", regex=True)
        session.line("2")
        session.wait_for("limit: 2")
        session.wait_for("now waiting")
        session.key("ctrl-c")  # raw mode again: a key, not a signal
        session.wait_for("typed ahead")
        assert session.wait_exit() == 0
        assert b"\x1b" not in session.raw
