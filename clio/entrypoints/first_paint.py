"""Draws the prompt before anything heavy is imported, and keeps typed text until it can be read.

Imports only the smallest modules of the standard library, because it runs before all other imports.
"""

import atexit
import os
import sys

TYPE_CHECKING = False  # same effect as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_undo: "Callable[[], None] | None" = None
"""Restores the terminal's settings; None if they were not changed."""
_drawn = False
_DUMB = ("", "dumb", "unknown")
_NARROW_FONTS = ("linux", "vt100", "vt220", "ansi")  # consoles whose fonts lack the arrow


def is_terminal() -> bool:
    """Whether standard input and output are a terminal with cursor control."""
    try:
        return os.isatty(0) and os.isatty(1) and os.environ.get("TERM", "") not in _DUMB
    except OSError:
        return False


def can_draw(stream: "TextIO") -> bool:
    """Whether the stream is a terminal that can return to the start of a line."""
    try:
        # Windows sets no TERM; all of its consoles can.
        return stream.isatty() and (os.name == "nt" or os.environ.get("TERM", "") not in _DUMB)
    except ValueError:  # the stream is closed
        return False


def prompt_text() -> str:
    """Return the prompt: an arrow if the terminal and its encoding can show one, else "> "."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    if os.environ.get("TERM") in _NARROW_FONTS or encoding.lower().replace("-", "") != "utf8":
        return "> "
    return "❯ "


def may_use_screen_reader(flag: bool) -> bool:
    """Whether a flag, variable or settings file might enable the screen reader mode; none of them is parsed yet.

    If so, nothing is drawn before the settings are known.
    """
    if flag or os.environ.get("CLIO_SCREEN_READER"):
        return True
    home = os.environ.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    return any(map(_mentions_screen_reader, (os.environ.get("CLIO_HOME") or f"{home}/.clio", ".clio")))


def _mentions_screen_reader(folder: str) -> bool:
    try:
        # non-blocking, because it may be a pipe
        file = os.open(f"{folder}/config.yaml", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            return b"screen_reader" in os.read(file, 100_000)
        finally:
            os.close(file)
    except OSError:
        return False


def paint_prompt(*, color: bool = True, aloud: bool = False) -> None:
    """Draw the prompt and turn echo off; does nothing without a capable terminal.

    Text typed from now on waits in the terminal's own buffer (4 KB on Linux). Ctrl-C still ends the process.

    Args:
        color: bold prompt, unless NO_COLOR is set.
        aloud: draw nothing; for a screen reader.
    """
    global _drawn
    if not silence_terminal() or _drawn or aloud:
        return
    _drawn = True
    text = prompt_text()
    # The theme is not known yet.
    _write_to_terminal(f"\x1b[1m{text}\x1b[0m" if color and not os.environ.get("NO_COLOR") else text)


def release_line() -> None:
    """Hand the line over to an editor that immediately draws its own prompt over the painted one.

    Echo stays off between prompts too, until `restore_terminal` or the end of the process: text typed while a
    command runs is not echoed into its output but waits for the next prompt.
    """
    global _drawn
    if silence_terminal() and _drawn:
        _drawn = False
        _write_to_terminal("\r")


def erase_prompt() -> None:
    """Erase the painted prompt, to print text before it; echo stays off."""
    global _drawn
    if _drawn:
        _drawn = False
        _write_to_terminal("\r\x1b[K")


def restore_terminal() -> None:
    """Erase the painted prompt and restore the terminal's settings; does nothing if neither was changed."""
    global _undo
    erase_prompt()
    if _undo is not None:
        undo, _undo = _undo, None
        atexit.unregister(restore_terminal)
        undo()


def silence_terminal() -> bool:
    """Turn echo and line buffering off until `restore_terminal`; False if there is no such terminal."""
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
        except termios.error:  # the terminal was closed
            return

    _undo = undo
    atexit.register(restore_terminal)
    return True


def _write_to_terminal(text: str) -> None:
    sys.stdout.flush()
    try:
        os.write(1, text.encode("utf-8"))
    except OSError:  # the terminal was closed; the next write reports it
        return
