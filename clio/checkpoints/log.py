"""The log of one workspace: a line for everything that was done to its files."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from clio.checkpoints.states import Record
from clio.storage.atomic import write_atomic
from clio.storage.document import refuse_newer
from clio.storage.filelock import FileLock
from clio.storage.folders import make_folder
from clio.storage.jsonl import LineWriter, read_lines

VERSION = 1
SCHEMA = "clio.checkpoints"
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


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


class DiskLog:
    """A file of lines that several clios append to; `folder` is the workspace's own in the store."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.path = folder / "log.jsonl"
        self._root = str(root)
        self._known: tuple[tuple[int, int], list[Record]] = ((-1, -1), [])

    def read(self) -> list[Record]:
        """Lines that cannot be read are passed over. Raises NewerDocument, OSError."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return []
        key = (status.st_mtime_ns, status.st_size)
        if self._known[0] != key:
            self._known = (key, read_log(self.path))
        return list(self._known[1])

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
    records: list[Record] = []
    for number, line in enumerate(read_lines(path).lines):
        try:
            if number == 0:
                head = msgspec.json.decode(line, type=_Head)
                refuse_newer(path, head.version, VERSION)
                continue
            records.append(msgspec.json.decode(line, type=Record))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # what this line was about cannot be taken back; all else can
    return records


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """Replace the records of a log, whose lock is held. Raises OSError."""
    head = next(iter(read_lines(path).lines), b"") or msgspec.json.encode(_Head())
    write_atomic(path, b"".join(line + b"\n" for line in (head, *map(msgspec.json.encode, records))))
