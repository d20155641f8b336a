"""Find the nearest vectors: exactly with numpy, or approximately with an HNSW graph if there are many."""

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
    """Import and return numpy, set to one thread: on a busy machine more threads only wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy

    return numpy


# HNSW parameters: neighbours per vector, and candidates examined when adding and when searching.
CONNECTIVITY = 24
EXPANSION_ADD = 160
EXPANSION_SEARCH = 256
_ROWS_PER_STEP = 256
_PREFIX = "graph-"


class Graph:
    """An HNSW graph of the first `len(graph)` rows of a matrix. Thread-safe."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self._index.size)

    def add(self, matrix: Any, count: int) -> bool:
        """Add the next 256 of the first `count` rows of the matrix; return whether there are more."""
        first = len(self)
        last = min(first + _ROWS_PER_STEP, count)
        if last <= first:
            return False
        keys: Any = load_numpy().arange(first, last, dtype="uint64")
        with self._lock:
            self._index.add(keys, matrix[first:last], threads=1)
        return last < count

    def search(self, vector: Any, count: int) -> Any:
        """Return the row numbers of approximately the nearest `count` vectors, in no particular order, as an array."""
        with self._lock:
            return self._index.search(vector, count, threads=1).keys.astype("int64")

    def save(self, folder: Path, generation: str) -> None:
        """Save the graph in the folder of its vectors and delete older graphs. Raises OSError.

        The file name contains the generation of the vectors, the number of rows and a checksum of the content.
        """
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
    """Return an empty graph, or None if the package usearch is not installed."""
    index = _new_index()
    return Graph(index) if index is not None else None


def load_graph(folder: Path, generation: str, rows: int) -> Graph | None:
    """Return the saved graph of the first rows of a generation, or None if none is intact or usearch is missing."""
    for path in sorted(folder.glob(f"{_PREFIX}{generation}-*")):
        *_, count, crc = path.name.split("-")
        # A graph with more rows than the file belongs to a file that was replaced.
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
        # Vectors have length one, so the inner product gives the same order as the distance.
        metric="ip",
        # Half precision is sufficient: the graph only preselects, distances are computed from the matrix.
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )


Neighbour = tuple[int, float]
"""The row number of a vector, and its distance."""
_INITIAL_ROWS = 1_024
_TAIL_SHARE = 0.05
"""The share of rows that may be missing in the graph, and are searched exactly, before the graph is extended."""
_EXTRA_CANDIDATES = 32
_LENGTH_TOLERANCE = 1e-3
_FLOAT32_ERROR = 1e-5
"""An upper bound for the rounding error of a float32 product: all rows within it are measured again in float64."""


class VectorIndex:
    """Unit vectors by row number; rows are only appended. Not thread-safe.

    Distances are Euclidean: 0 for the same direction, 2 for opposite ones.

    graph_from: the number of vectors from which a graph is searched instead of all rows.
    """

    def __init__(self, vectors: Any = (), *, graph_from: float = math.inf) -> None:
        self._numpy = load_numpy()
        self._count = 0
        self._matrix: Any = self._numpy.empty((_INITIAL_ROWS, EMBEDDING_DIMENSIONS), dtype=self._numpy.float32)
        self._deleted: set[int] = set()
        self._graph_from = graph_from
        self._graph: Graph | None = None
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self._save_location: tuple[Path, str] | None = None
        self.lacks_graph = False
        self.add(vectors)

    def __len__(self) -> int:
        return self._count

    @property
    def graph_size(self) -> int:
        """The number of vectors in the graph; 0 without one."""
        return len(self._graph) if self._graph else 0

    def add(self, vectors: Any) -> None:
        """Append vectors: rows of 384 numbers, in any form numpy can read."""
        new: Any = self._numpy.asarray(vectors, dtype=self._numpy.float32).reshape(-1, EMBEDDING_DIMENSIONS)
        self._make_room(len(new))
        self._matrix[self._count : self._count + len(new)] = new
        self._count += len(new)

    def read(self, path: Path, count: int) -> bool:
        """Append rows from a file until there are `count` in total; return whether they are valid.

        A valid row has length one, or zero for a text without a word. Raises OSError.
        """
        missing = count - self._count
        if missing <= 0:
            return True
        numpy = self._numpy
        self._make_room(missing)
        rows: Any = self._matrix[self._count : count]
        with open_regular(path) as file:
            file.seek(4 * EMBEDDING_DIMENSIONS * self._count)
            read = file.readinto(memoryview(rows).cast("B"))
        if read != rows.nbytes:
            return False
        squares: Any = numpy.einsum("ij,ij->i", rows, rows)
        self._count = count
        return bool(((numpy.abs(squares - 1.0) < _LENGTH_TOLERANCE) | (squares == 0.0)).all())

    def remove(self, places: Sequence[int]) -> None:
        """Exclude vectors from all searches; the row numbers of the others do not change."""
        self._deleted.update(places)

    def rows(self, places: Sequence[int]) -> Any:
        """Return a copy of the vectors with these row numbers."""
        return self._matrix[list(places)]

    def keep_graph(self, folder: Path, generation: str) -> None:
        """Load the graph saved in a folder, if there is one, and save graphs built later there."""
        self._save_location = folder, generation
        if self._count >= self._graph_from and self._graph is None:
            self._graph = load_graph(folder, generation, self._count)

    def search(self, vector: Sequence[float], count: int, *, places: Sequence[int] | None = None) -> list[Neighbour]:
        """Return the `count` nearest vectors, nearest first, equally near ones by row number.

        places: row numbers to which the search is restricted.
        """
        query: Any = self._numpy.asarray(vector, dtype=self._numpy.float32)
        if places is not None:
            return self._measure(query, count, self._without_deleted(places))
        if self._count >= self._graph_from:
            self._start_build()
            found = self._search_graph(query, count)
            if found is not None:
                return found
        return self._search_all(query, count)

    def build(self) -> None:
        """Add all vectors to the graph and save it. `search` runs this in a thread."""
        graph = self._graph or make_graph()
        self.lacks_graph = graph is None
        if graph is None:
            return
        # Safe without a lock: existing rows never change, and growing the matrix makes a new one.
        count, matrix = self._count, self._matrix
        while not self._stop.is_set():
            if not graph.add(matrix, count):
                break
        else:
            return
        self._graph = graph
        if self._save_location is not None:
            try:
                graph.save(*self._save_location)
            except OSError:
                self._save_location = None  # this process can use the graph all the same

    def close(self) -> None:
        """Stop building the graph and wait until the thread has ended."""
        self._stop.set()
        if self._builder is not None:
            self._builder.join()

    def _start_build(self) -> None:
        building = self._builder is not None and self._builder.is_alive()
        if building or self.lacks_graph or self._count - self.graph_size <= self._count * _TAIL_SHARE:
            return
        self._builder = start_daemon_thread(self.build, "build-vector-graph")

    def _search_graph(self, query: Any, count: int) -> list[Neighbour] | None:
        """Return the nearest vectors from the graph and the rows behind it, or None if an exact search is needed.

        That is so while there is no graph, if most rows are not in it, and if it finds too many deleted rows.
        """
        graph = self._graph
        if graph is None:
            return None
        inside = len(graph)
        if self._count - inside > max(self._graph_from, inside):
            return None
        near: list[int] = graph.search(query, 2 * count + _EXTRA_CANDIDATES).tolist()
        existing = [place for place in near if place < inside and place not in self._deleted]
        if len(existing) < count:
            return None
        found = self._measure(query, count, existing)
        if inside < self._count:
            found += self._search_all(query, count, first=inside)
            found.sort(key=lambda neighbour: (neighbour[1], neighbour[0]))
        return found[:count]

    def _without_deleted(self, places: Sequence[int]) -> Sequence[int]:
        return [place for place in places if place not in self._deleted] if self._deleted else places

    def _search_all(self, query: Any, count: int, first: int = 0) -> list[Neighbour]:
        """Return the nearest of all rows from `first` on."""
        numpy = self._numpy
        cosines: Any = self._matrix[first : self._count] @ query
        if self._deleted:
            cosines[[place - first for place in self._deleted if place >= first]] = -numpy.inf
        count = min(count, self._count - first)
        if count <= 0:
            return []
        close: Any = numpy.flatnonzero(cosines >= _find_threshold(numpy, cosines, count)) + first
        return self._measure(query, count, self._without_deleted(close.tolist()))

    def _measure(self, query: Any, count: int, places: Sequence[int]) -> list[Neighbour]:
        """Return the nearest of the given rows, with distances computed in float64.

        float32 products only preselect: their errors would change the order of almost equally near rows, depending
        on which routine of the BLAS library computed them.
        """
        if not places or count <= 0:
            return []
        numpy = self._numpy
        if 4 * len(places) > self._count:  # multiplying all rows is faster than copying a quarter of the matrix
            rough: Any = (self._matrix[: self._count] @ query)[list(places)]
        else:
            rough = self._matrix[list(places)] @ query
        threshold: Any = _find_threshold(numpy, rough, min(count, len(places)))
        at: list[int] = numpy.flatnonzero(rough >= threshold).tolist()
        close = [places[place] for place in at]
        rows: Any = self._matrix[close].astype(numpy.float64)
        exact_query: Any = query.astype(numpy.float64)
        lengths: Any = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)) * numpy.sqrt(exact_query @ exact_query)
        cosines: Any = (rows @ exact_query) / numpy.maximum(lengths, _LENGTH_TOLERANCE)  # 0 for a text without a word
        distances: list[float] = numpy.sqrt(numpy.maximum(0.0, 2.0 - 2.0 * cosines)).tolist()
        return sorted(zip(close, distances, strict=True), key=lambda neighbour: (neighbour[1], neighbour[0]))[:count]

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed > len(self._matrix):
            # Doubling keeps the average cost of appending constant.
            grown = max(needed, 2 * len(self._matrix)) if self._count else needed
            larger: Any = self._numpy.empty((grown, EMBEDDING_DIMENSIONS), dtype=self._numpy.float32)
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger


def _find_threshold(numpy: Any, values: Any, count: int) -> Any:
    """Return the `count`-th largest value, less the error that float32 products may have."""
    return numpy.partition(values, len(values) - count)[len(values) - count] - _FLOAT32_ERROR
