"""The project knowledge in numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence

from clio.memory.ltm.prune import DAY_S
from clio.memory.records import KINDS, Bar, Entry, Freshness, LtmStats

_AGES = (("a day", 1), ("a week", 7), ("a month", 30), ("3 months", 90), ("a year", 365))
_STATES: tuple[Freshness, ...] = ("fresh", "drifted", "gone", "unbound")


def count_up(
    entries: Sequence[Entry],
    freshness: Mapping[str, Freshness],
    *,
    now: float,
    archived: int,
    file_bytes: int,
    archive_bytes: int,
    last_pruned: float,
) -> LtmStats:
    """All the numbers; `now` is what ages are counted to."""
    kinds = Counter(entry.kind for entry in entries)
    states = Counter(freshness.get(entry.id, "unbound") for entry in entries)
    said = Counter(entry.provenance.asserted_by if entry.provenance else "unknown" for entry in entries)
    dated = [entry.confirmed for entry in entries if entry.confirmed]
    return LtmStats(
        total=len(entries),
        counts={kind: kinds[kind] for kind in KINDS},
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


def _ages(entries: Sequence[Entry], now: float) -> tuple[Bar, ...]:
    labels = [*(f"within {name}" for name, _ in _AGES), "older", "undated"]
    counts = Counter[str]()
    for entry in entries:
        days = (now - entry.confirmed) / DAY_S
        fits = (label for label, (_, limit) in zip(labels, _AGES, strict=False) if days <= limit)
        counts["undated" if not entry.confirmed else next(fits, "older")] += 1
    return tuple(Bar(label=label, count=counts[label]) for label in labels)


def _confidences(entries: Sequence[Entry]) -> tuple[Bar, ...]:
    fifths = Counter(min(int(entry.confidence * 5 + 1e-9), 4) for entry in entries)
    return tuple(Bar(label=f"{fifth / 5:.1f} to {(fifth + 1) / 5:.1f}", count=fifths[fifth]) for fifth in range(5))
