"""Watches the keyboard while a turn runs, and keeps what was typed too early for a question."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, TextIO, cast
from weakref import WeakSet

from prompt_toolkit.application import get_app_session
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from clio.ui.typing import TypedKeys, TypedLine

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


READ_BYTES = 65_536
_END = "\x1b[201~"
_QUICK: WeakSet[object] = WeakSet()  # others may stand between the input and the parser too


def quicken(keyboard: Input) -> None:
    """Let an input read more at once, and its parser look at each piece of a paste once. Harmless for other inputs."""
    parser: Any = getattr(keyboard, "vt100_parser", None)
    reader: Any = getattr(keyboard, "stdin_reader", None)
    if parser is None or reader is None or parser in _QUICK:
        return
    _QUICK.add(parser)
    parser.feed = _Paste(parser).feed
    read = cast("Callable[[int], str]", reader.read)
    reader.read = lambda count=READ_BYTES: read(max(count, READ_BYTES))


class _Paste:
    """Holds the pieces of a paste back until its end has come."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._feed = cast("Callable[[str], None]", parser.feed)
        self._pieces: list[str] = []
        self._seam = ""

    def feed(self, data: str) -> None:
        """In place of the parser's own."""
        if not getattr(self._parser, "_in_bracketed_paste", False):
            self._feed(data)
            return
        self._pieces.append(data)
        if _END not in self._seam + data:
            self._seam = (self._seam + data)[1 - len(_END) :]
            return
        whole, self._pieces, self._seam = "".join(self._pieces), [], ""
        self._feed(whole)


# An arrow key arrives as ESC [ A in one go; an ESC that stays alone this long was the Esc key.
FLUSH_S = 0.025
# So that a paste of many lines arrives as one, and not as that many times Enter.
_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"


class KeyWatch:
    """An async context: inside, the terminal is in raw mode and its keys are read.

    on_interrupt: called for Esc and Ctrl-C, each time. typed: what all other keys mean. on_change: called after some of
    those. hotkeys: what further keys do, by prompt_toolkit's names, such as "c-t"; they are not typed.
    write: takes control sequences for the terminal; without it, each line of a paste ends with Enter.
    Without a terminal (`stdin` is not a tty and no `keyboard` is given) it does nothing.
    The terminal's mode is restored on leaving, whatever happens inside.
    """

    def __init__(
        self,
        on_interrupt: Callable[[], None],
        *,
        typed: TypedKeys | None = None,
        on_change: Callable[[], None] | None = None,
        hotkeys: Mapping[str, Callable[[], None]] | None = None,
        write: Callable[[str], None] | None = None,
        stdin: TextIO | None = None,
        keyboard: Input | None = None,
    ) -> None:
        self._on_interrupt = on_interrupt
        self._typed = typed or TypedKeys()
        self._on_change = on_change
        self._write = write
        self._hotkeys = hotkeys or {}
        self._keyboard = keyboard or _tty_input(stdin)
        self._attached: ExitStack | None = None
        self._flush: asyncio.TimerHandle | None = None
        self._typed_at = -1e9

    def typed_within(self, seconds: float) -> bool:
        """Whether a key was pressed that recently: a question that pops up now could catch keys not meant for it."""
        return time.monotonic() - self._typed_at < seconds

    def take_text(self) -> str:
        """What stands on the line, for the next prompt; it is then forgotten here."""
        return self._typed.line.take()

    async def __aenter__(self) -> "KeyWatch":
        self._attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._detach()

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """Give the keyboard to somebody else for a while, in the mode it had before."""
        was_attached = self._attached is not None
        self._detach()
        try:
            yield
        finally:
            if was_attached:
                self._attach()

    def _attach(self) -> None:
        if self._keyboard is None or self._attached is not None:
            return
        quicken(self._keyboard)
        with ExitStack() as stack:
            stack.enter_context(self._keyboard.raw_mode())
            stack.enter_context(self._keyboard.attach(self._read))
            self._attached = stack.pop_all()
        if self._write is not None:
            self._write(_PASTES_ON)
        if early := take_kept_text():
            self._typed.line.insert(early)
            if self._on_change is not None:
                self._on_change()

    def _detach(self) -> None:
        if self._attached is None or self._keyboard is None:
            return
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        attached, self._attached = self._attached, None
        attached.close()
        if self._write is not None:
            self._write(_PASTES_OFF)
        self._take(self._keyboard.flush_keys())

    def _read(self) -> None:
        keyboard = self._keyboard
        if keyboard is None:
            return
        self._take(keyboard.read_keys())
        if self._flush is not None:
            self._flush.cancel()
        if keyboard.closed:
            self._detach()
        elif self._attached is not None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self._flush_now)

    def _flush_now(self) -> None:
        self._flush = None
        if self._keyboard is not None:
            self._take(self._keyboard.flush_keys())

    def _take(self, presses: Iterable[KeyPress]) -> None:
        """Act on keys. Esc directly followed by another key in one reading is Alt and that key: not an interrupt."""
        keys = list(presses)
        typed = False
        for index, press in enumerate(keys):
            follower = keys[index + 1].key if index + 1 < len(keys) else Keys.Escape
            after_escape = index > 0 and keys[index - 1].key == Keys.Escape
            if press.key == Keys.ControlC or (press.key == Keys.Escape and follower == Keys.Escape):
                self._on_interrupt()
            elif isinstance(press.key, Keys) and (act := self._hotkeys.get(press.key.value)) is not None:
                act()
            elif press.key != Keys.Escape:
                typed = True
                self._typed_at = time.monotonic()
                self._typed.press(press, alt=after_escape)
        if typed and self._on_change is not None:
            self._on_change()


def _tty_input(stdin: TextIO | None) -> Input | None:
    stream = stdin if stdin is not None else sys.stdin
    if stream is None or not stream.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return None
    # The process's own is the one the prompt line reads: what has arrived by half goes on where it began.
    return get_app_session().input if stdin is None else create_input(stream)
