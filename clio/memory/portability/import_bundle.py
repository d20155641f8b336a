"""The memories and the project knowledge of a bundle, taken in."""

import copy
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw, Struct, structs

from clio.config.yaml_file import parse_yaml
from clio.errors import ConfigError, UserError
from clio.memory.portability.export import (
    MAX_STYLE_BYTES,
    Bundle,
    FeedbackPart,
    KnowledgePart,
    MemoriesPart,
    RecordsPart,
    Section,
    StylesPart,
    is_nothing,
)
from clio.memory.portability.inventory import Places, read_typed
from clio.memory.preferences.preferences import thing
from clio.memory.preferences.task_types import parse_task_types
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.deduplication import nearest
from clio.memory.store.ltm_codec import LtmDocument
from clio.memory.store.ltm_history import Ending, Kept, archive_changes, version_changes
from clio.memory.store.ltm_merge import TRUST
from clio.memory.store.ltm_objects import identity, provenance_of, stored_id
from clio.memory.store.ltm_store import LongTermMemory, LtmStore, merge_in, open_store, read_foreign
from clio.memory.store.memories import SCOPES
from clio.memory.store.notes import Notes, note_change
from clio.memory.store.record import (
    Clean,
    MemoryRecord,
    Note,
    Provenance,
    checked,
    clean_json,
    clean_note,
    clean_record,
    same_words,
    without_use,
)
from clio.memory.store.typed_codec import Former, Line, MemoryFiles, decode_former, logged_changes
from clio.memory.store.typed_index import MemoryIndex
from clio.memory.store.typed_store import Scope
from clio.memory.styles.feedback import RatingLine, Trajectories
from clio.memory.styles.style_state import FORMAT, StyleState
from clio.storage.documents import load_document, update_document
from clio.storage.files import make_folder, make_ignored_folder, write_atomic
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json
from clio.threads import ProgressCallback, do_nothing, ignore_progress, never_stop


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


HOW_THE_WORK_STANDS = "session_progress"
"""A page about the work on another machine, which is none of this one's."""
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.md")


def take_notes(
    places: Places, notes: Sequence[Note], *, now: float, clean: Clean, logs: ScopeLogs, dry_run: bool
) -> Taken:
    """Store notes whose key is free, or whose note here is older. Raises OSError."""
    taken = Taken(section="notes", scope="project", what="notes")
    for foreign in notes:
        note = structs.replace(clean_note(foreign, clean), timestamp=min(max(foreign.timestamp, 0.0), now))
        if note.key == HOW_THE_WORK_STANDS:
            continue
        here = Notes(places.notes, clock=lambda at=note.timestamp: at)
        old = here.retrieve(note.key)
        if old is not None and old.content == note.content:
            taken = taken.more(known=1)
        elif old is not None and old.timestamp >= note.timestamp:
            taken = taken.more(kept=1)
        else:
            try:
                if not dry_run:
                    with logs.project.making(note_change(note.key, old, note.content, at=now)):
                        here.store(note.key, note.content)
                taken = taken.more(changed=1) if old else taken.more(new=1)
            except ValueError:
                taken = taken.more(unusable=1)
    return taken


def take_scenarios(places: Places, text: str, *, clean: Clean, dry_run: bool) -> Taken:
    """Write `scenarios.yaml` where there is none; a person's own stays as it is. Raises OSError."""
    taken = Taken(section="scenarios", scope="user", what="scenarios.yaml")
    text = clean(text)
    if places.scenarios.exists():
        same = places.scenarios.read_text(encoding="utf-8", errors="replace") == text
        return taken.more(known=1) if same else taken.more(kept=1)
    try:
        parse_task_types(parse_yaml(text.encode("utf-8"), "scenarios"), "scenarios")
    except ConfigError:
        return taken.more(unusable=1)
    if not dry_run:
        make_folder(places.home)
        write_atomic(places.scenarios, text.encode("utf-8"))
    return taken.more(new=1)


def take_learned_styles(places: Places, learned: Raw, *, now: float, dry_run: bool) -> Taken:
    """What was learned of a style in a context where nothing is known here. Whether styles are on stays as it is."""
    taken = Taken(section="styles", scope="user", what="contexts of styles")
    if is_nothing(learned):
        return taken
    try:
        theirs = decode_json(learned, type=StyleState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return taken.more(unusable=1)
    if dry_run:
        document = load_document(places.styles, FORMAT)
        return _count(taken, document.value if document else StyleState(), theirs)
    ours: list[StyleState] = []

    def merge(state: StyleState) -> StyleState:
        ours.append(state)
        new = _merged(state, theirs, now)
        return state if new == state else new

    update_document(places.styles, FORMAT, merge)
    return _count(taken, ours[0], theirs)


def take_style_files(places: Places, files: Mapping[str, str], owner: Scope, *, clean: Clean, dry_run: bool) -> Taken:
    """Write the style files whose names are free. Raises OSError."""
    taken = Taken(section="styles", scope=owner, what="style files")
    folder = places.own_styles(owner)
    for name, text in files.items():
        path, text = folder / name, clean(text)
        if not _FILE_NAME.fullmatch(name) or len(text) > MAX_STYLE_BYTES:
            taken = taken.more(unusable=1)
        elif path.exists() or path.is_symlink():
            same = path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text
            taken = taken.more(known=1) if same else taken.more(kept=1)
        else:
            taken = taken.more(new=1)
            if not dry_run:
                make_ignored_folder(folder, folder.parent) if owner == "project" else make_folder(folder)
                write_atomic(path, text.encode("utf-8", "replace"))
    return taken


def take_feedback(places: Places, part: FeedbackPart, *, clean: Clean, dry_run: bool) -> Taken:
    """Add the turns and ratings that are not here. They taught the styles elsewhere, and teach nothing again."""
    taken = Taken(section="feedback", scope="project", what="rated turns and ratings")
    known = set(_lines(places.ratings)) | set(_lines(places.ratings_archive))
    new: dict[RatingLine, None] = {}
    for raw in (*part.archive, *part.lines):
        line = _rating(msgspec.json.encode(clean_json(decode_json(raw), clean)))
        if line is None:
            taken = taken.more(unusable=1)
        elif line in known or line in new:
            taken = taken.more(known=1)
        else:
            new[line] = None
    if new and not dry_run:
        Trajectories(places.ratings).add(*new)
    return taken.more(new=len(new))


def take_styles(
    places: Places, part: StylesPart, scopes: Sequence[Scope], *, now: float, clean: Clean, dry_run: bool
) -> list[Taken]:
    """What was learned, and the style files of these scopes."""
    found: list[Taken] = []
    if "user" in scopes:
        found.append(take_learned_styles(places, part.learned, now=now, dry_run=dry_run))
        found.append(take_style_files(places, part.user, "user", clean=clean, dry_run=dry_run))
    if "project" in scopes:
        found.append(take_style_files(places, part.project, "project", clean=clean, dry_run=dry_run))
    return found


def _merged(ours: StyleState, theirs: StyleState, now: float) -> StyleState:
    contexts = dict(ours.contexts)
    for context, arms in theirs.contexts.items():
        sound = {id: structs.replace(arm, last=min(max(arm.last, 0.0), now)) for id, arm in arms.items()}
        contexts[context] = sound | contexts.get(context, {})
    uses = {id: structs.replace(use, last=min(max(use.last, 0.0), now)) for id, use in theirs.uses.items()}
    return structs.replace(ours, contexts=contexts, vectors=theirs.vectors | ours.vectors, uses=uses | ours.uses)


def _count(taken: Taken, ours: StyleState, theirs: StyleState) -> Taken:
    pairs = {(context, id) for context, arms in theirs.contexts.items() for id in arms}
    known = sum(id in ours.contexts.get(context, {}) for context, id in pairs)
    return taken.more(new=len(pairs) - known, known=known)


def _lines(path: Path) -> list[RatingLine]:
    return [line for raw in read_lines(path).lines if (line := _rating(raw))]


def _rating(line: bytes) -> RatingLine | None:
    try:
        return decode_json(line, type=RatingLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def take_in(
    places: Places,
    bundle: Bundle,
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    logs: ScopeLogs,
    name: str,
    scope: Scope | None = None,
    dry_run: bool = False,
    stop: Callable[[], bool] = never_stop,
    tell: ProgressCallback = ignore_progress,
) -> tuple[Taken, ...]:
    """Merge a bundle into the existing data and return what was done to each part that is not empty.

    by: the most trusted author that an imported memory may have. name: of the bundle file, shown by undo. scope: import
    only the project's data, or only the user's. dry_run: only count. Archives, task types, styles and ratings cannot be
    undone, because they only grow. stop: asked whether to end; the parts imported by then stay and are one change.
    tell: called with the number of memories merged so far and in all.
    Raises UserError where a part is not what it should be, before anything is changed, and where it was stopped;
    StorageError, OSError.
    """
    scopes: Sequence[Scope] = (scope,) if scope else SCOPES
    if bundle.knowledge:
        check_knowledge(bundle.knowledge)  # before the first change
    with logs.group(f"the import of {name}"):
        each = _each(bundle, scopes, stop, tell)
        found = _take(places, bundle, scopes, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run, each=each)
    return tuple(taken for taken in found if _anything(taken))


def _take(
    places: Places,
    bundle: Bundle,
    scopes: Sequence[Scope],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    logs: ScopeLogs,
    dry_run: bool,
    each: Callable[[], None],
) -> list[Taken]:
    found: list[Taken] = []
    if "project" in scopes:
        if bundle.knowledge:
            found += take_knowledge(places, bundle.knowledge, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run)
        if bundle.notes:
            found.append(take_notes(places, bundle.notes, now=now, clean=clean, logs=logs, dry_run=dry_run))
        if bundle.feedback:
            found.append(take_feedback(places, bundle.feedback, clean=clean, dry_run=dry_run))
    if "user" in scopes and bundle.scenarios is not None:
        found.append(take_scenarios(places, bundle.scenarios, clean=clean, dry_run=dry_run))
    memories = bundle.memories or MemoriesPart()
    for scope in scopes:
        part = _part(memories, scope)
        if part == RecordsPart():
            continue
        found += take_memories(places, part, scope, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run, each=each)
    if bundle.styles:
        found += take_styles(places, bundle.styles, scopes, now=now, clean=clean, dry_run=dry_run)
    return found


def _part(memories: MemoriesPart, scope: Scope) -> RecordsPart:
    return memories.project if scope == "project" else memories.user


def _each(
    bundle: Bundle, scopes: Sequence[Scope], stop: Callable[[], bool], tell: ProgressCallback
) -> Callable[[], None]:
    """What is done at every memory: it is counted, and where somebody stops it, that is the last one."""
    memories = bundle.memories or MemoriesPart()
    total = sum(len(_part(memories, scope).records) for scope in scopes)
    numbers = itertools.count()

    def each() -> None:
        if stop():
            raise UserError("stopped; what was taken in by then stays, and the same import again adds the rest")
        tell(next(numbers), total)

    return each


def _anything(taken: Taken) -> bool:
    return any((taken.changes, taken.known, taken.kept, taken.forgotten, taken.unusable))
