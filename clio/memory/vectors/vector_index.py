"""Find the nearest vectors: exactly, or approximately with an HNSW graph if there are many.

The exact search uses numpy where it is installed, otherwise plain Python. Both return the same rows and the same
distances, up to the rounding of float64. Plain Python takes 10 to 17 µs per row and search, numpy 0.2 µs; a session or
a project rarely has more than some hundred.
"""

import math
import os
import sys
import threading
import zlib
from array import array
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from operator import mul
from pathlib import Path
from typing import Any

from clio.installation import describe_install
from clio.storage.files import read_regular, write_atomic
from clio.text.embedding import EMBEDDING_DIMENSIONS, ROW_BYTES, Row
from clio.threads import start_daemon_thread

NearRow = tuple[int, float]
"""The row number of a vector, and its distance."""
NUMPY_FROM = 5_000
"""Number of vectors above which a search in plain Python takes more than about 0.1 s."""
_INITIAL_ROWS = 1_024
_LENGTH_TOLERANCE = 1e-3
_FLOAT32_ERROR = 1e-5
"""An upper bound for the rounding error of a float32 product: all rows within it are measured again in float64."""


_THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy() -> Any:
    """Import and return numpy, set to one thread: on a busy machine more threads only wait for each other.

    Raises ImportError if it is not installed: it belongs to the extra `vectors`.
    """
    is_ours = "numpy" not in sys.modules and _THREADS not in os.environ
    if is_ours:
        os.environ[_THREADS] = "1"  # read once, when the library is loaded
    try:
        import numpy
    finally:
        if is_ours:  # commands that the user or the model runs must not inherit it
            os.environ.pop(_THREADS, None)
    return numpy


class PlainRows:
    """Rows of 384 float32 numbers in one array, of length one or all zeros; they are only appended. Not thread-safe."""

    def __init__(self) -> None:
        self._numbers = array("f")

    def __len__(self) -> int:
        return len(self._numbers) // EMBEDDING_DIMENSIONS

    def append(self, vectors: Iterable[Sequence[float]]) -> None:
        for vector in vectors:
            self._numbers.extend(vector)

    def make_room(self, more: int) -> None:
        """Prepare for so many further rows: nothing to do, because an array grows by itself."""

    def read(self, data: bytes, count: int) -> bool:
        """Append `count` rows; return whether all of them are there and valid."""
        if len(data) != count * ROW_BYTES:
            return False
        first = len(self)
        self._numbers.frombytes(data)
        return all(_is_valid_square(_dot(row, row)) for row in map(self._row, range(first, len(self))))

    def find_nearest(
        self,
        vector: Sequence[float],
        count: int,
        *,
        first: int = 0,
        places: Sequence[int] | None = None,
        without: Collection[int] = (),
    ) -> list[NearRow]:
        """Return the `count` nearest rows from `first` on, nearest first, equally near ones by row number.

        Args:
            places: row numbers to which the search is restricted.
            without: row numbers to leave out.
        """
        query = array("f", vector).tolist()
        length = math.sqrt(_dot(query, query))
        places = range(first, len(self)) if places is None else places
        found = [(place, _dot(query, self._row(place))) for place in places if place not in without]
        if not found or count <= 0:
            return []
        threshold = sorted(cosine for _, cosine in found)[-min(count, len(found))] - _FLOAT32_ERROR
        near: list[NearRow] = []
        for place, product in found:
            if product >= threshold:
                row = self._row(place)
                cosine = product / max(length * math.sqrt(_dot(row, row)), _LENGTH_TOLERANCE)
                near.append((place, math.sqrt(max(0.0, 2.0 - 2.0 * cosine))))
        return sorted(near, key=_by_distance)[:count]

    def _row(self, place: int) -> Row:
        return self._numbers[place * EMBEDDING_DIMENSIONS : (place + 1) * EMBEDDING_DIMENSIONS]


if sys.version_info >= (3, 12):
    _dot = math.sumprod
else:

    def _dot(one: Sequence[float], other: Sequence[float]) -> float:
        return sum(map(mul, one, other))


def _is_valid_square(square: float) -> bool:
    """Whether a row with this squared length is a unit vector, or that of a text without a word."""
    return abs(square - 1.0) < _LENGTH_TOLERANCE or square == 0.0


def _by_distance(neighbour: NearRow) -> tuple[float, int]:
    return neighbour[1], neighbour[0]


class NumpyRows:
    """The same as `PlainRows` in a matrix of numpy."""

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy
        self._count = 0
        self._matrix: Any = numpy.empty((_INITIAL_ROWS, EMBEDDING_DIMENSIONS), dtype=numpy.float32)

    def __len__(self) -> int:
        return self._count

    @property
    def matrix(self) -> Any:
        """The rows, and room for more behind them. Existing rows never change, and growing makes a new matrix."""
        return self._matrix

    def append(self, vectors: Iterable[Sequence[float]]) -> None:
        new: Any = self._numpy.asarray(vectors, dtype=self._numpy.float32).reshape(-1, EMBEDDING_DIMENSIONS)
        self.make_room(len(new))
        self._matrix[self._count : self._count + len(new)] = new
        self._count += len(new)

    def make_room(self, more: int) -> None:
        needed = self._count + more
        if needed > len(self._matrix):
            # Doubling keeps the average cost of appending constant.
            grown = max(needed, 2 * len(self._matrix)) if self._count else needed
            larger: Any = self._numpy.empty((grown, EMBEDDING_DIMENSIONS), dtype=self._numpy.float32)
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger

    def read(self, data: bytes, count: int) -> bool:
        if len(data) != count * ROW_BYTES:
            return False
        numpy = self._numpy
        self.make_room(count)
        rows: Any = self._matrix[self._count : self._count + count]
        rows[:] = numpy.frombuffer(data, dtype=numpy.float32).reshape(count, EMBEDDING_DIMENSIONS)
        squares: Any = numpy.einsum("ij,ij->i", rows, rows)
        self._count += count
        return bool(((numpy.abs(squares - 1.0) < _LENGTH_TOLERANCE) | (squares == 0.0)).all())

    def find_nearest(
        self,
        vector: Sequence[float],
        count: int,
        *,
        first: int = 0,
        places: Sequence[int] | None = None,
        without: Collection[int] = (),
    ) -> list[NearRow]:
        numpy = self._numpy
        query: Any = numpy.asarray(vector, dtype=numpy.float32)
        if places is None:
            at: Any = numpy.arange(first, self._count)
            rough: Any = self._matrix[first : self._count] @ query
        else:
            at = numpy.asarray(places, dtype=numpy.intp)
            # Multiplying all rows is faster than copying a quarter of the matrix.
            is_large = 4 * len(at) > self._count
            rough = (self._matrix[: self._count] @ query)[at] if is_large else self._matrix[at] @ query
        if without:
            rough[numpy.isin(at, list(without))] = -numpy.inf
        count = min(count, int(numpy.isfinite(rough).sum()))
        if count <= 0:
            return []
        # float32 products only preselect: their errors would change the order of almost equally near rows, depending
        # on which routine of the BLAS library computed them.
        threshold: Any = numpy.partition(rough, len(rough) - count)[len(rough) - count] - _FLOAT32_ERROR
        close: Any = at[rough >= threshold]
        rows: Any = self._matrix[close].astype(numpy.float64)
        exact_query: Any = query.astype(numpy.float64)
        lengths: Any = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)) * numpy.sqrt(exact_query @ exact_query)
        cosines: Any = (rows @ exact_query) / numpy.maximum(lengths, _LENGTH_TOLERANCE)  # 0 for a text without a word
        distances: list[float] = numpy.sqrt(numpy.maximum(0.0, 2.0 - 2.0 * cosines)).tolist()
        return sorted(zip(close.tolist(), distances, strict=True), key=_by_distance)[:count]


def make_row_matrix() -> PlainRows | NumpyRows:
    """Return an empty matrix, on numpy if it is installed."""
    try:
        return NumpyRows(load_numpy())
    except ImportError:
        return PlainRows()


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

    def search(self, vector: Sequence[float], count: int) -> list[int]:
        """Return the row numbers of approximately the nearest `count` vectors, in no particular order."""
        numpy = load_numpy()
        query: Any = numpy.asarray(vector, dtype=numpy.float32)
        with self._lock:
            return self._index.search(query, count, threads=1).keys.astype("int64").tolist()

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
        if f"{zlib.crc32(data):08x}" == crc:
            return make_graph(data)
    return None


def make_graph(data: bytes = b"") -> Graph | None:
    """Return an empty graph, or the saved one; None if the package usearch is not installed."""
    try:
        from usearch.index import Index
    except ImportError:
        return None
    index: Any = Index(
        ndim=EMBEDDING_DIMENSIONS,
        # Vectors have length one, so the inner product gives the same order as the distance.
        metric="ip",
        # Half precision is sufficient: the graph only preselects, distances are computed from the matrix.
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    if data:
        index.load(data)
    return Graph(index)


_TAIL_SHARE = 0.05
"""The share of rows that may be missing in the graph, and are searched exactly, before the graph is extended."""
_EXTRA_CANDIDATES = 32


class VectorIndex:
    """Unit vectors by row number; rows are only appended. Not thread-safe.

    Distances are Euclidean: 0 for the same direction, 2 for opposite ones.

    graph_from: the number of vectors from which a graph is searched instead of all rows.
    """

    def __init__(self, vectors: Iterable[Sequence[float]] = (), *, graph_from: float = math.inf) -> None:
        self._rows = make_row_matrix()
        self._deleted: set[int] = set()
        self._graph_from = graph_from
        self._graph: Graph | None = None
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self._save_location: tuple[Path, str] | None = None
        self.lacks_graph = False
        self.add(vectors)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def graph_size(self) -> int:
        """The number of vectors in the graph; 0 without one."""
        return len(self._graph) if self._graph else 0

    def describe_slow_search(self) -> str:
        """Return a hint about the package that would make the search faster; "" if it is fast."""
        if self.lacks_graph:
            limit, package = self._graph_from, "usearch>=2.20"
        elif len(self._rows) > NUMPY_FROM and isinstance(self._rows, PlainRows):
            limit, package = NUMPY_FROM, "numpy>=2"
        else:
            return ""
        name, adds_it = package.partition(">")[0], describe_install(package)
        return f"more than {limit:,} vectors: search by meaning is slow without {name}; {adds_it} adds it"

    def add(self, vectors: Iterable[Sequence[float]]) -> None:
        """Append vectors of 384 numbers."""
        self._rows.append(vectors)

    def read(self, data: bytes, count: int) -> bool:
        """Append rows as they are stored, 384 float32 numbers each; return whether all are there and valid.

        A valid row has length one, or zero for a text without a word.
        """
        return self._rows.read(data, count)

    def make_room(self, more: int) -> None:
        """Prepare for so many further rows."""
        self._rows.make_room(more)

    def remove(self, places: Sequence[int]) -> None:
        """Exclude vectors from all searches; the row numbers of the others do not change."""
        self._deleted.update(places)

    def keep_graph(self, folder: Path, generation: str) -> None:
        """Load the graph saved in a folder, if there is one, and save graphs built later there."""
        self._save_location = folder, generation
        if len(self._rows) >= self._graph_from and self._graph is None:
            self._graph = load_graph(folder, generation, len(self._rows))

    def search(self, vector: Sequence[float], count: int, *, places: Sequence[int] | None = None) -> list[NearRow]:
        """Return the `count` nearest vectors, nearest first, equally near ones by row number.

        places: row numbers to which the search is restricted.
        """
        if places is None and len(self._rows) >= self._graph_from:
            self._start_build()
            found = self._search_graph(vector, count)
            if found is not None:
                return found
        return self._rows.find_nearest(vector, count, places=places, without=self._deleted)

    def build(self) -> None:
        """Add all vectors to the graph and save it. `search` runs this in a thread."""
        graph = (self._graph or make_graph()) if isinstance(self._rows, NumpyRows) else None
        self.lacks_graph = graph is None
        if graph is None or not isinstance(self._rows, NumpyRows):
            return
        # Safe without a lock, see `NumpyRows.matrix`.
        count, matrix = len(self._rows), self._rows.matrix
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
        missing = len(self._rows) - self.graph_size
        if building or self.lacks_graph or missing <= len(self._rows) * _TAIL_SHARE:
            return
        self._builder = start_daemon_thread(self.build, "build-vector-graph")

    def _search_graph(self, vector: Sequence[float], count: int) -> list[NearRow] | None:
        """Return the nearest vectors from the graph and the rows behind it, or None if an exact search is needed.

        That is so while there is no graph, if most rows are not in it, and if it finds too many deleted rows.
        """
        graph = self._graph
        if graph is None:
            return None
        inside = len(graph)
        if len(self._rows) - inside > max(self._graph_from, inside):
            return None
        near = graph.search(vector, 2 * count + _EXTRA_CANDIDATES)
        existing = [place for place in near if place < inside and place not in self._deleted]
        if len(existing) < count:
            return None
        found = self._rows.find_nearest(vector, count, places=existing)
        if inside < len(self._rows):
            found += self._rows.find_nearest(vector, count, first=inside, without=self._deleted)
            found.sort(key=_by_distance)
        return found[:count]
