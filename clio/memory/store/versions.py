"""The versions of each memory, when each was valid, the changes between them, and the archive of removed memories.

All are derived from the change log, which has an object of `ltm.json` as `ObjectState` before and after each change.
"""

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, structs

from clio.memory.store.change_log import (
    Change,
    ChangeLog,
    End,
    FormerVersion,
    LoggedChange,
    Position,
    UndoMark,
    find_records,
    get_reason,
    list_marked,
    list_record_ids,
    new_change,
    read_endings,
)
from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    LtmDocument,
    get_handle,
    get_identity,
    is_ltm_object,
    to_record,
)
from clio.memory.store.record import (
    PROJECT_KINDS,
    Because,
    Kind,
    MemoryRecord,
    ends_memory,
    is_other_version,
)


class ArchivedMemory(Struct, frozen=True, kw_only=True):
    """An archived memory: its JSON object, when and why it was archived."""

    kind: str
    archived: float
    because: str
    entry: Json

    @property
    def known_kind(self) -> Kind | None:
        """Return its kind; None if this clio does not know the kind, or the object is no memory of it."""
        return next((kind for kind in SHAPES if kind == self.kind and is_ltm_object(kind, self.entry)), None)

    @property
    def record(self) -> MemoryRecord | None:
        """Return it as a memory; None if its kind is not known."""
        kind = self.known_kind
        return to_record(kind, self.entry, get_handle(self.entry)) if kind else None


class ObjectState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object of the file at one moment. kept: set if it was in the archive, not in the file."""

    kind: Kind
    id: str
    place: int = 0
    entry: Json = {}
    kept: ArchivedMemory | None = None

    @property
    def record(self) -> MemoryRecord:
        """Return the object as a memory."""
        return to_record(self.kind, self.entry, self.id)


def capture_state(document: LtmDocument, kind: Kind, handle: str, raw: Json, place: int | None = None) -> ObjectState:
    """Return a copy of an object as it is now."""
    where = document.place(kind, raw) if place is None else place
    return ObjectState(kind=kind, id=handle, place=where, entry=copy.deepcopy(raw))


def is_in_state(document: LtmDocument, pieces: Sequence[ObjectState], handles: set[str]) -> bool:
    """Return whether the file has exactly these objects for these ids."""
    wanted = {one.id: one.entry for one in pieces if one.kept is None}
    found = {handle: raw for handle, (_, raw) in document.by_handle().items() if handle in handles}
    return found == wanted


def restore_states(document: LtmDocument, before: Sequence[ObjectState], after: Sequence[ObjectState]) -> None:
    """Restore the objects of `before`: remove added ones, and insert removed ones at their places."""
    known, kept = document.by_handle(), {one.id: one for one in before if one.kept is None}
    for one in after:
        kind, raw = known[one.id]
        if one.id in kept:
            raw.clear()
            raw.update(kept[one.id].entry)
        else:
            del document.section(kind)[document.place(kind, raw)]
    for one in sorted(kept.values(), key=lambda one: one.place):
        if one.id not in known:
            document.section(one.kind).insert(one.place, one.entry)


def find_ends(
    before: Sequence[ObjectState],
    after: Sequence[ObjectState],
    leaving: Mapping[str, End] = MappingProxyType({}),
) -> dict[str, End]:
    """Return how the objects of `before` end as they become those of `after`, by id.

    leaving: how those end that are removed; default: forgotten.
    """
    later = {one.id: one for one in after if one.kept is None}
    found: dict[str, End] = {}
    for one in before:
        if one.kept is None and one.id not in later:
            found[one.id] = leaving.get(one.id, End(because="forgotten"))
        elif one.kept is None and is_other_version(one.record, later[one.id].record):
            found[one.id] = End(because="changed")
    return found


def set_since(raw: Json, now: float) -> None:
    """Set the time since when an object has its present meaning; a value of another program stays."""
    if isinstance(raw.get("since", now), int | float):
        raw["since"] = now


class EndedVersion(Struct, frozen=True, kw_only=True):
    """A former version of a memory: its JSON object, when and why it ended."""

    kind: Kind
    id: str
    ended: float
    because: Because
    entry: Json


class _ArchivedItem:
    """An archived memory. restored_as: the handle it got when it was restored; "" if it was not."""

    def __init__(self, memory: ArchivedMemory) -> None:
        self.memory = memory
        self.handle = get_handle(memory.entry)
        kind = memory.known_kind
        self.identity = (kind, *get_identity(kind, memory.entry)) if kind else ()
        self.restored_as = ""

    def is_in_file(self, live: Mapping[str, tuple[Kind, Json]]) -> bool:
        """Whether the file has it: again, or still because the process that archived it died."""
        if self.restored_as:
            return self.restored_as in live
        twin = live.get(self.handle)
        return twin is not None and (twin[0], *get_identity(*twin)) == self.identity


class LtmArchive:
    """The archived memories of an `ltm.json`.

    They are derived from the change log. Whether a memory is archived also depends on the file: see
    `_ArchivedItem.is_in_file`. All methods raise NewerDocument and OSError.
    """

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._position = Position()
        self._items: list[_ArchivedItem] = []
        self._handles: Counter[str] = Counter()

    def read(self, document: LtmDocument) -> tuple[ArchivedMemory, ...]:
        """Return the archived memories, oldest first."""
        self._catch_up()
        live = document.by_handle()
        return tuple(item.memory for item in self._items if not item.is_in_file(live))

    def find(self, kind: Kind, wanted: Json, document: LtmDocument) -> ArchivedMemory | None:
        """Return the latest archived memory with the same meaning as `wanted`."""
        self._catch_up()
        identity = (kind, *get_identity(kind, wanted))
        found = [item for item in self._items if item.identity == identity]
        live = document.by_handle() if found else {}
        return next((item.memory for item in reversed(found) if not item.is_in_file(live)), None)

    def handles(self) -> frozenset[str]:
        """Return the ids of archived memories, which no new memory may have."""
        self._catch_up()
        return frozenset(self._handles)

    def endings(self) -> tuple[EndedVersion, ...]:
        """Return the former versions in the order they ended."""
        found: dict[tuple[str, str, float, str], EndedVersion] = {}
        for _, one, end in read_endings(self._log.read_changes(), "ltm", ObjectState):
            if one.kept is None:
                entry = add_successor(one.entry, end.successor)
                ending = EndedVersion(kind=one.kind, id=one.id, ended=end.at, because=get_reason(end), entry=entry)
                found.setdefault((ending.kind, ending.id, ending.ended, ending.because), ending)
        return tuple(found.values())

    def _catch_up(self) -> None:
        """Follow the log; what was undone since then needs all of it."""
        new = self._log.read(self._position)
        undone: Mapping[str, float] = {}
        if not new.goes_on or any(isinstance(line, UndoMark) and line.is_undone for line in new.lines):
            new = self._log.read() if new.goes_on else new
            self._items, self._handles = [], Counter()
            _, undone = list_marked(new.lines)
        for line in new.lines:
            if isinstance(line, Change) and line.id not in undone:
                self._apply(line)
        self._position = new.position

    def _apply(self, change: Change) -> None:
        if change.store != "ltm":
            return
        later = list_record_ids(change.after)
        restored = {id: id for id in later if id in self._handles} | change.restored
        if restored:
            for item in self._items:
                if not item.restored_as:
                    item.restored_as = restored.get(item.handle, "")
        leaving = {id: end for id, end in change.ended.items() if id not in later and not end.is_version}
        if not leaving:
            return
        for item in [item for item in self._items if item.restored_as in leaving]:
            self._drop(item)
        for one in find_records(change.before, ObjectState):
            if one.kept is None and (end := leaving.get(one.id)):
                entry = add_successor(one.entry | {"id": one.id}, end.successor)
                self._add(
                    _ArchivedItem(
                        ArchivedMemory(kind=one.kind, archived=end.at or change.at, because=end.because, entry=entry)
                    )
                )

    def _add(self, item: _ArchivedItem) -> None:
        self._items.append(item)
        self._handles[item.handle] += 1

    def _drop(self, item: _ArchivedItem) -> None:
        self._items.remove(item)
        self._handles[item.handle] -= 1
        if not self._handles[item.handle]:
            del self._handles[item.handle]


def make_ended_change(kind: Kind, id: str, entry: Json, at: float, end: End) -> Change:
    """Return the log line that adds a memory of another archive to this one, or a former version."""
    return new_change("ltm", "", at=at, before=[ObjectState(kind=kind, id=id, entry=entry)], ended={id: end})


def add_successor(raw: Json, successor: str) -> Json:
    """Return the object with the id of its successor, if it has one."""
    return raw | {"superseded_by": successor} if successor else raw


class Version(Struct, frozen=True, kw_only=True):
    """A memory as it was from `since` up to, but not including, `until`; None: it still is so.

    Attributes:
        since: in seconds since the epoch; 0.0 where the file does not say.
        because: why the version ended: a reason of the archive, "changed", "undone" or "superseded"; "" while it lasts.
        is_final: whether the memory itself ended with it, and not only this version of it.
    """

    record: MemoryRecord
    since: float
    until: float | None = None
    because: str = ""
    is_final: bool = False


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


def select_lineage(versions: Sequence[Version], ids: Collection[str]) -> tuple[Version, ...]:
    """Return the versions of these memories, of those they replaced and of those that replaced them, in their order."""
    links: dict[str, set[str]] = {}
    for version in versions:
        if after := version.record.superseded_by:
            links.setdefault(version.record.id, set()).add(after)
            links.setdefault(after, set()).add(version.record.id)
    found = _find_connected(ids, links)
    return tuple(version for version in versions if version.record.id in found)


def _find_connected(ids: Iterable[str], links: Mapping[str, Collection[str]]) -> set[str]:
    """Return these ids and all that they are linked with, over any number of links."""
    found, new = set(ids), set(ids)
    while new:
        new = {other for id in new for other in links.get(id, ())} - found
        found |= new
    return found


def list_ltm_versions(document: LtmDocument, endings: Iterable[EndedVersion]) -> list[Version]:
    """Return every version of the memories in `ltm.json`, oldest first."""
    past = [
        Version(
            record=record,
            since=record.stated_since,
            until=one.ended,
            because=one.because,
            is_final=ends_memory(one.because),
        )
        for one in sorted(endings, key=lambda one: one.ended)
        if is_ltm_object(one.kind, one.entry) and (record := to_record(one.kind, one.entry, one.id))
    ]
    known = (to_record(kind, raw, id) for id, (kind, raw) in document.by_handle().items())
    return _list_versions((Version(record=record, since=record.stated_since) for record in known), past)


def list_typed_versions(records: Iterable[MemoryRecord], formers: Iterable[FormerVersion]) -> list[Version]:
    """Return every version of these memories, oldest first.

    Args:
        records: the present ones, one for each id.
        formers: in the order they ended.
    """
    past: list[Version] = []
    for former in formers:
        record = former.record
        ended = former.ended or max(record.updated, record.accessed)
        past.append(
            Version(
                record=record, since=record.stated_since, until=ended, because=former.because, is_final=former.is_final
            )
            if record.is_live
            else _make_present_version(record)
        )
    return _list_versions(map(_make_present_version, records), past)


def _make_present_version(record: MemoryRecord) -> Version:
    if record.is_live:
        return Version(record=record, since=record.stated_since)
    return Version(record=record, since=record.stated_since, until=record.updated, because="superseded")


def _list_versions(present: Iterable[Version], past: Sequence[Version]) -> list[Version]:
    """Return present and past versions, oldest first. past: in the order they ended.

    A former version equal to the present one was undone, or its process died before it made the change; it is left out.
    """
    known: dict[str, list[Version]] = {}
    for version in present:
        known.setdefault(version.record.id, []).append(version)
    for version in reversed(past):
        later = known.setdefault(version.record.id, [])
        if not any(
            version.since == other.since and not is_other_version(version.record, other.record) for other in later
        ):
            later.append(version)
    found = [version for versions in known.values() for version in reversed(versions)]
    return sorted(found, key=lambda version: version.since)


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
    found = (records[known] for known in _find_connected((id,), neighbours))
    return tuple(sorted(found, key=lambda record: (record.is_live, record.created, record.id), reverse=True))


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
        is_rule: a preference stated with "never", "always" or similar.
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
    is_rule: bool = False


def read_changed_records(change: Change) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """Return the memories before and after a change, without those that it took from the archive; none for a note."""
    if change.store == "memory":
        return find_records(change.before, MemoryRecord), find_records(change.after, MemoryRecord)
    before, after = (find_records(side, ObjectState) for side in (change.before, change.after))
    return [state.record for state in before if not state.kept], [state.record for state in after if not state.kept]


def list_undone_removals(logged: Iterable[LoggedChange]) -> Iterator[MemoryChange]:
    """Yield the end and the return of each memory that an undo brought back.

    No version tells of them: they were never in the archive since.
    """
    for one in logged:
        if one.undone_at is None or not one.change.ended:
            continue
        before, after = read_changed_records(one.change)
        later = {record.id for record in after}
        for record in before:
            end = one.change.ended.get(record.id)
            if end and not end.is_version and record.id not in later and ends_memory(end.because):
                at, because = end.at or one.change.at, get_reason(end)
                gone = Version(record=record, since=record.stated_since, until=at, because=because, is_final=True)
                yield _make_change(gone, "archived", at)
                yield _make_change(gone, "restored", one.undone_at)


def list_changes(versions: Iterable[Version], undone: Iterable[MemoryChange] = ()) -> list[MemoryChange]:
    """Return every change, newest first.

    Args:
        versions: of all memories, oldest first.
        undone: what `list_undone_removals` found.
    """
    listed = list(versions)
    typed = [one for one in listed if one.record.kind not in PROJECT_KINDS]
    project = [one for one in listed if one.record.kind in PROJECT_KINDS]
    # What a project memory was superseded by may be in another file, and says so itself.
    replaced: dict[str, list[Version]] = {}
    for one in typed:
        if one.record.superseded_by is not None:
            replaced.setdefault(one.record.superseded_by, []).append(one)
    changes = (*_list_changes(typed, replaced), *_list_changes(project, {}), *undone)
    return sorted(changes, key=lambda change: change.at, reverse=True)


def _list_changes(versions: Iterable[Version], replaced: Mapping[str, Sequence[Version]]) -> Iterator[MemoryChange]:
    """Yield the changes between versions. replaced: the versions of superseded memories, by the id of the new one."""
    latest: dict[str, Version] = {}
    for version in versions:
        record, before = version.record, latest.get(version.record.id)
        if version.because == "dropped":
            yield _make_change(version, "dropped", version.since)
            continue
        olds = replaced.get(record.id, ()) if before is None or before.until != version.since else ()
        old = next((one for one in olds if one.until == version.since), None)
        if before is None:
            for other in olds:
                if other is not old and other.until is not None:
                    yield _make_change(version, "superseded", other.until, other)
        if record.is_variant:
            what = "variant" if before is None else "changed"
        elif old is not None:
            what, before = "superseded", old
        elif before is None:
            what = "learned"
        else:
            what = "restored" if before.is_final or before.because == "superseded" else "changed"
        yield _make_change(version, what, version.since, before if what != "restored" else None)
        if version.until is not None and (version.is_final or version.because == "undone"):
            yield _make_change(version, "archived" if version.is_final else "undone", version.until)
        latest[record.id] = version


def _make_change(version: Version, what: ChangeKind, at: float, before: Version | None = None) -> MemoryChange:
    record = version.record
    return MemoryChange(
        at=at,
        what=what,
        kind=record.kind,
        id=record.id,
        text=_get_text(record),
        by=record.author,
        before="" if before is None else _get_text(before.record),
        because=version.because if what in ("archived", "undone") else "",
        score=record.score,
        is_rule=record.explicit,
    )


def _get_text(record: MemoryRecord) -> str:
    return record.line if record.kind in PROJECT_KINDS else record.content
