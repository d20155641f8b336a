"""Read and write whole files safely: atomic writes, bounded reads, private folders, and no blocking on pipes."""

import errno
import os
import re
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from clio.text.translation import tr

if sys.platform != "win32":
    import fcntl

# A symbolic link planted where clio writes must not redirect the write. Windows has no such flag.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_GET_GENERATION = 0x80007601  # FS_IOC_GETVERSION of Linux, without the size of its result


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Replace `path` by `data`: write a unique temporary file beside it, fsync, rename, fsync the folder.

    The folder must exist. A symbolic link at `path` is replaced, not followed.

    Args:
        durable: False skips both fsyncs. A power failure may then lose the file; killing the process still cannot.

    Raises:
        OSError: `path` is unchanged then, and the temporary file has been removed.
    """
    write_pieces(path, (data,), mode, durable=durable)


def write_pieces(
    path: Path, pieces: Iterable[bytes], mode: int = 0o600, *, durable: bool = True, modified: float | None = None
) -> None:
    """Write like `write_atomic`, for content too large to be held in memory. Errors of `pieces` are raised as well.

    Args:
        modified: modification time of the file, in seconds since the epoch; None for now.
    """
    temp = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | NO_FOLLOW, mode)
    try:
        try:
            _mark_in_use(fd)
            for piece in pieces:
                write_all(fd, piece)
            if durable:
                os.fsync(fd)
            if modified is not None:
                os.utime(temp, (modified, modified))
            if sys.platform != "win32":
                # rename while the lock is held, so that no other process takes the temporary file for abandoned
                temp.replace(path)
        finally:
            os.close(fd)
        if sys.platform == "win32":
            _replace_on_windows(temp, path)
    except BaseException as error:
        with suppress(OSError):  # report the first error
            temp.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # ENOSPC names no file, and the temporary name means nothing to the user
        raise
    if durable:
        sync_folder(path.parent)


_WINDOWS_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Pauses between attempts to replace a file that another program has open: a reader, an indexer, a virus scanner."""


def _replace_on_windows(temp: Path, path: Path) -> None:
    """Rename `temp` to `path`. Windows refuses while either of them is open, so clio waits for the other program."""
    for pause_s in _WINDOWS_PAUSES_S:
        try:
            temp.replace(path)
        except PermissionError:
            time.sleep(pause_s)
        else:
            return
    temp.replace(path)


def _mark_in_use(fd: int) -> None:
    """Mark a temporary file as in use until its writer exits; see `clio.storage.locks.is_abandoned`."""
    if sys.platform != "win32":
        with suppress(OSError):  # the file system has no locks, so only the age of the file is evidence
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_all(fd: int, data: bytes, path: Path | None = None) -> None:
    """Write every byte; a single `os.write` may write only some of them.

    Args:
        path: the file name for an OSError; the operating system provides none for a descriptor.
    """
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        error.filename = None if path is None else str(path)
        raise


Stamp = tuple[int, int, int, int]


def get_stamp(path: Path) -> Stamp | None:
    """Return device, inode, size in bytes and time of the last change of a file or folder; None if there is none.

    A file that is replaced or appended to has another stamp, unless both happen within the resolution of its times.
    Raises OSError other than FileNotFoundError.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Does nothing on Windows, where folders cannot be opened."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


GITIGNORE_ALL = b"*\n"


def find_birth_mark(folder: Path) -> str:
    """Return what a folder keeps when it is renamed, and a later folder of the same inode number does not have.

    That is the time of its creation, or on Linux the number that the file system gave the inode when it was created; ""
    if neither is known. Raises OSError, also for a link.
    """
    found = folder.stat(follow_symlinks=False)
    if born := getattr(found, "st_birthtime_ns", 0) or getattr(found, "st_birthtime", 0):
        return str(born)
    if sys.platform == "win32":
        return str(found.st_ctime_ns)  # the time of creation, before Python 3.12 called it so
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW)
    try:
        generation = bytearray(struct.calcsize("l"))
        fcntl.ioctl(fd, _GET_GENERATION | len(generation) << 16, generation)
    except OSError:  # a file system without such numbers, or in memory
        return ""
    finally:
        os.close(fd)
    return generation.hex() if any(generation) else ""


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, each with mode 0700. One that exists keeps its mode."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def make_ignored_folder(folder: Path, root: Path) -> None:
    """Create `folder` inside `root`, hidden from git.

    The topmost folder created, from `root` down, gets a `.gitignore` containing `*`. If `root` already existed with a
    `.gitignore`, the user has decided what git sees, and none is written.
    """
    if folder.is_dir():
        return
    if not root.is_dir():
        _create_ignored_folder(root)
    top = folder
    while top != root and not top.parent.is_dir():
        top = top.parent
    make_folder(folder)
    if not (root / ".gitignore").exists():
        write_atomic(top / ".gitignore", GITIGNORE_ALL, 0o644, durable=False)


def _create_ignored_folder(folder: Path) -> None:
    """Create a folder with a `.gitignore` in it, atomically.

    It is created under a temporary name and renamed. Otherwise a process killed between the two steps would leave a
    folder whose later contents git would see.
    """
    make_folder(folder.parent)
    temporary = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.mkdir(mode=0o700)
        write_atomic(temporary / ".gitignore", GITIGNORE_ALL, 0o644, durable=False)
        temporary.rename(folder)
    except OSError as error:
        _remove_temporary_folder(temporary)
        if not folder.is_dir():  # another clio process has created it in the meantime
            raise OSError(error.errno, error.strerror, str(folder)) from error
    # Remove what a killed process has left. A process still at work finds the folder created, as handled above.
    pattern = re.compile(re.escape(folder.name) + r"\.[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for leftover in [path for path in folder.parent.iterdir() if pattern.fullmatch(path.name)]:
            if not leftover.is_symlink():  # a cloned repository may contain such a link, to any folder
                _remove_temporary_folder(leftover)


def _remove_temporary_folder(folder: Path) -> None:
    """Remove a temporary folder if it contains nothing but its `.gitignore` or the temporary file of one."""
    with suppress(OSError):
        entries = list(folder.iterdir())
        if all(path.name.startswith(".gitignore") for path in entries):
            for path in entries:
                path.unlink()
            folder.rmdir()


MAX_DOCUMENT_BYTES = 256_000_000
"""Size limit of clio's own documents that are read whole; the largest one known has a few megabytes."""
_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe without a writer would block
    | getattr(os, "O_NOCTTY", 0)  # opening a terminal could make it the process's controlling terminal
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)  # Windows would convert line ends
)
_BLOCK_BYTES = 1 << 20


class NotAFile(OSError):
    """The path is a folder, a pipe, a socket or a device."""


class TooLarge(OSError):
    """The file exceeds the size limit for its kind. Sizes are in bytes."""

    size: int = 0
    max_bytes: int = 0


class LeavesProject(OSError):
    """The path is, or passes through, a link that leads out of the folder it belongs to."""


def read_regular(path: Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the bytes of a regular file, following links. Never blocks on a pipe without a writer.

    Raises:
        NotAFile: for a folder, pipe, socket or device.
        TooLarge: if it is larger than `max_bytes`.
        OSError: for other errors, such as FileNotFoundError.
    """
    fd = _open_regular(path)
    try:
        return _read_all(fd, path, max_bytes)
    finally:
        os.close(fd)


def open_regular(path: Path, max_bytes: int | None = MAX_DOCUMENT_BYTES, *, follow: bool = True) -> BufferedReader:
    """Open a regular file for reading bytes. Raises the same errors as `read_regular`.

    Args:
        max_bytes: size limit; None for files that are read in pieces.
        follow: whether links are followed.
    """
    fd = _open_regular(path, follow=follow)
    size = os.fstat(fd).st_size
    if max_bytes is not None and size > max_bytes:
        os.close(fd)
        raise _make_too_large_error(path, size, max_bytes)
    return os.fdopen(fd, "rb")


def read_beginning(path: Path | str, max_bytes: int) -> bytes:
    """Return the first bytes of a regular file, following links. Raises the errors of `read_regular` but TooLarge."""
    fd = _open_regular(path)
    try:
        return _read_up_to(fd, max_bytes)
    finally:
        os.close(fd)


def read_head(path: str, max_bytes: int) -> bytes:
    """Return the first bytes of a file that a scan of its folder has just found to be a regular file, not a link.

    A third of the time of `open_regular`, for folders of thousands of files. Raises OSError.
    """
    fd = os.open(path, _READ_FLAGS | getattr(os, "O_NOFOLLOW", 0))
    try:
        return os.read(fd, max_bytes)
    finally:
        os.close(fd)


def read_project_file(
    path: Path, root: Path, max_bytes: int, *, trusted: Iterable[Path] = (), truncate: bool = False
) -> bytes:
    """Return the bytes of a regular file that is really inside `root` or one of the trusted paths.

    Args:
        trusted: files and folders, links resolved, that the user has agreed to reach through links in the project.
        truncate: return the first `max_bytes` of a larger file instead of raising TooLarge.

    Raises:
        LeavesProject: if a link leads out of the project.
        OSError: the errors of `read_regular`.
    """
    fd = _open_regular(path)
    try:
        # Resolved after opening, so that replacing a link in between cannot pass off another file as this one.
        resolved = Path(os.path.realpath(path))
        if not any(resolved.is_relative_to(allowed) for allowed in (root, Path(os.path.realpath(root)), *trusted)):
            raise LeavesProject(errno.ELOOP, tr("it is a link to a place outside the project"), str(path))
        if not os.path.samestat(os.lstat(resolved), os.fstat(fd)):
            raise LeavesProject(errno.ELOOP, tr("its links changed while it was opened"), str(path))
        return os.read(fd, max_bytes) if truncate else _read_all(fd, path, max_bytes)
    finally:
        os.close(fd)


def _open_regular(path: Path | str, *, follow: bool = True) -> int:
    # Checked before opening as well: opening a device can have side effects, such as rewinding a tape.
    require_regular(path, os.stat(path, follow_symlinks=follow).st_mode)  # noqa: PTH116 - a Path costs as much again
    try:
        fd = os.open(path, _READ_FLAGS if follow else _READ_FLAGS | getattr(os, "O_NOFOLLOW", 0))
    except ValueError as error:  # a name that no file system allows
        raise NotAFile(errno.EINVAL, tr("it is not a file"), str(path)) from error
    try:
        require_regular(path, os.fstat(fd).st_mode)
    except NotAFile:
        os.close(fd)
        raise
    return fd


def require_regular(path: Path | str, mode: int) -> None:
    """Raise NotAFile, naming what `path` is instead, unless `mode` is that of a regular file."""
    if stat.S_ISREG(mode):
        return
    kind = tr("it is a named pipe, not a file") if stat.S_ISFIFO(mode) else tr("it is not a file")
    raise NotAFile(errno.EINVAL, kind, str(path))


def _read_all(fd: int, path: Path, max_bytes: int) -> bytes:
    """Read to the end, including files that grow meanwhile or report no size, such as those in /proc."""
    size = os.fstat(fd).st_size
    if size > max_bytes:
        raise _make_too_large_error(path, size, max_bytes)
    parts: list[bytes] = []
    total = 0
    while part := os.read(fd, _BLOCK_BYTES):
        total += len(part)
        if total > max_bytes:
            raise _make_too_large_error(path, total, max_bytes)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_up_to(fd: int, max_bytes: int) -> bytes:
    """Read to the end or the limit; one call returns at most 2 GB, and less where a signal interrupts it."""
    parts: list[bytes] = []
    while max_bytes > 0 and (part := os.read(fd, min(max_bytes, _BLOCK_BYTES))):
        max_bytes -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _make_too_large_error(path: Path, size: int, max_bytes: int) -> TooLarge:
    error = TooLarge(errno.EFBIG, tr("it is larger than {max_bytes:,} bytes", max_bytes=max_bytes), str(path))
    error.size, error.max_bytes = size, max_bytes
    return error
