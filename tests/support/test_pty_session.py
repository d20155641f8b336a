"""The helpers of other tests: a real program in a real pseudo-terminal, and the picture of its screen."""

import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.pty_session import PtySession
from tests.support.terminal_picture import render_bytes, screen_lines, svg_of

PROGRAM = """
import sys, os, tty, termios
sys.stdout.write("ready %dx%d\\n" % os.get_terminal_size()); sys.stdout.flush()
for line in sys.stdin:
    if line.startswith("where"):
        old = termios.tcgetattr(0); tty.setcbreak(0)
        sys.stdout.write("\\x1b[6n"); sys.stdout.flush()
        answer = os.read(0, 20); termios.tcsetattr(0, termios.TCSANOW, old)
        print("at", answer.decode()[1:])
    elif line.startswith("size"):
        print("size %dx%d" % os.get_terminal_size())
    elif line.startswith("quit"):
        sys.exit(7)
    else:
        print("heard", line.strip())
    sys.stdout.flush()
"""


@pytest.fixture
def session(tmp_path: Path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    with PtySession([sys.executable, str(path)], cwd=tmp_path, env=dict(os.environ), columns=60, lines=10) as running:
        yield running


def test_types_reads_resizes_and_sees_the_exit_code(session: PtySession) -> None:
    session.wait_for("ready 60x10")
    session.line("hello 漢字")
    session.wait_for("heard hello 漢字")
    session.resize(30, 8)
    session.line("size")
    session.wait_for("size 30x8")
    session.line("where")
    session.wait_for(r"at \[\d+;\d+R", regex=True)
    session.line("quit")
    assert session.wait_exit() == 7


def test_a_wait_that_times_out_shows_the_screen(session: PtySession) -> None:
    session.wait_for("ready")
    with pytest.raises(AssertionError, match="ready 60x10"):
        session.wait_for("never said", 0.2)


def test_scrollback_is_kept(session: PtySession) -> None:
    session.wait_for("ready")
    for number in range(12):
        session.line(f"n{number}")
        session.wait_for(f"heard n{number}")
    assert "heard n0\n" not in session.text
    assert "heard n0\n" in session.everything


def test_faint_text_and_true_colour_are_distinguished() -> None:
    screen = render_bytes(b"\x1b[2mfaint\x1b[0m \x1b[38;2;1;2;3mtrue\x1b[0m \x1b[1mbold\x1b[22mnot\x1b[>4;1m")
    assert [screen.buffer[0][column].fg for column in (0, 5, 6)] == ["dim", "default", "010203"]
    assert screen.buffer[0][11].bold


def test_the_picture_is_xml_with_every_word_at_its_cell() -> None:
    screen = render_bytes("\x1b[31ma<b\x1b[0m 漢字x\n\n\x1b[7mz\x1b[0m\n\n".encode(), 20, 6)
    assert screen_lines(screen)[:3] == ["a<b 漢字x", "", "z"]
    root = ET.fromstring(svg_of(screen))
    texts = {(node.text or ""): node for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert float(texts["漢"].attrib["textLength"]) == 2 * float(texts["z"].attrib["textLength"])
    assert texts["a<b"].attrib["fill"] == "#ff7b72"
    assert float(texts["x"].attrib["x"]) == pytest.approx(16 + 8 * 8.4, abs=0.1)
