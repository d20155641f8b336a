"""The bytes of files under their SHA-256: each kept once, packed where that saves room."""

import hashlib
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from clio.checkpoints.states import NOT_KEPT
from clio.storage.files import make_folder, sync_folder, write_atomic

_RAW, _PACKED = b"r", b"z"
_PAYS_BYTES = 128
"""Shorter ones are kept as they are: a file takes a block of the disk anyway."""
_PROBE_BYTES = 65_536
_ID_CHARS = 64


def object_id(data: bytes) -> str:
    """The name of these bytes."""
    return hashlib.sha256(data).hexdigest()


class Objects(Protocol):
    """Where bytes are kept."""

    def put(self, data: bytes) -> str:
        """Keep these bytes and return their id; one that begins with NOT_KEPT where there is no room."""
        ...

    def get(self, object_id: str) -> bytes | None:
        """The bytes of that id; None where they are not there, or damaged."""
        ...

    def has(self, object_id: str) -> bool:
        """Whether they are there."""
        ...

    def make_durable(self, ids: Iterable[str]) -> None:
        """Make these survive a power failure."""
        ...


class DiskObjects:
    """Objects as files in a folder of their own; several clios may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Raises OSError. The object survives a killed process; `make_durable` is for the power failing."""
        name = object_id(data)
        path = self.path(name)
        if self.has(name):
            with suppress(OSError):  # young files are spared when room is made
                os.utime(path)
            return name
        make_folder(path.parent)
        write_atomic(path, _packed(data), durable=False)
        return name

    def get(self, object_id: str) -> bytes | None:
        """Raises OSErrors but the one of a missing file."""
        try:
            stored = self.path(object_id).read_bytes()
        except FileNotFoundError:
            return None
        return _unpacked(stored, object_id)

    def has(self, object_id: str) -> bool:
        """A file the power failing left empty does not count."""
        try:
            return self.path(object_id).stat().st_size > 0
        except OSError:
            return False

    def make_durable(self, ids: Iterable[str]) -> None:
        """Raises OSError."""
        folders: set[Path] = set()
        for name in {one for one in ids if one and not one.startswith(NOT_KEPT)}:
            path = self.path(name)
            try:
                fd = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            folders |= {path.parent, self.folder}
        for folder in sorted(folders, reverse=True):
            sync_folder(folder)

    def path(self, object_id: str) -> Path:
        """Where that object is, or would be."""
        return self.folder / object_id[:2] / object_id[2:]

    def all(self) -> Iterator[tuple[str, int, float]]:
        """Every object: id, bytes on disk, when it was last put (seconds since the epoch)."""
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                if len(folder.name + entry.name) == _ID_CHARS:
                    with suppress(FileNotFoundError):  # another clio is making room too
                        status = entry.stat()
                        yield folder.name + entry.name, status.st_size, status.st_mtime

    def sweep(self, live: set[str], *, older_than_s: float) -> None:
        """Delete what is not `live`, but nothing young: its line may be about to be written. Leftovers go too."""
        limit = time.time() - older_than_s
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                with suppress(OSError):  # it stays until the next time
                    if folder.name + entry.name not in live and entry.stat().st_mtime < limit:
                        os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir


class MemoryObjects:
    """Objects that are never on disk, up to `max_bytes`; beyond that the oldest go."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[str, bytes] = {}
        self._size = 0

    def put(self, data: bytes) -> str:
        """See Objects."""
        name = object_id(data)
        if name in self._kept:
            self._kept[name] = self._kept.pop(name)
            return name
        packed = _packed(data)
        if len(packed) > self._max_bytes:
            return f"{NOT_KEPT}{name}"
        self._kept[name] = packed
        self._size += len(packed)
        while self._size > self._max_bytes:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
        return name

    def get(self, object_id: str) -> bytes | None:
        """See Objects."""
        stored = self._kept.get(object_id)
        return None if stored is None else _unpacked(stored, object_id)

    def has(self, object_id: str) -> bool:
        """See Objects."""
        return object_id in self._kept

    def make_durable(self, ids: Iterable[str]) -> None:
        """Nothing in memory is."""


def _packed(data: bytes) -> bytes:
    """The bytes with a letter that says how they are kept. A probe spares what is packed already, such as pictures."""
    if len(data) > _PAYS_BYTES:
        probe = data[:_PROBE_BYTES]
        if len(zlib.compress(probe, 1)) < 0.9 * len(probe):
            return _PACKED + zlib.compress(data, 1)
    return _RAW + data


def _unpacked(stored: bytes, name: str) -> bytes | None:
    kind, body = stored[:1], stored[1:]
    try:
        data = zlib.decompress(body) if kind == _PACKED else body
    except zlib.error:
        return None
    return data if object_id(data) == name else None
