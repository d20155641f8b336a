"""Themes in a real shell: the terminal is queried, its answer decides, and `/theme` changes the output."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.entrypoints.repl.theme import BACKGROUND_QUERY
from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.chat_server import ChatServer, stall, text, tool_calls
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
DARK_ARROW, LIGHT_ARROW = b"38;2;135;215;255;1m", b"38;2;0;95;135;1m"
ANSWER = ("\x1b]11;rgb:1e1e/", "1e1e/2e2e\x1b\\", "\x1b[?62;2", "2c")
WRITE = ("write_file", {"path": "a.py", "content": "def f():\n    return 1\n"})
COLOUR = re.compile(rb"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9\d|10[0-7])(?:;[\d;]*)?m")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([]) as running:
        yield running


def start(place: Place, **env: str) -> PtySession:
    """Start a clio in a terminal that answers as the test types, and itself only the cursor position."""
    clio = place.clio(columns=90, lines=20, COLORTERM="truecolor", **env)

    def reply(data: str) -> None:
        if not data.endswith("c"):
            clio.send(data)

    clio.screen.reply = reply
    return clio


def wait_raw(clio: PtySession, data: bytes, since: int = 0) -> None:
    """Wait until the program has written these bytes."""
    while data not in bytes(clio.raw[since:]):
        assert clio.take_in(clio.timeout_s), f"it ended without {data!r}"


def leave(clio: PtySession) -> None:
    clio.wait_for(r"❯ Ask[^\n]*\n+[^\n]*test-model · [^\n]*\Z", regex=True)
    clio.key("ctrl-d")
    assert clio.wait_exit() == 0


def test_an_answer_in_pieces_between_keys_and_a_manual_change(tmp_path: Path, server: ChatServer) -> None:
    place = make_place(tmp_path, server)
    server.add(text("# Title\n\n```python\ndef f(): pass\n```\n"))
    with start(place) as clio:
        wait_raw(clio, BACKGROUND_QUERY.encode())
        clio.wait_for("test-model · ")
        assert DARK_ARROW not in clio.raw and b"\x1b[0;36;1m" in clio.raw  # not known yet: 16 colours
        clio.send("he" + ANSWER[0])
        clio.wait_for("❯ he")
        clio.send(ANSWER[1] + "llo" + ANSWER[2])
        clio.wait_for("❯ hello")
        clio.send(ANSWER[3] + "!")
        clio.wait_for("❯ hello!")
        wait_raw(clio, DARK_ARROW)
        clio.key("ctrl-c")
        clio.wait_gone("hello")
        clio.line("/theme hgih-contrast")
        clio.wait_for("did you mean 'high-contrast'?")
        clio.send("/theme ")
        clio.wait_for("for light backgrounds")
        clio.line("light")
        clio.wait_for("theme light, saved in")
        wait_raw(clio, LIGHT_ARROW)
        assert (place.home / ".clio" / "config.yaml").read_text(encoding="utf-8") == "theme: light\n"
        before = len(clio.raw)
        clio.line("write something")
        clio.wait_for("1 request")
        drawn = bytes(clio.raw[before:])
        sent = next(row for row, line in enumerate(clio.lines) if line == "❯ write something")
        assert {clio.screen.buffer[sent][column].bg for column in range(clio.screen.columns)} == {"e4e4e4"}
        assert b"\x1b[1;4;38;2;95;0;175mTitle" in drawn  # a heading, and a keyword of code
        assert re.search(rb"\x1b\[38;2;95;0;175(;48;2;\d+;\d+;\d+)?mdef", drawn)
        clio.line("/theme")
        clio.wait_for(r"→ +light .*\n +high-contrast .*\n +none ", regex=True)
        clio.wait_for("enter to choose")
        clio.key("escape")
        assert "rgb" not in clio.everything and "2c" not in clio.everything
        leave(clio)


def test_an_answer_that_arrives_during_a_turn(tmp_path: Path, server: ChatServer) -> None:
    place = make_place(tmp_path, server)
    (place.home / ".clio" / "themes").mkdir()
    (place.home / ".clio" / "themes" / "mine.yaml").write_text("accent: gren\n", encoding="utf-8")
    (place.home / ".clio" / "config.yaml").write_text("theme: mine\n", encoding="utf-8")
    server.add(stall("thinking about it"))
    with start(place) as clio:
        clio.send("hello\r")  # before there is an input line
        clio.wait_for("themes/mine.yaml:1: accent has 'gren'")
        clio.wait_for("thinking about")
        clio.send("nex" + "".join(ANSWER[:2]))
        clio.wait_for("❯ nex")
        clio.send("".join(ANSWER[2:]) + "t")
        clio.wait_for("❯ next")
        clio.key("escape")
        clio.wait_for("❯ next")
        wait_raw(clio, DARK_ARROW)
        clio.key("ctrl-c")
        clio.wait_gone("❯ next")
        assert "rgb" not in clio.everything and "62" not in clio.everything
        leave(clio)


def test_without_colour_nothing_is_coloured(tmp_path: Path, server: ChatServer) -> None:
    place = make_place(tmp_path, server)
    (place.home / ".clio" / "config.yaml").write_text("theme: none\n", encoding="utf-8")
    server.add(tool_calls([WRITE]), text("Done: `f`.\n\n```python\ndef f(): ...\n```\n\n| a |\n|---|\n| b |\n"))
    with start(place) as clio:
        clio.wait_for("test-model · ")
        clio.send("/the")
        clio.wait_for("the colours: dark")
        assert not COLOUR.search(bytes(clio.raw))
        clio.line("me")
        clio.wait_for("enter to choose")  # below samples in the colours of each
        clio.key("escape")
        at_prompt(clio)
        before = len(clio.raw)
        clio.line("go on")
        clio.wait_for("n no")
        clio.send("y")
        clio.wait_for("2 requests")
        assert not COLOUR.search(bytes(clio.raw[before:]))
        assert "+def f():" in clio.everything
        leave(clio)
    assert BACKGROUND_QUERY.encode() not in clio.raw  # nothing depends on the background
