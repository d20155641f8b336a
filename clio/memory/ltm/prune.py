"""Which entries have outlived their use."""

from collections.abc import Iterable

from clio.errors import UserError
from clio.memory.records import MAX_AGE_DAYS, MIN_CONFIDENCE, Because, Entry

SURE = 0.5
"""What a person said with at least this confidence does not grow old: they take it out themselves."""
DAY_S = 86_400.0


def why_pruned(entry: Entry, *, now: float, max_age_days: float, min_confidence: float) -> Because | None:
    """Why an entry is to leave; None where it stays.

    Age counts from the last confirmation; an entry the file gives no time has none.
    """
    if entry.confidence < min_confidence:
        return "uncertain"
    by_person = entry.provenance is not None and entry.provenance.asserted_by == "user"
    if not entry.confirmed or (by_person and entry.confidence >= SURE):
        return None
    return "old" if now - entry.confirmed > max_age_days * DAY_S else None


def to_prune(
    entries: Iterable[Entry],
    *,
    now: float,
    max_age_days: float = MAX_AGE_DAYS,
    min_confidence: float = MIN_CONFIDENCE,
) -> dict[str, Because]:
    """The handles of the entries that are to leave, and why. Raises UserError for limits that make no sense."""
    if not max_age_days >= 0:
        raise UserError(f"max_age_days is {max_age_days:g}; give a number of days that is not below 0.")
    if not 0 <= min_confidence <= 1:
        raise UserError(f"min_confidence is {min_confidence:g}; give a number from 0.0 to 1.0.")
    found: dict[str, Because] = {}
    for entry in entries:
        why = why_pruned(entry, now=now, max_age_days=max_age_days, min_confidence=min_confidence)
        if why:
            found[entry.id] = why
    return found
