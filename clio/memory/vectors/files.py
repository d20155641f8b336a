"""The two files of a vector store: `items.jsonl` names the vectors row by row, `vectors-<generation>.f32` holds them.

A cache: files that do not fit together are deleted, to be made anew from what they stand for. Both only grow, and only
under a lock. Rows go to the disk before the lines that name them, so that a process that dies in between leaves rows
nobody counts, which the next one cuts off.
"""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.storage.files import NO_FOLLOW, make_ignored_folder, open_regular, write_all
from clio.storage.locks import FileLock
from clio.text.embedding import DIMENSIONS
from clio.text.json_data import JsonDecoder

ROW_BYTES = 4 * DIMENSIONS
VERSION = 2
DOCUMENT_LIST = "documents.json"
"""Beside the cache, since it is a person's choice: what the vectors of documents are of."""
_ITEMS = "items.jsonl"
_HEAD_BYTES = 200


class VectorItem(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="piece"):
    """What a vector stands for: a piece of a turn or of a document.

    id: of the turn or chunk it is a piece of. group: the session or document, by which searches are kept apart.
    text: the piece itself, without secrets. created: seconds since the epoch.
    line: where in the source it begins, from 1; 0 where there are no lines.
    """

    id: str
    group: str
    text: str
    role: str = ""
    created: float = 0.0
    line: int = 0


class Gone(Struct, frozen=True, kw_only=True, tag_field="is", tag="gone"):
    """All rows of a group up to here count no more, nor does its mark."""

    group: str


class Mark(Struct, frozen=True, kw_only=True, tag_field="is", tag="mark"):
    """All that is to be said of a group is there, as its source was at that stamp."""

    group: str
    stamp: str


class _Head(Struct, frozen=True, kw_only=True, tag_field="is", tag="clio.vectors"):
    version: int
    generation: str


Record = VectorItem | Gone | Mark
_decoder: JsonDecoder[VectorItem | Gone | Mark | _Head] = JsonDecoder(VectorItem | Gone | Mark | _Head)
_encoder = msgspec.json.Encoder()


class News(Struct, frozen=True, kw_only=True):
    """What was added since the last look. anew: what was read before is void."""

    records: list[Record]
    anew: bool = False


class _Damaged(Exception):
    """The files do not fit together."""


class VectorFiles:
    """The files in one folder, as one process has read them so far. Methods raise OSError.

    folder: made when it is needed, and hidden from git from the folder `root` down.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.generation = ""
        self.rows = 0
        self._root = root
        self._bytes = 0
        self._looked: tuple[int, int, int] | None = None

    @property
    def exist(self) -> bool:
        """Whether there is anything to read."""
        return (self.folder / _ITEMS).exists()

    @property
    def vectors(self) -> Path:
        """The file of rows."""
        return self.folder / f"vectors-{self.generation}.f32"

    def lock(self) -> FileLock:
        """To be held while records are added or cleared away; the folder exists from then on."""
        make_ignored_folder(self.folder, self._root)
        return FileLock(self.folder / "items.lock")

    def news(self, *, locked: bool = False) -> News:
        """What was added since the last call, by whatever process. Damaged files are cleared away.

        locked: whether the caller holds the lock.
        """
        try:
            return self._read()
        except _Damaged:
            if locked:
                return self._read_again()
        with self.lock():
            return self._read_again()

    def append(self, records: Sequence[Record], rows: bytes) -> None:
        """Add records with the rows of those that have one; to be called with the lock held, right after `news`."""
        head = b""
        if not self.generation:
            self.generation = secrets.token_hex(6)
            head = _encoder.encode(_Head(version=VERSION, generation=self.generation)) + b"\n"
        if rows:
            _write(self.vectors, rows, self.rows * ROW_BYTES, durable=True)
        lines = b"".join(_encoder.encode(record) + b"\n" for record in records)
        _write(self.folder / _ITEMS, head + lines, self._bytes, durable=False)

    def clear(self, *, locked: bool = False) -> None:
        """Delete the files of all generations."""
        if not self.folder.is_dir():
            return
        if not locked:
            with self.lock():
                self.clear(locked=True)
            return
        (self.folder / _ITEMS).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            if path.name.startswith(("vectors-", "graph-")):
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Take what was read for unread."""
        self.generation, self.rows, self._bytes, self._looked = "", 0, 0, None

    def _read(self) -> News:
        path = self.folder / _ITEMS
        known = bool(self.generation)
        try:
            with open_regular(path) as file:
                stat = os.fstat(file.fileno())
                look = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if look == self._looked:
                    return News(records=[])
                head = _head(file.read(_HEAD_BYTES))
                anew = head.generation != self.generation or stat.st_size < self._bytes
                if anew:
                    self.forget()
                    self.generation = head.generation
                file.seek(self._bytes)
                data = file.read(stat.st_size - self._bytes)
        except FileNotFoundError:
            self.forget()
            return News(records=[], anew=known)
        whole = data[: data.rfind(b"\n") + 1]
        records = _decoded(whole, first=not self._bytes)
        rows = self.rows + sum(isinstance(record, VectorItem) for record in records)
        if rows > self.rows and _size(self.vectors) < rows * ROW_BYTES:
            raise _Damaged
        self.rows = rows
        self._bytes += len(whole)
        self._looked = look
        return News(records=records, anew=known and anew)

    def _read_again(self) -> News:
        """From the beginning, with the lock held: another process may have mended them, or be about to."""
        self.forget()
        try:
            records = self._read().records
        except _Damaged:
            self.clear(locked=True)
            self.forget()
            records = []
        return News(records=records, anew=True)


def _head(start: bytes) -> _Head:
    try:
        head = _decoder.decode(start.partition(b"\n")[0])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Damaged from error
    if not isinstance(head, _Head) or head.version != VERSION or not head.generation.isalnum():
        raise _Damaged
    return head


def _decoded(lines: bytes, *, first: bool) -> list[Record]:
    try:
        found = [_decoder.decode(line) for line in lines.split(b"\n") if line]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Damaged from error
    records = [record for record in found if not isinstance(record, _Head)]
    if len(found) - len(records) != first:
        raise _Damaged
    return records


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write(path: Path, data: bytes, at: int, *, durable: bool) -> None:
    """Write at the end of what counts; what a dead process left behind it is cut off."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | NO_FOLLOW, 0o600)
    try:
        os.ftruncate(fd, at)
        os.lseek(fd, at, os.SEEK_SET)
        write_all(fd, data, path)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
