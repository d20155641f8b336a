"""What a command started, as the system tells it: who belongs to it, when one of them ends, and how all do."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_LOOK_S = 0.5  # between two looks where the system does not tell of an end


def session_members(leader: int) -> list[int]:
    """The living processes of the session that `leader` began; a process group is not enough.

    `timeout`, and a shell with job control, put their children into groups of their own.
    """
    if sys.platform == "win32":
        return []
    proc = Path("/proc")
    if (proc / "self").exists():
        names = [entry.name for entry in proc.iterdir()]
    else:
        names = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=False).stdout.split()
    return [int(name) for name in names if name.isdigit() and _in_session(int(name), leader)]


def descendants(top: int) -> list[int]:
    """The processes that one started, and those that they did: on Linux; elsewhere none is told."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = children.get(top, [])
    for pid in found:  # which grows meanwhile
        found += children.get(pid, [])
    return found


def _in_session(pid: int, leader: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return os.getsid(pid) == leader and not _is_zombie(pid)
    except (ProcessLookupError, PermissionError):
        return False


def _is_zombie(pid: int) -> bool:
    """A dead process whose parent has not asked for its end; it takes no signal and holds nothing."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]


async def one_ends(pids: Sequence[int]) -> None:
    """Return when one of them may have ended: at once where the system tells, so that nothing wakes meanwhile."""
    if sys.platform != "linux":
        await asyncio.sleep(_LOOK_S)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    watched: list[int] = []
    try:
        for pid in pids:
            watched.append(os.pidfd_open(pid))
            loop.add_reader(watched[-1], ended.set)
        await ended.wait()
    except OSError:  # it has ended already, or there are too many to watch
        await asyncio.sleep(_LOOK_S)
    finally:
        for one in watched:
            loop.remove_reader(one)
            os.close(one)


def end_tree_on_windows(leader: int, *, gently: bool, running: bool) -> None:
    """Ask what a process started to end with it, or end it all; elsewhere, and where it is gone, nothing is done."""
    if sys.platform == "win32" and running:
        if gently:
            os.kill(leader, signal.CTRL_BREAK_EVENT)
        else:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)
