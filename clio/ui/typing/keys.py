"""Watches the keyboard while a turn runs: Esc and Ctrl-C interrupt, everything else is typed on a line of its own."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from types import TracebackType
from typing import TextIO

from prompt_toolkit.application import get_app_session
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from clio.ui.early_input import take_kept_text
from clio.ui.fast_paste import quicken
from clio.ui.typing.typed_keys import TypedKeys

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
