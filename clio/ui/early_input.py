"""Text typed before a question was on the screen: it never answers the question, and the next prompt gets it back.

Only a terminal can hold such text. What a pipe brings was meant for the questions that read it.
"""

import os
import sys
from collections.abc import Iterable

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from clio.ui.typing.typed_keys import TypedKeys
from clio.ui.typing.typed_line import TypedLine

_kept = TypedLine()  # a process has one terminal


def take_kept_text() -> str:
    """The text kept so far, without Enter at its end: the user must see it before it is sent. Forgets it."""
    return _kept.take().rstrip("\n")


def keep_early_keys(keyboard: Input) -> None:
    """Let a question, about to be shown, be answered only by keys that are still to come."""
    if os.isatty(keyboard.fileno()):
        with keyboard.raw_mode():
            keep_presses([*get_typeahead(keyboard), *keyboard.read_keys(), *keyboard.flush_keys()])


def keep_early_lines(file: int = 0) -> None:
    """The same for a question to be answered by a line the terminal itself edits."""
    if sys.platform == "win32" or not os.isatty(file):
        return
    import termios

    try:
        before = termios.tcgetattr(file)
        at_once = termios.tcgetattr(file)
        at_once[3] &= ~(termios.ICANON | termios.ECHO)
        at_once[6][termios.VMIN] = at_once[6][termios.VTIME] = 0
        termios.tcsetattr(file, termios.TCSANOW, at_once)
    except termios.error:  # the terminal is gone: reading the answer will say so
        return
    pieces: list[bytes] = []
    try:
        while piece := os.read(file, 4096):
            pieces.append(piece)
    except OSError:  # the same
        return
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)
    keep_bytes(b"".join(pieces))


def keep_bytes(typed: bytes) -> None:
    """Keep what a terminal sent, as the text it would have become on a line."""
    if not typed:
        return
    presses: list[KeyPress] = []
    parser = Vt100Parser(presses.append)
    parser.feed(typed.decode("utf-8", errors="replace"))
    parser.flush()
    keep_presses(presses)


def keep_presses(presses: Iterable[KeyPress]) -> None:
    """Keep what these keys would have typed on a line; a key after Esc is Alt and that key."""
    typed = TypedKeys(_kept)
    after_escape = False
    for press in presses:
        if press.key != Keys.Escape:
            typed.press(press, alt=after_escape)
        after_escape = press.key == Keys.Escape
