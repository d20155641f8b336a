"""Calls a function again and again while a turn runs, on the event loop there is."""

import asyncio
from collections.abc import Callable


class Ticker:
    """A heartbeat of `period_s`. Without a running event loop, as in a plain test, it never beats."""

    def __init__(self, beat: Callable[[], None], period_s: float) -> None:
        self._beat = beat
        self._period_s = period_s
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to beat; harmless when it does already."""
        loop = _running_loop()
        if self._next is None and loop is not None:
            self._next = loop.call_later(self._period_s, self._again)

    def stop(self) -> None:
        """No beat after this."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _again(self) -> None:
        self._next = asyncio.get_running_loop().call_later(self._period_s, self._again)
        self._beat()


def in_background(work: Callable[[], None]) -> None:
    """Run this in a worker thread, if there is an event loop; nobody waits for it."""
    loop = _running_loop()
    if loop is not None:
        loop.run_in_executor(None, work)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
