"""`ltm.uses.json`: when and how often each entry was asked for and given, beside the knowledge it counts for.

A file of its own, so that a search rewrites a few numbers and never the knowledge itself.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from clio.memory.records import Entry
from clio.storage.documents import Format, load, update


class Use(Struct, frozen=True, kw_only=True):
    """How an entry was used. at: the last time, in seconds since the epoch."""

    at: float = 0.0
    count: int = 0


class Uses(Struct, frozen=True, kw_only=True):
    """All that was used, by handle."""

    entries: dict[str, Use] = {}


FORMAT = Format(schema="clio.ltm_uses", version=1, type=Uses)


def count_uses(path: Path, ids: Iterable[str], now: float, known: frozenset[str]) -> None:
    """Count these entries as used now; what is not known any more is forgotten.

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
        update(path, FORMAT, count)


def with_uses(path: Path, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries with when and how often they were used. Raises StorageError, OSError."""
    document = load(path, FORMAT)
    uses = document.value.entries if document else {}
    return tuple(
        structs.replace(entry, accessed=use.at, access_count=use.count) if (use := uses.get(entry.id)) else entry
        for entry in entries
    )
