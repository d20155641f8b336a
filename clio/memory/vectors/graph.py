"""A graph of near neighbours (HNSW) by the usearch package, the only module that imports it; it need not be there.

Source: Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using HNSW graphs.
"""

import threading
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from clio.memory.vectors.numeric import load_numpy
from clio.storage.files import read_regular, write_atomic
from clio.text.embedding import DIMENSIONS

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
        ndim=DIMENSIONS,
        metric="ip",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
