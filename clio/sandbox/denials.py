"""Tell from the output of a failed command what the sandbox denied it."""

import os
import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from clio.sandbox.fence import SandboxLevel
from clio.text.lazy_regex import LazyRegex

_FILES = LazyRegex(
    r"Read-only file system|\bEROFS\b|Permission denied|\bEACCES\b|Operation not permitted|\bEPERM\b"
    r"|Device or resource busy|\bEBUSY\b|Invalid cross-device link",
    re.IGNORECASE,
)
_NETWORK = LazyRegex(
    r"Network is unreachable|\bENETUNREACH\b|Could not resolve|Couldn't resolve|\bEAI_AGAIN\b|\bENOTFOUND\b"
    r"|Temporary failure in name resolution|Name or service not known|No address associated with hostname"
    r"|dial (?:tcp|udp)|getaddrinfo|error sending request|Failed to establish a new connection",
    re.IGNORECASE,
)
_LOOPBACK = LazyRegex(r"Connection refused|\bECONNREFUSED\b|Failed to connect|Couldn't connect", re.IGNORECASE)
_TMP = LazyRegex(r"/tmp/[^\n]*No such file|No such file[^\n]*/tmp/", re.IGNORECASE)


def describe_denial(output: str, level: SandboxLevel, *, network: bool) -> str:
    """Return one line with the likely cause and the way out; "" if nothing points to the sandbox."""
    if level == "off":
        return ""
    if not network and _NETWORK.search(output):
        cause = "it has no network"
    elif not network and level != "landlock" and _LOOPBACK.search(output):
        cause = "each command has a network of its own, so a server is reached only by the command that started it"
    elif not network and level == "landlock" and _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and open no sockets"
    elif _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and neither .git/config, .git/hooks nor .clio"
    elif level == "bwrap" and _TMP.search(output):
        cause = "it has a /tmp of its own, where only commands in the sandbox put files"
    else:
        return ""
    return (
        f"[this may be the sandbox ({level}): {cause}. If the command needs more, call it again with outside=true: "
        "the user is then asked]"
    )


_READ_ONLY = LazyRegex(r"read-only file system|\berofs\b")
_DENIED = LazyRegex(r"permission denied|\beacces\b|operation not permitted|\beperm\b")
_QUOTED = LazyRegex(r"(?<!\w)['\"‘“`](?P<path>[^'\"’”`]+)['\"’”`]")
_BEFORE_REASON = LazyRegex(
    r"(?P<path>[^\n:]+): (?:read-only file system|permission denied|operation not permitted)", flags=re.IGNORECASE
)
_SHELL = LazyRegex(r"(?:^|/)(?:ba|da|a|z|k)?sh: ")
_SPEAKER = LazyRegex(r"(?:[^\s:]*/)?(?P<name>[\w.+-]+)(?:: | (?:ERR!|error|warn)\b)")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_LAST_CHARS = 20_000
"""How much of the end of an output is searched for a denial, in characters."""
_LINE_CHARS = 1_000


def find_denied_action(
    output: str,
    level: SandboxLevel,
    *,
    root: Path,
    network: bool,
    withheld: Iterable[str] = (),
    speakers: Collection[str] | None = None,
) -> str:
    """Return what a failed command needed and was denied, such as "needs the network"; "" for an ordinary failure.

    A denied file counts only if the user could write or read it; otherwise the system itself denied it. Examines the
    end of the output, in English (see `unasked_environment`).

    Args:
        output: what the command printed.
        level: what confined it.
        root: where it ran.
        network: whether it had the network.
        withheld: names of variables it was not given; a program with network access names the one it lacks.
        speakers: only lines that begin with the name of one of these programs or of a shell count, for when the exit
            code does not tell whether a part of the command failed. None for every line.
    """
    if level == "off":
        return ""
    for line in reversed(output[-_LAST_CHARS:].splitlines()):
        if len(line) > _LINE_CHARS or (speakers is not None and not _is_error_of(line, speakers)):
            continue
        small = line.lower()
        if _READ_ONLY.search(small):
            path = _find_named_path(line, root)
            if path is None or _can_write(path):
                return f"needs to write {_shorten_path(path, root)}" if path else "needs to write files"
        elif not network and (_NETWORK.search(line) or _LOOPBACK.search(line)):
            return "needs the network"
        elif _DENIED.search(small) and (need := _explain_denied_file(line, level, root, network=network)):
            return need
        elif network and (name := next((name for name in withheld if name in line), "")):
            return f"needs the variable {name}"
    return ""


def _is_error_of(line: str, programs: Collection[str]) -> bool:
    """Whether a line is an error message of one of these programs or of a shell, and not text that they print."""
    speaker = _SPEAKER.match(line)
    return speaker is not None and (speaker["name"] in programs or speaker["name"] in _SHELLS)


def _explain_denied_file(line: str, level: SandboxLevel, root: Path, *, network: bool) -> str:
    if sys.platform == "win32":
        return ""
    privileged = os.geteuid() == 0  # a confined command has none of root's privileges
    path = _find_named_path(line, root)
    if path is None:
        if not network and "socket" in line.lower():
            return "needs the network"
        return "needs rights it does not get" if privileged or level != "bwrap" else ""
    exists = os.path.lexists(path)
    if exists and path.is_file() and not os.access(path, os.X_OK) and _SHELL.search(line):
        return ""  # not a program
    if privileged and exists:
        return f"needs to read or write {_shorten_path(path, root)}"
    return f"needs to write {_shorten_path(path, root)}" if level != "bwrap" and _can_write(path) else ""


def _find_named_path(line: str, root: Path) -> Path | None:
    """Return the file an error message names; of several, the first that exists or whose folder exists."""
    names = [found["path"] for found in _QUOTED.finditer(line)]
    if before := _BEFORE_REASON.search(line):
        text = before["path"].strip()
        names += [text, text.rsplit(" ", 1)[-1]]
    paths = [root / name for name in names if "\0" not in name and len(name) < 1000]
    return next((path for path in paths if os.path.lexists(path)), None) or next(
        (path for path in paths if path.parent.is_dir()), None
    )


def _can_write(path: Path) -> bool:
    """Whether the user could write or create a file."""
    return os.access(path if path.exists() else path.parent, os.W_OK)


def _shorten_path(path: Path, root: Path) -> str:
    return repr(str(path.relative_to(root) if path.is_relative_to(root) else path))
