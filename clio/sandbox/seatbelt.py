"""Seatbelt (macOS): `sandbox-exec` holds a command to a written profile."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from clio.sandbox.fence import Enclosed, Fence, between

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/ptmx", "/dev/stdout", "/dev/stderr")


def program() -> str | None:
    """Where it is; None where this is not macOS."""
    return shutil.which("sandbox-exec")


def enclose(program: str, fence: Fence, argv: Sequence[str]) -> Enclosed:
    """The same command behind the fence."""
    return Enclosed(argv=(program, "-p", profile(fence), "env", f"TMPDIR={fence.tmp}", *argv))


def profile(fence: Fence) -> str:
    """The rules; of two that fit, the later one counts.

    What is not named is allowed: programs look up dozens of services by names that change with every macOS, and a list
    of those would have to be tried on each.
    """
    return "".join(f"{line}\n" for line in _rules(fence))


def confine(program: str, tmp: Path | None, argv: Sequence[str], *, network: bool) -> Enclosed:
    """A command that writes nothing but `tmp`, its own folder for temporary files, and has no network.

    tmp: None for none.
    """
    text = "".join(f"{line}\n" for line in _read_only_rules(tmp, network=network))
    env = (("TMPDIR", str(tmp)),) if tmp is not None else ()
    return Enclosed(argv=(program, "-p", text, *argv), tmp=tmp, env=env)


def _read_only_rules(tmp: Path | None, *, network: bool) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    if tmp is not None:
        yield f"(allow file-write* (subpath {_quoted(tmp)}))"
    for device in ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr"):
        yield f'(allow file-write* (literal "{device}"))'
    yield '(allow file-write* (regex #"^/dev/fd/[0-9]+$"))'
    yield "(deny job-creation)"
    yield "(deny lsopen)"
    yield "(deny appleevent-send)"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    if not network:
        yield "(deny network*)"


def _rules(fence: Fence) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    for folder in (*fence.write, fence.tmp):
        yield f"(allow file-write* (subpath {_quoted(folder)}))"
    for device in _DEVICES:
        yield f'(allow file-write* (literal "{device}"))'
    yield '(allow file-write* (regex #"^/dev/fd/[0-9]+$"))'  # what is open already, by another name
    # Of terminals only those the command made itself: in the person's, it could write, and read what is typed.
    yield "(allow pseudo-tty)"
    yield '(deny file-read-data (regex #"^/dev/ttys[0-9]+$"))'
    own = '(require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))'
    yield f"(allow file-read-data file-write* {own})"
    for path in sorted({*fence.sealed, *fence.watched}):
        yield f"(deny file-write* (subpath {_quoted(path)}))"
    # A folder on the way to what is sealed may not be moved away.
    for folder in sorted({way for path in fence.sealed for top in fence.write for way in between(top, path)}):
        yield f"(deny file-write-unlink (literal {_quoted(folder)}))"
    # Programs that others start for us are held by nothing: launchd's jobs, `open`, scripts of applications.
    yield "(deny job-creation)"
    yield "(deny lsopen)"
    yield "(deny appleevent-send)"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    for folder in fence.hidden:
        yield f"(deny network-outbound (subpath {_quoted(folder)}))"
    if not fence.network:
        yield "(deny network*)"
        yield '(allow network-bind network-inbound (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
