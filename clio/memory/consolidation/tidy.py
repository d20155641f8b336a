"""The end of a consolidation run: supersede, promote, merge, decay and prune."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, UserError
from clio.memory.consolidation.progress import LEAST_SESSIONS, ConsolidationState
from clio.memory.consolidation.stores import ConsolidationStores
from clio.memory.store.deduplication import judge
from clio.memory.store.ltm_merge import TRUST
from clio.memory.store.ltm_objects import scope
from clio.memory.store.record import Kind, MemoryDraft, MemoryRecord, Note, Provenance
from clio.memory.store.redact_memory import cleaned_entry
from clio.memory.store.typed_store import Compacted, TypedStore
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.storage.locks import FileLock
from clio.text.consolidate import is_variant_expired
from clio.text.scoring import DAY_S, decay_confidence
from clio.text.similarity import LshIndex, compute_signature, distinctive_words

KINDS: tuple[Kind, ...] = ("discovery", "pattern", "rule")
"""Those that say what is so. Of an error there may be several solutions, and of a task several ways."""
SITTING_S = 2 * 3_600.0
"""What was said within so long was said side by side: "worker 1 runs here", "worker 2 runs there"."""


def outdated(entries: Sequence[MemoryRecord], facts: Sequence[MemoryRecord] = ()) -> dict[str, str]:
    """The entries that no longer hold: handle → the handle of the newest entry, or id of the fact, that says otherwise.

    facts: memories, as `as_entry` makes them; they may take an entry's place, whatever its kind.
    """
    found: dict[str, str] = {}
    for kind in KINDS:
        there = [entry for entry in entries if entry.kind == kind]
        known = {entry.id: entry for entry in (*facts, *there)}
        alike: LshIndex[str] = LshIndex()
        signatures = {id: compute_signature(distinctive_words(entry.content)) for id, entry in known.items()}
        for id, one in signatures.items():
            alike.add(id, one)
        for old in there:
            near = [known[id] for id in alike.find_candidates(signatures[old.id]) if id != old.id]
            newer = [new for new in near if _takes_its_place(old, new)]
            if newer:
                found[old.id] = max(newer, key=lambda new: (new.begun, new.id)).id
    return found


def as_entry(record: MemoryRecord) -> MemoryRecord:
    """A memory as something an entry can be weighed against."""
    return MemoryRecord(
        kind="discovery",
        id=record.id,
        content=record.content,
        created=record.begun,
        updated=max(record.seen, record.begun),
        examples=tuple(record.hashes),
        provenance=record.provenance,
        confidence=0.8,
    )


def _takes_its_place(old: MemoryRecord, new: MemoryRecord) -> bool:
    if new.begun - old.updated < SITTING_S or _trust(new) < _trust(old) or scope(old.context) != scope(new.context):
        return False
    if old.examples and new.examples and not set(old.examples) & set(new.examples):
        return False
    return judge(old.content, new.content) == "successor"


def _trust(entry: MemoryRecord) -> int:
    return TRUST[entry.provenance.asserted_by if entry.provenance else "model"]


MAX_CHARS = 600
"""A longer note is a document: it stays where it is, and is found there."""
PROGRESS_KEY = "session_progress"
_CONFIDENCE = 0.7


def promote(
    ground: ConsolidationStores, state: ConsolidationState, over: Callable[[], bool]
) -> tuple[ConsolidationState, list[str]]:
    """Add the notes that were seen in three sessions to the discoveries, each once as long as its words are the same.

    Returns the state with their digests, and a line for each. Raises StorageError, OSError, TimeoutError.
    """
    lines: list[str] = []
    there = {note.key: note for note in ground.notes.newest_first()}
    for key in sorted(state.notes):
        note = there.get(key)
        if over():
            break
        if note is None or len(state.notes[key]) < LEAST_SESSIONS or not _is_worth_it(note):
            continue
        name = hashlib.sha256(note.content.encode("utf-8", "replace")).hexdigest()[:16]
        if state.promoted.get(key) == name:
            continue
        draft = MemoryDraft(
            kind="discovery", content=f"{key}: {' '.join(note.content.split())}", confidence=_CONFIDENCE
        )
        said = Provenance(session=state.notes[key][-1], asserted_by="model")
        try:
            added = ground.knowledge.add(cleaned_entry(draft, ground.redact), said)
        except UserError:
            continue  # words no entry can hold; the note itself stays
        state = structs.replace(state, promoted=state.promoted | {key: name})
        if added.is_new:
            lines.append(f"note {key!r}, seen in {LEAST_SESSIONS} sessions, is the discovery {added.record.id}")
    return state, lines


def _is_worth_it(note: Note) -> bool:
    return note.key != PROGRESS_KEY and 0 < len(note.content.strip()) <= MAX_CHARS


EVERY_S = 20 * 3_600.0
"""What nobody changed is looked through for what has faded once a day."""

NEAR = 20
"""So many facts with words of an entry are looked at for one that contradicts it."""


class _Person(Struct, frozen=True, kw_only=True):
    """When the person's memories were compacted last, by whichever project's night."""

    compacted_at: float = 0.0


class Tidied(Struct, frozen=True, kw_only=True):
    """What was tidied, in the names of a report's fields, and one line for each part that changed something."""

    superseded: int = 0
    merged: int = 0
    archived: int = 0
    turns_archived: int = 0
    turns_deleted: int = 0
    changes: tuple[str, ...] = ()

    def __add__(self, other: "Tidied") -> "Tidied":
        return Tidied(
            superseded=self.superseded + other.superseded,
            merged=self.merged + other.merged,
            archived=self.archived + other.archived,
            turns_archived=self.turns_archived + other.turns_archived,
            turns_deleted=self.turns_deleted + other.turns_deleted,
            changes=self.changes + other.changes,
        )


_PERSON = DocumentFormat(schema="clio.sleep_of_person", version=1, type=_Person)


def tidy(
    ground: ConsolidationStores, state: ConsolidationState, now: float, over: Callable[[], bool]
) -> tuple[ConsolidationState, Tidied]:
    """Do each part in turn until it is over; the state says what need not be done again soon.

    Raises StorageError, OSError, TimeoutError.
    """
    done = Tidied()
    for part in (_expire_variants, _supersede, _prune, _retain):
        if over():
            return state, done
        done += part(ground, now)
    if not over():
        state, compacted = _compact(ground, state, now, over)
        done += compacted
    if not over():
        done += _compact_person(ground, now, over)
    return state, done


def _expire_variants(ground: ConsolidationStores, now: float) -> Tidied:
    """Put what contradicts, is doubtful and has long not been said again into the archive."""
    gone: list[str] = []
    for store in (ground.memories.project, ground.memories.user):
        ids = [record.id for record in store.records(superseded=True) if _expires(record, now)]
        if ids:
            store.forget_all(ids, f"let {len(ids)} doubtful variants go")
            gone += ids
    changes = (f"{len(gone)} variants below 30 % sure and older than 90 days left",) if gone else ()
    return Tidied(archived=len(gone), changes=changes)


def _expires(record: MemoryRecord, now: float) -> bool:
    if record.variants_of is None or record.explicit:
        return False
    sure = decay_confidence(record.confidence, (now - record.accessed) / DAY_S)
    return is_variant_expired(sure, (now - max(record.seen, record.created)) / DAY_S)


def _supersede(ground: ConsolidationStores, now: float) -> Tidied:
    """Put entries of the project knowledge that a newer one, or a newer fact, contradicts into the archive."""
    entries = ground.knowledge.read().entries
    store = ground.memories.project
    near = [hit.record for entry in entries if entry.kind in KINDS for hit in store.peek(entry.content, NEAR, "fact")]
    facts = {record.id: as_entry(record) for record in near if not record.is_variant}
    successors = outdated(entries, tuple(facts.values()))
    gone = ground.knowledge.supersede(successors) if successors else ()
    said = facts | {entry.id: entry for entry in entries}
    changes = tuple(
        f"{old.kind} “{old.line[:100]}” gave way to “{said[successors[old.id]].line[:100]}”" for old in gone
    )
    return Tidied(superseded=len(gone), changes=changes)


def _prune(ground: ConsolidationStores, now: float) -> Tidied:
    """Put entries of the project knowledge that are old or doubtful into the archive, as `/memory prune` would."""
    if not ground.knowledge.prune(dry_run=True).removed:
        return Tidied()
    removed = ground.knowledge.prune().removed
    changes = tuple(f"{entry.kind} “{entry.line[:100]}” went to the archive" for entry in removed)
    return Tidied(archived=len(removed), changes=changes)


def _retain(ground: ConsolidationStores, now: float) -> Tidied:
    done = ground.trajectories.retain(now)
    return Tidied(turns_archived=done.archived, turns_deleted=done.deleted)


def _compact(
    ground: ConsolidationStores, state: ConsolidationState, now: float, over: Callable[[], bool]
) -> tuple[ConsolidationState, Tidied]:
    """Compact the project's memories, unless nothing was changed since it was done last and that is not long ago."""
    store = ground.memories.project
    stamp = _stamp(store)
    if not stamp or (stamp == state.compacted and now - state.compacted_at < EVERY_S):
        return state, Tidied()
    done = _tidied(store.compact(stop=over))
    if over():
        return state, done
    return structs.replace(state, compacted=_stamp(store), compacted_at=now), done


def _compact_person(ground: ConsolidationStores, now: float, over: Callable[[], bool]) -> Tidied:
    """The same for the person's memories, by one process a day."""
    store = ground.memories.user
    if not _stamp(store):
        return Tidied()
    lock = FileLock(ground.person_file.with_name("sleep.person.lock"))
    if not lock.acquire():
        return Tidied()  # another project's night is at it
    try:
        if now - _person_was_at(ground.person_file) < EVERY_S:
            return Tidied()
        done = _tidied(store.compact(stop=over))
        if not over():
            save_document(ground.person_file, _PERSON, Document(value=_Person(compacted_at=now)))
        return done
    finally:
        lock.release()


def _person_was_at(path: Path) -> float:
    try:
        document = load_document(path, _PERSON)
    except CorruptDocument:
        return 0.0  # it was set aside; the worst is that it is done once more
    return document.value.compacted_at if document else 0.0


def _tidied(done: Compacted) -> Tidied:
    faded = done.removed - done.merged
    lines = [f"{faded} memories faded"] if faded else []
    lines += [f"{done.merged} memories joined with one like them"] if done.merged else []
    return Tidied(merged=done.merged, archived=faded, changes=tuple(lines))


def _stamp(store: TypedStore) -> str:
    """How the files of a store stand; empty where there is none."""
    found: list[tuple[int, int, int]] = []
    for path in (store.path, store.path.with_suffix(".journal.jsonl")):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return msgspec.json.encode(found).decode() if found else ""
