"""Upkeep of the project's memory: which entries to prune, how often each is used (`ltm.uses.json`), statistics."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.store.record import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    PROJECT_KINDS,
    Bar,
    Because,
    Freshness,
    LtmStats,
    MemoryRecord,
)
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.text.scoring import DAY_S

SURE = 0.5
"""A user's statement of at least this confidence is never pruned for its age: only the user removes it."""


def why_pruned(entry: MemoryRecord, *, now: float, max_age_days: float, min_confidence: float) -> Because | None:
    """Return why an entry is to be pruned; None if it stays.

    Age counts from the last confirmation; an entry without a time is never too old.
    """
    if entry.confidence < min_confidence:
        return "uncertain"
    by_person = entry.provenance is not None and entry.provenance.asserted_by == "user"
    if not entry.updated or (by_person and entry.confidence >= SURE):
        return None
    return "old" if now - entry.updated > max_age_days * DAY_S else None


def to_prune(
    entries: Iterable[MemoryRecord],
    *,
    now: float,
    max_age_days: float = MAX_AGE_DAYS,
    min_confidence: float = MIN_CONFIDENCE,
) -> dict[str, Because]:
    """Return the handles of the entries to prune, each with the reason. Raises UserError for an invalid limit."""
    if not max_age_days >= 0:
        raise UserError(f"max_age_days is {max_age_days:g}; give a number of days of at least 0.")
    if not 0 <= min_confidence <= 1:
        raise UserError(f"min_confidence is {min_confidence:g}; give a number from 0.0 to 1.0.")
    found: dict[str, Because] = {}
    for entry in entries:
        why = why_pruned(entry, now=now, max_age_days=max_age_days, min_confidence=min_confidence)
        if why:
            found[entry.id] = why
    return found


class Use(Struct, frozen=True, kw_only=True):
    """How an entry was used. at: the last time, in seconds since the epoch."""

    at: float = 0.0
    count: int = 0


class Uses(Struct, frozen=True, kw_only=True):
    """The uses of all entries, by handle."""

    entries: dict[str, Use] = {}


FORMAT = DocumentFormat(schema="clio.ltm_uses", version=1, type=Uses)


def count_uses(path: Path, ids: Iterable[str], now: float, known: frozenset[str]) -> None:
    """Count these entries as used now, and remove the counts of entries that do not exist any more.

    known: handles of the existing entries.

    Raises StorageError, OSError, TimeoutError.
    """
    used = dict.fromkeys(ids)

    def count(uses: Uses) -> Uses:
        kept = {id: use for id, use in uses.entries.items() if id in known}
        for id in used:
            before = kept.get(id, Use())
            kept[id] = Use(at=max(now, before.at), count=before.count + 1)
        return Uses(entries=kept)

    if used:
        update_document(path, FORMAT, count)


def with_uses(path: Path, entries: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return the entries with the time and number of their uses. Raises StorageError, OSError."""
    document = load_document(path, FORMAT)
    uses = document.value.entries if document else {}
    return tuple(
        structs.replace(entry, accessed=use.at, access_count=use.count) if (use := uses.get(entry.id)) else entry
        for entry in entries
    )


_AGES = (("a day", 1), ("a week", 7), ("a month", 30), ("3 months", 90), ("a year", 365))
_STATES: tuple[Freshness, ...] = ("fresh", "drifted", "gone", "unbound")


def count_up(
    entries: Sequence[MemoryRecord],
    freshness: Mapping[str, Freshness],
    *,
    now: float,
    archived: int,
    file_bytes: int,
    archive_bytes: int,
    last_pruned: float,
) -> LtmStats:
    """Return the statistics. Ages count up to `now`."""
    kinds = Counter(entry.kind for entry in entries)
    states = Counter(freshness.get(entry.id, "unbound") for entry in entries)
    said = Counter(entry.provenance.asserted_by if entry.provenance else "unknown" for entry in entries)
    dated = [entry.updated for entry in entries if entry.updated]
    return LtmStats(
        total=len(entries),
        counts={kind: kinds[kind] for kind in PROJECT_KINDS},
        ages=_ages(entries, now),
        confidences=_confidences(entries),
        asserted=dict(sorted(said.items())),
        freshness={state: states[state] for state in _STATES},
        archived=archived,
        file_bytes=file_bytes,
        archive_bytes=archive_bytes,
        oldest=min(dated, default=0.0),
        newest=max(dated, default=0.0),
        last_pruned=last_pruned,
    )


def _ages(entries: Sequence[MemoryRecord], now: float) -> tuple[Bar, ...]:
    labels = [*(f"within {name}" for name, _ in _AGES), "older", "undated"]
    counts = Counter[str]()
    for entry in entries:
        days = (now - entry.updated) / DAY_S
        fits = (label for label, (_, limit) in zip(labels, _AGES, strict=False) if days <= limit)
        counts["undated" if not entry.updated else next(fits, "older")] += 1
    return tuple(Bar(label=label, count=counts[label]) for label in labels)


def _confidences(entries: Sequence[MemoryRecord]) -> tuple[Bar, ...]:
    fifths = Counter(min(int(entry.confidence * 5 + 1e-9), 4) for entry in entries)
    return tuple(Bar(label=f"{fifth / 5:.1f} to {(fifth + 1) / 5:.1f}", count=fifths[fifth]) for fifth in range(5))
