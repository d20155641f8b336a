"""Statistics of memories: numbers by kind, age, confidence, state of the example files, and author."""

from collections import Counter
from collections.abc import Mapping, Sequence

from clio.memory.store.record import ALL_KINDS, KEYED_NOTE, Bar, Freshness, MemoryRecord, MemoryStats
from clio.text.scoring import DAY_S
from clio.text.translation import tr

_AGES = (("a day", 1), ("a week", 7), ("a month", 30), ("3 months", 90), ("a year", 365))
_STATES: tuple[Freshness, ...] = ("fresh", "drifted", "gone", "unbound")


def make_memory_stats(
    records: Sequence[MemoryRecord],
    freshness: Mapping[str, Freshness],
    *,
    now: float,
    archived: int,
    file_bytes: int,
    archive_bytes: int,
    last_pruned: float,
) -> MemoryStats:
    """Return the statistics. Ages count up to `now`."""
    counts = Counter(KEYED_NOTE if record.key else record.kind for record in records)
    stated = [record for record in records if not record.key]
    states = Counter(freshness.get(record.id, "unbound") for record in stated)
    said = Counter(record.provenance.asserted_by if record.provenance else "unknown" for record in stated)
    dated = [record.updated for record in records if record.updated]
    return MemoryStats(
        total=len(records),
        counts={kind: counts[kind] for kind in ALL_KINDS},
        ages=_count_ages(records, now),
        confidences=_count_confidences(stated),
        asserted=dict(sorted(said.items())),
        freshness={state: states[state] for state in _STATES},
        archived=archived,
        file_bytes=file_bytes,
        archive_bytes=archive_bytes,
        oldest=min(dated, default=0.0),
        newest=max(dated, default=0.0),
        last_pruned=last_pruned,
    )


def _count_ages(entries: Sequence[MemoryRecord], now: float) -> tuple[Bar, ...]:
    labels = [*(tr("within {name}", name=name) for name, _ in _AGES), "older", "undated"]
    counts = Counter[str]()
    for entry in entries:
        days = (now - entry.updated) / DAY_S
        fits = (label for label, (_, limit) in zip(labels, _AGES, strict=False) if days <= limit)
        counts["undated" if not entry.updated else next(fits, "older")] += 1
    return tuple(Bar(label=label, count=counts[label]) for label in labels)


def _count_confidences(entries: Sequence[MemoryRecord]) -> tuple[Bar, ...]:
    fifths = Counter(min(int(entry.confidence * 5 + 1e-9), 4) for entry in entries)
    return tuple(
        Bar(label=tr("{low:.1f} to {high:.1f}", low=fifth / 5, high=(fifth + 1) / 5), count=fifths[fifth])
        for fifth in range(5)
    )
