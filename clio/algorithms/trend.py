"""How values move in time, and which have shifted. Source: the adaptive-memory document."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

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
