"""Append-only files with one JSON value per line, which recover from truncated lines and back up damaged content."""

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
from clio.text.json_data import NestedTooDeeply, decode_json
from clio.text.translation import tr

_damage_notes: list[str] = []
"""Messages about backup copies that the user has not seen yet."""


def is_truncated_line(rest: bytes) -> bool:
    """Whether an unterminated last line is the start of one JSON object, as a killed writer leaves it."""
    return rest.startswith(b"{") and b"\0" not in rest


def copy_damaged(path: Path, data: bytes) -> Path | None:
    """Save `data`, the content of `path`, as `<name>.corrupt-<time>`; None if that fails.

    The time is that of the file's last change, so that the same damage is copied once, however often it is read.
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


def find_damage_copy(path: Path, data: bytes) -> Path | None:
    """Return the copy that `copy_damaged` has already made of this content, if any."""
    for target in path.parent.glob(f"{path.name}.corrupt-*"):
        try:
            if read_regular(target) == data:
                return target
        except OSError:
            continue
    return None


def note_damage(path: Path, copy: Path) -> None:
    """Queue a message to the user that a damaged file was copied; each is shown once."""
    sentence = tr(
        "{path!r} was damaged; a copy was saved as {copy!r}, and its valid lines are still used",
        path=str(path),
        copy=copy.name,
    )
    if sentence not in _damage_notes:
        _damage_notes.append(sentence)


def pop_damage_notes() -> list[str]:
    """Return the messages queued since the last call."""
    notes = _damage_notes[:]
    _damage_notes.clear()
    return notes


BLOCK_BYTES = 65_536
MAX_LINE_BYTES = 64_000_000
"""Length limit when searching for a truncated line. clio writes no longer ones."""
_APPEND_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | NO_FOLLOW


class SplitLines(Struct, frozen=True, kw_only=True):
    """The complete lines of a file without line ends, and the truncated rest of an unfinished last line."""

    lines: tuple[bytes, ...]
    truncated: bytes = b""


def split_lines(data: bytes) -> SplitLines:
    """Split `data` into lines. A last line without line end is complete if it is valid JSON. Drops empty lines."""
    *complete, last = data.split(b"\n")
    if last and is_json(last):
        complete.append(last)
        last = b""
    return SplitLines(lines=tuple(line for line in complete if line), truncated=last)


def read_lines(path: Path) -> SplitLines:
    """Read the lines of a file; none if it does not exist. Raises other OSErrors, including NotAFile and TooLarge."""
    try:
        return split_lines(read_regular(path))
    except FileNotFoundError:
        return SplitLines(lines=())


def read_last_lines(path: Path, max_bytes: int) -> tuple[bytes, ...]:
    """Return the complete lines in the last `max_bytes` of a file; none if it does not exist. Raises other OSErrors."""
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
    """Whether `data` is one complete JSON value.

    True also for a value nested too deeply to decode: a line is dropped only if it is certainly truncated.
    """
    try:
        decode_json(data)
    except NestedTooDeeply:
        return True
    except msgspec.DecodeError:
        return False
    return True


class LineWriter:
    """Appends lines to a file with one write per flush. Lines that could not be written are retried by the next flush.

    The file is opened or created by the first `flush`. There must be only one writer at a time.

    Args:
        header: a line, without its line end, that is written first if the file is new or empty.
    """

    def __init__(self, path: Path, header: bytes = b"") -> None:
        self.path = path
        self._header = header
        self._queue = bytearray()
        self._fd: int | None = None
        self._is_name_durable = True

    def add(self, line: bytes) -> None:
        """Queue a line, given without its line end."""
        self._queue += line
        self._queue += b"\n"

    @property
    def is_open(self) -> bool:
        """Whether the first flush has opened the file."""
        return self._fd is not None

    @property
    def has_queued_lines(self) -> bool:
        """Whether queued lines have not been written yet."""
        return bool(self._queue)

    def flush(self) -> None:
        """Write the queue to the operating system. From then on, killing the process loses none of it.

        Raises:
            OSError: what was not written stays queued, and the next flush completes a line written in part.
        """
        fd = self._open() if self._fd is None else self._fd
        while self._queue:
            try:
                written = os.write(fd, self._queue)
            except OSError as error:
                error.filename = str(self.path)  # ENOSPC names no file
                raise
            del self._queue[:written]

    def sync(self) -> None:
        """Make flushed lines survive a power failure. Raises OSError."""
        if self._fd is None:
            return
        try:
            os.fsync(self._fd)
        except OSError as error:
            error.filename = str(self.path)
            raise
        if not self._is_name_durable:
            # A new file's name is in its folder, which has to be flushed separately.
            sync_folder(self.path.parent)
            self._is_name_durable = True

    def is_deleted(self) -> bool:
        """Whether the open file has been deleted, so that further lines would be lost."""
        return self._fd is not None and os.fstat(self._fd).st_nlink == 0

    def close(self) -> None:
        """Close the file. Queued lines stay queued."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        fd = _open_for_appending(self.path)
        try:
            end = terminate_last_line(fd, self.path)
        except BaseException:
            os.close(fd)
            raise
        if end == 0:
            self._is_name_durable = False
            if self._header:
                self._queue[:0] = self._header + b"\n"
                self._header = b""
        self._fd = fd
        return fd


def append_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Append lines, given without line ends, durably. Returns the new size of the file in bytes.

    Writes all of them or none, unless the process is killed meanwhile. The file is created if it does not exist. If
    several processes may write, the caller must hold the lock of the file. Raises OSError.
    """
    data = b"".join(line + b"\n" for line in lines)
    fd = _open_for_appending(path)
    try:
        end = terminate_last_line(fd, path)
        try:
            write_all(fd, data, path)
            os.fsync(fd)
        except OSError as error:
            error.filename = str(path)
            os.ftruncate(fd, end)  # remove a partial line, which the next line would be appended to
            raise
    finally:
        os.close(fd)
    if end == 0:
        sync_folder(path.parent)
    return end + len(data)


def _open_for_appending(path: Path) -> int:
    """Open for appending. Raises NotAFile for a pipe, a socket or a device, and other OSErrors."""
    with suppress(FileNotFoundError):  # the file will be created
        if not path.is_dir():  # `open` reports a folder itself
            require_regular(path, path.stat().st_mode)
    return os.open(path, _APPEND_FLAGS, 0o600)


def back_up_damaged_file(path: Path) -> None:
    """Back up a file that contains invalid lines before it is rewritten without them.

    One truncated last line is normal after a killed writer and does not count as damage. Raises OSError if the copy
    cannot be made.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return
    split = split_lines(data)
    if all(map(is_json, split.lines)) and (not split.truncated or is_truncated_line(split.truncated)):
        return
    _back_up_content(path, data)


def _back_up_content(path: Path, data: bytes) -> None:
    if find_damage_copy(path, data) is not None:
        return
    copy = copy_damaged(path, data)
    if copy is None:
        raise OSError(errno.EIO, tr("it is damaged, and no copy of it could be saved"), str(path))
    note_damage(path, copy)


def terminate_last_line(fd: int, path: Path) -> int:
    """Terminate the last line of an open file, so that the next does not continue a truncated line; return its size.

    A complete last line without line end gets one; a truncated one is cut off. Anything else that is not JSON
    there, such as NULs after a power failure, is cut off after the file was copied: see `back_up_damaged_file`.
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
    is_too_long = start > 0 and b"\n" not in tail  # not written by clio: kept as a line of its own
    if is_too_long or is_json(last):
        os.write(fd, b"\n")
        return size + 1
    if not is_truncated_line(last):
        _back_up_content(path, read_regular(path))
    os.ftruncate(fd, size - len(last))
    return size - len(last)
