"""bubblewrap (Linux): the command sees a tree of its own, in which nothing else can be written, and no network."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from clio.sandbox.fence import GIVEN, Enclosed, Fence, between
from clio.sandbox.seccomp import is_known_machine, read_only_filter

_RUNTIME = tuple(f"/run/{name}" for name in ("systemd/resolve", "NetworkManager", "resolvconf", "current-system"))
"""Of /run, which else holds the doors of other programs, what commands need: name servers, programs on NixOS."""
_LEFT = "[processes it left running were stopped, background=true would keep them]"
# The shell waits through a request to end, so that the command has its time for it, and passes on no trap.
# Two processes are always there: the first one, which bubblewrap brings along, and this shell.
_ENTRY = 'trap : TERM; "$@"; code=$?; set -- /proc/[0-9]*; if [ $# -gt 2 ]; then '
_ATTENDED = f'{_ENTRY}sleep 0.05; set -- /proc/[0-9]*; [ $# -gt 2 ] && echo "{_LEFT}"; fi; exit $code'
_LINGERING = f"{_ENTRY}while [ $# -gt 2 ]; do sleep 0.3; set -- /proc/[0-9]*; done; fi; exit $code"
_DOOR_NAMES = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "DISPLAY", "WAYLAND_DISPLAY")


def program() -> str | None:
    """Where bubblewrap is; None where it is not installed."""
    return shutil.which("bwrap")


def enclose(program: str, fence: Fence, argv: Sequence[str], cwd: Path, *, lingers: bool = False) -> Enclosed:
    """The same command behind the fence. lingers: it lasts as long as anything it started does.

    A user namespace always, with no capabilities: root outside is nobody inside, and mounts cannot be undone. A
    namespace of processes: with its first one all others die, also those that began a session of their own.
    """
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
    words += [] if fence.network else ["--unshare-net"]
    words += [*_tree(fence), *(word for name in _DOOR_NAMES for word in ("--unsetenv", name))]
    words += ["--setenv", "TMPDIR", "/tmp", "--chdir", str(cwd), "--"]
    words += ["/bin/sh", "-c", _LINGERING if lingers else _ATTENDED, "sh", *argv]
    return Enclosed(argv=tuple(words), keeper=True)


def confine(
    program: str, root: Path, argv: Sequence[str], shown: Sequence[Path], hidden: Sequence[Path],
    *, network: bool, lingers: bool = False,
) -> Enclosed:  # fmt: skip
    """A command that sees everything read-only, a /tmp of its own, and no sockets.

    TMPDIR names an empty folder of that /tmp. shown: folders that are to be read although they are in /tmp or /run,
    such as the project. hidden: further folders with sockets of other programs. network: sockets stay, and so does
    /run.

    Sockets are refused by a filter of system calls, which takes no time; a network namespace takes longer to make than
    all the rest (7 of 13 ms). It is used where clio does not know the machine's system calls.
    """
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
    given = b""
    if not network:
        known = is_known_machine()
        given = read_only_filter(network=False) if known else b""
        words += ["--seccomp", GIVEN] if known else ["--unshare-net"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if sys.platform != "win32" and os.geteuid() == 0:
        words += ["--remount-ro", "/proc"]  # see `_tree`
    temporary = _empty_folder(shown)
    words += ["--tmpfs", "/tmp", "--dir", temporary]
    if not network:
        words += ["--tmpfs", "/run"] if Path("/run").is_dir() else []
        words += [word for name in _RUNTIME for word in ("--ro-bind-try", name, name)]
        words += [word for folder in hidden for word in ("--tmpfs", str(folder))]
    covered = [Path("/tmp"), *([] if network else [Path("/run"), *hidden])]
    for folder in shown:
        if any(cover == folder or cover in folder.parents for cover in covered):
            words += ["--ro-bind-try", str(folder), str(folder)]
    words += ["--setenv", "TMPDIR", temporary, "--chdir", str(root), "--"]
    words += ["/bin/sh", "-c", _LINGERING if lingers else _ATTENDED, "sh", *argv]
    return Enclosed(argv=tuple(words), keeper=True, given=given)


def _empty_folder(shown: Sequence[Path]) -> str:
    """A folder below /tmp for the command's temporary files, in which nothing is mounted.

    /tmp itself holds mount points where the project or the user's programs are below it.
    """
    names = (f"/tmp/clio-command{number or ''}" for number in range(len(shown) + 1))
    taken = [(folder, *folder.parents) for folder in shown]
    return next(name for name in names if not any(Path(name) in places for places in taken))


def _tree(fence: Fence) -> Iterator[str]:
    """The mounts, each over those before it."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if sys.platform != "win32" and os.geteuid() == 0:
        # Who is root outside still owns the kernel's settings below /proc/sys, one of which names a program to start.
        yield from ("--remount-ro", "/proc")
    yield from ("--bind", str(fence.tmp), "/tmp")
    for folder in fence.shown:
        yield from ("--ro-bind-try", str(folder), str(folder))
    if Path("/run").is_dir():
        yield from ("--tmpfs", "/run")
        for name in _RUNTIME:
            yield from ("--ro-bind-try", name, name)
    for folder in fence.hidden:
        yield from ("--tmpfs", str(folder))
    for folder in sorted(fence.write):
        yield from ("--bind", str(folder), str(folder))
    # A folder on the way to what is sealed could be moved away and another put in its place; a mount cannot.
    for folder in sorted({way for path in fence.sealed for top in fence.write for way in between(top, path)}):
        yield from ("--bind", str(folder), str(folder))
    for path in sorted(fence.sealed):
        yield from ("--ro-bind", str(path), str(path))
