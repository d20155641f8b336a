"""The nearest vectors to one: exact, by looking at all of them, which 50,000 allow in a few milliseconds."""

import os
from collections.abc import Sequence
from typing import Any

Neighbour = tuple[int, float]
"""The place of a vector, and how far it is."""
_SPARE = 1_024
DIMENSIONS = 384


def load_numpy() -> Any:
    """numpy, with one thread for its products: on a busy machine more only wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy

    return numpy


class VectorIndex:
    """Unit vectors by place, growing at the end. Distances are Euclidean: 0 for the same direction, 2 for the other."""

    def __init__(self, vectors: Any = ()) -> None:
        self._numpy = load_numpy()
        self._count = 0
        self._matrix: Any = self._numpy.empty((_SPARE, DIMENSIONS), dtype=self._numpy.float32)
        self.add(vectors)

    def __len__(self) -> int:
        return self._count

    def add(self, vectors: Any) -> None:
        """Put vectors, rows of 384 numbers in any form numpy reads, at the end."""
        new: Any = self._numpy.asarray(vectors, dtype=self._numpy.float32).reshape(-1, DIMENSIONS)
        needed = self._count + len(new)
        if needed > len(self._matrix):
            larger: Any = self._numpy.empty((max(needed, 2 * len(self._matrix)), DIMENSIONS), dtype=self._numpy.float32)
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger
        self._matrix[self._count : needed] = new
        self._count = needed

    def search(self, vector: Sequence[float], count: int, *, places: Sequence[int] | None = None) -> list[Neighbour]:
        """The `count` nearest, nearest first, of these places only where they are given."""
        numpy = self._numpy
        rows: Any = self._matrix[: self._count] if places is None else self._matrix[list(places)]
        wanted = min(len(rows), count)
        if wanted <= 0:
            return []
        cosines: Any = rows @ numpy.asarray(vector, dtype=numpy.float32)
        best: Any = numpy.argpartition(-cosines, wanted - 1)[:wanted]
        best = best[numpy.lexsort((best, -cosines[best]))]
        order: list[int] = best.tolist()
        nearest: list[float] = cosines[best].tolist()
        return [
            (row if places is None else places[row], max(0.0, 2.0 - 2.0 * cosine) ** 0.5)
            for row, cosine in zip(order, nearest, strict=True)
        ]
