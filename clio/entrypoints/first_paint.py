"""Puts the prompt on the screen before anything heavy is imported, and keeps what is typed until it can be read.

Only the standard library's smallest modules are used here: this runs while the interpreter is still warming up.
"""

import atexit
import os
import sys

TYPE_CHECKING = False  # as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_undo: "Callable[[], None] | None" = None
"""Puts the terminal back as it was; None where nothing was changed."""
_drawn = False
_DUMB = ("", "dumb", "unknown")
_NARROW_FONTS = ("linux", "vt100", "vt220", "ansi")  # consoles whose fonts lack the arrow


def is_terminal() -> bool:
    """Whether a person sits at a terminal that can move its cursor."""
    try:
        return os.isatty(0) and os.isatty(1) and os.environ.get("TERM", "") not in _DUMB
    except OSError:
        return False


def can_draw(stream: "TextIO") -> bool:
    """Whether a person sees this stream in a terminal that can go back on its line."""
    try:
        # Windows names no terminal; each of its consoles can.
        return stream.isatty() and (os.name == "nt" or os.environ.get("TERM", "") not in _DUMB)
    except ValueError:  # closed
        return False


def prompt_text() -> str:
    """What stands before the line: an arrow where terminal and encoding have one."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    if os.environ.get("TERM") in _NARROW_FONTS or encoding.lower().replace("-", "") != "utf8":
        return "> "
    return "❯ "


def may_be_aloud(flag: bool) -> bool:
    """Whether a screen reader may be asked for by flag, variable or a settings file, none of which is understood yet.

    Then nothing is drawn: the prompt comes when the settings are known.
    """
    if flag or os.environ.get("CLIO_SCREEN_READER"):
        return True
    home = os.environ.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    return any(map(_names_it, (os.environ.get("CLIO_HOME") or f"{home}/.clio", ".clio")))


def _names_it(folder: str) -> bool:
    try:
        file = os.open(f"{folder}/config.yaml", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # it may be a pipe
        try:
            return b"screen_reader" in os.read(file, 100_000)
        finally:
            os.close(file)
    except OSError:
        return False


def paint(*, color: bool = True, aloud: bool = False) -> None:
    """Draw the prompt and silence the terminal; nothing where no person is at a capable terminal.

    What is typed from now on waits in the terminal's own buffer (4 KB on Linux). Ctrl-C still ends the process.
    aloud: draw nothing.
    """
    global _drawn
    if not silence() or _drawn or aloud:
        return
    _drawn = True
    text = prompt_text()
    _write(f"\x1b[1m{text}\x1b[0m" if color and not os.environ.get("NO_COLOR") else text)  # no theme is known yet


def take_over() -> None:
    """Give the line to an editor that draws its own prompt over the painted one at once.

    The terminal stays silent between two prompts too, until `clear` or the end of the process: what is typed while a
    command runs is not echoed into its output, it waits for the next prompt.
    """
    global _drawn
    if silence() and _drawn:
        _drawn = False
        _write("\r")


def erase() -> None:
    """Take the prompt off the screen, for text that comes before it; the terminal stays silent."""
    global _drawn
    if _drawn:
        _drawn = False
        _write("\r\x1b[K")


def clear() -> None:
    """Take the prompt off the screen and leave the terminal as it was found. Harmless when nothing is there."""
    global _undo
    erase()
    if _undo is not None:
        undo, _undo = _undo, None
        atexit.unregister(clear)
        undo()


def silence() -> bool:
    """Stop the terminal from echoing and from waiting for whole lines, until `clear`. False where there is none."""
    global _undo
    if _undo is not None:
        return True
    if sys.platform == "win32" or not is_terminal():
        return False
    import termios

    try:
        before = termios.tcgetattr(0)
        silent = termios.tcgetattr(0)
        silent[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
        silent[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(0, termios.TCSANOW, silent)
    except termios.error:
        return False

    def undo() -> None:
        try:
            termios.tcsetattr(0, termios.TCSANOW, before)
        except termios.error:  # the terminal is gone, and its settings with it
            return

    _undo = undo
    atexit.register(clear)
    return True


def _write(text: str) -> None:
    sys.stdout.flush()
    try:
        os.write(1, text.encode("utf-8"))
    except OSError:  # the terminal went away; whoever writes next will say so
        return
