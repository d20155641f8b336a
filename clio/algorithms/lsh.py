"""Locality-sensitive hashing of MinHash signatures: what may be alike shares a bucket; nobody compares pairwise.

With b bands of r rows two texts of Jaccard index s share a bucket with probability 1 − (1 − s^r)^b: for 21 bands of 3
rows 0.94 at 0.50, 0.9999 at 0.75, 0.15 at 0.20 (Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, 3.4).
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, TypeVar

BANDS, ROWS = 21, 3

Key = TypeVar("Key", bound=Hashable)


def collision_probability(similarity: float, bands: int = BANDS, rows: int = ROWS) -> float:
    """How likely two texts of that Jaccard index (0 to 1) share at least one bucket."""
    return 1.0 - (1.0 - similarity**rows) ** bands


class LshIndex(Generic[Key]):
    """Keys by the bands of their signatures. Adding, removing and asking cost the same however many there are."""

    def __init__(self, bands: int = BANDS, rows: int = ROWS) -> None:
        self._bands = bands
        self._rows = rows
        self._buckets: dict[tuple[int, ...], set[Key]] = {}
        self._kept: dict[Key, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def add(self, key: Key, signature: Sequence[int]) -> None:
        """Put a key in, or anew with another signature. Raises ValueError for one too short for the bands."""
        if len(signature) < self._bands * self._rows:
            raise ValueError(f"{len(signature)} hashes are too few for {self._bands} bands of {self._rows}")
        self.remove(key)
        self._kept[key] = tuple(signature)
        for bucket in self._buckets_of(signature):
            self._buckets.setdefault(bucket, set()).add(key)

    def remove(self, key: Key) -> None:
        """Take a key out; one that is not in is passed over."""
        for bucket in self._buckets_of(self._kept.pop(key, ())):
            keys = self._buckets[bucket]
            keys.discard(key)
            if not keys:
                del self._buckets[bucket]

    def candidates(self, signature: Sequence[int]) -> set[Key]:
        """The keys that share a bucket with this signature: almost all that are alike, and some that are not."""
        found: set[Key] = set()
        for bucket in self._buckets_of(signature):
            found |= self._buckets.get(bucket, set())
        return found

    def _buckets_of(self, signature: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if signature:
            for band in range(self._bands):
                start = band * self._rows
                yield (band, *signature[start : start + self._rows])
