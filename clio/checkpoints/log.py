"""The log of one workspace: a line for everything that was done to its files."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.checkpoints.states import Record
from clio.storage.documents import refuse_newer
from clio.storage.files import make_folder, open_regular, write_atomic
from clio.storage.jsonl import LineWriter, keep_damaged_lines, read_lines, split_lines
from clio.storage.locks import FileLock

VERSION = 1
SCHEMA = "clio.checkpoints"
_NOT_IN_NAMES = LatePattern(r"[^\w.-]+")


class _Head(Struct, kw_only=True):
    schema: str = SCHEMA
    version: int = VERSION
    root: str = ""


class Log(Protocol):
    """What was done to the files of one workspace, oldest first."""

    def read(self) -> list[Record]:
        """Everything that is still known."""
        ...

    def append(self, record: Record) -> None:
        """Add what was done last."""
        ...


class _Known(Struct):
    """What was read of a log: its whole lines up to `end`, the last of which is `last`. inode: of the file."""

    inode: int = 0
    end: int = 0
    last: bytes = b""
    records: list[Record] = []


class DiskLog:
    """A file of lines that several clios append to; `folder` is the workspace's own in the store."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.path = folder / "log.jsonl"
        self._root = str(root)
        self._known = _Known()

    def read(self) -> list[Record]:
        """What was read before is not read again. Lines that cannot be read are passed over.

        Raises NewerDocument, OSError.
        """
        try:
            with open_regular(self.path) as file:
                inode = os.fstat(file.fileno()).st_ino
                known = self._known = self._known if _goes_on(file, inode, self._known) else _Known(inode)
                file.seek(known.end)
                data = file.read()
        except FileNotFoundError:
            self._known = _Known()
            return []
        whole = split_lines(data[: data.rfind(b"\n") + 1]).lines
        known.records += _records(self.path, whole, from_start=known.end == 0)
        known.end += data.rfind(b"\n") + 1
        known.last = whole[-1] if whole else known.last
        rest = split_lines(data[data.rfind(b"\n") + 1 :]).lines  # a last line may lack no more than its line end
        return [*known.records, *_records(self.path, rest, from_start=known.end == 0)]

    def append(self, record: Record) -> None:
        """On disk when this returns. Raises OSError, TimeoutError."""
        make_folder(self.path.parent)
        with locked(self.path):
            writer = LineWriter(self.path, msgspec.json.encode(_Head(root=self._root)))
            try:
                writer.add(msgspec.json.encode(record))
                writer.flush()
                writer.sync()
            finally:
                writer.close()


class MemoryLog:
    """A log that is never on disk."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def read(self) -> list[Record]:
        """See Log."""
        return list(self._records)

    def append(self, record: Record) -> None:
        """See Log."""
        self._records.append(record)


def project_folder(store: Path, root: Path) -> Path:
    """Where the store keeps what belongs to one workspace: its name, and enough of a hash to tell it from others."""
    name = _NOT_IN_NAMES.sub("-", root.name)[:40] or "root"
    return store / "projects" / f"{name}-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"


def locked(path: Path) -> FileLock:
    """The lock of a log, to be entered."""
    return FileLock(path.with_name(path.name + ".lock"))


def read_log(path: Path) -> list[Record]:
    """The records of a log. Raises NewerDocument, OSError."""
    return _records(path, read_lines(path).lines, from_start=True)


def _goes_on(file: BinaryIO, inode: int, known: _Known) -> bool:
    """Whether it is still the file that was read, grown at most: its last known line stands where it stood."""
    file.seek(max(known.end - len(known.last) - 1, 0))
    return known.end > 0 and inode == known.inode and file.read(len(known.last) + 1) == known.last + b"\n"


def _records(path: Path, lines: Sequence[bytes], *, from_start: bool) -> list[Record]:
    records: list[Record] = []
    for number, line in enumerate(lines):
        try:
            if from_start and number == 0:
                head = decode_json(line, type=_Head)
                refuse_newer(path, head.version, VERSION)
                continue
            records.append(decode_json(line, type=Record))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # what this line was about cannot be taken back; all else can
    return records


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """Replace the records of a log, whose lock is held. Raises OSError."""
    keep_damaged_lines(path)
    head = next(iter(read_lines(path).lines), b"") or msgspec.json.encode(_Head())
    write_atomic(path, b"".join(line + b"\n" for line in (head, *map(msgspec.json.encode, records))))
