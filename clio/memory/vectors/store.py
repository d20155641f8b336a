"""Vectors on disk, beside what they stand for: `items.jsonl` names them row by row, `vectors.f32` holds the rows.

A cache of what the session files and documents say. Rows are only added; a line counts when its whole row is there, so
that a process that dies in between leaves nothing wrong. A folder that does not fit together is emptied, to be filled
anew.
"""

import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.algorithms.embedding import DIMENSIONS
from clio.memory.vectors.embedders import Embedder
from clio.memory.vectors.index import Neighbour, VectorIndex
from clio.storage.atomic import NO_FOLLOW, write_all
from clio.storage.filelock import FileLock
from clio.storage.folders import make_ignored_folder

ROW_BYTES = 4 * DIMENSIONS
BATCH = 64


class VectorItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a vector stands for: a piece of a turn or of a document.

    id: of the turn or chunk it is a piece of. group: the session or document, by which searches are kept apart.
    text: the piece itself, without secrets. created: seconds since the epoch. stamp: of the source, where it changes.
    """

    id: str
    group: str
    text: str
    role: str = ""
    created: float = 0.0
    stamp: str = ""


class VectorStore:
    """The vectors of one folder, made by one embedder; several processes may add to it.

    folder: None keeps all of it in memory. Methods raise OSError, and what the embedder raises.
    """

    def __init__(self, folder: Path | None, embedder: Embedder) -> None:
        self._folder = folder / embedder.name if folder else None
        self._root = folder
        self._embedder = embedder
        self._items: list[VectorItem] = []
        self._ids: set[str] = set()
        self._groups: dict[str, list[int]] = {}
        self._index: VectorIndex | None = None
        self._read_bytes = 0

    @property
    def exists(self) -> bool:
        """Whether there is anything to search: known without reading it."""
        return bool(self._items) or (self._folder is not None and (self._folder / "items.jsonl").exists())

    def __len__(self) -> int:
        self._catch_up()
        return len(self._items)

    def has(self, id: str) -> bool:
        """Whether a turn or chunk has its vectors already."""
        self._catch_up()
        return id in self._ids

    def groups(self) -> dict[str, str]:
        """The groups there are, with the stamp of their newest item."""
        self._catch_up()
        return {group: self._items[places[-1]].stamp for group, places in self._groups.items()}

    def put(self, items: Iterable[VectorItem]) -> int:
        """Embed and keep the pieces of turns that are not there yet; how many pieces were added."""
        self._catch_up()
        new = [item for item in items if item.id not in self._ids and item.text.strip()]
        begun: set[str] = set()
        added = 0
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            added += self._append(batch, self._embedder.embed([item.text for item in batch]), begun)
        return added

    def search(
        self, question: str, count: int, *, groups: Sequence[str] | None = None, most_pieces: int = 64
    ) -> list[tuple[VectorItem, float]]:
        """(piece, distance) of the nearest `count` turns or chunks, each by its nearest piece; of these groups only."""
        self._catch_up()
        if not self._items or count <= 0:
            return []
        [vector] = self._embedder.embed([question])
        if not any(vector):
            return []
        places = None if groups is None else [place for group in groups for place in self._groups.get(group, ())]
        found: dict[str, tuple[VectorItem, float]] = {}
        for place, distance in self._nearest(vector, max(count, most_pieces), places):
            item = self._items[place]
            found.setdefault(item.id, (item, distance))
        return list(found.values())[:count]

    def clear(self) -> None:
        """Forget all vectors; they are made anew from what they stand for."""
        self._forget()
        if self._folder is not None and self._folder.is_dir():
            with self._lock():
                for name in ("items.jsonl", "vectors.f32"):
                    (self._folder / name).unlink(missing_ok=True)

    def _nearest(self, vector: Sequence[float], count: int, places: Sequence[int] | None) -> list[Neighbour]:
        if self._index is None:
            self._index = VectorIndex()
            if self._folder is not None:
                self._index.add(_rows(self._folder / "vectors.f32", 0, len(self._items)))
        return self._index.search(vector, count, places=places)

    def _append(self, items: Sequence[VectorItem], rows: Sequence[Sequence[float]], begun: set[str]) -> int:
        """Keep pieces with their vectors, but for those of turns another process added meanwhile; how many.

        begun: ids this call has added pieces of before, and adds more to.
        """
        if self._folder is None or self._root is None:
            self._load_index().add([list(row) for row in rows])
            self._learn(items)
            return len(items)
        make_ignored_folder(self._folder, self._root.parent)
        with self._lock():
            self._catch_up()
            pairs = zip(items, rows, strict=True)
            fresh = [(item, row) for item, row in pairs if item.id not in self._ids or item.id in begun]
            begun.update(item.id for item, _ in fresh)
            data = b"".join(array("f", row).tobytes() for _, row in fresh)
            lines = b"".join(msgspec.json.encode(item) + b"\n" for item, _ in fresh)
            self._write(self._folder / "vectors.f32", data, len(self._items) * ROW_BYTES)
            self._write(self._folder / "items.jsonl", lines, self._read_bytes)
        self._catch_up()
        return len(fresh)

    def _load_index(self) -> VectorIndex:
        if self._index is None:
            self._index = VectorIndex()
        return self._index

    @staticmethod
    def _write(path: Path, data: bytes, at: int) -> None:
        """Write at the end of what counts; what a dead process left behind it is cut off."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
        try:
            os.ftruncate(fd, at)
            os.lseek(fd, at, os.SEEK_SET)
            write_all(fd, data)
        finally:
            os.close(fd)

    def _catch_up(self) -> None:
        """Read the lines others added; where the files do not fit together, begin anew."""
        if self._folder is None:
            return
        path = self._folder / "items.jsonl"
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            self._forget()
            return
        if size == self._read_bytes:
            return
        if size < self._read_bytes:
            self._forget()
        with path.open("rb") as file:
            file.seek(self._read_bytes)
            data = file.read(size - self._read_bytes)
        whole = data[: data.rfind(b"\n") + 1]
        try:
            items = [msgspec.json.decode(line, type=VectorItem) for line in whole.split(b"\n") if line]
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.clear()
            return
        before = len(self._items)
        rows = (self._folder / "vectors.f32").stat().st_size // ROW_BYTES if items else before
        if rows < before + len(items):
            self.clear()
            return
        self._read_bytes += len(whole)
        if self._index is not None:
            self._index.add(_rows(self._folder / "vectors.f32", before, len(items)))
        self._learn(items)

    def _learn(self, items: Iterable[VectorItem]) -> None:
        for item in items:
            self._groups.setdefault(item.group, []).append(len(self._items))
            self._items.append(item)
            self._ids.add(item.id)

    def _forget(self) -> None:
        self._items, self._ids, self._groups, self._index, self._read_bytes = [], set(), {}, None, 0

    def _lock(self) -> FileLock:
        assert self._folder is not None
        return FileLock(self._folder / "items.lock")


def _rows(path: Path, first: int, count: int) -> "array[float]":
    rows = array("f")
    if count:
        with path.open("rb") as file:
            file.seek(first * ROW_BYTES)
            rows.frombytes(file.read(count * ROW_BYTES))
    return rows
