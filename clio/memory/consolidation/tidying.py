"""What a consolidation run does once its turns are replayed: promote, supersede, prune and compact memories."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, UserError
from clio.memory.consolidation.finding_saver import Changes
from clio.memory.consolidation.progress import MIN_SESSIONS, ConsolidationState
from clio.memory.store.deduplication import OUTDATED_KINDS, find_outdated
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import (
    PROGRESS_KEY,
    PROJECT_KINDS,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    get_kind_label,
)
from clio.memory.store.typed_store import TypedStore
from clio.memory.styles.feedback import Trajectories
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.storage.files import get_stamp
from clio.storage.locks import FileLock
from clio.text.consolidate import is_variant_expired
from clio.text.scoring import DAY_S
from clio.text.translation import tr

MAX_CHARS = 600
"""Maximum length of a note that is promoted; a longer one is a document, and search finds it as a note."""
_CONFIDENCE = 0.7
EVERY_S = 20 * 3_600.0
"""Interval at which an unchanged store is searched for faded memories: about once a day."""
MAX_CONTRADICTING = 20
"""Number of facts that share words with a project memory and are checked for a contradiction."""


class _UserCompaction(Struct, frozen=True, kw_only=True):
    """The time at which any project's consolidation last compacted the user's memories."""

    compacted_at: float = 0.0


_USER_COMPACTION = DocumentFormat(schema="clio.sleep_of_person", version=1, type=_UserCompaction)


class Tidying:
    """Promotes notes and tidies the stores of one run. Methods raise StorageError, OSError, TimeoutError.

    Args:
        user_folder: the folder of the user's memories, with `sleep.person.json`.
        is_over: whether the run must stop.
        done: what is changed is added to it.
    """

    def __init__(
        self,
        memories: MemoryStore,
        trajectories: Trajectories,
        user_folder: Path,
        *,
        now: float,
        is_over: Callable[[], bool],
        done: Changes,
    ) -> None:
        self._memories = memories
        self._trajectories = trajectories
        self._user_state_path = user_folder / "sleep.person.json"
        self._now = now
        self._is_over = is_over
        self._done = done

    def run(self, state: ConsolidationState) -> ConsolidationState:
        """Run all steps until the run must stop, and return the new state."""
        state = self._promote(state)
        for step in (self._expire_variants, self._supersede, self._prune, self._retain_turns):
            if self._is_over():
                return state
            step()
        if not self._is_over():
            state = self._compact_project(state)
        if not self._is_over():
            self._compact_user()
        return state

    def _promote(self, state: ConsolidationState) -> ConsolidationState:
        """Add notes that were used in three sessions to the discoveries, each once as long as its text does not change.

        Returns the state with the hashes of promoted notes.
        """
        notes = {note.key: note for note in self._memories.notes() if _is_promotable(note)}
        for key in sorted(notes.keys() & state.notes.keys()):
            if self._is_over():
                break
            note = notes[key]
            name = hashlib.sha256(note.content.encode("utf-8", "replace")).hexdigest()[:16]
            if len(state.notes[key]) < MIN_SESSIONS or state.promoted.get(key) == name:
                continue
            draft = MemoryDraft(
                kind="discovery", content=f"{key}: {' '.join(note.content.split())}", confidence=_CONFIDENCE
            )
            try:
                added = self._memories.add(draft, Provenance(session=state.notes[key][-1], asserted_by="model"))
            except UserError:
                continue  # not valid as a memory; the note itself stays
            state = structs.replace(state, promoted=state.promoted | {key: name})
            if added.is_new:
                self._done.counts["promoted"] += 1
                line = tr(
                    "note {key!r}, used in {count} sessions, is now project fact {id}",
                    key=key,
                    count=MIN_SESSIONS,
                    id=added.record.id,
                )
                self._done.lines.append(line)
        return state

    def _expire_variants(self) -> None:
        """Archive contradicting variants that are doubtful and have not been stated again for long."""
        count = 0
        for store in (self._memories.project, self._memories.user):
            # Variants count as superseded for every other search, because they are never recalled by themselves.
            ids = [record.id for record in store.records(superseded=True) if self._is_expired_variant(record)]
            if ids:
                store.forget_all(ids, f"archived {len(ids)} doubtful variants")
                count += len(ids)
        if count:
            line = tr("archived {count} variants with less than 30 % confidence and older than 90 days", count=count)
            self._done.lines.append(line)
        self._done.counts["archived"] += count

    def _is_expired_variant(self, record: MemoryRecord) -> bool:
        days = (self._now - max(record.seen, record.created)) / DAY_S
        is_expired = record.is_variant and is_variant_expired(record.confidence_at(self._now), days)
        return is_expired and not record.explicit

    def _supersede(self) -> None:
        """Archive project memories that a newer one, or a newer fact, contradicts."""
        entries = self._memories.records(PROJECT_KINDS)
        near = (
            hit.record
            for entry in entries
            if entry.kind in OUTDATED_KINDS
            for hit in self._memories.project.peek(entry.content, MAX_CONTRADICTING, "fact")
        )
        facts = {one.id: structs.replace(one, examples=tuple(one.hashes)) for one in near if not one.is_variant}
        successors = find_outdated(entries, tuple(facts.values()))
        gone = self._memories.ltm.supersede(successors) if successors else ()
        said = facts | {entry.id: entry for entry in entries}
        self._done.lines += (
            f"{get_kind_label(old.kind)} “{old.line[:100]}” replaced by “{said[successors[old.id]].line[:100]}”"
            for old in gone
        )
        self._done.counts["superseded"] += len(gone)

    def _prune(self) -> None:
        """Archive project memories that are old or doubtful, as `/memory prune` does."""
        if not self._memories.ltm.prune(dry_run=True).removed:
            return
        removed = self._memories.ltm.prune().removed
        self._done.lines += (f"archived {get_kind_label(entry.kind)} “{entry.line[:100]}”" for entry in removed)
        self._done.counts["archived"] += len(removed)

    def _retain_turns(self) -> None:
        retained = self._trajectories.retain(self._now)
        self._done.counts.update(turns_archived=retained.archived, turns_deleted=retained.deleted)

    def _compact_project(self, state: ConsolidationState) -> ConsolidationState:
        """Compact the project's memories, unless they are unchanged and were compacted less than 20 hours ago."""
        store = self._memories.project
        stamp = _stamp(store)
        if not stamp or (stamp == state.compacted and self._now - state.compacted_at < EVERY_S):
            return state
        self._compact(store)
        # An interrupted compaction is not recorded as done, so that the next run finishes it.
        return state if self._is_over() else structs.replace(state, compacted=_stamp(store), compacted_at=self._now)

    def _compact_user(self) -> None:
        """Compact the user's memories about once a day, whichever project's consolidation comes first."""
        store = self._memories.user
        if not _stamp(store):
            return
        # The user's memories belong to all projects, whose consolidations may run at the same time.
        lock = FileLock(self._user_state_path.with_name("sleep.person.lock"))
        if not lock.acquire():
            return  # another project's consolidation is doing it
        try:
            try:
                document = load_document(self._user_state_path, _USER_COMPACTION)
            except CorruptDocument:
                document = None  # it was moved aside; at worst the memories are compacted once more
            if document and self._now - document.value.compacted_at < EVERY_S:
                return
            self._compact(store)
            if not self._is_over():
                done = Document(value=_UserCompaction(compacted_at=self._now))
                save_document(self._user_state_path, _USER_COMPACTION, done)
        finally:
            lock.release()

    def _compact(self, store: TypedStore) -> None:
        compacted = store.compact(stop=self._is_over)
        faded, merged = compacted.removed - compacted.merged, compacted.merged
        self._done.counts.update(archived=faded, merged=merged)
        if faded:
            self._done.lines.append(tr("{count} memories faded", count=faded))
        if merged:
            self._done.lines.append(tr("{count} memories merged with similar ones", count=merged))


def _is_promotable(note: MemoryRecord) -> bool:
    return note.key != PROGRESS_KEY and 0 < len(note.content.strip()) <= MAX_CHARS


def _stamp(store: TypedStore) -> str:
    """Return a string that changes whenever the files of a store do; empty if there are none."""
    # Both: a change goes to the journal first, and the snapshot stays as it was.
    stamps = map(get_stamp, (store.path, store.path.with_suffix(".journal.jsonl")))
    found = [stamp[1:] for stamp in stamps if stamp]
    return msgspec.json.encode(found).decode() if found else ""
