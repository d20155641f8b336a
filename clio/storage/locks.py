"""Locks between processes, released by the operating system when their owner exits; OSErrors described for the user."""

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
from clio.text.formatting import format_bytes
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# `find_lock_owner` takes a shared lock for a moment; an `acquire` that meets it must not mistake it for an owner.
SHARED_LOCK_GRACE_S = 0.02
MAX_PAUSE_S = 0.02
"""Upper limit for the pause between two attempts, which doubles each time from 1 ms."""
# Locks are mandatory on Windows: a locked byte cannot be read. One far behind the owner's name keeps that readable.
WINDOWS_LOCK_OFFSET = 1 << 30
NO_LOCK_ERRNOS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


class LockOwner(Struct, frozen=True, kw_only=True):
    """Which process holds a lock, since when (seconds since the epoch). `pid` is 0 if the file does not name it."""

    pid: int = 0
    hostname: str = ""
    timestamp: float = 0.0
    session_id: str = ""


class LocksUnsupported(OSError):
    """The file system of `filename` does not support locks, as some network file systems do not."""

    def __str__(self) -> str:
        return tr(
            "{filename!r} cannot be locked: its file system does not support locks, and two clio "
            "processes would overwrite each other's changes; move it to a disk that supports them",
            filename=self.filename,
        )


class FileLock:
    """One lock file, held by at most one `FileLock` on this machine. The file names its owner.

    The file is deleted on release. A file left behind by a process that has exited locks nothing. The context manager
    waits up to 10 seconds, then raises a TimeoutError that names the owner.
    """

    def __init__(self, path: Path, session_id: str = "") -> None:
        self.path = path
        self._session_id = session_id
        self._fd: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self, timeout_s: float = 0.0) -> bool:
        """Acquire the lock, waiting up to `timeout_s` seconds; False if another process holds it.

        Raises:
            LocksUnsupported: if the file system does not support locks.
            OSError: if the folder cannot be written.
        """
        deadline = time.monotonic() + max(timeout_s, SHARED_LOCK_GRACE_S)
        pause = 0.001
        while not self._try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)
        return True

    def release(self) -> None:
        """Release the lock and delete the file. Does nothing if the lock is not held."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with suppress(OSError):  # the folder was removed or is read-only; closing the descriptor releases the lock
            if sys.platform != "win32" and _is_file_at(fd, self.path):
                self.path.unlink()
        os.close(fd)

    def __enter__(self) -> Self:
        if not self.acquire(timeout_s=10.0):
            owner = read_owner(self.path)
            raise TimeoutError(
                tr("{path!r} has been locked by process {pid} for over 10 seconds.", path=str(self.path), pid=owner.pid)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try_acquire(self) -> bool:
        if self._fd is not None:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
        try:
            # The previous owner may have deleted the file between the open and the lock.
            is_acquired = _lock_descriptor(fd, shared=False) and _is_file_at(fd, self.path)
        except OSError as error:
            os.close(fd)
            if error.errno in NO_LOCK_ERRNOS:
                raise LocksUnsupported(
                    error.errno, tr("its file system does not support locks"), str(self.path)
                ) from error
            raise
        except BaseException:
            os.close(fd)
            raise
        if not is_acquired:
            os.close(fd)
            return False
        self._fd = fd
        self._write_owner(fd)
        return True

    def _write_owner(self, fd: int) -> None:
        owner = LockOwner(
            pid=os.getpid(), hostname=socket.gethostname(), timestamp=time.time(), session_id=self._session_id
        )
        with suppress(OSError):  # disk full; the lock is held even without the name of its owner
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, msgspec.json.encode(owner))


def find_lock_owner(path: Path) -> LockOwner | None:
    """Return the running owner of a lock file; None if it is not locked or does not exist."""
    try:
        # without O_NONBLOCK, opening a pipe would block
        fd = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        return None if _lock_descriptor(fd, shared=True) else read_owner(path)
    except OSError:
        return None  # the file system has no locks, so no owner can be known
    finally:
        os.close(fd)


def supports_locks(folder: Path) -> bool:
    """Whether files in an existing folder can be locked. Creates nothing and delays no other process."""
    if sys.platform == "win32":
        return True  # Windows cannot open folders
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return True  # not a question of locks
    try:
        _lock_descriptor(fd, shared=True)
    except OSError as error:
        return error.errno not in NO_LOCK_ERRNOS
    finally:
        os.close(fd)
    return True


def read_owner(path: Path) -> LockOwner:
    """Return the owner named in a lock file, which may have exited."""
    for _ in range(5):
        try:
            return decode_json(read_regular(path), type=LockOwner)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            time.sleep(0.001)  # the owner holds the lock and is just writing its name
    return LockOwner()


def _is_file_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _lock_descriptor(fd: int, *, shared: bool) -> bool:
    if sys.platform == "win32":
        os.lseek(fd, WINDOWS_LOCK_OFFSET, os.SEEK_SET)
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


TEMP_FILE_NAME = re.compile(r"(.+)\.[0-9a-f]{12}\.tmp")
"""Name of a temporary file: the file to be replaced, then the unique part."""
WRITER_START_S = 1.0
"""Age in seconds after which a running writer has certainly locked its file."""


def is_abandoned(path: Path) -> bool:
    """Whether the writer of a temporary file has exited. Writers hold a lock on it until then.

    On file systems without locks this is true of every file; callers must also check its age.
    """
    return find_lock_owner(path) is None


def delete_abandoned_files(paths: Iterable[Path], now: float) -> None:
    """Delete the temporary files that killed processes left beside these files. Other files in the folder are kept.

    Files that cannot be deleted are skipped.

    Args:
        now: seconds since the epoch.
    """
    names_by_folder: dict[Path, set[str]] = {}
    for path in paths:
        names_by_folder.setdefault(path.parent, set()).add(path.name)
    for folder, names in names_by_folder.items():
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                found = TEMP_FILE_NAME.fullmatch(entry.name)
                if found is None or found[1] not in names or entry.is_dir(follow_symlinks=False):
                    continue
                path = folder / entry.name
                if now - entry.stat(follow_symlinks=False).st_mtime >= WRITER_START_S and is_abandoned(path):
                    path.unlink(missing_ok=True)


NO_SPACE_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))
"""Errors that only a writer receives."""
_REASONS = {
    errno.ENOSPC: mark("the disk is full"),
    errno.EDQUOT: mark("the disk quota is used up"),
    errno.EFBIG: mark("the file size limit is reached"),
    errno.EROFS: mark("the disk is read-only"),
    errno.EACCES: mark("permission was denied"),
    errno.EPERM: mark("permission was denied"),
}
_FIXES = {
    errno.ENOSPC: mark("free some space, then try again"),
    errno.EDQUOT: mark("free some space, then try again"),
    errno.EFBIG: mark("raise the file size limit, then try again"),
    errno.EROFS: mark("make it writable, or use --incognito"),
    errno.EACCES: mark("fix its permissions, or use --incognito"),
    errno.EPERM: mark("fix its permissions, or use --incognito"),
}

_DEFAULT_FIX = mark("check it, then try again")


def error_reason(error: OSError) -> str:
    """Return why an operation failed, as a clause in lower case."""
    if isinstance(error, TooLarge):  # its errno, EFBIG, would give the reason of a failed write
        return tr("it {size}", size=_describe_size(error))
    return tr(_REASONS.get(error.errno or 0, "")) or (error.strerror or str(error)).lower()


def _describe_size(error: TooLarge) -> str:
    return tr(
        "is too large to read ({size}; limit {limit})",
        size=format_bytes(error.size),
        limit=format_bytes(error.max_bytes),
    )


def error_cause(error: Exception) -> str:
    """Return why an operation failed and on which file, as a clause; the error's own text if it is no OSError."""
    if not isinstance(error, OSError) or isinstance(error, LocksUnsupported) or error.errno is None:
        return str(error)
    return error_reason(error) if error.filename is None else f"{error_reason(error)} ({str(error.filename)!r})"


def suggest_fix(error: Exception) -> str:
    """Return what the user can do about an error, as a clause in the imperative."""
    if isinstance(error, TooLarge | NotAFile):
        return tr("move it away")
    return tr(_FIXES.get(error.errno or 0, tr(_DEFAULT_FIX))) if isinstance(error, OSError) else tr(_DEFAULT_FIX)


def format_os_error(error: OSError) -> str:
    """Return file, cause and next step as a sentence; the error's own text if the operating system did not raise it."""
    if isinstance(error, LocksUnsupported) or error.errno is None:
        return str(error)
    if isinstance(error, TooLarge):
        return f"{str(error.filename)!r} {_describe_size(error)}; {suggest_fix(error)}."
    subject = tr("the output, or a file of clio's,") if error.filename is None else repr(str(error.filename))
    return tr(
        "{subject} could not be used: {error_reason}; {suggest_fix}.",
        subject=subject,
        error_reason=error_reason(error),
        suggest_fix=suggest_fix(error),
    )
