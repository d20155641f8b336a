"""Puts the prompt on the screen before anything heavy is imported, and keeps what is typed until it can be read.

Only the standard library's smallest modules are used here: this runs while the interpreter is still warming up.
"""

import atexit
import os
import sys

TYPE_CHECKING = False  # as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Callable

_undo: "Callable[[], None] | None" = None
"""Puts the terminal back as it was; None where nothing was changed."""
_DUMB = ("", "dumb", "unknown")
_NARROW_FONTS = ("linux", "vt100", "vt220", "ansi")  # consoles whose fonts lack the arrow


def is_terminal() -> bool:
    """Whether a person sits at a terminal that can move its cursor."""
    try:
        return os.isatty(0) and os.isatty(1) and os.environ.get("TERM", "") not in _DUMB
    except OSError:
        return False


def prompt_text() -> str:
    """What stands before the line: an arrow where terminal and encoding have one."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    if os.environ.get("TERM") in _NARROW_FONTS or encoding.lower().replace("-", "") != "utf8":
        return "> "
    return "❯ "


def paint(*, color: bool = True) -> None:
    """Draw the prompt and stop the terminal from echoing; nothing where no person is at a capable terminal.

    What is typed from now on waits in the terminal's own buffer (4 KB on Linux). Ctrl-C still ends the process.
    """
    global _undo
    if _undo is not None or sys.platform == "win32" or not is_terminal():
        return
    import termios

    try:
        before = termios.tcgetattr(0)
        waiting = termios.tcgetattr(0)
        waiting[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
        waiting[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(0, termios.TCSANOW, waiting)
    except termios.error:
        return

    def undo() -> None:
        try:
            termios.tcsetattr(0, termios.TCSANOW, before)
        except termios.error:  # the terminal is gone, and its settings with it
            return

    _undo = undo
    atexit.register(clear)
    text = prompt_text()
    _write(f"\x1b[1;36m{text}\x1b[0m" if color and not os.environ.get("NO_COLOR") else text)


def take_over() -> None:
    """Give the terminal, with the prompt still on it, to a line editor that draws its own over it at once."""
    if _restore():
        _write("\r")


def clear() -> None:
    """Take the prompt off the screen again and leave the terminal as it was found. Harmless when nothing is there."""
    if _restore():
        _write("\r\x1b[K")


def _restore() -> bool:
    global _undo
    if _undo is None:
        return False
    undo, _undo = _undo, None
    atexit.unregister(clear)
    undo()
    return True


def _write(text: str) -> None:
    sys.stdout.flush()
    try:
        os.write(1, text.encode("utf-8"))
    except OSError:  # the terminal went away; whoever writes next will say so
        return
