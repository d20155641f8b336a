"""Vectors with what they stand for, made by one embedder, kept in a folder that may be deleted at any time.

A folder that cannot be read or written is done without: the vectors then stay in memory, as they do without a folder.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clio.memory.vectors.contents import Contents
from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.memory.vectors.files import Gone, Mark, News, Record, VectorFiles, VectorItem

if TYPE_CHECKING:
    from clio.memory.vectors.index import Neighbour, VectorIndex

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
        """Forget all vectors; they are made anew from what they stand for."""
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
                _log.info("the vectors in %s are damaged and made anew", self._files.folder)
                self.clear()
                return None
            self._index.keep_graph(self._files.folder, self._files.generation)
        return self._index

    def _new_index(self, rows: Any = ()) -> "VectorIndex":
        from clio.memory.vectors.index import VectorIndex

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
        """Write what counts anew, without what does not."""
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
                if news.records or news.anew:
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
        if news.anew:
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
