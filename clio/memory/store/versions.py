"""The versions of each memory, when each was valid, and the changes between them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from clio.memory.store.ltm_archive import EndedVersion
from clio.memory.store.ltm_codec import Json, LtmDocument, get_handle, is_ltm_object, to_record
from clio.memory.store.ltm_objects import ArchivedMemory, get_since
from clio.memory.store.ltm_objects import is_other_ltm_version as entry_says_else
from clio.memory.store.record import PROJECT_KINDS, Kind, MemoryRecord, Provenance
from clio.memory.store.record_rules import is_other_version
from clio.memory.store.typed_codec import FormerVersion


class Version(Struct, frozen=True, kw_only=True):
    """A memory as it was from `since` up to, but not including, `until`; None: it still is so.

    Attributes:
        since: in seconds since the epoch; 0.0 where the file does not say.
        because: why the version ended: a reason of the archive, "changed", "undone" or "superseded"; "" while it lasts.
        left: whether the memory itself left with it, and not only this version of it.
    """

    record: MemoryRecord
    since: float
    until: float | None = None
    because: str = ""
    left: bool = False


def records_at(versions: Iterable[Version], at: float) -> list[MemoryRecord]:
    """Return the memories as they were at a time, in seconds since the epoch, in the order they were made.

    A change that was undone counts as never made.
    """
    found: dict[str, Version] = {}
    for version in versions:
        ended = version.until is not None and version.until <= at
        if version.because == "undone" or version.since > at or ended:
            continue
        before = found.get(id := version.record.id)
        if before is None or version.since >= before.since:
            found[id] = version
    records = [structs.replace(version.record, superseded_by=None) for version in found.values()]
    return sorted(records, key=lambda record: (record.created, record.id))


_CHANGES = ("changed", "undone")


def list_ltm_versions(
    document: LtmDocument, endings: Iterable[EndedVersion], archive: Iterable[ArchivedMemory]
) -> list[Version]:
    """Return every version of the memories in `ltm.json`, oldest first.

    A former version equal to the present one was undone, or its process died before it made the change; it is left out.

    Args:
        endings: in their order.
        archive: tells of memories that left before clio recorded endings.
    """
    known: dict[str, list[tuple[Kind, Json, Version]]] = {}
    for id, (kind, raw) in document.by_handle().items():
        known[id] = [(kind, raw, Version(record=to_record(kind, raw, id), since=get_since(raw)))]
    past: list[tuple[Kind, str, float, str, Json]] = [
        (kind, get_handle(kept.entry), kept.archived, kept.because, kept.entry)
        for kept in archive
        if (kind := kept.known_kind)
    ]
    for one in endings:
        if is_ltm_object(one.kind, one.entry):
            past.append((one.kind, one.id, one.ended, one.because, one.entry))
    past.sort(key=lambda one: one[2])
    for kind, id, ended, because, raw in reversed(past):
        later = known.setdefault(id, [])
        if any(kind == other and _is_same_entry(kind, raw, entry) for other, entry, _ in later):
            continue
        entry = to_record(kind, raw, id)
        left = because not in _CHANGES
        later.append((kind, raw, Version(record=entry, since=get_since(raw), until=ended, because=because, left=left)))
    found = [version for versions in known.values() for *_, version in reversed(versions)]
    return sorted(found, key=lambda version: version.since)


def _is_same_entry(kind: Kind, one: Json, other: Json) -> bool:
    return get_since(one) == get_since(other) and not entry_says_else(kind, one, other)


def list_typed_versions(records: Iterable[MemoryRecord], formers: Iterable[FormerVersion]) -> list[Version]:
    """Return every version of these memories, oldest first.

    A former version equal to the present one was undone, or its process died before it made the change; it is left out.

    Args:
        records: the present ones, one for each id.
        formers: in the order they ended.
    """
    known: dict[str, list[Version]] = {}
    for record in records:
        known.setdefault(record.id, []).append(_make_present_version(record))
    for former in reversed(list(formers)):
        later = known.setdefault(former.record.id, [])
        if not any(_is_same_record(former.record, version.record) for version in later):
            later.append(_make_former_version(former))
    found = [version for versions in known.values() for version in reversed(versions)]
    return sorted(found, key=lambda version: version.since)


def _make_present_version(record: MemoryRecord) -> Version:
    if record.is_live:
        return Version(record=record, since=record.begun)
    return Version(record=record, since=record.begun, until=record.updated, because="superseded")


def _make_former_version(former: FormerVersion) -> Version:
    record = former.record
    if not record.is_live:
        return _make_present_version(record)
    ended = former.ended or max(record.updated, record.accessed)
    return Version(record=record, since=record.begun, until=ended, because=former.because, left=former.left)


def _is_same_record(one: MemoryRecord, other: MemoryRecord) -> bool:
    return one.begun == other.begun and not is_other_version(one, other)


def find_lineage(id: str, records: Mapping[str, MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return the memory, those it replaced, those that replaced it, and variants, newest first; () if unknown."""
    if id not in records:
        return ()
    neighbours: dict[str, set[str]] = {}
    for record in records.values():
        for other in (record.superseded_by, record.variants_of):
            if other is not None and other in records:
                neighbours.setdefault(record.id, set()).add(other)
                neighbours.setdefault(other, set()).add(record.id)
    chain, waiting = {id}, [id]
    while waiting:
        new = neighbours.get(waiting.pop(), set()) - chain
        chain |= new
        waiting += new
    return tuple(sorted((records[known] for known in chain), key=_order_in_lineage, reverse=True))


def _order_in_lineage(record: MemoryRecord) -> tuple[bool, float, str]:
    return record.is_live, record.created, record.id


ChangeKind = Literal["learned", "changed", "superseded", "restored", "archived", "undone", "variant", "dropped"]
CHANGE_KINDS: tuple[ChangeKind, ...] = (
    "learned", "changed", "superseded", "restored", "archived", "undone", "variant", "dropped",
)  # fmt: skip


class MemoryChange(Struct, frozen=True, kw_only=True):
    """One change of memory.

    Attributes:
        at: seconds since the epoch.
        what: "superseded": `text` replaced `before`; "variant": it contradicts one with more confidence; "dropped":
            archived at once, because more certain statements contradict it.
        by: who stated it; "" if unknown.
        text: the text since the change.
        before: the text until the change.
        because: the reason for archiving or changing it, in one word.
        score: of a preference, 0 to 10.
    """

    at: float
    what: ChangeKind
    kind: Kind
    id: str
    text: str
    by: str = ""
    before: str = ""
    because: str = ""
    score: float | None = None


def list_changes(versions: Iterable[Version]) -> list[MemoryChange]:
    """Return every change, newest first. versions: of all memories, oldest first."""
    listed = list(versions)
    typed = [one for one in listed if one.record.kind not in PROJECT_KINDS]
    entries = [one for one in listed if one.record.kind in PROJECT_KINDS]
    return sorted(
        [*_list_typed_changes(typed), *_list_ltm_changes(entries)], key=lambda change: change.at, reverse=True
    )


def _list_typed_changes(versions: Sequence[Version]) -> Iterable[MemoryChange]:
    place_of = {one.record.superseded_by: one for one in versions if one.record.superseded_by is not None}
    latest: dict[str, Version] = {}
    for version in versions:
        record, before = version.record, latest.get(version.record.id)
        if version.because == "dropped":
            yield _make_typed_change(version, "dropped")
            continue
        replaced = place_of.get(record.id)
        if record.is_variant:
            what = "variant" if before is None else "changed"
        elif replaced is not None and replaced.until is not None and replaced.until == version.since:
            what, before = "superseded", replaced
        elif before is None:
            what = "learned"
        else:
            what = "restored" if before.left else "changed"
        yield _make_typed_change(version, what, before=before.record.content if before and what != "restored" else "")
        if version.until is not None and (version.left or version.because == "undone"):
            yield _make_typed_change(version, "archived" if version.left else "undone", at=version.until)
        latest[record.id] = version


def _make_typed_change(version: Version, what: ChangeKind, at: float | None = None, before: str = "") -> MemoryChange:
    record = version.record
    return MemoryChange(
        at=version.since if at is None else at,
        what=what,
        kind=record.kind,
        id=record.id,
        text=record.content,
        by=_get_author(record.provenance),
        before=before,
        because=version.because if at is not None else "",
        score=record.score,
    )


def _list_ltm_changes(versions: Sequence[Version]) -> Iterable[MemoryChange]:
    latest: dict[str, Version] = {}
    for version in versions:
        before = latest.get(version.record.id)
        what: ChangeKind = "learned" if before is None else "restored" if before.left else "changed"
        yield _make_ltm_change(version, what, before=before.record.line if before and what == "changed" else "")
        if version.until is not None and (version.left or version.because == "undone"):
            yield _make_ltm_change(version, "archived" if version.left else "undone", at=version.until)
        latest[version.record.id] = version


def _make_ltm_change(version: Version, what: ChangeKind, at: float | None = None, before: str = "") -> MemoryChange:
    entry = version.record
    return MemoryChange(
        at=version.since if at is None else at,
        what=what,
        kind=entry.kind,
        id=entry.id,
        text=entry.line,
        by=_get_author(entry.provenance),
        before=before,
        because=version.because if at is not None else "",
    )


def _get_author(provenance: Provenance | None) -> str:
    return provenance.asserted_by if provenance else ""
