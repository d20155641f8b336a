"""Scores of memories: relevance to a query, joining of rankings, decay over time, trends. Pure."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

DAY_S = 86_400.0
HALF_LIFE_DAYS = {"fact": 90.0, "event": 30.0, "note": 7.0}
"""A preference has none; any other type fades as a note does."""
PRUNE_AT = 0.1
AGE_CAP_DAYS = 180.0
CONFIDENCE_LOSS_A_DAY = 0.001
DEFAULT_HALF_LIFE_DAYS, DEFAULT_FLOOR = 30.0, 0.1
MAX_SCORE = 10.0


def decay_coefficient(
    days: float, half_life_days: float = DEFAULT_HALF_LIFE_DAYS, floor: float = DEFAULT_FLOOR
) -> float:
    """d(t) = floor + (1 − floor)·e^(−t·ln 2 / half-life): 1.0 when just seen, towards `floor` for ever after.

    Raises ValueError for a half-life that is not above zero or a floor outside 0 ≤ floor < 1.
    """
    check_decay(half_life_days, floor)
    return floor + (1.0 - floor) * math.exp(-math.log(2.0) * max(days, 0.0) / half_life_days)


def check_decay(half_life_days: float, floor: float) -> None:
    """Raise ValueError unless both can be used."""
    if not (math.isfinite(half_life_days) and half_life_days > 0):
        raise ValueError(f"a half-life is a number of days above 0, not {half_life_days!r}")
    if not 0.0 <= floor < 1.0:
        raise ValueError(f"a floor is at least 0 and below 1, not {floor!r}")


def score_exponent(score: float) -> float:
    """α = (10 − s) / 10: 0 for what never fades, 1 for what fades at full speed."""
    return (MAX_SCORE - score) / MAX_SCORE


def effective_weight(
    score: float, days: float, half_life_days: float = DEFAULT_HALF_LIFE_DAYS, floor: float = DEFAULT_FLOOR
) -> float:
    """w = s·d(t)^α, the weight of a preference of score 0 to 10 that was last reinforced `days` ago."""
    return weight_of(score, decay_coefficient(days, half_life_days, floor))


def weight_of(score: float, coefficient: float) -> float:
    """w = s·d^α for a decay coefficient that is known already."""
    return score * coefficient ** score_exponent(score)


def effective_importance(kind: str, importance: float, age_days: float) -> float:
    """importance × 0.5^(age / half-life of its kind); a preference's never falls."""
    if kind == "preference":
        return importance
    return importance * 0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS.get(kind, HALF_LIFE_DAYS["note"]))


def is_faded(kind: str, importance: float, age_days: float) -> bool:
    """Whether compaction takes it: effective importance at or below 0.1, or not used for more than 180 days."""
    # The threshold itself is out; 0.8 × 0.5³ is not exactly 0.1 in binary.
    return age_days > AGE_CAP_DAYS or effective_importance(kind, importance, age_days) <= PRUNE_AT + 1e-12


def confidence_after(confidence: float, days: float, loss_a_day: float = CONFIDENCE_LOSS_A_DAY) -> float:
    """confidence × (1 − loss)^days, for days without use."""
    return confidence * (1.0 - loss_a_day) ** max(days, 0.0)


BANDS: dict[str, tuple[float, float]] = {
    "preference": (7.0, 10.0),
    "style": (6.5, 10.0),
    "habit": (4.0, 7.0),
    "aversion": (1.5, 4.0),
    "taboo": (0.0, 1.5),
}
ALIASES = {
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
MIN_SCORE, MAX_BAND_SCORE = 0.0, 10.0
DEFAULT_SCORE = 9.0
HARD_LIMIT = 1.5
"""A score up to this is a rule that is in every prompt."""
_LIKED, _DISLIKED = 7.0, 3.0
_OLD, _NEW = 0.4, 0.6
COOLDOWN_S = 12 * 3600.0


def check_score(score: float) -> float:
    """The score. Raises ValueError outside 0 to 10."""
    if not MIN_SCORE <= score <= MAX_BAND_SCORE:
        raise ValueError(f"a score is a number from 0 to 10, not {score!r}")
    return float(score)


def band_name(name: str) -> str:
    """The band of that name or alias. Raises ValueError with the names there are."""
    wanted = name.strip().lower()
    wanted = ALIASES.get(wanted, wanted)
    if wanted not in BANDS:
        raise ValueError(f"{name!r} is no band of scores; there are {', '.join(BANDS)}")
    return wanted


def bands_of(score: float) -> tuple[str, ...]:
    """All bands the score lies in, by name."""
    return tuple(sorted(name for name, (low, high) in BANDS.items() if low <= score <= high))


def label_of(score: float) -> str:
    """What a person is told of a score: liked (from 7), disliked (to 3), else neutral."""
    return "liked" if score >= _LIKED else "disliked" if score <= _DISLIKED else "neutral"


def ranges_of(bands: Iterable[str], min_score: float | None = None) -> tuple[tuple[float, float], ...]:
    """The ranges of these bands, their lower ends raised to `min_score`; a range that leaves empty is dropped."""
    least = MIN_SCORE if min_score is None else min_score
    clamped = ((max(low, least), high) for low, high in (BANDS[band_name(band)] for band in bands))
    return tuple((low, high) for low, high in clamped if low <= high)


def in_ranges(score: float, ranges: Sequence[tuple[float, float]]) -> bool:
    """Whether a score lies in one of them; in none where there is none."""
    return any(low <= score <= high for low, high in ranges)


def smoothed(old: float, incoming: float, *, explicit: bool = False) -> float:
    """0.4·old + 0.6·incoming; an explicit rule is taken as it is said, so that "never" lands among the hard limits."""
    return incoming if explicit else _OLD * old + _NEW * incoming


def is_cooled_down(seconds_since_seen: float, cooldown_s: float = COOLDOWN_S) -> bool:
    """Whether a use may refresh the decay clock again: twelve hours after the last time, or later."""
    return seconds_since_seen >= cooldown_s


Direction = Literal["increasing", "decreasing", "stable", "volatile"]
VOLATILE_VARIANCE, STABLE_SLOPE = 0.1, 0.01
SIGNIFICANT, SURE, SHIFT = 0.2, 0.7, 0.3
_ENOUGH = 10
_ROUNDING = 1e-9


class Trend(Struct, frozen=True, kw_only=True):
    """slope: change a sample by least squares; variance: of the values; magnitude: how far the last is from the first.

    confidence: a tenth for each sample, at most 1. significant: magnitude ≥ 0.2 at confidence ≥ 0.7.
    """

    slope: float
    variance: float
    direction: Direction
    magnitude: float
    confidence: float
    significant: bool


def trend_of(values: Sequence[float]) -> Trend:
    """The trend of values taken at even distances; one or none is stable."""
    count = len(values)
    mean = sum(values) / count if count else 0.0
    centre = (count - 1) / 2
    spread = sum((place - centre) ** 2 for place in range(count))
    slope = sum((place - centre) * (value - mean) for place, value in enumerate(values)) / spread if spread else 0.0
    variance = sum((value - mean) ** 2 for value in values) / count if count else 0.0
    magnitude = abs(values[-1] - values[0]) if count else 0.0
    confidence = min(1.0, count / _ENOUGH)
    direction: Direction = "increasing" if slope > 0 else "decreasing"
    if variance > VOLATILE_VARIANCE:
        direction = "volatile"
    elif abs(slope) < STABLE_SLOPE:
        direction = "stable"
    return Trend(
        slope=slope,
        variance=variance,
        direction=direction,
        magnitude=magnitude,
        confidence=confidence,
        significant=magnitude >= SIGNIFICANT - _ROUNDING and confidence >= SURE - _ROUNDING,
    )


def shifts(first: Sequence[float], last: Sequence[float], least: float = SHIFT) -> list[tuple[int, float]]:
    """(dimension, size of the change) of those that changed by at least 0.3."""
    changes = ((place, abs(after - before)) for place, (before, after) in enumerate(zip(first, last, strict=True)))
    return [(place, change) for place, change in changes if change >= least - _ROUNDING]


HITS, SIMILARITY, IMPORTANCE, RECENCY = 0.3, 0.3, 0.2, 0.2
RELEVANT_SIMILARITY = 0.1
"""Below it, and without one hit, a memory is no answer, whatever its importance."""
_FRESH_S, _STALE_S = 3600.0, 30 * 86_400.0
_EMPTY_RECENCY, _EMPTY_IMPORTANCE = 0.6, 0.4


def recall_score(hits: float, similarity: float, importance: float, recency: float) -> float:
    """0.3·hits + 0.3·similarity + 0.2·importance + 0.2·recency; hits are counted, so the score has no upper bound."""
    return HITS * hits + SIMILARITY * similarity + IMPORTANCE * importance + RECENCY * recency


def load_score(importance: float, recency: float) -> float:
    """0.6·recency + 0.4·importance: the order in which memories are loaded without a query."""
    return _EMPTY_RECENCY * recency + _EMPTY_IMPORTANCE * importance


def recency_of(seconds_since_access: float) -> float:
    """1.0 within the hour, then falling evenly to 0.0 at 30 days."""
    if seconds_since_access <= _FRESH_S:
        return 1.0
    return max(0.0, 1.0 - seconds_since_access / _STALE_S)


def is_relevant(hits: float, similarity: float) -> bool:
    """Whether a memory has anything to do with the query at all."""
    return hits > 0 or similarity >= RELEVANT_SIMILARITY


def keyword_hits(query_words: Iterable[str], content_words: Collection[str]) -> int:
    """How many different query words stand in the content; "tests" finds "test", "bus" does not find "bu"."""
    return sum(1 for word in dict.fromkeys(query_words) if word in content_words or singular(word) in content_words)


def singular(word: str) -> str:
    """The word without its plural s, if it has more than three letters; "bus" stays."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


BRAIN_SHARE = 0.25
RECALLED_TOKENS, RECALLED_WINDOW = 300, 32_768
"""clio's own budget: so many tokens on a window of that size, in proportion on others; the document has a quarter."""
LEAST_RECALLED, MOST_RECALLED = 100, 1_200
LARGEST_BUDGET = 65_535
NEAREST = 3
GATE = 1.0
"""Strict: a memory at this distance stays out."""

T = TypeVar("T")


def share_of_window(window_tokens: int) -> int:
    """A quarter of the window, at most 65,535 tokens."""
    return min(int(window_tokens * BRAIN_SHARE), LARGEST_BUDGET)


def brain_budget(window_tokens: int) -> int:
    """What clio gives automatic recall: 300 tokens on a window of 32,768, in proportion on others, 100 to 1,200."""
    share = window_tokens * RECALLED_TOKENS // RECALLED_WINDOW
    return min(max(share, LEAST_RECALLED), MOST_RECALLED, share_of_window(window_tokens))


def session_budget(window_tokens: int, reserve_tokens: int) -> int:
    """What preamble and conversation may take: the window without what is kept for the answer."""
    return window_tokens - reserve_tokens


def must_eject(tokens: int, budget: int) -> bool:
    """Whether a conversation of that size has to lose its oldest turns."""
    return tokens > budget


def distance_of(cosine: float) -> float:
    """The distance of two unit vectors with that cosine."""
    return math.sqrt(max(0.0, 2.0 - 2.0 * cosine))


def distances(query: Sequence[float], items: Sequence[Sequence[float]]) -> list[float]:
    """The Euclidean distance of each item from the query."""
    return [math.dist(query, item) for item in items]


def gate(found: Sequence[float], nearest: int = NEAREST, limit: float = GATE) -> list[int]:
    """Places of the nearest that lie below the limit, nearest first; those at the same distance keep their order."""
    closest = sorted(range(len(found)), key=lambda place: found[place])[:nearest]
    return [place for place in closest if found[place] < limit]


def eject_pairs(tokens: Sequence[int], preamble_tokens: int, budget: int) -> int:
    """How many messages leave, always two by two from the oldest, until the rest fits beside the preamble.

    The preamble stays whatever its size; the conversation may become empty.
    """
    left, total = 0, preamble_tokens + sum(tokens)
    while must_eject(total, budget) and left < len(tokens):
        pair = tokens[left : left + 2]
        total -= sum(pair)
        left += len(pair)
    return left


def evict_oldest(entries: Sequence[T], size: Callable[[Sequence[T]], int], max_tokens: int) -> Sequence[T]:
    """The entries without the oldest ones, counted anew after each, until `size` of them is within the budget."""
    kept = entries
    while kept and size(kept) > max_tokens:
        kept = kept[1:]
    return kept


RRF_K = 60
TIERS: Mapping[str, float] = {"working": 1.0, "semantic": 0.7, "procedural": 0.6, "behavioral": 0.6}
LEAST_CONTEXT_SCORE = 0.3
_RELEVANCE, _RECENCY, _HALF_LIFE_HOURS = 0.7, 0.3, 168.0


def bm25(
    documents: Sequence[Sequence[str]], query: Sequence[str], *, k1: float = 1.5, b: float = 0.75, min_idf: float = 0.0
) -> list[float]:
    """A score for each document, given as its words; idf = ln((N − n + ½) / (n + ½) + 1).

    min_idf: words of the query that are commoner than that count nothing.
    """
    total = len(documents)
    mean = sum(map(len, documents)) / total if total else 0.0
    scores = [0.0] * total
    for word in dict.fromkeys(query):
        counts = [document.count(word) for document in documents]
        having = sum(1 for count in counts if count)
        idf = math.log((total - having + 0.5) / (having + 0.5) + 1.0)
        if not having or idf < min_idf:
            continue
        for place, count in enumerate(counts):
            if count:
                norm = k1 * (1.0 - b + b * len(documents[place]) / mean)
                scores[place] += idf * count * (k1 + 1.0) / (count + norm)
    return scores


def rrf(ranks: Sequence[int], k: int = RRF_K) -> float:
    """Σ 1 / (k + rank) over the lists an item stands in, its ranks counted from 1."""
    return sum(1.0 / (k + rank) for rank in ranks)


def rrf_k(count: int) -> int:
    """A k for lists of `count` items: n/2 but at least 10 below 50, rising from 30 to 60 until 500, then 60."""
    if count < 50:
        return max(10, count // 2)
    return min(RRF_K, 30 + (count - 50) // 15) if count < 500 else RRF_K


def context_score(relevance: float, tier: str, age_hours: float) -> float:
    """0.7·relevance·tier + 0.3·0.5^(hours / 168); below 0.3 a memory is left out. An unknown tier counts half."""
    recency = 0.5 ** (max(age_hours, 0.0) / _HALF_LIFE_HOURS)
    return _RELEVANCE * relevance * TIERS.get(tier, 0.5) + _RECENCY * recency


def is_context_worthy(score: float) -> bool:
    """Whether the score reaches 0.3."""
    return score >= LEAST_CONTEXT_SCORE
