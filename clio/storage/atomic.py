"""Whole-file writes that leave the old file or the new one, never a mixture."""

import os
import secrets
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# A link planted where clio writes must not lead the write elsewhere. Windows has no such flag.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Replace `path` by `data`: unique temporary file beside it, flush, fsync, replace, fsync of the folder.

    The folder must exist. A symbolic link at `path` is replaced, not followed.
    durable: False leaves out both fsyncs; then the power failing may lose the file, a killed process still cannot.
    Raises OSError, after which `path` is as it was and the temporary file is gone.
    """
    write_pieces(path, (data,), mode, durable=durable)


def write_pieces(
    path: Path, pieces: Iterable[bytes], mode: int = 0o600, *, durable: bool = True, modified: float | None = None
) -> None:
    """The same for what is too large to be held at once.

    modified: the time the file is to bear, in seconds since the epoch; None for now.
    Raises what taking the pieces raises, too.
    """
    temp = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | NO_FOLLOW, mode)
    try:
        try:
            _lock(fd)
            for piece in pieces:
                write_all(fd, piece)
            if durable:
                os.fsync(fd)
            if modified is not None:
                os.utime(temp, (modified, modified))
            if sys.platform != "win32":
                temp.replace(path)  # while the lock is held
        finally:
            os.close(fd)
        if sys.platform == "win32":
            temp.replace(path)  # an open file cannot be replaced there, nor deleted by anybody
    except BaseException as error:
        with suppress(OSError):  # the first error is the one to tell
            temp.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk names no file, and nobody knows the temporary one
        raise
    if durable:
        sync_folder(path.parent)


def _lock(fd: int) -> None:
    """Tell whoever finds the temporary file that its writer lives, however long it takes: see `storage.leftovers`."""
    if sys.platform != "win32":
        with suppress(OSError):  # the file system has no locks: then only its age tells
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_all(fd: int, data: bytes, path: Path | None = None) -> None:
    """Write every byte; `os.write` alone may stop after some of them.

    path: what an OSError is to name, which the operating system does not where it only has a descriptor.
    """
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        error.filename = None if path is None else str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Does nothing on Windows, which cannot open folders."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
