"""Scores of preferences, 0 to 10, as words people use: bands, their aliases, labels. Source: the preferences document.

Bands are inclusive at both ends and overlap.
"""

from collections.abc import Iterable, Sequence

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
MIN_SCORE, MAX_SCORE = 0.0, 10.0
DEFAULT_SCORE = 9.0
HARD_LIMIT = 1.5
"""A score up to this is a rule that is in every prompt."""
_LIKED, _DISLIKED = 7.0, 3.0
_OLD, _NEW = 0.4, 0.6
COOLDOWN_S = 12 * 3600.0


def check_score(score: float) -> float:
    """The score. Raises ValueError outside 0 to 10."""
    if not MIN_SCORE <= score <= MAX_SCORE:
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
