"""Files of one JSON value per line that only grow, survive a cut in a line, and keep a copy of what is damaged."""

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.storage.files import (
    NO_FOLLOW,
    open_regular,
    read_regular,
    require_regular,
    sync_folder,
    write_all,
    write_atomic,
)
from clio.text.json_data import TooDeep, decode_json

_notes: list[str] = []
"""Sentences about copies that were made and that the user has not been told of."""


def is_torn_line(rest: bytes) -> bool:
    """Whether a last line without a line end is what a killed writer leaves: the beginning of one JSON object."""
    return rest.startswith(b"{") and b"\0" not in rest


def copy_damaged(path: Path, data: bytes) -> Path | None:
    """Keep `data`, the content of `path`, as `<name>.corrupt-<time>`; None where that cannot be done.

    The time is that of the file's last change, so that one damage is copied once, however often it is read.
    """
    try:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(path.stat().st_mtime))
        for number in range(100):
            target = path.with_name(f"{path.name}.corrupt-{stamp}" + (f"-{number}" if number else ""))
            try:
                if read_regular(target) == data:
                    return target
            except FileNotFoundError:
                write_atomic(target, data)
                return target
    except (OSError, OverflowError, ValueError):
        return None
    return None


def find_copy(path: Path, data: bytes) -> Path | None:
    """The copy that `copy_damaged` made of this content before, if any."""
    for target in path.parent.glob(f"{path.name}.corrupt-*"):
        try:
            if read_regular(target) == data:
                return target
        except OSError:
            continue
    return None


def note_damage(path: Path, copy: Path) -> None:
    """Have the user told, once, that a damaged file was copied."""
    sentence = f"{str(path)!r} was damaged; a copy was set aside as {copy.name!r}, and its sound lines are still used"
    if sentence not in _notes:
        _notes.append(sentence)


def take_damage_notes() -> list[str]:
    """What was noted since this was last called."""
    taken = _notes[:]
    _notes.clear()
    return taken


BLOCK_BYTES = 65_536
MAX_LINE_BYTES = 64_000_000
"""The longest torn line that is looked for; what is longer was not written by clio."""
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | NO_FOLLOW


class Lines(Struct, frozen=True, kw_only=True):
    """The whole lines of a file without their line ends, and the torn rest of a last one that was never finished."""

    lines: tuple[bytes, ...]
    torn: bytes = b""


def split_lines(data: bytes) -> Lines:
    """Lines of `data`. A last line without its line end counts as whole if it is a whole JSON value. Empty lines go."""
    *whole, last = data.split(b"\n")
    if last and is_json(last):
        whole.append(last)
        last = b""
    return Lines(lines=tuple(line for line in whole if line), torn=last)


def read_lines(path: Path) -> Lines:
    """Lines of a file; none where there is no file. Raises other OSErrors, NotAFile and TooLarge among them."""
    try:
        return split_lines(read_regular(path))
    except FileNotFoundError:
        return Lines(lines=())


def read_last_lines(path: Path, max_bytes: int) -> tuple[bytes, ...]:
    """The whole lines among the last `max_bytes` of a file; none where there is no file. Raises other OSErrors."""
    try:
        with open_regular(path, None) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - max_bytes))
            data = file.read(max_bytes)
    except FileNotFoundError:
        return ()
    lines = split_lines(data).lines
    return lines[1:] if size > max_bytes else lines


def is_json(data: bytes) -> bool:
    """Whether `data` is one whole JSON value, or nested too deep to tell: what is not surely torn is not cut off."""
    try:
        decode_json(data)
    except TooDeep:
        return True
    except msgspec.DecodeError:
        return False
    return True


class LineWriter:
    """Appends lines to a file, one write each; lines that could not be written wait for the next try.

    opening: a line written first where the file is new or empty, without its line end.
    Nothing is opened or created before the first `flush`. There must be one writer at a time.
    """

    def __init__(self, path: Path, opening: bytes = b"") -> None:
        self.path = path
        self._opening = opening
        self._queue = bytearray()
        self._fd: int | None = None
        self._name_is_durable = True

    def add(self, line: bytes) -> None:
        """Queue a line, given without its line end."""
        self._queue += line
        self._queue += b"\n"

    @property
    def is_open(self) -> bool:
        """Whether the file was opened, by the first flush."""
        return self._fd is not None

    @property
    def waiting(self) -> bool:
        """Whether lines are queued that are not yet in the file."""
        return bool(self._queue)

    def flush(self) -> None:
        """Hand the queue to the operating system: from here on a killed process loses nothing of it.

        Raises OSError; what was not written stays queued, and a half-written line is completed by the next flush.
        """
        fd = self._open() if self._fd is None else self._fd
        while self._queue:
            try:
                written = os.write(fd, self._queue)
            except OSError as error:
                error.filename = str(self.path)  # a full disk names no file
                raise
            del self._queue[:written]

    def sync(self) -> None:
        """Make what was flushed survive a power failure. Raises OSError."""
        if self._fd is None:
            return
        try:
            os.fsync(self._fd)
        except OSError as error:
            error.filename = str(self.path)
            raise
        if not self._name_is_durable:
            sync_folder(self.path.parent)
            self._name_is_durable = True

    def vanished(self) -> bool:
        """Whether somebody deleted the file under the writer, so that its lines go nowhere."""
        return self._fd is not None and os.fstat(self._fd).st_nlink == 0

    def close(self) -> None:
        """Let go of the file. Queued lines stay queued."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        fd = _open_for_appending(self.path)
        try:
            end = mend_tail(fd, self.path)
        except BaseException:
            os.close(fd)
            raise
        if end == 0:
            self._name_is_durable = False
            if self._opening:
                self._queue[:0] = self._opening + b"\n"
                self._opening = b""
        self._fd = fd
        return fd


def append_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Add lines, given without their line ends, on disk when this returns; gives the size of the file then.

    All of them or none, unless the process dies on the way. The file is made where there is none; where several may
    write, its lock must be held. Raises OSError.
    """
    data = b"".join(line + b"\n" for line in lines)
    fd = _open_for_appending(path)
    try:
        end = mend_tail(fd, path)
        try:
            write_all(fd, data, path)
            os.fsync(fd)
        except OSError as error:
            error.filename = str(path)
            os.ftruncate(fd, end)  # half a line must not stay for the next one to be glued to
            raise
    finally:
        os.close(fd)
    if end == 0:
        sync_folder(path.parent)
    return end + len(data)


def _open_for_appending(path: Path) -> int:
    """Raises NotAFile for a pipe, a socket or a device, and other OSErrors."""
    with suppress(FileNotFoundError):  # then it is made
        if not path.is_dir():  # `open` says that itself
            require_regular(path, path.stat().st_mode)
    return os.open(path, _APPENDING, 0o600)


def keep_damaged_lines(path: Path) -> None:
    """Copy a file that has lines which are not JSON before it is rewritten without them.

    One torn last line is what a killed writer leaves, and no damage. Raises OSError where the copy cannot be made.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return
    split = split_lines(data)
    if all(map(is_json, split.lines)) and (not split.torn or is_torn_line(split.torn)):
        return
    _keep_copy(path, data)


def _keep_copy(path: Path, data: bytes) -> None:
    if find_copy(path, data) is not None:
        return
    copy = copy_damaged(path, data)
    if copy is None:
        raise OSError(errno.EIO, "it is damaged, and no copy of it could be set aside", str(path))
    note_damage(path, copy)


def mend_tail(fd: int, path: Path) -> int:
    """Make an open file end with a line end, so that the next line is not glued to a torn one. Returns its new size.

    A last line that is whole but lacks its line end gets it; a torn one is cut off. Anything else that is not JSON
    there, as the NULs a power failure leaves, is cut off after the file was copied: see `keep_damaged_lines`.
    path: of the file. Raises OSError.
    """
    size = os.fstat(fd).st_size
    start = size
    blocks: list[bytes] = []
    while start > 0 and not (blocks and b"\n" in blocks[-1]) and size - start < MAX_LINE_BYTES:
        step = min(BLOCK_BYTES, start)
        start -= step
        os.lseek(fd, start, os.SEEK_SET)
        blocks.append(os.read(fd, step))
    tail = b"".join(reversed(blocks))
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return size
    is_too_long = start > 0 and b"\n" not in tail  # no line of clio's: it stays, on a line of its own
    if is_too_long or is_json(last):
        os.write(fd, b"\n")
        return size + 1
    if not is_torn_line(last):
        _keep_copy(path, read_regular(path))
    os.ftruncate(fd, size - len(last))
    return size - len(last)
