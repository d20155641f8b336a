"""Landlock and seccomp (Linux 6.2 and later): the kernel refuses writes and sockets; needs no program and no rights.

It gives folders whole: what lies in the workspace cannot be sealed, so that `guard` looks after it.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import structs

from clio.sandbox.fence import Enclosed, Fence
from clio.sandbox.seccomp import is_known_machine, read_only_filter, sandbox_filter

CHILD = str(Path(__file__).with_name("landlock_child.py"))
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
_SINKS = ("null", "zero", "full")


def enclose(fence: Fence, argv: Sequence[str], *, lingers: bool = False) -> Enclosed:
    """The same command behind the fence: a small Python shuts itself in, and becomes the command; another keeps it.

    lingers: it lasts as long as anything it started does.

    Not done between fork and exec: with threads about, no Python may run there.
    """
    places = [*map(str, fence.write), tempfile.gettempdir(), "/tmp", *(f"/dev/{name}" for name in _DEVICES)]
    return _enclosed(partial(sandbox_filter, network=fence.network), places, argv, lingers=lingers)


def confine(tmp: Path | None, argv: Sequence[str], *, network: bool, lingers: bool = False) -> Enclosed:
    """A command that writes nothing but `tmp`, its own folder for temporary files, and has no sockets.

    tmp: None for none. network: sockets stay.
    """
    places = [*([str(tmp)] if tmp else []), *(f"/dev/{name}" for name in _SINKS)]
    enclosed = _enclosed(partial(read_only_filter, network=network), places, argv, lingers=lingers)
    if tmp is None:
        return enclosed
    return structs.replace(enclosed, tmp=tmp, env=(("TMPDIR", str(tmp)),))


def _enclosed(
    make_filter: Callable[[], bytes], places: Sequence[str], argv: Sequence[str], *, lingers: bool
) -> Enclosed:
    seccomp_filter = make_filter().hex() if is_known_machine() else ""  # it says so itself
    words = (seccomp_filter, "lingers" if lingers else "attended", str(len(places)), *places, *argv)
    return Enclosed(argv=words, keeper=True, script=CHILD)


def missing() -> str:
    """Why it cannot be tried; "" where it can."""
    if not sys.platform.startswith("linux"):
        return "it is a part of Linux"
    return "" if Path(sys.executable or "").is_file() else "Python's own program is not found"
