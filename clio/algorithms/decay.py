"""How what is remembered fades. Pure: ages come in, weights go out; a negative age counts as none.

Sources: the preferences document (weight of a liking), the typed-memory document (importance of a fact, an event, a
note), the adaptive-memory document (confidence by the day).
"""

import math

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
