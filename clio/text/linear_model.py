"""Linear models of texts with hashed features, as small files of weights; `bench/training.py` fits them."""

import math
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

BUCKETS = 1 << 18
"""Number of features; those with the same hash share a weight."""
STEP = 1 / 24
"""Unit of the weights in a file, which are signed bytes."""


def hash_features(names: Iterable[str]) -> list[int]:
    """Return the numbers of named features, 0 to `BUCKETS` - 1, ascending, each once."""
    return sorted({zlib.crc32(name.encode()) % BUCKETS for name in names})


class LinearModel:
    """The weights of one or more outputs: a signed byte for each feature and output, those of a feature together.

    Args:
        path: the file, which is read on first use.
        outputs: number of outputs.
    """

    def __init__(self, path: Path, outputs: int) -> None:
        self.path = path
        self._outputs = outputs
        self._weights: memoryview | None = None

    def use(self, weights: bytes) -> None:
        """Use these weights in place of those of the file."""
        self._weights = memoryview(weights).cast("b", (BUCKETS, self._outputs))

    def score(self, features: Sequence[int], output: int) -> float:
        """Return the logit of an output: the sum of the features' weights, divided by the root of their number."""
        weights = self._load()
        return STEP * sum(weights[one, output] for one in features) / math.sqrt(max(len(features), 1))

    def list_probabilities(self, features: Sequence[int]) -> tuple[float, ...]:
        """Return the probability of each output, of which exactly one holds; they sum to 1."""
        logits = [self.score(features, output) for output in range(self._outputs)]
        top = max(logits)
        powers = [math.exp(one - top) for one in logits]
        return tuple(one / sum(powers) for one in powers)

    def _load(self) -> memoryview:
        if self._weights is None:
            self.use(self.path.read_bytes())
        assert self._weights is not None
        return self._weights
