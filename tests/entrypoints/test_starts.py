"""Starts in a real terminal: text typed during the start is on the line, and the screen has each line once.

The terminal answers late, is resized and gets keys at random times. `make starts N=200` tries more starts.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, at_prompt, make_place, without_header
from tests.support.chat_server import ChatServer, text
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
READY = "test-model · ask"


class LateTerminal:
    """A terminal whose replies arrive at most `delay_s` late."""

    def __init__(self, session: PtySession, delay_s: float, rng: random.Random) -> None:
        self.session = session
        self._delay_s = delay_s
        self._rng = rng
        self._waiting: list[tuple[float, str]] = []
        session.screen.reply = self._reply

    def _reply(self, reply: str) -> None:
        self._waiting.append((time.monotonic() + self._delay_s * self._rng.random(), reply))

    def run_until(self, is_over: Callable[[], bool], limit_s: float = 30.0) -> None:
        """Pass on output and replies until the condition holds."""
        end = time.monotonic() + limit_s
        while not is_over():
            now = time.monotonic()
            assert now < end, self.session.everything
            for due in [reply for reply in self._waiting if reply[0] <= now]:
                self._waiting.remove(due)
                self.session.send(due[1])
            self.session.take_in(0.01)

    def run_for(self, seconds: float) -> None:
        """Pass on output and replies for a while, and until no reply is waiting."""
        end = time.monotonic() + seconds
        self.run_until(lambda: time.monotonic() >= end and not self._waiting)


def check_start(place: Place, server: ChatServer, seed: int) -> None:
    """Start clio once, with typing, delays and sizes that follow from the seed."""
    rng = random.Random(seed)
    typed = ""
    with place.clio() as session:
        terminal = LateTerminal(session, rng.choice((0.0, 0.02, 0.3, 1.5, 4.0)), rng)
        for _ in range(rng.randrange(8)):
            terminal.run_for(rng.random() * rng.choice((0.05, 0.3, 1.0)))
            if rng.random() < 0.2:
                session.resize(rng.choice((60, 80, 100)), rng.choice((24, 30)))
            else:
                keys = rng.choice(("a", "b", "word"))
                session.send(keys)
                typed += keys
        terminal.run_until(lambda: READY in session.text)
        terminal.run_for(0.5)
        rows = [row for row in without_header(session.everything).splitlines() if row.strip()]
        assert rows[0].strip() == f"❯ {typed}" if typed else rows[0].startswith("❯ Ask"), (seed, rows)
        assert rows[1].startswith(READY) and len(rows) == 2, (seed, rows)
        session.send(" end\r")
        terminal.run_until(lambda: "Answered." in session.everything)
    assert server.requests[-1].body["messages"][-1]["content"].strip().endswith(f"{typed} end".strip())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_text_typed_during_the_start_is_on_the_line(place: Place, server: ChatServer, seed: int) -> None:
    server.add(text("Answered."))
    check_start(place, server, seed)


def test_the_cursor_row_is_queried_once_and_a_late_reply_moves_nothing(place: Place, server: ChatServer) -> None:
    """On a slow connection the reply arrives when the row has changed; it must not become text either."""
    server.add(text("Answered."), text("Again."))
    with place.clio() as session:
        asked: list[str] = []
        session.screen.reply = asked.append
        session.wait_for(READY)
        session.line("first line")
        session.wait_for("1 request")
        at_prompt(session)
        before = session.everything
        session.send("\x1b[1;1R")
        session.line("second line")
        session.wait_for("Again.")
        assert len([reply for reply in asked if reply.endswith("R")]) == 1
        assert session.everything.startswith(before[: before.rindex("❯ Ask")].rstrip())
        assert session.everything.count("❯ first line") == session.everything.count("❯ second line") == 1


def test_a_reply_about_the_cursor_row_is_not_left_for_the_shell(place: Place) -> None:
    """Clio waits for it before it ends."""
    rest = (
        "import os, sys, termios, tty; tty.setraw(0); os.set_blocking(0, False); print('left', sys.stdin.buffer.read())"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'clio']); {rest}"
    with place.clio(code=code) as session:
        asked: list[str] = []
        session.screen.reply = asked.append
        session.wait_for("❯")
        session.send("/exit\r")
        while not asked:
            session.take_in(0.01)
        session.take_in(0.2)
        session.send("".join(asked))
        session.wait_for("left None")


def test_a_long_line_is_wrapped_at_words_when_it_is_sent(place: Place, server: ChatServer) -> None:
    server.add(text("Answered."), text("Again."))
    with place.clio(columns=40) as session:
        session.wait_for(READY)
        session.line("please rename the discount function in the prices module")
        session.wait_for("1 request")
        at_prompt(session)
        assert without_header(session.text).splitlines()[:3] == [
            "❯ please rename the discount function",
            "  in the prices module",
            "",
        ]
        session.line("again")
        session.wait_for("Again.")
        assert session.everything.count("please rename") == 1


def main() -> None:
    """Check as many starts as the first argument says, beginning with the seed in the second."""
    count, first = (int(word) for word in (*sys.argv[1:3], "0")[:2])
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder, ChatServer([text("Answered.")]) as server:
            check_start(make_place(Path(folder), server), server, seed)
    print(f"{count} starts, no difference")


if __name__ == "__main__":
    main()
