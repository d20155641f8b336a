"""Reading and writing whole files safely: atomic writes, bounded reads, private folders, and no waiting."""

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
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


IGNORE_ALL = b"*\n"


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, each with mode 0700. One that exists keeps its mode."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def make_ignored_folder(folder: Path, root: Path) -> None:
    """Create `folder`, which lies in `root`, so that git does not see what clio puts there.

    The topmost folder that had to be made, from `root` down, gets a `.gitignore` containing `*`. Where `root` was there
    already and has a `.gitignore`, its owner has decided what git sees, and none is written.
    """
    if folder.is_dir():
        return
    if not root.is_dir():
        _make_ignored(root)
    top = folder
    while top != root and not top.parent.is_dir():
        top = top.parent
    make_folder(folder)
    if not (root / ".gitignore").exists():
        write_atomic(top / ".gitignore", IGNORE_ALL, 0o644, durable=False)


def _make_ignored(folder: Path) -> None:
    """Made aside and then named: killed between a folder and its `.gitignore`, git would see all that comes later."""
    make_folder(folder.parent)
    aside = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}.tmp")
    try:
        aside.mkdir(mode=0o700)
        write_atomic(aside / ".gitignore", IGNORE_ALL, 0o644, durable=False)
        aside.rename(folder)
    except OSError as error:
        _take_away(aside)
        if not folder.is_dir():  # another clio has made it meanwhile
            raise OSError(error.errno, error.strerror, str(folder)) from error
    # What a clio that was killed in the midst has left. One that is in the midst now finds the folder made, as above.
    pattern = re.compile(re.escape(folder.name) + r"\.[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for left in [each for each in folder.parent.iterdir() if pattern.fullmatch(each.name)]:
            if not left.is_symlink():  # a repository may bring one, to any folder
                _take_away(left)


def _take_away(aside: Path) -> None:
    """A folder made aside, where nothing but its `.gitignore` is in it, or what was to become one."""
    with suppress(OSError):
        inside = list(aside.iterdir())
        if all(path.name.startswith(".gitignore") for path in inside):
            for path in inside:
                path.unlink()
            aside.rmdir()


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
