"""Locks between processes that the operating system releases when their owner dies, and its errors in plain words."""

import errno
import os
import re
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from clio.storage.files import NO_FOLLOW, NotAFile, TooLarge, read_regular
from clio.text.json_data import decode_json

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# `holder` takes a shared lock for a moment; an `acquire` that meets it must not take that for an owner.
GRACE_S = 0.02
LONGEST_PAUSE_S = 0.02
# Windows locks are mandatory: a byte far behind the owner's name keeps the name readable.
WINDOWS_BYTE = 1 << 30
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


class Owner(Struct, frozen=True, kw_only=True):
    """Who holds a lock, since when (seconds since the epoch). `pid` is 0 where the file does not say."""

    pid: int = 0
    hostname: str = ""
    timestamp: float = 0.0
    session_id: str = ""


class NoLocks(OSError):
    """The file system of `filename` knows no locks, as some that lie on another machine."""

    def __str__(self) -> str:
        return (
            f"{self.filename!r} cannot be locked: its file system has no locks, without which two clios would "
            "overwrite each other's work; keep it on a disk that has them"
        )


class FileLock:
    """One lock file, held by at most one `FileLock` on this machine; the file names its owner.

    The file is deleted on release. One left behind by a dead process locks nothing.
    As a context manager it waits up to 10 seconds, then raises TimeoutError naming the owner.
    """

    def __init__(self, path: Path, session_id: str = "") -> None:
        self.path = path
        self._session_id = session_id
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self, timeout_s: float = 0.0) -> bool:
        """Take the lock, waiting up to `timeout_s`; False means somebody else has it.

        Raises OSError where the folder cannot be written, NoLocks where its file system knows none.
        """
        deadline = time.monotonic() + max(timeout_s, GRACE_S)
        pause = 0.001
        while not self._try():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        return True

    def release(self) -> None:
        """Let go, and delete the file. Does nothing where the lock is not held."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with suppress(OSError):  # a folder gone or read-only: the lock itself ends with the descriptor
            if sys.platform != "win32" and _is_file_at(fd, self.path):
                self.path.unlink()
        os.close(fd)

    def __enter__(self) -> Self:
        if not self.acquire(timeout_s=10.0):
            owner = read_owner(self.path)
            raise TimeoutError(f"{str(self.path)!r} has been locked by process {owner.pid} for over 10 seconds.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> bool:
        if self._fd is not None:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
        try:
            # The former owner may have deleted the file between our opening and our locking it.
            taken = _lock(fd, shared=False) and _is_file_at(fd, self.path)
        except OSError as error:
            os.close(fd)
            if error.errno in NO_LOCKS:
                raise NoLocks(error.errno, "its file system has no locks", str(self.path)) from error
            raise
        except BaseException:
            os.close(fd)
            raise
        if not taken:
            os.close(fd)
            return False
        self._fd = fd
        self._write_owner(fd)
        return True

    def _write_owner(self, fd: int) -> None:
        owner = Owner(
            pid=os.getpid(), hostname=socket.gethostname(), timestamp=time.time(), session_id=self._session_id
        )
        with suppress(OSError):  # a full disk: the lock holds without its label
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, msgspec.json.encode(owner))


def holder(path: Path) -> Owner | None:
    """The living owner of a lock file; None where nobody holds it or there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))  # it may be a pipe
    except OSError:
        return None
    try:
        return None if _lock(fd, shared=True) else read_owner(path)
    except OSError:
        return None  # no locks on this file system: nobody can be said to hold one
    finally:
        os.close(fd)


def knows_locks(folder: Path) -> bool:
    """Whether files in a folder that is there can be locked. Nothing is created, and nobody kept from a lock."""
    if sys.platform == "win32":
        return True  # where folders cannot be opened
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return True  # another matter
    try:
        _lock(fd, shared=True)
    except OSError as error:
        return error.errno not in NO_LOCKS
    finally:
        os.close(fd)
    return True


def read_owner(path: Path) -> Owner:
    """What a lock file says of its owner, who may be dead."""
    for _ in range(5):
        try:
            return decode_json(read_regular(path), type=Owner)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            time.sleep(0.001)  # the owner has the lock and is just writing its name
    return Owner()


def _is_file_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _lock(fd: int, *, shared: bool) -> bool:
    if sys.platform == "win32":
        os.lseek(fd, WINDOWS_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


NAME = re.compile(r"(.+)\.[0-9a-f]{12}\.tmp")
"""The file that was to be replaced, and what makes the temporary one unique."""
SETTLED_S = 1.0
"""A writer that lives has locked its file long before it is so old."""


def is_abandoned(path: Path) -> bool:
    """Whether nobody is writing it any more: its writer holds a lock on it while it lives.

    Where the file system has no locks this is true of every file; then only its age tells.
    """
    return holder(path) is None


def drop_unfinished(paths: Iterable[Path], now: float) -> None:
    """Delete what killed processes left beside these files, where clio did not make everything that is there.

    now: seconds since the epoch. What cannot be deleted stays.
    """
    wanted: dict[Path, set[str]] = {}
    for path in paths:
        wanted.setdefault(path.parent, set()).add(path.name)
    for folder, names in wanted.items():
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                found = NAME.fullmatch(entry.name)
                if found is None or found[1] not in names or entry.is_dir(follow_symlinks=False):
                    continue
                path = folder / entry.name
                if now - entry.stat(follow_symlinks=False).st_mtime >= SETTLED_S and is_abandoned(path):
                    path.unlink(missing_ok=True)


NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))
"""What only who writes is told."""
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file may not grow",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission was denied",
    errno.EPERM: "permission was denied",
}
_STEPS = {
    errno.ENOSPC: "make room, then try again",
    errno.EDQUOT: "make room, then try again",
    errno.EFBIG: "raise the limit on the size of files, then try again",
    errno.EROFS: "make it writable, or work with --incognito",
    errno.EACCES: "make it yours, or work with --incognito",
    errno.EPERM: "make it yours, or work with --incognito",
}

_STEP = "look there, then try again"


def reason(error: OSError) -> str:
    """Why it failed, as a clause in lower case."""
    if isinstance(error, TooLarge):  # its number is that of a file that may not grow, which is about writing
        return f"it {_describe_size(error)}"
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def _describe_size(error: TooLarge) -> str:
    return f"is too large to read ({_size_text(error.size)}; limit {_size_text(error.max_bytes)})"


def _size_text(size: int) -> str:
    for unit, bytes_each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{size / bytes_each:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def cause(error: Exception) -> str:
    """Why it failed and which file it is about, as a clause of a longer sentence; else the error's own words."""
    if not isinstance(error, OSError) or isinstance(error, NoLocks) or error.errno is None:
        return str(error)
    return reason(error) if error.filename is None else f"{reason(error)} ({str(error.filename)!r})"


def next_step(error: Exception) -> str:
    """What to do about it, as a clause in the imperative."""
    if isinstance(error, TooLarge | NotAFile):
        return "move it away"
    return _STEPS.get(error.errno or 0, _STEP) if isinstance(error, OSError) else _STEP


def sentence(error: OSError) -> str:
    """The thing, the cause and the next step; the error's own words where the operating system did not raise it."""
    if isinstance(error, NoLocks) or error.errno is None:
        return str(error)
    if isinstance(error, TooLarge):
        return f"{str(error.filename)!r} {_describe_size(error)}; {next_step(error)}."
    thing = "the output, or a file of clio's," if error.filename is None else repr(str(error.filename))
    return f"{thing} could not be used: {reason(error)}; {next_step(error)}."
