"""Threads that never delay clio's exit, child processes that end with a cancelled caller, and the memory settings of
a long-running process.

This is the only module that starts a thread by itself. A daemon thread is for work that nothing can interrupt and that
clio must not wait for when it exits: resolving a host name, a blocking read of standard input, the import of a large
package. Work that must be finished before clio exits runs in `asyncio.to_thread`, or in the single-thread executor of
the store it belongs to; the interpreter waits for both at exit. That is why `concurrent.futures.ThreadPoolExecutor` is
not used here: a job that hangs would hang the exit, too. Its import takes 8 ms besides.
"""

import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

ProgressCallback = Callable[[int, int], None]
"""Called with the number of items done and the total."""


def never_stop() -> bool:
    """Return False: the work is not to be stopped."""
    return False


def ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report."""


def do_nothing() -> None:
    """Do nothing."""


T = TypeVar("T")


def start_daemon_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Run `work` in a new daemon thread called `name`. What it raises goes to `threading.excepthook`."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


class Worker:
    """Runs jobs in the background, one at a time and in the order of `submit`: for a store whose writes may block.

    Each job has a daemon thread of its own, so an idle worker has no thread and needs no closing. Jobs that have not
    ended when clio exits are lost. Any thread may use it.

    Args:
        name: of the threads, for stack dumps and reports of errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[Callable[[], object]] = deque()
        self._condition = threading.Condition()
        self._is_running = False

    def submit(self, work: Callable[[], object]) -> None:
        """Queue `work` and return at once. What it raises goes to `threading.excepthook`; later jobs still run."""
        with self._condition:
            self._jobs.append(work)
            if not self._is_running:
                self._start_next()

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait until no job is left, at most `limit_s` seconds; return whether none is. A job must not call it."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._is_running, limit_s)

    def _start_next(self) -> None:
        """Start the first job, if there is one; the caller has the lock."""
        if self._jobs:
            work = self._jobs[0]
            start_daemon_thread(lambda: self._run(work), self._name)
            self._jobs.popleft()
            self._is_running = True

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:  # an error ends this thread and is reported as for any thread; the next job has its own
            with self._condition:
                self._is_running = False
                self._condition.notify_all()
                self._start_next()


class BackgroundCall(Generic[T]):
    """A call running in a daemon thread of its own, whose result can be awaited or abandoned.

    Args:
        work: called once, at once. What it raises is raised by `wait`, and by nothing else.
        name: of the thread, for stack dumps.
    """

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._done = threading.Event()
        self._results: list[T] = []
        self._error: Exception | None = None
        start_daemon_thread(self._run, name)

    def wait(self, limit_s: float | None = None, give_up: Callable[[], bool] | None = None, poll_s: float = 0.2) -> T:
        """Return the result of the call; it may be asked for again, from any thread.

        Args:
            limit_s: seconds to wait; None waits as long as the call runs.
            give_up: asked every `poll_s` seconds; waiting ends when it returns true.

        Raises:
            TimeoutError: if the time was up or `give_up` returned true first. The call continues in its thread.
            Exception: what the call raised.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not self._done.is_set():
            left_s = None if deadline is None else deadline - time.monotonic()
            if (left_s is not None and left_s <= 0) or (give_up is not None and give_up()):
                raise TimeoutError("no answer" if limit_s is None else f"no answer within {limit_s:g} seconds")
            self._done.wait(left_s if give_up is None else poll_s if left_s is None else min(left_s, poll_s))
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # raised again by `wait`
            self._error = error
        finally:
            self._done.set()


async def start_process(start: Coroutine[Any, Any, T], end: Callable[[T], Awaitable[None]]) -> T:
    """Await `start` and return its process. If cancelled meanwhile, wait for the process and pass it to `end`.

    asyncio alone would kill only the process itself, at once: it could not release its locks, and its children would
    keep running.
    """
    import asyncio  # in this function, because `clio sessions` and others need threads only

    start_task = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(start_task)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await end(await start_task)
        raise


LONG_RUN_THRESHOLDS = (2_000, 10, 10)
"""With the thresholds of the start, 500 turns leave 13 MiB of uncollected cycles; a collection takes less than 1 ms."""
_MALLOC_OPTIONS = ((-8, 1), (-3, 256 * 1024), (-1, 256 * 1024))
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of <malloc.h>."""


def freeze_startup_objects() -> None:
    """Exclude all objects that exist now from collection, and collect often from now on.

    Call it once everything is imported. It may be called again, and from any thread.
    """
    # Only the first threshold is compared: Python 3.13 begins with all three, and 3.14 forgets the last one.
    if gc.get_freeze_count() and gc.get_threshold()[0] == LONG_RUN_THRESHOLDS[0]:
        return
    gc.freeze()
    gc.set_threshold(*LONG_RUN_THRESHOLDS)
    _return_free_memory()


def _return_free_memory() -> None:
    """Make glibc return free memory sooner: after 1,000 turns the process holds 99 MiB, not 118. Linux only.

    By default glibc keeps a heap per thread; and once a large block was freed, it raises the size from which blocks
    are mapped separately, so later large blocks fragment the heap.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # a C library without it, such as musl
            for option, value in _MALLOC_OPTIONS:
                ctypes.CDLL(None).mallopt(option, value)
