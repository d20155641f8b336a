"""Nearest vectors: exactly with numpy, or by a graph (HNSW) where there are many."""

import math
import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from clio.storage.files import open_regular, read_regular, write_atomic
from clio.text.embedding import EMBEDDING_DIMENSIONS
from clio.threads import start_daemon_thread


def load_numpy() -> Any:
    """numpy, with one thread for its products: on a busy machine more only wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy

    return numpy


CONNECTIVITY = 24
EXPANSION_ADD = 160
EXPANSION_SEARCH = 256
_STEP = 256
_PREFIX = "graph-"


class Graph:
    """Places of vectors by nearness, up to the first `len(graph)` of them. For several threads."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self._index.size)

    def add(self, matrix: Any, count: int) -> bool:
        """Bring in the next rows of the matrix, some hundred at a time, up to `count`; False once all are in."""
        first = len(self)
        last = min(first + _STEP, count)
        if last <= first:
            return False
        keys: Any = load_numpy().arange(first, last, dtype="uint64")
        with self._lock:
            self._index.add(keys, matrix[first:last], threads=1)
        return last < count

    def search(self, vector: Any, count: int) -> Any:
        """The places of about the nearest `count`, in no sure order, as an array."""
        with self._lock:
            return self._index.search(vector, count, threads=1).keys.astype("int64")

    def save(self, folder: Path, generation: str) -> None:
        """Keep the graph beside the vectors it is of, in place of an older one. Raises OSError."""
        with self._lock:
            data = bytes(self._index.save())
            count = len(self)
        name = f"{_PREFIX}{generation}-{count}-{zlib.crc32(data):08x}"
        write_atomic(folder / name, data, durable=False)
        for path in folder.glob(f"{_PREFIX}*"):
            if path.name != name and not path.name.endswith(".tmp"):
                with suppress(OSError):
                    path.unlink()


def make_graph() -> Graph | None:
    """An empty graph; None where the package is not installed."""
    index = _new_index()
    return Graph(index) if index is not None else None


def load_graph(folder: Path, generation: str, rows: int) -> Graph | None:
    """The graph kept for the first of these rows; None where there is none that is whole, or no package."""
    for path in sorted(folder.glob(f"{_PREFIX}{generation}-*")):
        *_, count, crc = path.name.split("-")
        if not count.isdecimal() or int(count) > rows:
            continue
        try:
            data = read_regular(path)
        except OSError:
            continue
        index = _new_index()
        if index is not None and f"{zlib.crc32(data):08x}" == crc:
            index.load(data)
            return Graph(index)
    return None


def _new_index() -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        return None
    return Index(
        ndim=EMBEDDING_DIMENSIONS,
        metric="ip",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )


Neighbour = tuple[int, float]
"""The place of a vector, and how far it is."""
_SPARE = 1_024
_TAIL_SHARE = 0.05
"""Of the rows: so many new ones may be searched one by one before the graph takes them in."""
_SPARE_CANDIDATES = 32
_LENGTH_ERROR = 1e-3
_ROUNDING = 1e-5
"""How far a product in float32 may be off: what is as near as that is measured again."""


class VectorIndex:
    """Unit vectors by place, growing at the end. Distances are Euclidean: 0 for the same direction, 2 for the other.

    graph_from: how many vectors are too many to look at all of them. To be used by one thread at a time.
    """

    def __init__(self, vectors: Any = (), *, graph_from: float = math.inf) -> None:
        self._numpy = load_numpy()
        self._count = 0
        self._matrix: Any = self._numpy.empty((_SPARE, EMBEDDING_DIMENSIONS), dtype=self._numpy.float32)
        self._gone: set[int] = set()
        self._graph_from = graph_from
        self._graph: Graph | None = None
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self._keep_in: tuple[Path, str] | None = None
        self.lacks_graph = False
        self.add(vectors)

    def __len__(self) -> int:
        return self._count

    @property
    def graph_size(self) -> int:
        """How many vectors the graph has; 0 without one."""
        return len(self._graph) if self._graph else 0

    def add(self, vectors: Any) -> None:
        """Put vectors, rows of 384 numbers in any form numpy reads, at the end."""
        new: Any = self._numpy.asarray(vectors, dtype=self._numpy.float32).reshape(-1, EMBEDDING_DIMENSIONS)
        self._make_room(len(new))
        self._matrix[self._count : self._count + len(new)] = new
        self._count += len(new)

    def read(self, path: Path, count: int) -> bool:
        """Add the rows of a file that come after those already here, up to `count` in all; whether they are sound.

        Sound rows have length one, or zero for a text without a word. Raises OSError.
        """
        wanted = count - self._count
        if wanted <= 0:
            return True
        numpy = self._numpy
        self._make_room(wanted)
        rows: Any = self._matrix[self._count : count]
        with open_regular(path) as file:
            file.seek(4 * EMBEDDING_DIMENSIONS * self._count)
            read = file.readinto(memoryview(rows).cast("B"))
        if read != rows.nbytes:
            return False
        squares: Any = numpy.einsum("ij,ij->i", rows, rows)
        self._count = count
        return bool(((numpy.abs(squares - 1.0) < _LENGTH_ERROR) | (squares == 0.0)).all())

    def remove(self, places: Sequence[int]) -> None:
        """Let vectors be found no more; the places of the others stay."""
        self._gone.update(places)

    def rows(self, places: Sequence[int]) -> Any:
        """A copy of the vectors at these places."""
        return self._matrix[list(places)]

    def keep_graph(self, folder: Path, generation: str) -> None:
        """Take up the graph kept in a folder, and keep there what is built from now on."""
        self._keep_in = folder, generation
        if self._count >= self._graph_from and self._graph is None:
            self._graph = load_graph(folder, generation, self._count)

    def search(self, vector: Sequence[float], count: int, *, places: Sequence[int] | None = None) -> list[Neighbour]:
        """The `count` nearest, nearest first, of these places only where they are given; ties in order of place."""
        query: Any = self._numpy.asarray(vector, dtype=self._numpy.float32)
        if places is not None:
            return self._measured(query, count, self._living(places))
        if self._count >= self._graph_from:
            self._build_beside()
            found = self._by_graph(query, count)
            if found is not None:
                return found
        return self._among_all(query, count)

    def build(self) -> None:
        """Bring all vectors into the graph, and keep it; for a thread, or to wait for."""
        graph = self._graph or make_graph()
        self.lacks_graph = graph is None
        if graph is None:
            return
        count, matrix = self._count, self._matrix  # rows that are there change no more
        while not self._stop.is_set():
            if not graph.add(matrix, count):
                break
        else:
            return
        self._graph = graph
        if self._keep_in is not None:
            try:
                graph.save(*self._keep_in)
            except OSError:
                self._keep_in = None  # it serves this process all the same

    def close(self) -> None:
        """Stop building."""
        self._stop.set()
        if self._builder is not None:
            self._builder.join()

    def _build_beside(self) -> None:
        building = self._builder is not None and self._builder.is_alive()
        if building or self.lacks_graph or self._count - self.graph_size <= self._count * _TAIL_SHARE:
            return
        self._builder = start_daemon_thread(self.build, "build-vector-graph")

    def _by_graph(self, query: Any, count: int) -> list[Neighbour] | None:
        """None where the graph is not there, or has too little to say."""
        graph = self._graph
        if graph is None:
            return None
        inside = len(graph)
        if self._count - inside > max(self._graph_from, inside):
            return None
        near: list[int] = graph.search(query, 2 * count + _SPARE_CANDIDATES).tolist()
        living = [place for place in near if place < inside and place not in self._gone]
        if len(living) < count:
            return None
        found = self._measured(query, count, living)
        if inside < self._count:
            found += self._among_all(query, count, first=inside)
            found.sort(key=lambda one: (one[1], one[0]))
        return found[:count]

    def _living(self, places: Sequence[int]) -> Sequence[int]:
        return [place for place in places if place not in self._gone] if self._gone else places

    def _among_all(self, query: Any, count: int, first: int = 0) -> list[Neighbour]:
        numpy = self._numpy
        cosines: Any = self._matrix[first : self._count] @ query
        if self._gone:
            cosines[[place - first for place in self._gone if place >= first]] = -numpy.inf
        wanted = min(count, self._count - first)
        if wanted <= 0:
            return []
        close: Any = numpy.flatnonzero(cosines >= _kth_largest(numpy, cosines, wanted)) + first
        return self._measured(query, count, self._living(close.tolist()))

    def _measured(self, query: Any, count: int, places: Sequence[int]) -> list[Neighbour]:
        """The nearest of these, measured as exactly as float64 does."""
        if not places or count <= 0:
            return []
        numpy = self._numpy
        if 4 * len(places) > self._count:  # cheaper than to copy most of the matrix
            rough: Any = (self._matrix[: self._count] @ query)[list(places)]
        else:
            rough = self._matrix[list(places)] @ query
        least: Any = _kth_largest(numpy, rough, min(count, len(places)))
        at: list[int] = numpy.flatnonzero(rough >= least).tolist()
        close = [places[place] for place in at]
        rows: Any = self._matrix[close].astype(numpy.float64)
        asked: Any = query.astype(numpy.float64)
        lengths: Any = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)) * numpy.sqrt(asked @ asked)
        cosines: Any = (rows @ asked) / numpy.maximum(lengths, _LENGTH_ERROR)  # of a row without a word: 0
        distances: list[float] = numpy.sqrt(numpy.maximum(0.0, 2.0 - 2.0 * cosines)).tolist()
        return sorted(zip(close, distances, strict=True), key=lambda one: (one[1], one[0]))[:count]

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed > len(self._matrix):
            grown = max(needed, 2 * len(self._matrix)) if self._count else needed
            larger: Any = self._numpy.empty((grown, EMBEDDING_DIMENSIONS), dtype=self._numpy.float32)
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger


def _kth_largest(numpy: Any, values: Any, count: int) -> Any:
    """A little less than the `count`-th largest value."""
    return numpy.partition(values, len(values) - count)[len(values) - count] - _ROUNDING
