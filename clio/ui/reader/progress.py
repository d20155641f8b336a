"""How far long work is, in lines that are read aloud."""

import time
from collections.abc import Callable
from typing import TextIO

from clio.ui.progress import LONG_S
from clio.ui.reader.spoken import spoken

_AGAIN_S = 10.0


class SpokenProgress:
    """Says that work goes on, and at most every ten seconds how far it is. May be told from any thread.

    hint: what a key does. after_s: work that is over sooner is not spoken of. clock: seconds.
    """

    def __init__(
        self,
        label: str,
        stream: TextIO,
        *,
        hint: str = "",
        after_s: float = LONG_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label = label
        self._stream = stream
        self._hint = hint
        self._after_s = after_s
        self._clock = clock
        self._next: float | None = None
        self._word = ""

    def at(self, done: int, total: int) -> None:
        """So much of `total` is done."""
        now = self._clock()
        if self._next is None:
            self._next = now + self._after_s
        if done >= total or now < self._next:
            return
        self._next = now + _AGAIN_S
        self._write(f"{self._word}{self._label}, {round(100 * done / total)} percent, {done:,} of {total:,}")
        if not self._word and self._hint:
            self._write(self._hint)
        self._word = "still "

    def say(self, hint: str) -> None:
        """Say this at once."""
        self._write(hint)

    def _write(self, line: str) -> None:
        self._stream.write(f"{spoken(line)}\n")
        self._stream.flush()
