"""The memories and the project knowledge of a bundle, taken in."""

import copy
import math
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec
from msgspec import Raw, Struct, structs

from clio.errors import UserError
from clio.memory.portability.export import KnowledgePart, RecordsPart, Section, is_nothing
from clio.memory.portability.inventory import Places, read_typed
from clio.memory.preferences.preferences import thing
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.deduplication import nearest
from clio.memory.store.ltm_codec import LtmDocument
from clio.memory.store.ltm_history import Ending, Kept, archive_changes, version_changes
from clio.memory.store.ltm_merge import TRUST
from clio.memory.store.ltm_objects import identity, provenance_of, stored_id
from clio.memory.store.ltm_store import LongTermMemory, LtmStore, merge_in, open_store, read_foreign
from clio.memory.store.record import (
    Clean,
    MemoryRecord,
    Provenance,
    checked,
    clean_json,
    clean_record,
    same_words,
    without_use,
)
from clio.memory.store.typed_codec import Former, Line, MemoryFiles, decode_former, logged_changes
from clio.memory.store.typed_index import MemoryIndex
from clio.memory.store.typed_store import Scope
from clio.text.json_data import decode_json
from clio.threads import do_nothing


class Taken(Struct, frozen=True, kw_only=True):
    """How often what happened to one part; `what` is its name for people.

    new: was not here. changed: theirs is newer, and was taken. known: here already. kept: here it says otherwise,
    newer or by somebody trusted more, and stays. forgotten: was here once and was forgotten. unusable: no such thing.
    """

    section: Section
    scope: Scope
    what: str
    new: int = 0
    changed: int = 0
    known: int = 0
    kept: int = 0
    forgotten: int = 0
    unusable: int = 0

    @property
    def changes(self) -> int:
        """How many things here are other than before."""
        return self.new + self.changed

    def more(self, **counts: int) -> "Taken":
        """With these counts added."""
        return structs.replace(self, **{name: getattr(self, name) + number for name, number in counts.items()})


class Merged(Struct, frozen=True, kw_only=True):
    """What is to be written, and how often what happened.

    put: new records, and others in the place of those with their ids. replaced: those, as they were.
    new: not known here. changed: theirs is newer. known: here already. kept: here it says otherwise, newer or by
    somebody trusted more; it stays. forgotten: was here and was forgotten. unusable: no memory at all.
    """

    put: tuple[MemoryRecord, ...] = ()
    replaced: tuple[MemoryRecord, ...] = ()
    new: int = 0
    changed: int = 0
    known: int = 0
    kept: int = 0
    forgotten: int = 0
    unusable: int = 0


def merge_records(
    ours: MemoryIndex,
    theirs: Sequence[MemoryRecord],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    forgotten: Collection[str] = (),
    elsewhere: Collection[str] = (),
    each: Callable[[], None] = do_nothing,
) -> Merged:
    """Take in records. by: who says what names nobody, and whom nobody is trusted more than.

    forgotten: ids of what was here and left. elsewhere: ids of what is here in the other scope. each: called for each.
    """
    merge = _Merge(ours, now)
    for record in sorted(theirs, key=lambda one: (one.created, one.id)):
        each()
        try:
            new = _sound(record, by, now, clean)
        except UserError:
            merge.count("unusable")
            continue
        if new.id in elsewhere:
            merge.count("known")
        elif new.id in ours.records:
            merge.meet(ours.records[new.id], new)
        elif new.id in forgotten:
            merge.count("forgotten")
        else:
            merge.take(new)
    return merge.done()


def lowered(source: Provenance | None, by: Provenance) -> Provenance:
    """Who said it, as far as an import may claim."""
    if source is None:
        return by
    if TRUST[source.asserted_by] <= TRUST[by.asserted_by]:
        return source
    return structs.replace(source, asserted_by=by.asserted_by)


class _Merge:
    """The changes so far, of records by id."""

    def __init__(self, ours: MemoryIndex, now: float) -> None:
        self._ours = ours
        self._now = now
        self._put: dict[str, MemoryRecord] = {}
        self._known_as: dict[str, str] = {}  # their id → ours of what says the same
        self._counts: dict[str, int] = {}
        self._about: dict[str, MemoryRecord] | None = None

    def count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def meet(self, old: MemoryRecord, new: MemoryRecord) -> None:
        """The same memory, here and there."""
        if _says(old) == _says(new):
            self.count("known")
        elif _trust(new) < _trust(old) or new.updated <= old.updated:
            self.count("kept")
        else:
            access = max(old.accessed, new.accessed), max(old.access_count, new.access_count)
            self._put[new.id] = structs.replace(
                new, accessed=access[0], access_count=access[1], seen=max(old.seen, new.seen)
            )
            self.count("changed")

    def take(self, new: MemoryRecord) -> None:
        """A memory of an id that is free here; what it says may be known, or contradicted."""
        if not new.is_live:
            self._add(new)
            return
        old, is_same = self._like(new)
        if old is None:
            self._add(new)
        elif is_same:
            self._known_as[new.id] = old.id
            self.count("known")
        elif _trust(new) >= _trust(old) and new.updated > old.updated:
            self._put[old.id] = structs.replace(old, superseded_by=new.id, updated=self._now)
            self._add(new)
        else:
            self._put[new.id] = structs.replace(new, superseded_by=old.id)
            self.count("kept")

    def done(self) -> Merged:
        put = tuple(
            structs.replace(record, superseded_by=known) if (known := self._successor(record)) else record
            for record in self._put.values()
        )
        replaced = tuple(old for record in put if (old := self._ours.records.get(record.id)) is not None)
        return Merged(put=put, replaced=replaced, **self._counts)

    def _add(self, new: MemoryRecord) -> None:
        self._put[new.id] = new
        self.count("new")

    def _like(self, new: MemoryRecord) -> tuple[MemoryRecord | None, bool]:
        """What is here of the same, and whether it says the same; else it contradicts."""
        if new.kind == "preference":
            old = self._same_thing(new)
            return old, old is not None and same_words(old.content, new.content) and old.score == new.score
        near = nearest(self._ours, new)
        if near is None or near.verdict in ("doubtful", "other") or near.record.id in self._put:
            return None, False
        return near.record, near.verdict == "same"

    def _same_thing(self, new: MemoryRecord) -> MemoryRecord | None:
        """The preference about the same: of "always use tabs" and "tabs" there is only one."""
        if self._about is None:
            self._about = {thing(one.content): one for one in self._ours.live() if one.kind == "preference"}
        old = self._about.get(thing(new.content))
        return None if old is None or old.id in self._put else old

    def _successor(self, record: MemoryRecord) -> str:
        return self._known_as.get(record.superseded_by or "", "")


def _sound(record: MemoryRecord, by: Provenance, now: float, clean: Clean) -> MemoryRecord:
    """The record as it may be kept here: in bounds, not from the future, by nobody it must not claim to be by."""
    record = checked(clean_record(record, clean))
    if not record.id.strip() or len(record.id) > 64 or record.id != record.id.strip():
        raise UserError("a memory needs an id")
    times = {
        name: _bounded(getattr(record, name), 0.0, now)
        for name in ("created", "updated", "accessed", "seen", "since")
        if hasattr(record, name)
    }
    return structs.replace(
        record,
        confidence=_bounded(record.confidence, 0.0, 1.0),
        access_count=max(record.access_count, 0),
        touch_count=max(record.touch_count, 0),
        version=max(record.version, 1),
        provenance=lowered(record.provenance, by),
        confirmations=(),
        **times,
    )


def _says(record: MemoryRecord) -> MemoryRecord:
    """The record but for how it was used, and by whom it is said."""
    return structs.replace(without_use(record), seen=0.0, touch_count=0, updated=0.0, provenance=None, confirmations=())


def _trust(record: MemoryRecord) -> int:
    return TRUST[record.provenance.asserted_by if record.provenance else "model"]


def _bounded(value: float, least: float, most: float) -> float:
    return min(max(value, least), most) if math.isfinite(value) else least


def new_formers(
    theirs: Iterable[Raw], known: Iterable[Former], *, by: Provenance, now: float, clean: Clean
) -> tuple[list[Former], int]:
    """The former versions that are not known here, claiming no more than an import may; and how many are none."""
    seen, found, unusable = {_former_key(one) for one in known}, list[Former](), 0
    for raw in theirs:
        former = _sound_former(raw, by, now, clean)
        if former is None:
            unusable += 1
        elif (key := _former_key(former)) not in seen:
            seen.add(key)
            found.append(former)
    return found, unusable


def _former_key(former: Former) -> tuple[str, int, str, float, str]:
    record = former.record
    return record.id, record.version, record.content, former.ended, former.because


def _sound_former(raw: Raw, by: Provenance, now: float, clean: Clean) -> Former | None:
    try:
        former = decode_former(msgspec.json.encode(clean_json(decode_json(raw), clean)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    record = former.record
    if not record.id.strip() or not record.content.strip():
        return None
    return structs.replace(
        former,
        record=structs.replace(record, provenance=lowered(record.provenance, by)),
        ended=_bounded(former.ended, 0.0, now),
    )


NAMES: dict[Scope, str] = {"project": "memories of the project", "user": "memories of yours"}


def take_memories(
    places: Places,
    part: RecordsPart,
    scope: Scope,
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    logs: ScopeLogs,
    dry_run: bool,
    each: Callable[[], None],
) -> list[Taken]:
    """Merge the memories of one scope; its archive grows by what is not in it. Raises StorageError, OSError.

    each: called for every one of them before anything is written; what it raises ends the merging, and nothing is.
    """
    index, files = read_typed(places, scope)
    elsewhere = _ids(places, "user" if scope == "project" else "project")
    if dry_run:
        merged, formers, unusable = _merge(files, part, index, elsewhere, by=by, now=now, clean=clean, each=each)
        return _taken(scope, merged, formers, unusable)
    with files.lock():
        files.catch_up()
        merged, formers, unusable = _merge(files, part, index, elsewhere, by=by, now=now, clean=clean, each=each)
        new = {record.id: (record.content, record.score) for record in merged.put}
        replaced = [
            Former(record=old, ended=now, because="merged")
            for old in merged.replaced
            if new[old.id] != (old.content, old.score)
        ]
        changes = logged_changes(
            f"imported {len(merged.put):,} memories",
            at=now,
            scope=scope,
            before=merged.replaced,
            after=merged.put,
            formers=[*formers, *replaced],
        )
        with (logs.user if scope == "user" else logs.project).making(*changes):
            if merged.put:
                files.append(Line(put=merged.put))
    return _taken(scope, merged, formers, unusable)


def check_knowledge(part: KnowledgePart) -> int:
    """How many entries it has. Raises UserError where it is no `ltm.json`, NewerDocument."""
    return len(read_foreign(_text(part)).all())


def take_knowledge(
    places: Places, part: KnowledgePart, *, by: Provenance, now: float, clean: Clean, logs: ScopeLogs, dry_run: bool
) -> list[Taken]:
    """Merge the project knowledge and what left it.

    Raises UserError where it is no `ltm.json`, NewerDocument, StorageError, OSError.
    """
    text = _text(part)
    theirs = check_knowledge(part)
    store = open_store(places.knowledge, project=places.project, home=places.home, log=logs.project, clock=lambda: now)
    document = store.read()
    known = frozenset(document.by_handle()) | store.archive.handles()
    if dry_run:
        merged = merge_in(document, read_foreign(text), by, now, clean=clean, taken=())
        added, confirmed = merged.added, merged.confirmed
    else:
        ltm = LongTermMemory(
            places.knowledge, project=places.project, log=logs.project, clock=lambda: now, home=places.home
        )
        added, confirmed = ltm.import_(text, by, clean) if theirs else (0, 0)
    entries = Taken(
        section="knowledge",
        scope="project",
        what="entries of project knowledge",
        new=added,
        changed=confirmed,
        known=max(theirs - added - confirmed, 0),
    )
    if not dry_run:
        _take_history(store, part, known, by=by, now=now, clean=clean)
    new = _take_archive(store, part, by=by, now=now, clean=clean, dry_run=dry_run)
    archive = Taken(section="knowledge", scope="project", what="archived entries of project knowledge", new=new)
    return [entries, archive.more(known=len(part.archive) - new)]


def _text(part: KnowledgePart) -> str:
    return "{}" if is_nothing(part.ltm) else bytes(part.ltm).decode("utf-8", "replace")


def _take_history(
    store: LtmStore, part: KnowledgePart, known: frozenset[str], *, by: Provenance, now: float, clean: Clean
) -> None:
    """What entries said before that came with it; of those known here, history goes on as it was."""
    new = list[Ending]()
    there = {(ending.id, ending.ended) for ending in store.archive.endings()}
    for ending in part.history:
        if ending.id not in known and (ending.id, ending.ended) not in there:
            entry = clean_json(copy.deepcopy(ending.entry), clean)
            entry["provenance"] = msgspec.to_builtins(lowered(provenance_of(entry), by))
            new.append(structs.replace(ending, entry=entry, ended=min(max(ending.ended, 0.0), now)))
    if new:
        with store.changing():
            store.log.append(*version_changes(new))


def _take_archive(
    store: LtmStore, part: KnowledgePart, *, by: Provenance, now: float, clean: Clean, dry_run: bool
) -> int:
    """How many entries that left elsewhere are in the archive here that were not."""
    if not part.archive:
        return 0
    if dry_run:
        return len(_unknown(part, store.read(), store, by, now, clean))
    with store.changing() as (document, _):
        new = _unknown(part, document, store, by, now, clean)
        store.log.append(*archive_changes(new))
    return len(new)


def _unknown(
    part: KnowledgePart, document: LtmDocument, store: LtmStore, by: Provenance, now: float, clean: Clean
) -> list[Kept]:
    """Those that neither the knowledge nor its archive has, by their words, as an import may put them there."""
    known = {(kind, *identity(kind, raw)) for kind, raw in document.all()}
    known |= {
        (kept.known_kind, *identity(kept.known_kind, kept.entry))
        for kept in store.archive.read(document)
        if kept.known_kind
    }
    taken = {stored_id(raw) for _, raw in document.all()} | store.archive.handles()
    found: list[Kept] = []
    for kept in part.archive:
        entry = clean_json(copy.deepcopy(kept.entry), clean)
        kept = structs.replace(kept, entry=entry, archived=min(max(kept.archived, 0.0), now))
        kind = kept.known_kind
        if kind is None or (words := (kind, *identity(kind, entry))) in known or stored_id(entry) in taken:
            continue
        entry["provenance"] = msgspec.to_builtins(lowered(provenance_of(entry), by))
        known.add(words)
        taken.add(stored_id(entry))
        found.append(kept)
    return found


def _merge(
    files: MemoryFiles,
    part: RecordsPart,
    index: MemoryIndex,
    elsewhere: Collection[str],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    each: Callable[[], None],
) -> tuple[Merged, list[Former], int]:
    """What is to be written of the memories and of former versions, and how many of these hold no memory."""
    known = files.formers()
    gone = {one.record.id for one in known if one.left}
    merged = merge_records(
        index, part.records, by=by, now=now, clean=clean, forgotten=gone, elsewhere=elsewhere, each=each
    )
    formers, unusable = new_formers(part.archive, known, by=by, now=now, clean=clean)
    return merged, formers, unusable


def _taken(scope: Scope, merged: Merged, formers: list[Former], unusable: int) -> list[Taken]:
    records = Taken(
        section="memories",
        scope=scope,
        what=NAMES[scope],
        new=merged.new,
        changed=merged.changed,
        known=merged.known,
        kept=merged.kept,
        forgotten=merged.forgotten,
        unusable=merged.unusable,
    )
    archive = Taken(
        section="memories", scope=scope, what=f"archived {NAMES[scope]}", new=len(formers), unusable=unusable
    )
    return [records, archive]


def _ids(places: Places, scope: Scope) -> frozenset[str]:
    return frozenset(read_typed(places, scope)[0].records)
