"""Wait for a condition instead of a fixed time, so that tests pass on a busy machine."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

TIMEOUT_S = 20.0
POLL_S = 0.005


def wait_until(condition: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Block until `condition()` is true. Raises AssertionError when it is still false after `timeout_s`."""
    assert happens_within(timeout_s, condition), f"still not true after {timeout_s:g} s: {describe(condition)}"


def happens_within(timeout_s: float, condition: Callable[[], object]) -> bool:
    """Block until `condition()` is true, at most `timeout_s`. Returns whether it is."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)  # the poll interval
    return True


async def wait_until_async(condition: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Do the same as `wait_until` inside an event loop, which runs meanwhile."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"still not true after {timeout_s:g} s: {describe(condition)}"
        await asyncio.sleep(POLL_S)  # the poll interval


async def run_loop_once(times: int = 1) -> None:
    """Run the ready callbacks of the event loop `times` times; no time passes."""
    for _ in range(times):
        await asyncio.sleep(0)


def describe(condition: Callable[[], object]) -> str:
    """Return the file and line of the condition."""
    code = getattr(condition, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)


def wait_for_later_file_times(folder: Path) -> None:
    """Block until newly written files get a later modification time than those written before.

    A file system's clock advances in steps of some milliseconds. `folder` must be on that file system.
    """
    now = time.time_ns()
    probe = folder / f"clock-{os.getpid()}"

    def is_later() -> bool:
        probe.write_bytes(b"")
        return probe.stat().st_mtime_ns > now

    wait_until(is_later)
    probe.unlink()


def has_text(path: Path) -> bool:
    """Whether the file exists and is not empty: a shell creates it before it writes to it."""
    return path.exists() and bool(path.read_bytes().strip())


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is stopped except in `pass_time`; work in threads runs one by one.

    Timers fire in the order of their times, however busy the machine is. `asyncio.sleep` and `asyncio.timeout` end only
    through `pass_time`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 1_000.0
        self.set_default_executor(ThreadPoolExecutor(1))

    def time(self) -> float:
        return self._now

    async def pass_time(self, seconds: float) -> None:
        """Advance the clock, then run what is due and wait for the work in threads that it started."""
        self._now += seconds
        await run_loop_once(3)
        await self.run_in_executor(None, int)
        await run_loop_once(3)


def run_stepped(main: Callable[[SteppedLoop], Coroutine[None, None, T]]) -> T:
    """Run `main(loop)` in a `SteppedLoop`."""
    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SteppedLoop)
        return runner.run(main(loop))
