"""Vectors on disk, with a record of what each row represents; in memory if files cannot be used.

Each embedder has a folder of its own with two files that only grow:

    items.jsonl                  a header with the version and the generation, then one record per line
    vectors-<generation>.f32     the rows, 384 float32 numbers each, in the order of the `VectorItem` records

Rewriting the files starts a new generation, by which other processes notice that what they have read is void.
"""

import logging
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clio.storage.files import NO_FOLLOW, make_ignored_folder, open_regular, write_all
from clio.storage.locks import FileLock
from clio.text.embedding import ROW_BYTES, Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.text.json_data import JsonDecoder

if TYPE_CHECKING:
    from clio.memory.vectors.vector_index import NearRow, VectorIndex


VERSION = 2
DOCUMENT_LIST = "documents.json"
"""The list of documents the user added. It is outside the cache folder, because it cannot be recomputed."""
_ITEMS = "items.jsonl"
_MAX_HEADER_BYTES = 200


class VectorItem(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="is", tag="piece"):
    """What a vector represents: a piece of a turn or of a document.

    Attributes:
        id: the id of its turn or document passage.
        group: the id of its session or the name of its document; searches can be restricted to groups.
        text: the piece itself, with secrets removed.
        created: seconds since the epoch.
        line: the line of the document where it begins, from 1; 0 for a turn.
    """

    id: str
    group: str
    text: str
    role: str = ""
    created: float = 0.0
    line: int = 0


class Gone(Struct, frozen=True, kw_only=True, tag_field="is", tag="gone"):
    """A record that deletes all earlier rows of a group, and its mark."""

    group: str


class Mark(Struct, frozen=True, kw_only=True, tag_field="is", tag="mark"):
    """A record that a group is complete: all of its source, in the state of the stamp, is embedded."""

    group: str
    stamp: str


class _Head(Struct, frozen=True, kw_only=True, tag_field="is", tag="clio.vectors"):
    version: int
    generation: str


Record = VectorItem | Gone | Mark
_decoder: JsonDecoder[VectorItem | Gone | Mark | _Head] = JsonDecoder(VectorItem | Gone | Mark | _Head)
_encoder = msgspec.json.Encoder()


class NewRecords(Struct, frozen=True, kw_only=True):
    """The records added since the last read. is_new: the files were replaced, so all earlier records are void."""

    records: list[Record]
    is_new: bool = False


class _Damaged(Exception):
    """The files are unreadable or inconsistent."""


class VectorFiles:
    """The files in one folder, and how far this process has read them. Methods raise OSError.

    folder: created when needed; it is excluded from git from the folder `root` down.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.generation = ""
        self.rows = 0
        self._root = root
        self._bytes = 0
        self._last_stat: tuple[int, int, int] | None = None

    @property
    def exist(self) -> bool:
        """Whether there are files."""
        return (self.folder / _ITEMS).exists()

    @property
    def vectors(self) -> Path:
        """The path of the file of rows."""
        return self.folder / f"vectors-{self.generation}.f32"

    def lock(self) -> FileLock:
        """Return the lock to hold while records are added or deleted; creates the folder."""
        make_ignored_folder(self.folder, self._root)
        return FileLock(self.folder / "items.lock")

    def read_new(self, *, locked: bool = False) -> NewRecords:
        """Return the records that any process added since the last call. Damaged files are deleted.

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
        """Append records, with the rows of their `VectorItem`s. Call it with the lock held, right after `read_new`."""
        head = b""
        if not self.generation:
            # Random, so that two processes never append to the same file of rows.
            self.generation = secrets.token_hex(6)
            head = _encoder.encode(_Head(version=VERSION, generation=self.generation)) + b"\n"
        if rows:
            # Rows first, and synced: a record without its row would be damage; a row without a record is cut off by
            # the next append.
            _write_at(self.vectors, rows, self.rows * ROW_BYTES, durable=True)
        lines = b"".join(_encoder.encode(record) + b"\n" for record in records)
        _write_at(self.folder / _ITEMS, head + lines, self._bytes, durable=False)

    def clear(self, *, locked: bool = False) -> None:
        """Delete the files of all generations."""
        if not self.folder.is_dir():
            return
        if not locked:
            with self.lock():
                self.clear(locked=True)
            return
        # The records first: rows without records are cut off by the next writer, records without rows would be damage.
        (self.folder / _ITEMS).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            if path.name.startswith(("vectors-", "graph-")):
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Reset to the state before the first read."""
        self.generation, self.rows, self._bytes, self._last_stat = "", 0, 0, None

    def _read(self) -> NewRecords:
        path = self.folder / _ITEMS
        known = bool(self.generation)
        try:
            with open_regular(path) as file:
                stat = os.fstat(file.fileno())
                state = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                # Asked before each search; without a change this is one look at the file.
                if state == self._last_stat:
                    return NewRecords(records=[])
                head = _decode_header(file.read(_MAX_HEADER_BYTES))
                # A smaller file is a rewritten one even if its generation were the same.
                is_new = head.generation != self.generation or stat.st_size < self._bytes
                if is_new:
                    self.forget()
                    self.generation = head.generation
                file.seek(self._bytes)
                data = file.read(stat.st_size - self._bytes)
        except FileNotFoundError:
            self.forget()
            return NewRecords(records=[], is_new=known)
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be incomplete: another process is writing it
        records = _decode_lines(whole, first=not self._bytes)
        rows = self.rows + sum(isinstance(record, VectorItem) for record in records)
        # Rows are written first, so a record without its row means damage, as after a power failure.
        if rows > self.rows and _get_size(self.vectors) < rows * ROW_BYTES:
            raise _Damaged
        self.rows = rows
        self._bytes += len(whole)
        self._last_stat = state
        return NewRecords(records=records, is_new=known and is_new)

    def _read_again(self) -> NewRecords:
        """Read everything from the beginning, with the lock held; delete the files if they are still damaged.

        Another process may have replaced damaged files meanwhile.
        """
        self.forget()
        try:
            records = self._read().records
        except _Damaged:
            self.clear(locked=True)
            self.forget()
            records = []
        return NewRecords(records=records, is_new=True)


def _decode_header(start: bytes) -> _Head:
    try:
        head = _decoder.decode(start.partition(b"\n")[0])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Damaged from error
    if not isinstance(head, _Head) or head.version != VERSION or not head.generation.isalnum():
        raise _Damaged
    return head


def _decode_lines(lines: bytes, *, first: bool) -> list[Record]:
    """Decode lines. first: whether they begin with the header, which must be there exactly then."""
    try:
        found = [_decoder.decode(line) for line in lines.split(b"\n") if line]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Damaged from error
    records = [record for record in found if not isinstance(record, _Head)]
    if len(found) - len(records) != first:
        raise _Damaged
    return records


def _get_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write_at(path: Path, data: bytes, at: int, *, durable: bool) -> None:
    """Write at an offset, after cutting off everything behind it: remains of a process that died while writing."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | NO_FOLLOW, 0o600)
    try:
        # Remains of a process that was killed while writing would shift all later rows.
        os.ftruncate(fd, at)
        os.lseek(fd, at, os.SEEK_SET)
        write_all(fd, data, path)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


class RecordTable:
    """The records of a store in the order they were written, accessible by row, by id and by group. No vectors."""

    def __init__(self) -> None:
        self._items: list[VectorItem | None] = []
        self._ids: dict[str, int] = {}
        self._groups: dict[str, list[int]] = {}
        self._marks: dict[str, str] = {}

    def __len__(self) -> int:
        """The number of pieces that are not deleted."""
        return sum(len(places) for places in self._groups.values())

    def __bool__(self) -> bool:
        return bool(self._ids)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    @property
    def rows(self) -> int:
        """The number of rows, including deleted ones."""
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
        """Return the stamp of a group, or None if it has no mark."""
        return self._marks.get(group)

    def at(self, place: int) -> VectorItem | None:
        """Return what a row represents, or None if it is deleted."""
        return self._items[place]

    def pieces(self) -> Iterator[tuple[int, VectorItem]]:
        """Return (row number, piece) of all rows that are not deleted, ascending."""
        return ((place, item) for place, item in enumerate(self._items) if item is not None)

    def list_deleted(self) -> list[int]:
        """Return the numbers of the deleted rows."""
        return [place for place, item in enumerate(self._items) if item is None]

    def ids_of(self, group: str) -> list[str]:
        """Return the ids of a group, in the order they were added."""
        items = [self._items[place] for place in self._groups.get(group, ())]
        return list(dict.fromkeys(item.id for item in items if item))

    def pieces_of(self, id: str) -> list[VectorItem]:
        """Return all pieces of a turn or document passage, in the order they were added."""
        place = self._ids.get(id)
        found: list[VectorItem] = []
        while place is not None and place < len(self._items):
            item = self._items[place]
            if item is None or item.id != id:
                break
            found.append(item)
            place += 1
        return found

    def has_any_of(self, groups: Iterable[str]) -> bool:
        """Whether at least one of these groups has pieces."""
        return not self._groups.keys().isdisjoint(groups)

    def places_of(self, groups: Iterable[str]) -> list[int]:
        """Return the row numbers of the pieces of these groups."""
        return [place for group in groups for place in self._groups.get(group, ())]

    def filter_new(self, records: Sequence[Record], rows: Sequence[Row]) -> tuple[list[Record], list[Row]]:
        """Return the records whose ids are not in the table, and their rows; without rows, all records."""
        if not rows:
            return list(records), []
        pairs = [
            (record, row)
            for record, row in zip(records, rows, strict=True)
            if not isinstance(record, VectorItem) or record.id not in self._ids
        ]
        return [record for record, _ in pairs], [row for _, row in pairs]

    def apply(self, records: Iterable[Record]) -> list[int]:
        """Add records in the order they were written; return the numbers of the rows they delete."""
        deleted: list[int] = []
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
                for place in places:
                    item = self._items[place]
                    if item is not None:
                        self._ids.pop(item.id, None)
                        self._items[place] = None
                deleted += places
        return deleted


BATCH = 64
COMPACT_FROM = 1_000
"""Number of deleted rows from which the files are rewritten without them, if more rows are deleted than used."""
GRAPH_FROM = 50_000
"""Number of vectors from which a graph of neighbours is faster than comparing all of them."""
_INITIAL_CANDIDATES = 64
_log = logging.getLogger(__name__)


class VectorStore:
    """The vectors of one folder and one embedder. Safe for several threads and processes.

    An embedder that fails is replaced by the hashed one until the store is closed; `trouble` then says why.

    Args:
        folder: the folder of all embedders, each of which has its own folder in it; None keeps everything in memory.
        graph_from: see `VectorIndex`.
    """

    def __init__(self, folder: Path | None, embedder: Embedder, *, graph_from: int = GRAPH_FROM) -> None:
        self.embedder = embedder
        self.trouble = ""
        self._folder = folder
        self._files = self._files_of(embedder)
        self._graph_from = graph_from
        # Never held while embedding, which can take seconds if a server does it.
        self._lock = threading.RLock()
        self._records = RecordTable()
        self._index: VectorIndex | None = None

    @property
    def exists(self) -> bool:
        """Whether there may be anything to search; known without reading it."""
        return bool(self._records) or (self._files is not None and self._files.exist)

    @property
    def lacks_graph(self) -> bool:
        """Whether there are so many vectors that a graph would help, but usearch is not installed."""
        return self._index is not None and self._index.lacks_graph

    @property
    def lacks_numpy(self) -> bool:
        """Whether there are so many vectors that numpy would help, but it is not installed."""
        return self._index is not None and self._index.lacks_numpy

    def __len__(self) -> int:
        with self._lock:
            self._catch_up()
            return len(self._records)

    def has(self, id: str) -> bool:
        """Whether a turn or document passage is embedded."""
        with self._lock:
            self._catch_up()
            return id in self._records

    def groups(self) -> set[str]:
        """Return the groups that have vectors or a mark."""
        with self._lock:
            self._catch_up()
            return self._records.groups

    def marks(self) -> dict[str, str]:
        """Return the stamp of each complete group."""
        with self._lock:
            self._catch_up()
            return self._records.marks

    def mark(self, group: str, stamp: str) -> None:
        """Record that a group is complete: all of its source, in the state of the stamp, is embedded."""
        with self._lock:
            self._catch_up()
            # The files only grow, so an equal mark is not written again.
            if self._records.stamp_of(group) != stamp:
                self._add([Mark(group=group, stamp=stamp)], [])

    def ids_of(self, group: str) -> list[str]:
        """Return the ids of a group, in the order they were added."""
        with self._lock:
            self._catch_up()
            return self._records.ids_of(group)

    def pieces_of(self, id: str) -> list[VectorItem]:
        """Return all pieces of a turn or document passage, in the order they were added."""
        with self._lock:
            return self._records.pieces_of(id)

    def put(self, items: Iterable[VectorItem]) -> int:
        """Embed and store the pieces whose ids are not stored yet; return the number of pieces added.

        Pieces with the same id must be adjacent; either all of them are stored or none.
        """
        given = list(items)
        with self._lock:
            self._catch_up()
            new = [item for item in given if item.id not in self._records and item.text.strip()]
        added = 0
        for batch in _batches(new):
            embedder = self.embedder
            try:
                rows = [row for part in _slices(batch) for row in embedder.embed([item.text for item in part])]
            except EmbeddingFailed as error:
                self._fall_back(embedder, str(error))
                # All of them again: vectors of two embedders cannot be compared.
                return self.put(given)
            with self._lock:
                if self.embedder is not embedder:  # another thread has replaced it meanwhile
                    return self.put(given)
                added += self._add(batch, rows)
        return added

    def remove(self, groups: Iterable[str], *, wipe: bool = False) -> int:
        """Delete groups; return how many of them existed.

        wipe: rewrite the files at once, so that the deleted text is in no file any more.
        """
        with self._lock:
            self._catch_up()
            known = self._records.groups
            gone = [Gone(group=group) for group in dict.fromkeys(groups) if group in known]
            if not gone:
                return 0
            # Recorded before the rewrite, which may fail: the group counts as deleted in any case.
            self._add(gone, [])
            living = len(self._records)
            # Rewriting takes time in proportion to the file, so it waits until most rows are unused; a wipe must not.
            if wipe or self._records.rows - living > max(COMPACT_FROM, living):
                self._compact()
            return len(gone)

    def search(
        self, question: str, count: int, *, groups: Sequence[str] | None = None, without: frozenset[str] = frozenset()
    ) -> list[tuple[VectorItem, float]]:
        """Return (nearest piece, its distance) of the nearest `count` turns or document passages.

        Returns nothing for a question without a word.

        Args:
            groups: search only these groups.
            without: ids to leave out.
        """
        with self._lock:
            self._catch_up()
            if count <= 0 or not (self._records if groups is None else self._records.has_any_of(groups)):
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
            places = None if groups is None else self._records.places_of(groups)
            return self._nearest_ids(vector, count, places, without)

    def clear(self) -> None:
        """Delete all vectors; they are computed again from their texts."""
        with self._lock:
            self._forget()
            if self._files is not None:
                try:
                    self._files.clear()
                    self._files.forget()
                except OSError as error:
                    self._continue_in_memory(error)

    def close(self) -> None:
        """Stop the thread that builds the graph."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def _fall_back(self, embedder: Embedder, reason: str) -> None:
        """Replace an embedder that failed by the hashed one; its vectors stay on disk for the next start."""
        with self._lock:
            if self.embedder is not embedder:
                return
            self.trouble = reason
            self.embedder = HashedEmbedder()
            self._files = self._files_of(self.embedder)
            self._forget()

    def _files_of(self, embedder: Embedder) -> VectorFiles | None:
        return VectorFiles(self._folder / embedder.name, self._folder.parents[1]) if self._folder else None

    def _nearest_ids(
        self, vector: Sequence[float], count: int, places: Sequence[int] | None, without: frozenset[str]
    ) -> list[tuple[VectorItem, float]]:
        """Return the nearest ids, each with its nearest piece: many of the nearest pieces may belong to one id.

        So four times as many pieces are searched for until they have enough different ids.
        """
        all_there = self._records.rows if places is None else len(places)
        most = max(_INITIAL_CANDIDATES, 4 * count)
        while True:
            found: dict[str, tuple[VectorItem, float]] = {}
            near = self._nearest(vector, most, places)
            for place, distance in near:
                item = self._records.at(place)
                if item is not None and item.id not in without:
                    found.setdefault(item.id, (item, distance))
            if len(found) >= count or most >= all_there or not near:
                return list(found.values())[:count]
            most *= 4

    def _nearest(self, vector: Sequence[float], count: int, places: Sequence[int] | None) -> "list[NearRow]":
        try:
            index = self._load_index()
        except OSError as error:
            self._continue_in_memory(error)
            return []
        return index.search(vector, count, places=places) if index else []

    def _load_index(self) -> "VectorIndex | None":
        """Return the index of all rows, or None if they were damaged and have been deleted."""
        if self._index is None:
            self._index = self._new_index()
            self._index.remove(self._records.list_deleted())
        if self._files is not None and len(self._index) < self._records.rows:
            if not self._index.read(self._files.vectors, self._records.rows):
                _log.info("the vectors in %s are damaged and will be computed again", self._files.folder)
                self.clear()
                return None
            self._index.keep_graph(self._files.folder, self._files.generation)
        return self._index

    def _new_index(self, rows: Sequence[Row] = ()) -> "VectorIndex":
        from clio.memory.vectors.vector_index import VectorIndex

        return VectorIndex(rows, graph_from=self._graph_from)

    def _add(self, records: Sequence[Record], rows: Sequence[Row]) -> int:
        """Store records with the rows of their pieces, except ids that were added meanwhile; return their number."""
        if self._files is not None:
            try:
                with self._files.lock():
                    # Other processes may have added the same turn meanwhile; it must not be stored twice.
                    self._apply_new(self._files.read_new(locked=True))
                    added, added_rows = self._records.filter_new(records, rows)
                    self._files.append(added, b"".join(row.tobytes() for row in added_rows))
                    self._apply_new(self._files.read_new(locked=True))
            except OSError as error:
                self._continue_in_memory(error)
            else:
                return len(added)
        added, added_rows = self._records.filter_new(records, rows)
        if self._index is None:
            self._index = self._new_index()
        if added_rows:
            self._index.add(added_rows)
        self._apply(added)
        return len(added)

    def _compact(self) -> None:
        """Rewrite the files without the deleted rows."""
        index = self._load_index()
        if index is None:
            return
        items: list[Record] = [item for _, item in self._records.pieces()]
        items += [Mark(group=group, stamp=stamp) for group, stamp in self._records.marks.items()]
        rows = index.rows([place for place, _ in self._records.pieces()])
        if self._files is None:
            self._forget()
            self._index = self._new_index(rows)
            self._apply(items)
            return
        try:
            with self._files.lock():
                new = self._files.read_new(locked=True)
                if new.records or new.is_new:
                    self._apply_new(new)  # another process has just written: the list of items is outdated
                    return
                self._files.clear(locked=True)
                self._files.forget()
                self._files.append(items, b"".join(row.tobytes() for row in rows))
                self._forget()
                # Read back from the file, so that memory holds exactly what other processes will read.
                self._files.forget()
                self._apply_new(self._files.read_new(locked=True))
        except OSError as error:
            self._continue_in_memory(error)

    def _catch_up(self) -> None:
        """Read the records that other processes added."""
        if self._files is None:
            return
        try:
            self._apply_new(self._files.read_new())
        except OSError as error:
            self._continue_in_memory(error)

    def _apply_new(self, new: NewRecords) -> None:
        if new.is_new:
            self._forget()
        self._apply(new.records)

    def _continue_in_memory(self, error: OSError) -> None:
        """Stop using files; keep the records in memory if their rows could be read."""
        assert self._files is not None
        _log.info("the vectors in %s are kept in memory from now on: %s", self._files.folder, error)
        try:
            is_loaded = self._load_index() is not None
        except OSError:
            is_loaded = False
        self._files = None
        if not is_loaded:
            self._forget()

    def _apply(self, records: Iterable[Record]) -> None:
        deleted = self._records.apply(records)
        if self._index is not None and deleted:
            self._index.remove(deleted)

    def _forget(self) -> None:
        if self._index is not None:
            self._index.close()
        self._records, self._index = RecordTable(), None


def _batches(items: Sequence[VectorItem]) -> Iterator[list[VectorItem]]:
    """Yield batches of at least `BATCH` items, with all items of an id in the same batch."""
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
