"""Which memories consolidation replays, merges and prunes. Pure; the RNG is passed in.

The numbers are those of the adaptive-memory document (see docs/architecture.md); tests/vectors checks them.
"""

import random
from collections.abc import Sequence
from typing import Literal, TypeVar

from msgspec import Struct

MAX_VARIANTS = 3
REPLAY_BATCH_SIZE = 100
REPLAY_EXPONENT = 0.6
_MIN_VARIANT_CONFIDENCE, _MAX_VARIANT_AGE_DAYS = 0.3, 90.0
_ARCHIVE_AFTER_DAYS, _DELETE_AFTER_DAYS = 90.0, 365.0

ReconsolidationAction = Literal["updated", "created_variant", "replaced_variant", "discarded"]
RetentionState = Literal["kept", "archived", "deleted"]
T = TypeVar("T")


def compute_replay_priority(importance: float, age_days: float, has_feedback: bool) -> float:
    """Return |importance| + 1 / max(1, age in days) + 1 if the user gave feedback."""
    return abs(importance) + 1.0 / max(1.0, age_days) + (1.0 if has_feedback else 0.0)


def compute_replay_weight(priority: float) -> float:
    """Return priority^0.6, proportional to the probability of being drawn next."""
    return priority**REPLAY_EXPONENT


def sample_for_replay(items: Sequence[tuple[T, float]], rng: random.Random, batch: int = REPLAY_BATCH_SIZE) -> list[T]:
    """Draw up to `batch` items without repetition, with probability proportional to their replay weight.

    Args:
        items: (item, priority) pairs.

    Source: Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir".
    """
    keyed = [
        (rng.random() ** (1.0 / weight) if (weight := compute_replay_weight(priority)) > 0 else 0.0, index)
        for index, (_, priority) in enumerate(items)
    ]
    return [items[index][0] for _, index in sorted(keyed, reverse=True)[: max(batch, 0)]]


class Reconsolidation(Struct, frozen=True, kw_only=True):
    """What to do with a new statement about something already known.

    replaced_index: index of the variant to replace, if `action` is "replaced_variant".
    """

    action: ReconsolidationAction
    replaced_index: int | None = None


def decide_reconsolidation(
    new: float, existing: float, variants: Sequence[float] = (), max_variants: int = MAX_VARIANTS
) -> Reconsolidation:
    """Decide by confidence whether a new statement replaces the existing one, becomes a variant, or is dropped.

    A more confident statement supersedes the existing one. Another becomes a variant; if there are `max_variants`
    already, it replaces the least confident of them, or is dropped if it is not more confident than that.

    Args:
        new, existing: confidence of the two statements.
        variants: confidence of each existing variant.
    """
    if new > existing:
        return Reconsolidation(action="updated")
    if len(variants) < max_variants:
        return Reconsolidation(action="created_variant")
    weakest = min(range(len(variants)), key=lambda index: variants[index], default=None)
    if weakest is not None and new > variants[weakest]:
        return Reconsolidation(action="replaced_variant", replaced_index=weakest)
    return Reconsolidation(action="discarded")


def is_variant_expired(confidence: float, age_days: float, is_variant: bool = True) -> bool:
    """Whether to drop a variant: its confidence is below 0.3 and it is older than 90 days."""
    return is_variant and confidence < _MIN_VARIANT_CONFIDENCE and age_days > _MAX_VARIANT_AGE_DAYS


def decide_retention(age_days: float, has_feedback: bool, archived: bool) -> RetentionState:
    """Return whether to keep a remembered turn, archive it (after 90 days) or delete it from the archive (after 365).

    A turn with feedback is never archived or deleted.
    """
    if has_feedback:
        return "kept"
    if archived:
        return "deleted" if age_days > _DELETE_AFTER_DAYS else "archived"
    return "archived" if age_days > _ARCHIVE_AFTER_DAYS else "kept"
