"""Measure the time and the memory of calls and processes for the benchmarks."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
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


def read_memory_mb(pid: int | None = None) -> float:
    """Return the resident memory of a running process in MiB. pid: None for this process; others on Linux only.

    Without /proc: the peak memory of this process.
    """
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run_process(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> tuple[float, float]:
    """Run a program without input, and return its CPU time with that of its children, and its wall-clock time, in ms.

    Raises:
        subprocess.CalledProcessError: if it fails; with its standard error.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    with process.stderr:
        error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_ms = (time.perf_counter() - started) * 1_000
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(argv), stderr=error)
    return (usage.ru_utime + usage.ru_stime) * 1_000, wall_ms
