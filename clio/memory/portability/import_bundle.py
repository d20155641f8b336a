"""Merge a bundle, a file that `export` wrote, into the existing memory.

Existing data has priority: a memory of the bundle replaces an existing one only if it is newer and its author is
trusted at least as much. Imported memories never claim a more trusted author than the import itself.
"""

import copy
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Raw, Struct, structs

from clio.config.yaml_file import parse_yaml
from clio.errors import ConfigError, UserError
from clio.memory.portability.memory_files import (
    MAX_STYLE_BYTES,
    Bundle,
    FeedbackPart,
    KnowledgePart,
    MemoriesPart,
    MemoryPaths,
    RecordsPart,
    Section,
    is_missing,
)
from clio.memory.preferences.preferences import extract_subject
from clio.memory.preferences.task_types import parse_task_types
from clio.memory.store.change_log import End, FormerVersion, ScopeLogs, decode_former
from clio.memory.store.deduplication import find_nearest_memory
from clio.memory.store.ltm_codec import LtmDocument, get_handle, get_identity, get_provenance
from clio.memory.store.ltm_store import LongTermMemory, import_document, read_imported_document
from clio.memory.store.memory_index import MemoryIndex
from clio.memory.store.memory_store import SCOPES
from clio.memory.store.notes import Notes, make_note_change
from clio.memory.store.record import (
    PROGRESS_KEY,
    TRUST,
    MemoryRecord,
    Note,
    Provenance,
    Redact,
    check_record,
    has_same_text,
    redact_json,
    redact_note,
    redact_record,
    without_use,
)
from clio.memory.store.typed_store import JournalLine, Scope, TypedStore
from clio.memory.store.versions import ArchivedMemory, EndedVersion, make_ended_change
from clio.memory.styles.feedback import RatingLine, Trajectories
from clio.memory.styles.style_state import FORMAT, StyleState
from clio.storage.documents import load_document, update_document
from clio.storage.files import make_folder, make_ignored_folder, write_atomic
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr
from clio.threads import ProgressCallback, ignore_progress, never_stop


class ImportSetup(Struct, frozen=True, kw_only=True):
    """What all parts of one import need.

    Attributes:
        paths: where the memory is into which the bundle is merged.
        logs: the change logs of that memory.
        by: the author of memories that name none, and the most trusted author that an imported memory may have.
        now: seconds since the epoch; no imported memory is newer.
        redact: applied to every imported text, to remove secrets.
        dry_run: only count.
    """

    paths: MemoryPaths
    logs: ScopeLogs
    by: Provenance
    now: float
    redact: Redact
    dry_run: bool = False

    def limit_trust(self, source: Provenance | None) -> Provenance:
        """Return the origin of a memory, with its author replaced by that of the import if that one is less trusted."""
        if source is None:
            return self.by
        if TRUST[source.asserted_by] <= TRUST[self.by.asserted_by]:
            return source
        return structs.replace(source, asserted_by=self.by.asserted_by)

    def limit_time(self, at: float) -> float:
        """Return a time that is not in the future."""
        return min(max(at, 0.0), self.now) if math.isfinite(at) else 0.0


class ImportCounts(Struct, frozen=True, kw_only=True):
    """The number of items of one part of a bundle by what happened to them.

    Attributes:
        what: the name of the part for the user.
        new: added.
        changed: replaced an older item.
        known: existed already.
        kept: the existing item is different, and newer or by a more trusted author, so it stays.
        forgotten: the user forgot the item earlier, so it was not added again.
        unusable: invalid.
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
        """The number of items that were added or replaced."""
        return self.new + self.changed


Outcome = Literal["new", "changed", "known", "kept", "forgotten", "unusable"]
"""What happened to an item, see `ImportCounts`."""


class _RecordMerge:
    """What merging records into an index changes; nothing is written.

    Attributes:
        put: records to add, or to write in place of those with the same ids, by id.
        counts: the number of records by what happened to them.
    """

    def __init__(self, setup: ImportSetup, ours: MemoryIndex) -> None:
        self._setup = setup
        self._ours = ours
        self.put: dict[str, MemoryRecord] = {}
        self.counts = Counter[Outcome]()
        self._known_as: dict[str, str] = {}  # id of a record of theirs → id of ours with the same statement

    def merge(self, record: MemoryRecord, *, forgotten: Collection[str], elsewhere: Collection[str]) -> None:
        """Merge one record.

        Args:
            forgotten: ids of records that the user forgot: they must not come back with the next import of the file.
            elsewhere: ids of records in the other scope.
        """
        try:
            new = _sanitize_record(record, self._setup)
        except UserError:
            self.counts["unusable"] += 1
            return
        old = self._ours.records.get(new.id)
        if new.id in elsewhere:
            outcome = "known"
        elif old is not None:
            outcome = self._merge_same_id(old, new)
        elif new.id in forgotten:
            outcome = "forgotten"
        else:
            outcome = self._add_or_supersede(new)
        self.counts[outcome] += 1

    def finish(self) -> tuple[MemoryRecord, ...]:
        """Return the records to write."""
        # Records superseded by one that was not added, because it was known here, refer to ours instead.
        return tuple(
            structs.replace(record, superseded_by=known)
            if (known := self._known_as.get(record.superseded_by or "", ""))
            else record
            for record in self.put.values()
        )

    def _merge_same_id(self, old: MemoryRecord, new: MemoryRecord) -> Outcome:
        if _strip_use(old) == _strip_use(new):
            return "known"
        if new.trust < old.trust or new.updated <= old.updated:
            return "kept"
        self.put[new.id] = structs.replace(
            new,
            accessed=max(old.accessed, new.accessed),
            access_count=max(old.access_count, new.access_count),
            seen=max(old.seen, new.seen),
        )
        return "changed"

    def _add_or_supersede(self, new: MemoryRecord) -> Outcome:
        """Merge a record whose id does not exist here; another record may make the same statement or contradict it."""
        old, is_same = self._find_related(new) if new.is_live else (None, False)
        if old is not None and is_same:
            self._known_as[new.id] = old.id
            return "known"
        if old is not None and (new.trust < old.trust or new.updated <= old.updated):
            self.put[new.id] = structs.replace(new, superseded_by=old.id)
            return "kept"
        if old is not None:
            self.put[old.id] = structs.replace(old, superseded_by=new.id, updated=self._setup.now)
        self.put[new.id] = new
        return "new"

    def _find_related(self, new: MemoryRecord) -> tuple[MemoryRecord | None, bool]:
        """Return the record about the same subject, if any, and whether it makes the same statement or contradicts."""
        if new.kind == "preference":
            old = self._preferences.get(extract_subject(new.content))
            is_same = old is not None and has_same_text(old.content, new.content) and old.score == new.score
        else:
            near = find_nearest_memory(self._ours, new)
            old = near.record if near is not None and near.relation in ("same", "supersedes") else None
            is_same = near is not None and near.relation == "same"
        return (None, False) if old is None or old.id in self.put else (old, is_same)

    @cached_property
    def _preferences(self) -> dict[str, MemoryRecord]:
        """Our preferences by subject: "always use tabs" and "tabs" have the same one."""
        return {extract_subject(record.content): record for record in self._ours.live() if record.kind == "preference"}


def _sanitize_record(record: MemoryRecord, setup: ImportSetup) -> MemoryRecord:
    """Return a record with values in their ranges, no time in the future, and an author it may have.

    Raises UserError if it is invalid.
    """
    record = check_record(redact_record(record, setup.redact))
    if not record.id.strip() or len(record.id) > 64 or record.id != record.id.strip():
        raise UserError(tr("a memory needs an id"))
    return structs.replace(
        record,
        access_count=max(record.access_count, 0),
        touch_count=max(record.touch_count, 0),
        version=max(record.version, 1),
        provenance=setup.limit_trust(record.provenance),
        # Nothing imported counts as confirmed: a foreign file could vouch for itself.
        confirmations=(),
        **{name: setup.limit_time(getattr(record, name)) for name in _TIMES},
    )


_TIMES = ("created", "updated", "accessed", "seen", "since")


def _strip_use(record: MemoryRecord) -> MemoryRecord:
    """Return the record without its use and its authors, for comparison."""
    return structs.replace(without_use(record), seen=0.0, touch_count=0, updated=0.0, provenance=None, confirmations=())


def _find_new_versions(
    setup: ImportSetup, theirs: Iterable[Raw], known: Iterable[FormerVersion]
) -> tuple[list[FormerVersion], int]:
    """Return the former versions that do not exist here, with limited trust, and how many are invalid."""
    seen, found, unusable = {_former_key(former) for former in known}, list[FormerVersion](), 0
    for raw in theirs:
        former = _sanitize_former(raw, setup)
        if former is None:
            unusable += 1
        elif (key := _former_key(former)) not in seen:
            seen.add(key)
            found.append(former)
    return found, unusable


def _former_key(former: FormerVersion) -> tuple[str, int, str, float, str]:
    record = former.record
    return record.id, record.version, record.content, former.ended, former.because


def _sanitize_former(raw: Raw, setup: ImportSetup) -> FormerVersion | None:
    """Return a former version like `_sanitize_record`, or None if it is invalid."""
    try:
        former = decode_former(msgspec.json.encode(redact_json(decode_json(raw), setup.redact)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    record = former.record
    if not record.id.strip() or not record.content.strip():
        return None
    record = structs.replace(record, provenance=setup.limit_trust(record.provenance))
    return structs.replace(former, record=record, ended=setup.limit_time(former.ended))


NAMES: dict[Scope, str] = {"project": mark("facts, events and notes of the project"), "user": mark("your memories")}


def _merge_memories(
    setup: ImportSetup, part: RecordsPart, scope: Scope, each: Callable[[], None]
) -> list[ImportCounts]:
    """Merge the memories of one scope and add unknown former versions to its archive.

    each: called for every memory before anything is written; an error it raises ends the import without a change.
    """
    log = setup.logs.user if scope == "user" else setup.logs.project
    store = TypedStore(setup.paths.memories(scope), scope, clock=lambda: setup.now, log=log)
    # A memory that was moved to the other scope keeps its id and must not exist twice.
    elsewhere = frozenset(setup.paths.open_typed("user" if scope == "project" else "project").index.records)
    with nullcontext() if setup.dry_run else store.changing():
        known, index = store.formers(), store.index
        forgotten = {former.record.id for former in known if former.is_final}
        merge = _RecordMerge(setup, index)
        # Oldest first, so that within a bundle a newer record supersedes an older one.
        for record in sorted(part.records, key=lambda record: (record.created, record.id)):
            each()
            merge.merge(record, forgotten=forgotten, elsewhere=elsewhere)
        formers, unusable = _find_new_versions(setup, part.archive, known)
        if not setup.dry_run:
            put = merge.finish()
            replaced = [
                FormerVersion(record=old, ended=setup.now, because="merged")
                for new in put
                if (old := index.records.get(new.id)) and (old.content, old.score) != (new.content, new.score)
            ]
            line = JournalLine(put=put)
            store.write(f"imported {len(put):,} memories", line, [*formers, *replaced])
    what = tr(NAMES[scope])
    records = ImportCounts(section="memories", scope=scope, what=what, **merge.counts)
    archived = tr("archived {names}", names=what)
    archive = ImportCounts(section="memories", scope=scope, what=archived, new=len(formers), unusable=unusable)
    return [records, archive]


def _merge_knowledge(setup: ImportSetup, part: KnowledgePart) -> list[ImportCounts]:
    """Merge the facts, solutions and rules of a project, their former versions and their archive."""
    text = _get_ltm_text(part)
    theirs = len(read_imported_document(text).all())
    paths, log = setup.paths, setup.logs.project
    store = LongTermMemory(paths.knowledge, project=paths.project, home=paths.home, log=log, clock=lambda: setup.now)
    document = store.document()
    # Determined before the import: only memories that it adds get the history of the bundle.
    known = frozenset(document.by_handle()) | store.archive.handles()
    if setup.dry_run:
        foreign = read_imported_document(text)
        before, after = import_document(document, foreign, setup.by, setup.now, redact=setup.redact, taken=())
        added, confirmed = len(after) - len(before), len(before)
    else:
        added, confirmed = store.import_(text, setup.by, setup.redact) if theirs else (0, 0)
        _merge_history(setup, store, part, known)
    archived = _merge_archive(setup, store, part)
    return [
        ImportCounts(
            section="knowledge",
            scope="project",
            what=tr("facts, solutions and rules of the project"),
            new=added,
            changed=confirmed,
            known=max(theirs - added - confirmed, 0),
        ),
        ImportCounts(
            section="knowledge",
            scope="project",
            what=tr("archived facts, solutions and rules of the project"),
            new=archived,
            known=len(part.archive) - archived,
        ),
    ]


def _get_ltm_text(part: KnowledgePart) -> str:
    return "{}" if is_missing(part.ltm) else bytes(part.ltm).decode("utf-8", "replace")


def _merge_history(setup: ImportSetup, store: LongTermMemory, part: KnowledgePart, known: frozenset[str]) -> None:
    """Add the former versions of memories that did not exist here before; the others keep their own history."""
    new = list[EndedVersion]()
    there = {(ending.id, ending.ended) for ending in store.archive.endings()}
    for ending in part.history:
        if ending.id not in known and (ending.id, ending.ended) not in there:
            entry = redact_json(copy.deepcopy(ending.entry), setup.redact)
            entry["provenance"] = msgspec.to_builtins(setup.limit_trust(get_provenance(entry)))
            new.append(structs.replace(ending, entry=entry, ended=setup.limit_time(ending.ended)))
    if new:
        with store.changing():
            store.log.append(
                *(
                    make_ended_change(one.kind, one.id, one.entry, one.ended, End(because=one.because, is_version=True))
                    for one in new
                )
            )


def _merge_archive(setup: ImportSetup, store: LongTermMemory, part: KnowledgePart) -> int:
    """Add archived memories that do not exist here, and return how many."""
    if not part.archive:
        return 0
    with nullcontext((store.document(), 0.0)) if setup.dry_run else store.changing() as (document, _):
        new = _find_new_archived(setup, part, document, store)
        if not setup.dry_run:
            store.log.append(
                *(
                    make_ended_change(
                        kind, get_handle(kept.entry), kept.entry, kept.archived, End(because=kept.because)
                    )
                    for kept in new
                    if (kind := kept.known_kind)
                )
            )
    return len(new)


def _find_new_archived(
    setup: ImportSetup, part: KnowledgePart, document: LtmDocument, store: LongTermMemory
) -> list[ArchivedMemory]:
    """Return the archived memories whose statement and id exist neither in `ltm.json` nor in its archive.

    Their times and authors are limited as those of all imported memories.
    """
    known = {(kind, *get_identity(kind, raw)) for kind, raw in document.all()}
    known |= {
        (kept.known_kind, *get_identity(kept.known_kind, kept.entry))
        for kept in store.archive.read(document)
        if kept.known_kind
    }
    used_ids = {get_handle(raw) for _, raw in document.all()} | store.archive.handles()
    found: list[ArchivedMemory] = []
    for kept in part.archive:
        entry = redact_json(copy.deepcopy(kept.entry), setup.redact)
        kept = structs.replace(kept, entry=entry, archived=setup.limit_time(kept.archived))
        kind = kept.known_kind
        if kind is None or (key := (kind, *get_identity(kind, entry))) in known or get_handle(entry) in used_ids:
            continue
        entry["provenance"] = msgspec.to_builtins(setup.limit_trust(get_provenance(entry)))
        known.add(key)
        used_ids.add(get_handle(entry))
        found.append(kept)
    return found


_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.md")


def _merge_notes(setup: ImportSetup, notes: Sequence[Note]) -> ImportCounts:
    """Store the notes whose keys are new, and those that are newer than the existing notes."""
    counts = Counter[Outcome]()
    for foreign in notes:
        note = structs.replace(redact_note(foreign, setup.redact), timestamp=setup.limit_time(foreign.timestamp))
        # It describes work on another machine.
        if note.key == PROGRESS_KEY:
            continue
        # The store of notes takes the time of a note from its clock.
        here = Notes(setup.paths.notes, clock=lambda at=note.timestamp: at)
        old = here.retrieve(note.key)
        outcome: Outcome = "changed" if old else "new"
        if old is not None and old.content == note.content:
            outcome = "known"
        elif old is not None and old.timestamp >= note.timestamp:
            outcome = "kept"
        elif not setup.dry_run:
            try:
                with setup.logs.project.write_ahead(make_note_change(note.key, old, note.content, at=setup.now)):
                    here.store(note.key, note.content)
            except ValueError:
                outcome = "unusable"
        counts[outcome] += 1
    return ImportCounts(section="notes", scope="project", what=mark("keyed notes"), **counts)


def _merge_task_types(setup: ImportSetup, text: str) -> ImportCounts:
    """Write `scenarios.yaml` if there is none; an existing file is not changed."""
    text, path = setup.redact(text), setup.paths.scenarios
    outcome: Outcome = "new"
    # The file is the user's own and may be edited by hand, so it is never merged.
    if path.exists():
        outcome = "known" if _has_text(path, text) else "kept"
    else:
        try:
            parse_task_types(parse_yaml(text.encode("utf-8"), "scenarios"), "scenarios")
            if not setup.dry_run:
                make_folder(setup.paths.home)
                write_atomic(path, text.encode("utf-8"))
        except ConfigError:
            outcome = "unusable"
    return ImportCounts(section="scenarios", scope="user", what="scenarios.yaml", **Counter[Outcome]((outcome,)))


def _has_text(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text


def _merge_learned_styles(setup: ImportSetup, learned: Raw) -> ImportCounts:
    """Add what was learned about styles in contexts without ratings here. Does not turn styles on or off."""
    counts = ImportCounts(section="styles", scope="user", what=tr("contexts of styles"))
    if is_missing(learned):
        return counts
    try:
        theirs = decode_json(learned, type=StyleState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return structs.replace(counts, unusable=1)
    document = load_document(setup.paths.styles, FORMAT)
    ours = document.value if document else StyleState()

    def merge(state: StyleState) -> StyleState:
        nonlocal ours
        ours = state
        new = _merge_style_states(state, theirs, setup)
        return state if new == state else new

    if not setup.dry_run:
        update_document(setup.paths.styles, FORMAT, merge)
    pairs = {(context, id) for context, arms in theirs.contexts.items() for id in arms}
    known = sum(id in ours.contexts.get(context, {}) for context, id in pairs)
    return structs.replace(counts, new=len(pairs) - known, known=known)


def _merge_style_files(setup: ImportSetup, files: Mapping[str, str], owner: Scope) -> ImportCounts:
    """Write the style files whose names do not exist here."""
    counts = Counter[Outcome]()
    folder = setup.paths.own_styles(owner)
    for name, text in files.items():
        path, text = folder / name, setup.redact(text)
        # A name such as "../x.md" would write outside of the folder.
        if not _FILE_NAME.fullmatch(name) or len(text) > MAX_STYLE_BYTES:
            counts["unusable"] += 1
        elif path.exists() or path.is_symlink():
            counts["known" if _has_text(path, text) else "kept"] += 1
        else:
            counts["new"] += 1
            if not setup.dry_run:
                make_ignored_folder(folder, folder.parent) if owner == "project" else make_folder(folder)
                write_atomic(path, text.encode("utf-8", "replace"))
    return ImportCounts(section="styles", scope=owner, what=tr("style files"), **counts)


def _merge_feedback(setup: ImportSetup, part: FeedbackPart) -> ImportCounts:
    """Add the turns and ratings that do not exist here.

    They do not change the styles: what was learned from them is imported by `_merge_learned_styles`.
    """
    counts = Counter[Outcome]()
    known = {
        line
        for path in (setup.paths.ratings, setup.paths.ratings_archive)
        for raw in read_lines(path).lines
        if (line := _decode_rating(raw))
    }
    new: dict[RatingLine, None] = {}
    for raw in (*part.archive, *part.lines):
        line = _decode_rating(msgspec.json.encode(redact_json(decode_json(raw), setup.redact)))
        if line is None:
            counts["unusable"] += 1
        elif line in known or line in new:
            counts["known"] += 1
        else:
            new[line] = None
    if new and not setup.dry_run:
        Trajectories(setup.paths.ratings).add(*new)
    counts["new"] = len(new)
    return ImportCounts(section="feedback", scope="project", what=tr("rated turns and ratings"), **counts)


def _merge_style_states(ours: StyleState, theirs: StyleState, setup: ImportSetup) -> StyleState:
    contexts = dict(ours.contexts)
    for context, arms in theirs.contexts.items():
        valid = {id: structs.replace(arm, last=setup.limit_time(arm.last)) for id, arm in arms.items()}
        contexts[context] = valid | contexts.get(context, {})
    uses = {id: structs.replace(use, last=setup.limit_time(use.last)) for id, use in theirs.uses.items()}
    return structs.replace(ours, contexts=contexts, vectors=theirs.vectors | ours.vectors, uses=uses | ours.uses)


def _decode_rating(line: bytes) -> RatingLine | None:
    try:
        return decode_json(line, type=RatingLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def merge_bundle(
    setup: ImportSetup,
    bundle: Bundle,
    *,
    name: str,
    scope: Scope | None = None,
    stop: Callable[[], bool] = never_stop,
    tell: ProgressCallback = ignore_progress,
) -> tuple[ImportCounts, ...]:
    """Merge a bundle into the existing data and return what was done to each part that is not empty.

    Memories and notes are one change for undo. Archives, task types, styles and ratings cannot be undone; existing
    data in them is never changed.

    Args:
        name: the name of the bundle file, shown by undo.
        scope: import only the project's data, or only the user's.
        stop: called before each memory; true ends the import, and the parts imported by then stay.
        tell: called with the number of memories merged so far and in total.

    Raises:
        UserError: if a part is invalid, before anything is changed; if the import was stopped.
        StorageError, OSError: if a file is damaged or cannot be read or written.
    """
    scopes: Sequence[Scope] = (scope,) if scope else SCOPES
    if bundle.knowledge:
        read_imported_document(_get_ltm_text(bundle.knowledge))  # raises before the first change
    memories = bundle.memories or MemoriesPart()
    parts: dict[Scope, RecordsPart] = {"project": memories.project, "user": memories.user}
    total, numbers = sum(len(parts[scope].records) for scope in scopes), itertools.count()

    def report() -> None:
        if stop():
            raise UserError(
                tr("import stopped; what was imported so far stays. Import the file again to add the rest.")
            )
        tell(next(numbers), total)

    found: list[ImportCounts] = []
    with setup.logs.group(tr("the import of {name}", name=name)):
        if "project" in scopes:
            if bundle.knowledge:
                found += _merge_knowledge(setup, bundle.knowledge)
            if bundle.notes:
                found.append(_merge_notes(setup, bundle.notes))
            if bundle.feedback:
                found.append(_merge_feedback(setup, bundle.feedback))
        if "user" in scopes and bundle.scenarios is not None:
            found.append(_merge_task_types(setup, bundle.scenarios))
        for one in scopes:
            if parts[one] != RecordsPart():
                found += _merge_memories(setup, parts[one], one, report)
        if bundle.styles and "user" in scopes:
            found.append(_merge_learned_styles(setup, bundle.styles.learned))
            found.append(_merge_style_files(setup, bundle.styles.user, "user"))
        if bundle.styles and "project" in scopes:
            found.append(_merge_style_files(setup, bundle.styles.project, "project"))
    return tuple(
        counts
        for counts in found
        if any((counts.changes, counts.known, counts.kept, counts.forgotten, counts.unusable))
    )
