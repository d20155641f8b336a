"""From what a text says to its score: words and meaning joined, then time, tier and strength as multipliers. Pure.

Source: the adaptive-memory document for the tiers and the reciprocal ranks.
"""

from collections.abc import Mapping, Sequence

from clio.memory.unified.hits import Found, Layer, Source
from clio.text.scoring import DAY_S, RRF_K, TIERS, rrf

HALF_LIFE_DAYS: Mapping[Layer, float] = {"L0": 30.0, "L1": 90.0, "L2": 180.0}
LEAST_RECENCY = 0.7
LEAST_STRENGTH = 0.7
_TIER_OF: Mapping[Source, str] = {
    "trimmed": "working",
    "document": "semantic",
    "memory": "semantic",
    "knowledge": "semantic",
    "note": "semantic",
    "preference": "behavioral",
    "style": "behavioral",
}
_PROCEDURES = ("workflow", "rule", "pattern")
_UNKNOWN_TIER = 0.5
_CHANCE, _SURE = 0.2, 0.8
"""Cosines of two texts that have nothing to do with each other, and of two that say the same."""
NEAR = 0.5
"""The cosine at which a vector alone is a reason: the brain document's distance of 1.0."""


def recency(layer: Layer, age_s: float | None) -> float:
    """0.7 + 0.3·0.5^(age / half-life): 1.0 now, 0.85 after a half-life or where nobody knows, never below 0.7."""
    halves = 1.0 if age_s is None else max(age_s, 0.0) / DAY_S / HALF_LIFE_DAYS[layer]
    return LEAST_RECENCY + (1.0 - LEAST_RECENCY) * 0.5**halves


def tier_of(found: Found) -> tuple[str, float]:
    """The tier something belongs to, and what it counts: (1 + the document's weight) / 2, so that words decide first.

    What other sessions said is in none of the document's tiers, and counts as one it does not know.
    """
    name = "procedural" if found.kind in _PROCEDURES else _TIER_OF.get(found.source, "episodic")
    return name, (1.0 + TIERS.get(name, _UNKNOWN_TIER)) / 2.0


def strength_weight(strength: float | None) -> float:
    """0.7 + 0.3·strength: what has faded comes later, and is not lost; 1.0 for what has no strength of its own."""
    return 1.0 if strength is None else LEAST_STRENGTH + (1.0 - LEAST_STRENGTH) * min(max(strength, 0.0), 1.0)


def cosine_of(distance: float) -> float:
    """The cosine of two unit vectors at that distance."""
    return 1.0 - distance**2 / 2.0


def meaning_of(distance: float) -> float:
    """How near in meaning, 0.0 to 1.0: 0.0 at a cosine of chance, 0.2, and 1.0 at one of sameness, 0.8."""
    return min(max((cosine_of(distance) - _CHANCE) / (_SURE - _CHANCE), 0.0), 1.0)


def fused(words: float, meaning: float | None, share: float) -> float:
    """(1 − share)·words + share·meaning; the words alone where no vector speaks."""
    return words if meaning is None else (1.0 - share) * words + share * meaning


def reciprocal_ranks(lists: Sequence[Sequence[int]], k: int = RRF_K) -> dict[int, float]:
    """For every item that stands in a list: Σ 1 / (k + rank), as a share of what the first place in all would give."""
    ranks: dict[int, list[int]] = {}
    for listed in lists:
        for rank, item in enumerate(listed, 1):
            ranks.setdefault(item, []).append(rank)
    return {item: rrf(places, k) * (k + 1) for item, places in ranks.items()}
