"""How scores move in time: decay of memories, bands of preferences, trends. Pure."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

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
