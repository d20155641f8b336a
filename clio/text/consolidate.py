"""Which memories consolidation replays, merges and prunes. Pure; chance is injected."""

import random
from collections.abc import Sequence
from typing import Literal, TypeVar

from msgspec import Struct

MAX_VARIANTS = 3
BATCH = 100
REPLAY_EXPONENT = 0.6
_VARIANT_CONFIDENCE, _VARIANT_AGE_DAYS = 0.3, 90.0
_ARCHIVE_DAYS, _DELETE_DAYS = 90.0, 365.0
_IDLE_CPU, _IDLE_S = 20.0, 300.0

Action = Literal["updated", "created_variant", "replaced_variant", "discarded"]
Fate = Literal["kept", "archived", "deleted"]
T = TypeVar("T")


def replay_priority(importance: float, age_days: float, has_feedback: bool) -> float:
    """|importance| + 1 / max(1, age in days) + 1 where a person gave feedback."""
    return abs(importance) + 1.0 / max(1.0, age_days) + (1.0 if has_feedback else 0.0)


def replay_weight(priority: float, exponent: float = REPLAY_EXPONENT) -> float:
    """priority^0.6: how likely it is drawn, next to the others."""
    return priority**exponent


def pick_probabilities(priorities: Sequence[float]) -> list[float]:
    """How likely each is the first to be drawn."""
    weights = [replay_weight(priority) for priority in priorities]
    total = sum(weights)
    return [weight / total for weight in weights] if total else [0.0] * len(weights)


def sample_replay(items: Sequence[tuple[T, float]], rng: random.Random, batch: int = BATCH) -> list[T]:
    """Up to `batch` of (item, priority), drawn by weight, none twice (Efraimidis and Spirakis, weighted sampling)."""
    keyed = [
        (rng.random() ** (1.0 / weight) if (weight := replay_weight(priority)) > 0 else 0.0, place)
        for place, (_, priority) in enumerate(items)
    ]
    return [items[place][0] for _, place in sorted(keyed, reverse=True)[: max(batch, 0)]]


class Reconsolidated(Struct, frozen=True, kw_only=True):
    """What becomes of a new statement about something known. `replaced`: the place of the variant it takes."""

    action: Action
    replaced: int | None = None


def reconsolidate(
    new: float, existing: float, variants: Sequence[float] = (), max_variants: int = MAX_VARIANTS
) -> Reconsolidated:
    """By confidence: a stronger statement supersedes; a weaker one is kept as a variant while there is room.

    Where there is none it takes the place of the weakest variant if it is stronger than that, else it is dropped.
    """
    if new > existing:
        return Reconsolidated(action="updated")
    if len(variants) < max_variants:
        return Reconsolidated(action="created_variant")
    weakest = min(range(len(variants)), key=lambda place: variants[place], default=None)
    if weakest is not None and new > variants[weakest]:
        return Reconsolidated(action="replaced_variant", replaced=weakest)
    return Reconsolidated(action="discarded")


def variant_expires(confidence: float, age_days: float, is_variant: bool = True) -> bool:
    """Whether a variant goes: confidence below 0.3 and older than 90 days."""
    return is_variant and confidence < _VARIANT_CONFIDENCE and age_days > _VARIANT_AGE_DAYS


def merged_confidence(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    """(confidence, access count) of two that become one: the mean weighted by access, and the counts together."""
    (first, used), (second, also) = one, other
    count = used + also
    return ((first * used + second * also) / count if count else (first + second) / 2), count


def retention(age_days: float, has_feedback: bool, archived: bool) -> Fate:
    """What becomes of a remembered turn: after 90 days archived, an archived one after 365 deleted; feedback stays."""
    if has_feedback:
        return "kept"
    if archived:
        return "deleted" if age_days > _DELETE_DAYS else "archived"
    return "archived" if age_days > _ARCHIVE_DAYS else "kept"


def idle_since(samples: Sequence[float], interval_s: float = 60.0, busy: float = _IDLE_CPU) -> int | None:
    """Place of the first sample at which CPU use has been below 20 % for 300 seconds; None where it never was."""
    first: int | None = None
    for place, sample in enumerate(samples):
        if sample >= busy:
            first = None
            continue
        first = place if first is None else first
        if (place - first) * interval_s >= _IDLE_S:
            return place
    return None
