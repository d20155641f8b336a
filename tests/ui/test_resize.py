"""A window resized in the middle of an answer, with a real server and a real pseudo-terminal.

The emulator cuts what it shows when it becomes narrower, and drops lines when it becomes lower, so it is made narrower
only before long lines are printed permanently.
"""

import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import make_place
from tests.support.chat_server import ChatServer, text
from tests.support.examples import sample
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
ANSWER = "".join(
    f"Paragraph {number} has **words** enough to be wrapped at forty columns and at eighty as well, hasn't it?\n\n"
    f"- item {number}\n- another\n\n```python\nvalue = {number}  # a line of code\n```\n\n"
    for number in range(1, 9)
)
CUT = {"XTERM_VERSION": "370"}  # like the emulator here, it cuts lines and does not wrap them again


def answered(folder: Path, *widths: int) -> list[str]:
    """Return the answer's text in scrollback and screen after resizing while it streams."""
    with ChatServer([text(ANSWER, chunk_size=12, pause_s=0.02)]) as server:  # enough for a busy machine
        place = make_place(folder, server)
        with place.clio(columns=80, lines=24, **CUT) as clio:
            clio.wait_for("test-model · ask")
            clio.line("go")
            for number, width in enumerate(widths, 1):
                clio.wait_for(f"Paragraph {number} has")
                clio.resize(width, 24)
            clio.wait_for("1 request")
            return words_of(clio)


def words_of(clio: PtySession) -> list[str]:
    answer = clio.everything.partition("❯ go")[2].partition("1 request")[0]
    return answer.split()


@pytest.mark.sampled
def test_nothing_is_lost_and_nothing_appears_twice(tmp_path: Path) -> None:
    straight = answered(tmp_path / "straight")
    assert straight.count("Paragraph") == 8
    for number, widths in enumerate(sample([(40, 200), (200,), (40, 60, 120)], 1)):
        assert answered(tmp_path / f"resized{number}", *widths) == straight, widths
