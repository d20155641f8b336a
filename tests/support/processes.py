"""Check whether processes are running."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import happens_within


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    with suppress(ProcessLookupError, FileNotFoundError):  # it may end between the two checks
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not Path("/proc").is_dir() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def find_survivors(pids: Sequence[int], timeout_s: float = 10.0) -> list[int]:
    """Return the processes that still run after `timeout_s`, or [] as soon as none does.

    A killed process ends only when the scheduler next runs it.
    """
    happens_within(timeout_s, lambda: not any(map(is_alive, pids)))
    return [pid for pid in pids if is_alive(pid)]
