"""Landlock and seccomp (Linux 6.2 and later): the kernel refuses writes and sockets; needs no program and no rights.

It gives folders whole: what lies in the workspace cannot be sealed, so that `guard` looks after it.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from clio.sandbox.fence import Enclosed, Fence

_CHILD = str(Path(__file__).with_name("landlock_child.py"))
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")


def enclose(fence: Fence, argv: Sequence[str], *, lingers: bool = False) -> Enclosed:
    """The same command behind the fence: a small Python shuts itself in, and becomes the command; another keeps it.

    lingers: it lasts as long as anything it started does.

    Not done between fork and exec: with threads about, no Python may run there.
    """
    places = [*map(str, fence.write), tempfile.gettempdir(), "/tmp", *(f"/dev/{name}" for name in _DEVICES)]
    words = [sys.executable, "-I", "-S", "-B", _CHILD]
    words += ["network" if fence.network else "no-network", "lingers" if lingers else "attended"]
    return Enclosed(argv=(*words, str(len(places)), *places, *argv), keeper=True)


def missing() -> str:
    """Why it cannot be tried; "" where it can."""
    if not sys.platform.startswith("linux"):
        return "it is a part of Linux"
    return "" if Path(sys.executable or "").is_file() else "Python's own program is not found"
