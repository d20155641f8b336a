"""Locality-sensitive hashing of MinHash signatures: what may be alike shares a bucket; nobody compares pairwise.

With b bands of r rows two texts of Jaccard index s share a bucket with probability 1 − (1 − s^r)^b: for 21 bands of 3
rows 0.94 at 0.50, 0.9999 at 0.75, 0.15 at 0.20 (Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, 3.4).
"""

from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, TypeVar

BANDS, ROWS = 21, 3
_HASH_BYTES = array("I").itemsize

Key = TypeVar("Key", bound=Hashable)


def collision_probability(similarity: float, bands: int = BANDS, rows: int = ROWS) -> float:
    """How likely two texts of that Jaccard index (0 to 1) share at least one bucket."""
    return 1.0 - (1.0 - similarity**rows) ** bands


class LshIndex(Generic[Key]):
    """Keys by the bands of their signatures. Adding, removing and asking cost the same however many there are."""

    def __init__(self, bands: int = BANDS, rows: int = ROWS) -> None:
        self._rows = rows
        self._buckets: list[dict[bytes, list[Key]]] = [{} for _ in range(bands)]
        self._kept: dict[Key, bytes] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def add(self, key: Key, signature: Sequence[int]) -> None:
        """Put a key in, or anew with another signature of numbers below 2³².

        Raises ValueError for one too short for the bands.
        """
        bands = len(self._buckets)
        if len(signature) < bands * self._rows:
            raise ValueError(f"{len(signature)} hashes are too few for {bands} bands of {self._rows}")
        self.remove(key)
        self._kept[key] = packed = _packed(signature)
        for buckets, band in self._banded(packed):
            if band in buckets:
                buckets[band].append(key)
            else:
                buckets[band] = [key]

    def remove(self, key: Key) -> None:
        """Take a key out; one that is not in is passed over."""
        packed = self._kept.pop(key, None)
        if packed is None:
            return
        for buckets, band in self._banded(packed):
            buckets[band].remove(key)
            if not buckets[band]:
                del buckets[band]

    def candidates(self, signature: Sequence[int]) -> set[Key]:
        """The keys that share a bucket with this signature: almost all that are alike, and some that are not."""
        found: set[Key] = set()
        for buckets, band in self._banded(_packed(signature)):
            found.update(buckets.get(band, ()))
        return found

    def _banded(self, packed: bytes) -> Iterator[tuple[dict[bytes, list[Key]], bytes]]:
        width = _HASH_BYTES * self._rows
        return zip(self._buckets, (packed[at : at + width] for at in range(0, len(packed), width)), strict=False)


def _packed(signature: Sequence[int]) -> bytes:
    return array("I", signature).tobytes()
