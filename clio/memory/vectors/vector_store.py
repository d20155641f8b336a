"""Vectors on disk with what their rows stand for; memory in place of files that cannot be used."""

import logging
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.storage.files import NO_FOLLOW, make_ignored_folder, open_regular, write_all
from clio.storage.locks import FileLock
from clio.text.embedding import EMBEDDING_DIMENSIONS
from clio.text.json_data import JsonDecoder

if TYPE_CHECKING:
    from clio.memory.vectors.vector_index import Neighbour, VectorIndex


ROW_BYTES = 4 * EMBEDDING_DIMENSIONS
VERSION = 2
DOCUMENT_LIST = "documents.json"
"""Beside the cache, since it is the user's choice: what the vectors of documents are of."""
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
    """What was added since the last look. is_new: what was read before is void."""

    records: list[Record]
    is_new: bool = False


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
                is_new = head.generation != self.generation or stat.st_size < self._bytes
                if is_new:
                    self.forget()
                    self.generation = head.generation
                file.seek(self._bytes)
                data = file.read(stat.st_size - self._bytes)
        except FileNotFoundError:
            self.forget()
            return News(records=[], is_new=known)
        whole = data[: data.rfind(b"\n") + 1]
        records = _decoded(whole, first=not self._bytes)
        rows = self.rows + sum(isinstance(record, VectorItem) for record in records)
        if rows > self.rows and _size(self.vectors) < rows * ROW_BYTES:
            raise _Damaged
        self.rows = rows
        self._bytes += len(whole)
        self._looked = look
        return News(records=records, is_new=known and is_new)

    def _read_again(self) -> News:
        """From the beginning, with the lock held: another process may have mended them, or be about to."""
        self.forget()
        try:
            records = self._read().records
        except _Damaged:
            self.clear(locked=True)
            self.forget()
            records = []
        return News(records=records, is_new=True)


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


class Contents:
    """The records of a store in the order they were written, found by place, by id and by group. Keeps no vectors."""

    def __init__(self) -> None:
        self._items: list[VectorItem | None] = []
        self._ids: dict[str, int] = {}
        self._groups: dict[str, list[int]] = {}
        self._marks: dict[str, str] = {}

    def __len__(self) -> int:
        """How many pieces there are, without those that count no more."""
        return sum(len(places) for places in self._groups.values())

    def __bool__(self) -> bool:
        return bool(self._ids)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    @property
    def rows(self) -> int:
        """How many rows were written, with those that count no more."""
        return len(self._items)

    @property
    def groups(self) -> set[str]:
        """The groups that have pieces or a mark."""
        return self._groups.keys() | self._marks.keys()

    @property
    def marks(self) -> dict[str, str]:
        """A copy of the stamps by group."""
        return dict(self._marks)

    def stamp_of(self, group: str) -> str | None:
        """The stamp of a group; None where it has no mark."""
        return self._marks.get(group)

    def at(self, place: int) -> VectorItem | None:
        """What a row stands for; None where it counts no more."""
        return self._items[place]

    def pieces(self) -> Iterator[tuple[int, VectorItem]]:
        """The rows that count, with their places, ascending."""
        return ((place, item) for place, item in enumerate(self._items) if item is not None)

    def unused(self) -> list[int]:
        """The places of the rows that count no more."""
        return [place for place, item in enumerate(self._items) if item is None]

    def ids_of(self, group: str) -> list[str]:
        """The ids of a group, in the order they were put."""
        items = [self._items[place] for place in self._groups.get(group, ())]
        return list(dict.fromkeys(item.id for item in items if item))

    def pieces_of(self, id: str) -> list[VectorItem]:
        """All pieces of a turn or chunk, in the order they were put."""
        place = self._ids.get(id)
        found: list[VectorItem] = []
        while place is not None and place < len(self._items):
            item = self._items[place]
            if item is None or item.id != id:
                break
            found.append(item)
            place += 1
        return found

    def any_of(self, groups: Iterable[str]) -> bool:
        """Whether one of these groups has pieces."""
        return not self._groups.keys().isdisjoint(groups)

    def places_of(self, groups: Iterable[str]) -> list[int]:
        """Where the pieces of these groups stand."""
        return [place for group in groups for place in self._groups.get(group, ())]

    def unknown(self, records: Sequence[Record], rows: Sequence[Row]) -> tuple[list[Record], list[Row]]:
        """Of records and their rows those that are not there yet, by their ids; records without rows are all new."""
        if not rows:
            return list(records), []
        pairs = [
            (record, row)
            for record, row in zip(records, rows, strict=True)
            if not isinstance(record, VectorItem) or record.id not in self._ids
        ]
        return [record for record, _ in pairs], [row for _, row in pairs]

    def take_in(self, records: Iterable[Record]) -> list[int]:
        """Add what was written; returns the places that count no more because of it."""
        gone: list[int] = []
        for record in records:
            if isinstance(record, VectorItem):
                self._groups.setdefault(record.group, []).append(len(self._items))
                self._ids.setdefault(record.id, len(self._items))
                self._items.append(record)
            elif isinstance(record, Mark):
                self._marks[record.group] = record.stamp
            else:
                self._marks.pop(record.group, None)
                places = self._groups.pop(record.group, [])
                self._let_go(places)
                gone += places
        return gone

    def _let_go(self, places: Sequence[int]) -> None:
        for place in places:
            item = self._items[place]
            if item is not None:
                self._ids.pop(item.id, None)
                self._items[place] = None


BATCH = 64
COMPACT_FROM = 1_000
"""So many rows that count no more are left lying."""
GRAPH_FROM = 50_000
"""Of so many vectors a graph of neighbours finds the nearest sooner than a look at all of them."""
_FIRST_LOOK = 64
_log = logging.getLogger(__name__)


class VectorStore:
    """The vectors of one folder and one embedder. For several threads and processes.

    folder: of all embedders; the vectors of different ones lie apart in it. None keeps all of it in memory.
    graph_from: see `VectorIndex`.

    An embedder that fails is replaced by the hashed one for as long as the store lives; `trouble` then says why.
    """

    def __init__(self, folder: Path | None, embedder: Embedder, *, graph_from: int = GRAPH_FROM) -> None:
        self.embedder = embedder
        self.trouble = ""
        self._folder = folder
        self._files = self._files_of(embedder)
        self._graph_from = graph_from
        self._lock = threading.RLock()
        self._there = Contents()
        self._index: VectorIndex | None = None

    @property
    def exists(self) -> bool:
        """Whether there may be anything to search: known without reading it."""
        return bool(self._there) or (self._files is not None and self._files.exist)

    @property
    def lacks_graph(self) -> bool:
        """Whether there are so many vectors that a graph would help, and the package for it is not installed."""
        return self._index is not None and self._index.lacks_graph

    def __len__(self) -> int:
        with self._lock:
            self._catch_up()
            return len(self._there)

    def has(self, id: str) -> bool:
        """Whether a turn or chunk has its vectors already."""
        with self._lock:
            self._catch_up()
            return id in self._there

    def groups(self) -> set[str]:
        """The groups that have vectors or a mark."""
        with self._lock:
            self._catch_up()
            return self._there.groups

    def marks(self) -> dict[str, str]:
        """The stamp of each group that is there whole."""
        with self._lock:
            self._catch_up()
            return self._there.marks

    def mark(self, group: str, stamp: str) -> None:
        """Note that a group is there whole, as its source was at that stamp."""
        with self._lock:
            self._catch_up()
            if self._there.stamp_of(group) != stamp:
                self._add([Mark(group=group, stamp=stamp)], [])

    def ids_of(self, group: str) -> list[str]:
        """The ids there are of a group, in the order they were put."""
        with self._lock:
            self._catch_up()
            return self._there.ids_of(group)

    def pieces_of(self, id: str) -> list[VectorItem]:
        """All pieces of a turn or chunk, in the order they were put."""
        with self._lock:
            return self._there.pieces_of(id)

    def put(self, items: Iterable[VectorItem]) -> int:
        """Embed and keep the pieces of turns that are not there yet; how many pieces were added.

        Pieces of one id must follow each other; they are kept all or none.
        """
        given = list(items)
        with self._lock:
            self._catch_up()
            new = [item for item in given if item.id not in self._there and item.text.strip()]
        added = 0
        for batch in _batches(new):
            embedder = self.embedder
            try:
                rows = [row for part in _slices(batch) for row in embedder.embed([item.text for item in part])]
            except EmbeddingFailed as error:
                self._fall_back(embedder, str(error))
                return self.put(given)
            with self._lock:
                if self.embedder is not embedder:  # another thread fell back meanwhile
                    return self.put(given)
                added += self._add(batch, rows)
        return added

    def remove(self, groups: Iterable[str], *, wipe: bool = False) -> int:
        """Let go of groups; how many there were of them. wipe: so that their text is in no file any more."""
        with self._lock:
            self._catch_up()
            known = self._there.groups
            gone = [Gone(group=group) for group in dict.fromkeys(groups) if group in known]
            if not gone:
                return 0
            self._add(gone, [])
            living = len(self._there)
            if wipe or self._there.rows - living > max(COMPACT_FROM, living):
                self._compact()
            return len(gone)

    def search(
        self, question: str, count: int, *, groups: Sequence[str] | None = None, without: frozenset[str] = frozenset()
    ) -> list[tuple[VectorItem, float]]:
        """(piece, distance) of the nearest `count` turns or chunks, each by its nearest piece.

        groups: of these only. without: ids that are passed over. Nothing for a question without a word.
        """
        with self._lock:
            self._catch_up()
            if count <= 0 or not (self._there if groups is None else self._there.any_of(groups)):
                return []
        embedder = self.embedder
        try:
            [vector] = embedder.embed([question])
        except EmbeddingFailed as error:
            self._fall_back(embedder, str(error))
            return self.search(question, count, groups=groups, without=without)
        if not any(vector):
            return []
        with self._lock:
            self._catch_up()
            if self.embedder is not embedder:
                return self.search(question, count, groups=groups, without=without)
            places = None if groups is None else self._there.places_of(groups)
            return self._nearest_ids(vector, count, places, without)

    def clear(self) -> None:
        """Forget all vectors; they are computed again from their texts."""
        with self._lock:
            self._forget()
            if self._files is not None:
                try:
                    self._files.clear()
                    self._files.forget()
                except OSError as error:
                    self._do_without(error)

    def close(self) -> None:
        """Stop what goes on beside."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def _fall_back(self, embedder: Embedder, why: str) -> None:
        """Make do without an embedder that failed; the vectors it made stay for another time."""
        with self._lock:
            if self.embedder is not embedder:
                return
            self.trouble = why
            self.embedder = HashedEmbedder()
            self._files = self._files_of(self.embedder)
            self._forget()

    def _files_of(self, embedder: Embedder) -> VectorFiles | None:
        return VectorFiles(self._folder / embedder.name, self._folder.parent) if self._folder else None

    def _nearest_ids(
        self, vector: Sequence[float], count: int, places: Sequence[int] | None, without: frozenset[str]
    ) -> list[tuple[VectorItem, float]]:
        """Looks at more and more of the nearest pieces, until they are of enough ids."""
        all_there = self._there.rows if places is None else len(places)
        most = max(_FIRST_LOOK, 4 * count)
        while True:
            found: dict[str, tuple[VectorItem, float]] = {}
            near = self._nearest(vector, most, places)
            for place, distance in near:
                item = self._there.at(place)
                if item is not None and item.id not in without:
                    found.setdefault(item.id, (item, distance))
            if len(found) >= count or most >= all_there or not near:
                return list(found.values())[:count]
            most *= 4

    def _nearest(self, vector: Sequence[float], count: int, places: Sequence[int] | None) -> "list[Neighbour]":
        try:
            index = self._loaded()
        except OSError as error:
            self._do_without(error)
            return []
        return index.search(vector, count, places=places) if index else []

    def _loaded(self) -> "VectorIndex | None":
        """The index of all rows; None where they proved damaged, and were cleared away."""
        if self._index is None:
            self._index = self._new_index()
            self._index.remove(self._there.unused())
        if self._files is not None and len(self._index) < self._there.rows:
            if not self._index.read(self._files.vectors, self._there.rows):
                _log.info("the vectors in %s are damaged and computed again", self._files.folder)
                self.clear()
                return None
            self._index.keep_graph(self._files.folder, self._files.generation)
        return self._index

    def _new_index(self, rows: Any = ()) -> "VectorIndex":
        from clio.memory.vectors.vector_index import VectorIndex

        return VectorIndex(rows, graph_from=self._graph_from)

    def _add(self, records: Sequence[Record], rows: Sequence[Row]) -> int:
        """Keep records, with a row for each piece, but for pieces of ids added meanwhile; how many were kept."""
        if self._files is not None:
            try:
                with self._files.lock():
                    self._take_in(self._files.news(locked=True))
                    fresh, their_rows = self._there.unknown(records, rows)
                    self._files.append(fresh, b"".join(row.tobytes() for row in their_rows))
                    self._take_in(self._files.news(locked=True))
            except OSError as error:
                self._do_without(error)
            else:
                return len(fresh)
        fresh, their_rows = self._there.unknown(records, rows)
        if self._index is None:
            self._index = self._new_index()
        if their_rows:
            self._index.add(their_rows)
        self._learn(fresh)
        return len(fresh)

    def _compact(self) -> None:
        """Write what counts again, without what does not."""
        index = self._loaded()
        if index is None:
            return
        items: list[Record] = [item for _, item in self._there.pieces()]
        items += [Mark(group=group, stamp=stamp) for group, stamp in self._there.marks.items()]
        rows: Any = index.rows([place for place, _ in self._there.pieces()])
        if self._files is None:
            self._forget()
            self._index = self._new_index(rows)
            self._learn(items)
            return
        try:
            with self._files.lock():
                news = self._files.news(locked=True)
                if news.records or news.is_new:
                    self._take_in(news)  # another process is at it: another time
                    return
                self._files.clear(locked=True)
                self._files.forget()
                self._files.append(items, rows.tobytes())
                self._forget()
                self._files.forget()
                self._take_in(self._files.news(locked=True))
        except OSError as error:
            self._do_without(error)

    def _catch_up(self) -> None:
        """Take in what others added."""
        if self._files is None:
            return
        try:
            self._take_in(self._files.news())
        except OSError as error:
            self._do_without(error)

    def _take_in(self, news: News) -> None:
        if news.is_new:
            self._forget()
        self._learn(news.records)

    def _do_without(self, error: OSError) -> None:
        """Go on in memory, with what is there of it."""
        assert self._files is not None
        _log.info("the vectors in %s are kept in memory from now on: %s", self._files.folder, error)
        try:
            sound = self._loaded() is not None
        except OSError:
            sound = False
        self._files = None
        if not sound:
            self._forget()

    def _learn(self, records: Iterable[Record]) -> None:
        gone = self._there.take_in(records)
        if self._index is not None and gone:
            self._index.remove(gone)

    def _forget(self) -> None:
        if self._index is not None:
            self._index.close()
        self._there, self._index = Contents(), None


def _batches(items: Sequence[VectorItem]) -> Iterator[list[VectorItem]]:
    """The items in runs of at least `BATCH`, all of one id in the same."""
    batch: list[VectorItem] = []
    for _, same in groupby(items, key=attrgetter("id")):
        batch.extend(same)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _slices(items: Sequence[VectorItem]) -> Iterator[Sequence[VectorItem]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))
