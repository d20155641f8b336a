"""Reads files that somebody else may have put there: never waits, never reads without a limit, never leaves a folder.

A repository can bring a named pipe, a link to a device or to the user's own files, or a file of any size under a name
that clio opens by itself. Every such file is opened here.
"""

import errno
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

MAX_DOCUMENT_BYTES = 256_000_000
"""The largest document of clio's own that is read whole; the largest known in use has some megabytes."""
_OPEN = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_BLOCK = 1 << 20


class NotAFile(OSError):
    """What has the name is a folder, a pipe, a socket or a device."""


class TooLarge(OSError):
    """The file is larger than anything that is read under this name. Sizes in bytes."""

    size: int = 0
    max_bytes: int = 0


class LeavesProject(OSError):
    """The name is a link, or lies behind one, that leads out of the folder it belongs to."""


def read_regular(path: Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The bytes of an ordinary file, which a link may lead to.

    Raises FileNotFoundError, NotAFile, TooLarge, and other OSErrors. Never waits for a writer of a pipe.
    """
    fd = _open_regular(path)
    try:
        return _read_all(fd, path, max_bytes)
    finally:
        os.close(fd)


def open_regular(path: Path, max_bytes: int | None = MAX_DOCUMENT_BYTES, *, follow: bool = True) -> BufferedReader:
    """An ordinary file opened for reading bytes. Raises as `read_regular`.

    max_bytes: None for what is read in pieces, whatever its size. follow: whether a link may lead to it.
    """
    fd = _open_regular(path, follow=follow)
    size = os.fstat(fd).st_size
    if max_bytes is not None and size > max_bytes:
        os.close(fd)
        raise _too_large(path, size, max_bytes)
    return os.fdopen(fd, "rb")


def read_project_file(
    path: Path, root: Path, max_bytes: int, *, trusted: Iterable[Path] = (), cut: bool = False
) -> bytes:
    """The bytes of an ordinary file whose real place is in `root` or in one of the trusted places.

    trusted: files and folders with links resolved, which the user agreed to reach through the project's links.
    cut: give the first `max_bytes` of a larger file, instead of raising TooLarge.
    Raises FileNotFoundError, NotAFile, TooLarge, LeavesProject, and other OSErrors.
    """
    fd = _open_regular(path)
    try:
        # Asked after opening: whatever became of the links meanwhile, it is the opened file whose place is judged.
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(place) for place in (root, Path(os.path.realpath(root)), *trusted)):
            raise LeavesProject(errno.ELOOP, "it is a link out of the project", str(path))
        if not os.path.samestat(os.lstat(real), os.fstat(fd)):
            raise LeavesProject(errno.ELOOP, "its links changed while it was opened", str(path))
        return os.read(fd, max_bytes) if cut else _read_all(fd, path, max_bytes)
    finally:
        os.close(fd)


def read_project_text(path: Path, root: Path, max_bytes: int, *, trusted: Iterable[Path] = ()) -> str:
    """The same as text; bytes that are no UTF-8 are replaced. Raises as `read_project_file`."""
    return read_project_file(path, root, max_bytes, trusted=trusted).decode("utf-8-sig", "replace")


def _open_regular(path: Path, *, follow: bool = True) -> int:
    # Looked at before it is opened as well: opening a device can already do something.
    require_regular(path, (path.stat() if follow else path.lstat()).st_mode)
    try:
        fd = os.open(path, _OPEN if follow else _OPEN | getattr(os, "O_NOFOLLOW", 0))
    except ValueError as error:  # a name no disk can hold
        raise NotAFile(errno.EINVAL, "it is not a file", str(path)) from error
    try:
        require_regular(path, os.fstat(fd).st_mode)
    except NotAFile:
        os.close(fd)
        raise
    return fd


def require_regular(path: Path, mode: int) -> None:
    """Raise NotAFile, which says what `path` is instead, unless `mode` is that of an ordinary file."""
    if stat.S_ISREG(mode):
        return
    kind = "it is a named pipe, not a file" if stat.S_ISFIFO(mode) else "it is not a file"
    raise NotAFile(errno.EINVAL, kind, str(path))


def _read_all(fd: int, path: Path, max_bytes: int) -> bytes:
    """Up to the end, also of a file that grows meanwhile or tells no size, as those in /proc."""
    size = os.fstat(fd).st_size
    if size > max_bytes:
        raise _too_large(path, size, max_bytes)
    parts: list[bytes] = []
    total = 0
    while part := os.read(fd, _BLOCK):
        total += len(part)
        if total > max_bytes:
            raise _too_large(path, total, max_bytes)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(path: Path, size: int, max_bytes: int) -> TooLarge:
    error = TooLarge(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(path))
    error.size, error.max_bytes = size, max_bytes
    return error
