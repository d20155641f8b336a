"""What each entry of the project knowledge said in the course of time, version by version. Pure."""

from collections.abc import Iterable

from clio.memory.held import Held, in_force
from clio.memory.ltm.archive import Kept
from clio.memory.ltm.file import LtmDocument
from clio.memory.ltm.history import Ending, begun, says_else
from clio.memory.ltm.kinds import Json, is_entry, stored_id, to_entry
from clio.memory.records import Entry, Kind

_CHANGES = ("changed", "undone")


class EntryVersion(Held, frozen=True, kw_only=True):
    """An entry as it was for a time."""

    entry: Entry


def entry_versions(document: LtmDocument, endings: Iterable[Ending], archive: Iterable[Kept]) -> list[EntryVersion]:
    """Every version of the entries, the oldest first.

    endings: in their order. archive: tells of entries that left before clio noted any endings. A former version that is
    the present one was taken back, or belongs to a change whose process died before it was made.
    """
    known: dict[str, list[tuple[Kind, Json, EntryVersion]]] = {}
    for id, (kind, raw) in document.by_handle().items():
        known[id] = [(kind, raw, EntryVersion(entry=to_entry(kind, raw, id), since=begun(raw)))]
    past: list[tuple[Kind, str, float, str, Json]] = [
        (kind, stored_id(kept.entry), kept.archived, kept.because, kept.entry)
        for kept in archive
        if (kind := kept.known_kind)
    ]
    for one in endings:
        if is_entry(one.kind, one.entry):
            past.append((one.kind, one.id, one.ended, one.because, one.entry))
    past.sort(key=lambda one: one[2])
    for kind, id, ended, because, raw in reversed(past):
        later = known.setdefault(id, [])
        if any(kind == other and _is_same(kind, raw, entry) for other, entry, _ in later):
            continue
        entry = to_entry(kind, raw, id)
        left = because not in _CHANGES
        later.append((kind, raw, EntryVersion(entry=entry, since=begun(raw), until=ended, because=because, left=left)))
    found = [version for versions in known.values() for *_, version in reversed(versions)]
    return sorted(found, key=lambda version: version.since)


def known_at(versions: Iterable[EntryVersion], at: float) -> tuple[Entry, ...]:
    """The entries that held at a time, in the words they had then, by when they were first said.

    A change that was undone counts as never made.
    """
    found = in_force(versions, at, lambda version: version.entry.id)
    return tuple(sorted((one.entry for one in found), key=lambda entry: (entry.created, entry.id)))


def _is_same(kind: Kind, one: Json, other: Json) -> bool:
    return begun(one) == begun(other) and not says_else(kind, one, other)
