"""Scores of memories: relevance to a query, decay over time, preference bands, fusion of rankings. Pure.

The numbers are those of the seed documents (see docs/architecture.md); tests/vectors checks them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from clio.text.translation import mark

DAY_S = 86_400.0
HALF_LIFE_DAYS = {"fact": 90.0, "event": 30.0, "note": 7.0}
"""Preferences have none; any other type decays as a note does."""
PRUNE_IMPORTANCE = 0.1
MAX_UNUSED_DAYS = 180.0
CONFIDENCE_LOSS_PER_DAY = 0.001
DEFAULT_HALF_LIFE_DAYS, DEFAULT_FLOOR = 30.0, 0.1
MAX_SCORE = 10.0


def compute_decay_coefficient(
    days: float, half_life_days: float = DEFAULT_HALF_LIFE_DAYS, floor: float = DEFAULT_FLOOR
) -> float:
    """Return d(t) = floor + (1 − floor)·e^(−t·ln 2 / half-life): 1.0 for 0 days, approaching `floor`.

    Raises ValueError for a half-life that is not positive, or a floor outside 0 ≤ floor < 1.
    """
    check_decay_parameters(half_life_days, floor)
    return floor + (1.0 - floor) * math.exp(-math.log(2.0) * max(days, 0.0) / half_life_days)


def check_decay_parameters(half_life_days: float, floor: float) -> None:
    """Raise ValueError unless half-life and floor are valid for `compute_decay_coefficient`."""
    if not (math.isfinite(half_life_days) and half_life_days > 0):
        raise ValueError(f"a half-life is a number of days above 0, not {half_life_days!r}")
    if not 0.0 <= floor < 1.0:
        raise ValueError(f"a floor is at least 0 and below 1, not {floor!r}")


def compute_score_exponent(score: float) -> float:
    """Return α = (10 − score) / 10: 0 for a preference that never decays, 1 for one that decays at full speed."""
    return (MAX_SCORE - score) / MAX_SCORE


def compute_decayed_weight(score: float, coefficient: float) -> float:
    """Return w = score·d^α, the weight of a preference with this decay coefficient."""
    return score * coefficient ** compute_score_exponent(score)


def compute_effective_importance(kind: str, importance: float, age_days: float) -> float:
    """Return importance × 0.5^(age / half-life of the kind). The importance of a preference does not decay."""
    if kind == "preference":
        return importance
    return importance * 0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS.get(kind, HALF_LIFE_DAYS["note"]))


def is_faded(kind: str, importance: float, age_days: float) -> bool:
    """Whether compaction archives a memory: effective importance at most 0.1, or unused for more than 180 days."""
    # Exactly 0.1 is archived too, and 0.8 × 0.5³ is not exactly 0.1 in binary.
    return (
        age_days > MAX_UNUSED_DAYS
        or compute_effective_importance(kind, importance, age_days) <= PRUNE_IMPORTANCE + 1e-12
    )


def decay_confidence(confidence: float, days: float) -> float:
    """Return confidence × (1 − loss)^days, for days without use."""
    return confidence * (1.0 - CONFIDENCE_LOSS_PER_DAY) ** max(days, 0.0)


SCORE_BANDS: dict[str, tuple[float, float]] = {
    "preference": (7.0, 10.0),
    "style": (6.5, 10.0),
    "habit": (4.0, 7.0),
    "aversion": (1.5, 4.0),
    "taboo": (0.0, 1.5),
}
BAND_ALIASES = {
    "pref": "preference",
    "like": "preference",
    "love": "preference",
    "neutral": "habit",
    "avers": "aversion",
    "dislike": "aversion",
    "hate": "aversion",
    "limit": "taboo",
    "hard": "taboo",
}
MIN_SCORE = 0.0
DEFAULT_SCORE = 9.0
HARD_LIMIT_SCORE = 1.5
"""A preference with a score up to this is a hard limit, which is in every prompt."""
_MIN_LIKED_SCORE, _MAX_DISLIKED_SCORE = 7.0, 3.0
_OLD_SCORE_WEIGHT, _NEW_SCORE_WEIGHT = 0.4, 0.6
COOLDOWN_S = 12 * 3600.0


def check_score(score: float) -> float:
    """Return the score as a float. Raises ValueError outside 0 to 10."""
    if not MIN_SCORE <= score <= MAX_SCORE:
        raise ValueError(f"a score is a number from 0 to 10, not {score!r}")
    return float(score)


def resolve_band_name(name: str) -> str:
    """Return the band with that name or alias. Raises ValueError that lists the names."""
    band = name.strip().lower()
    band = BAND_ALIASES.get(band, band)
    if band not in SCORE_BANDS:
        raise ValueError(f"{name!r} is not a band of scores; the bands are {', '.join(SCORE_BANDS)}")
    return band


def find_score_bands(score: float) -> tuple[str, ...]:
    """Return the names of all bands that contain the score; bands overlap at their ends."""
    return tuple(sorted(name for name, (low, high) in SCORE_BANDS.items() if low <= score <= high))


def describe_preference(score: float, *, is_rule: bool) -> str:
    """Return how a preference is shown to the user: "hard limit", "rule", or whether it is liked.

    is_rule: it was stated with "never", "always" or similar.
    """
    if score <= HARD_LIMIT_SCORE:
        return mark("hard limit")
    return mark("rule") if is_rule else describe_score(score)


def describe_score(score: float) -> str:
    """Return what a score says: "liked" from 7, "disliked" up to 3, otherwise "neutral"."""
    if score >= _MIN_LIKED_SCORE:
        return mark("liked")
    return mark("disliked") if score <= _MAX_DISLIKED_SCORE else mark("neutral")


def list_score_ranges(bands: Iterable[str], min_score: float | None = None) -> tuple[tuple[float, float], ...]:
    """Return the ranges of these bands, with lower ends raised to `min_score`; ranges that become empty are dropped."""
    lowest = MIN_SCORE if min_score is None else min_score
    clamped = ((max(low, lowest), high) for low, high in (SCORE_BANDS[resolve_band_name(band)] for band in bands))
    return tuple((low, high) for low, high in clamped if low <= high)


def is_in_ranges(score: float, ranges: Sequence[tuple[float, float]]) -> bool:
    """Whether a score is in one of the ranges; False without ranges."""
    return any(low <= score <= high for low, high in ranges)


def smooth_score(old: float, incoming: float, *, explicit: bool = False) -> float:
    """Return 0.4·old + 0.6·incoming.

    An explicit rule replaces the old score, so that "never" becomes a hard limit at once.
    """
    return incoming if explicit else _OLD_SCORE_WEIGHT * old + _NEW_SCORE_WEIGHT * incoming


def is_cooled_down(seconds_since_seen: float) -> bool:
    """Whether a use may reset the decay clock again: at least twelve hours after the last reset."""
    return seconds_since_seen >= COOLDOWN_S


MIN_SHIFT = 0.3  # smallest change of one dimension of a preference vector that is reported
_ROUNDING_TOLERANCE = 1e-9  # 0.8 − 0.5 is a little below 0.3 in binary


def find_shifts(old: Sequence[float], new: Sequence[float]) -> list[tuple[int, float]]:
    """Return (dimension, size of the change) for each dimension that changed by at least `MIN_SHIFT`."""
    changes = ((dimension, abs(after - before)) for dimension, (before, after) in enumerate(zip(old, new, strict=True)))
    return [(dimension, change) for dimension, change in changes if change >= MIN_SHIFT - _ROUNDING_TOLERANCE]


HITS_WEIGHT, SIMILARITY_WEIGHT, IMPORTANCE_WEIGHT, RECENCY_WEIGHT = 0.3, 0.3, 0.2, 0.2
_FULL_RECENCY_S, _NO_RECENCY_S = 3600.0, 30 * 86_400.0
_LOAD_RECENCY_WEIGHT, _LOAD_IMPORTANCE_WEIGHT = 0.6, 0.4


def compute_recall_score(hits: float, similarity: float, importance: float, recency: float) -> float:
    """Return 0.3·hits + 0.3·similarity + 0.2·importance + 0.2·recency. Hits are a count, so there is no upper bound."""
    return (
        HITS_WEIGHT * hits + SIMILARITY_WEIGHT * similarity + IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * recency
    )


def compute_load_score(importance: float, recency: float) -> float:
    """Return 0.6·recency + 0.4·importance, by which memories are ordered without a query."""
    return _LOAD_RECENCY_WEIGHT * recency + _LOAD_IMPORTANCE_WEIGHT * importance


def compute_recency(seconds_since_access: float) -> float:
    """Return 1.0 within an hour of the last access, falling linearly to 0.0 at 30 days."""
    if seconds_since_access <= _FULL_RECENCY_S:
        return 1.0
    return max(0.0, 1.0 - seconds_since_access / _NO_RECENCY_S)


def strip_plural_s(word: str) -> str:
    """Return the word without its plural "s" if it has more than three letters; "bus" is unchanged."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


MAX_RECALL_SHARE = 0.25
RECALL_TOKENS, RECALL_WINDOW_TOKENS = 300, 32_768
"""clio's budget for automatic recall: 300 tokens for a window of 32,768, in proportion for others.

The working-memory document allows a quarter of the window.
"""
MIN_RECALL_TOKENS, MAX_RECALL_TOKENS = 100, 1_200
_MAX_SEED_RECALL_TOKENS = 65_535
MAX_NEAREST = 3
MAX_DISTANCE = 1.0
"""Memories at this distance or farther are left out."""

T = TypeVar("T")


def compute_recall_limit(window_tokens: int) -> int:
    """Return the working-memory document's limit for recall: a quarter of the window, at most 65,535 tokens."""
    return min(int(window_tokens * MAX_RECALL_SHARE), _MAX_SEED_RECALL_TOKENS)


def compute_recall_budget(window_tokens: int) -> int:
    """Return the tokens for automatic recall: 300 for a window of 32,768, in proportion for others, 100 to 1,200."""
    share = window_tokens * RECALL_TOKENS // RECALL_WINDOW_TOKENS
    return min(max(share, MIN_RECALL_TOKENS), MAX_RECALL_TOKENS, compute_recall_limit(window_tokens))


def compute_distances(query: Sequence[float], items: Sequence[Sequence[float]]) -> list[float]:
    """Return the Euclidean distance of each item from the query."""
    return [math.dist(query, item) for item in items]


def select_nearest(found: Sequence[float], nearest: int = MAX_NEAREST, limit: float = MAX_DISTANCE) -> list[int]:
    """Return the indexes of the nearest distances below the limit, nearest first; equal ones keep their order."""
    closest = sorted(range(len(found)), key=lambda index: found[index])[:nearest]
    return [index for index in closest if found[index] < limit]


def drop_oldest(entries: Sequence[T], size: Callable[[Sequence[T]], int], max_tokens: int) -> Sequence[T]:
    """Return the entries without the oldest ones, so that `size` of the rest is at most `max_tokens`."""
    remaining = entries
    while remaining and size(remaining) > max_tokens:
        remaining = remaining[1:]
    return remaining


RRF_K = 60
"""Constant of Cormack, Clarke and Büttcher 2009; a smaller one favours the first ranks more."""
# Weights of the kinds of memory, from the adaptive-memory document.
TIER_WEIGHTS: Mapping[str, float] = {"working": 1.0, "semantic": 0.7, "procedural": 0.6, "behavioral": 0.6}


def compute_rrf_score(ranks: Sequence[int], k: int = RRF_K) -> float:
    """Return the reciprocal rank fusion Σ 1 / (k + rank) of an item's ranks in several lists, counted from 1."""
    return sum(1.0 / (k + rank) for rank in ranks)
