"""How alike two texts are by their words: MinHash signatures to find candidates, the exact Jaccard index to decide.

Source: the typed-memory document (64 hashes). An estimate from 64 hashes is off by up to 0.2, so nothing is ever
decided on one.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

from clio.algorithms.late_pattern import LatePattern

HASHES = 64
_SEED = 42  # part of what is stored: another seed gives signatures that cannot be compared
_WORD = LatePattern(r"[^\W_]+(?:[.:/\\-][^\W_]+)*")

Signature = tuple[int, ...]


def words_of(text: str) -> list[str]:
    """The words of a text in order, case-folded; a number, a version or a path is one word: "3.11.2", "src/app.py"."""
    return _WORD.findall(text.casefold())


def tokens_of(text: str) -> frozenset[str]:
    """The different words of a text that tell it from others, which those of one or two letters do not."""
    words = frozenset(words_of(text))
    return frozenset(word for word in words if len(word) > 2 or not (word.isascii() and word.isalpha())) or words


def signature(words: Iterable[str]) -> Signature:
    """64 numbers below 2³²; the same in every process. No words give a signature that is like no other's."""
    import rensa  # pyright: ignore[reportMissingTypeStubs]

    hashes: Any = cast(Any, rensa).RMinHash(HASHES, _SEED)
    hashes.update(sorted(set(words)))
    return tuple(hashes.digest())


def estimate(one: Sequence[int], other: Sequence[int]) -> float:
    """The estimated Jaccard index of two signatures of the same length: the share of places in which they agree."""
    return sum(map(int.__eq__, one, other)) / len(one) if one else 0.0


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """|A ∩ B| / |A ∪ B|, exactly; 0.0 where both are empty."""
    a, b = frozenset(one), frozenset(other)
    both = len(a & b)
    whole = len(a) + len(b) - both
    return both / whole if whole else 0.0
