"""How far long work is, and how long it may still take: one line, in any terminal."""

import time
from collections.abc import Callable
from typing import TextIO

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex
from clio.ui.footer.status import format_seconds
from clio.ui.line.rules import fit

LONG_S = 2.0
"""Work that is over sooner shows no progress."""
_CELLS = 10
_FULL, _EMPTY = "▰", "▱"
_PERIOD_S = 0.1
_SURE_S, _SURE_SHARE = 1.0, 0.02  # before that, the time left is a guess not worth telling
_PERCENT = LazyRegex(r"(?<![\d.,])(\d{1,3})(?:\.\d+)? ?%")


class Progress(Struct):
    """Work with a beginning. label: what is done, such as "indexing"; begun: in the clock's seconds."""

    label: str
    begun: float
    done: int = 0
    total: int = 0

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total > 0 else 0.0

    def short(self, now: float) -> str:
        """For a status line: "indexing 40 %"; "" while the work is young, and when it is over."""
        if now - self.begun < LONG_S or not self.total > 0 or self.done >= self.total:
            return ""
        return f"{self.label} {round(self.share * 100)} %"

    def line(self, now: float, width: int, hint: str = "") -> str:
        """For a line of its own: "reading documents ▰▰▰▰▱▱▱▱▱▱ 40 % · 12 s left · esc stops · 120 of 300"."""
        bar = f"{self.label} {bar_and_time(self.share, now - self.begun)}"
        return fit((bar, hint, f"{self.done:,} of {self.total:,}"), width)


def bar_and_time(share: float, seconds: float, cells: int = _CELLS) -> str:
    """A share, 0 to 1, reached after so many seconds: "▰▰▰▰▱▱▱▱▱▱ 40 % · 12 s left"."""
    full = min(int(share * cells), cells)
    left = f" · {format_seconds(seconds * (1 - share) / share)} left" if _is_sure(share, seconds) else ""
    return f"{_FULL * full}{_EMPTY * (cells - full)} {round(share * 100)} %{left}"


def share_in(text: str) -> float | None:
    """The last percentage a line of output tells, as a share, as in "tests/a.py ..... [ 45%]"; None where none is."""
    found = _PERCENT.findall(text)
    return int(found[-1]) / 100 if found and int(found[-1]) <= 100 else None


class TerminalProgress:
    """Draws the line of long work on a terminal, and takes it away again. May be told from any thread.

    width: columns of the terminal. hint: what a key does. after_s: work that is over sooner is not drawn. Nothing but a
    carriage return moves the cursor, so every terminal can show it.
    """

    def __init__(
        self,
        label: str,
        stream: TextIO,
        *,
        width: Callable[[], int],
        hint: str = "",
        after_s: float = LONG_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hint = hint
        self._after_s = after_s
        self._label = label
        self._stream = stream
        self._width = width
        self._clock = clock
        self._work: Progress | None = None
        self._drawn = ""
        self._drawn_at = -1e9

    def at(self, done: int, total: int) -> None:
        """So much of `total` is done; all of it takes the line away."""
        now = self._clock()
        if self._work is None:
            self._work = Progress(self._label, now)
        self._work.done, self._work.total = done, total
        if done >= total:
            self._work = None
            self._draw("")
        elif now - self._work.begun >= self._after_s and now - self._drawn_at >= _PERIOD_S:
            self._drawn_at = now
            self._draw(self._line(self._work, now))

    def say(self, hint: str) -> None:
        """Another hint from now on, at once where the line stands."""
        self._hint = hint
        if self._work is not None and self._drawn:
            self._draw(self._line(self._work, self._clock()))

    def _line(self, work: Progress, now: float) -> str:
        return work.line(now, max(self._width() - 1, 1), self._hint)

    def _draw(self, line: str) -> None:
        if line == self._drawn:
            return
        blank = " " * max(len(self._drawn) - len(line), 0)
        encoding = self._stream.encoding or "utf-8"
        text = line.encode(encoding, "replace").decode(encoding)
        self._stream.write(f"\r{text}{blank}" + ("" if line else "\r"))
        self._stream.flush()
        self._drawn = line


def _is_sure(share: float, seconds: float) -> bool:
    return _SURE_SHARE <= share < 1 and seconds >= _SURE_S
