"""Time calls for the benchmarks."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def time_ms(call: Callable[[], object]) -> float:
    """Return the wall-clock time of one call in milliseconds."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1_000


def median_ms(call: Callable[[], object], runs: int) -> float:
    """Return the median wall-clock time of `runs` calls in milliseconds."""
    return statistics.median(time_ms(call) for _ in range(runs))


def percentile_95(values: Sequence[float]) -> float:
    """Return the value that 95 % of the values are below."""
    return sorted(values)[int(len(values) * 0.95)]


def append_and_fsync_ms(folder: Path, runs: int) -> float:
    """Return the median time of appending 400 bytes to a file in `folder` with fsync, in milliseconds.

    No durable write to this disk can be faster.
    """
    descriptor = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append() -> None:
        os.write(descriptor, b"x" * 400)
        os.fsync(descriptor)

    try:
        return median_ms(append, runs)
    finally:
        os.close(descriptor)


def read_cpu_s(pid: int) -> float:
    """Return the CPU time of a running process so far in seconds, of all its living threads. Linux only."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / 1e9
