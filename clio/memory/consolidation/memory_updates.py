"""What a consolidation run changes in memory: it saves findings, applies corrections, and then tidies the stores.

Each finding is saved once. Once the turns are replayed, memories are promoted, superseded, archived and compacted.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, UserError
from clio.ids import id_time
from clio.memory.consolidation.consolidation import MIN_SESSIONS, ConsolidationState
from clio.memory.consolidation.corrections import Match, Stated, archive_refuted, match_corrections
from clio.memory.consolidation.experiences import QUOTE_CHARS, Correction, Finding
from clio.memory.preferences.stated_preferences import list_about_user
from clio.memory.statement_rewording import is_restated
from clio.memory.store.deduplication import OUTDATED_KINDS, compare_texts, find_outdated, is_known
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import (
    PROGRESS_KEY,
    PROJECT_KINDS,
    MemoryDraft,
    MemoryRecord,
    ProjectKind,
    Provenance,
    Saved,
    get_kind_label,
    shorten_content,
)
from clio.memory.store.typed_store import TypedStore
from clio.memory.store.versions import read_changed_records
from clio.memory.styles.feedback import Trajectories
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.storage.files import get_stamp
from clio.storage.locks import FileLock
from clio.text.consolidate import is_variant_expired
from clio.text.formatting import truncate_line
from clio.text.scoring import DAY_S
from clio.text.translation import tr
from clio.text.vocabulary import extract_terms

_RESULT_NAMES = {
    "merged": "confirmed",
    "superseded": "superseded",
    "variant": "variants",
    "replaced_variant": "variants",
    "dropped": "dropped",
}
_IMPORTANCE, _BY_TURN = 0.5, 0.4
"""Importance of a fact: 0.5, plus 0.4 × the importance of its turn."""
_CORRECTED = 0.9
"""Confidence in a statement with which the user corrected another one."""
_MAX_COMPARED = 50
"""Number of memories with words of a correction that are compared with it."""
_CHARS_BEFORE = 500
"""Number of characters of the message before a correction whose words are searched, too: its end."""
_MAX_NOTE = 600
"""Maximum length of a note that is promoted; a longer one is a document, and search finds it as a note."""
_PROMOTED = 0.7
"""Confidence in a note that is promoted."""
_COMPACT_EVERY_S = 20 * 3_600.0
"""Interval at which an unchanged store is searched for faded memories: about once a day."""
_MAX_CONTRADICTING = 20
"""Number of facts that share words with a project memory and are checked for a contradiction."""


class Changes:
    """What a run has changed so far.

    Attributes:
        counts: how often each thing happened, with the names of the report's fields.
        lines: one line for each change.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []


class FindingSaver:
    """Saves findings, each once per run. Findings that an earlier run saved before it was killed are not saved again.

    No model is asked whether two memories are the same: a run must not wait for one.

    Args:
        redact: removes secrets, as the store does before it saves a text.
        done: what is saved is added to it.
    """

    def __init__(self, memories: MemoryStore, redact: Callable[[str], str], done: Changes) -> None:
        self._memories = memories
        self._redact = redact
        self._done = done
        self._saved_this_run: set[str] = set()
        self._times: dict[str, float] = {}

    def save(self, finding: Finding, importance: float = 0.5) -> bool:
        """Save a finding; return False if it is known or invalid. Raises StorageError, OSError, TimeoutError.

        importance: the importance of its turn, 0.0 to 1.0.
        """
        name = hash_finding(finding)
        if name in self._saved_this_run or self.was_saved(finding):
            return False
        self._saved_this_run.add(name)
        if finding.kind == "fact" and self._is_restated(finding.text, finding.session):
            return False
        if finding.kind in ("fact", "preference") and self._was_taken_back(finding):
            return False
        if finding.kind in ("fact", "rule") and (known := self._find_known(finding)) is not None:
            if known.kind != "discovery" or (known.is_stated_by_user and _is_from(known, finding.session)):
                return False
            finding = structs.replace(finding, kind="fact", text=known.content)  # confirms it
        try:
            if finding.kind in get_args(ProjectKind):
                self._save_project_memory(finding)
            else:
                self._save_typed_memory(finding, importance)
        except UserError:
            return False  # too long, or nothing is left of it without secrets
        return True

    def was_saved(self, finding: Finding) -> bool:
        """Whether a finding was saved before, so that what became of it since needs no finding."""
        text = fold_text(self._redact(finding.text))
        return any((finding.session, message, text) in self._saved for message in (finding.message, ""))

    @cached_property
    def _saved(self) -> set[tuple[str, str, str]]:
        """What was saved before this run saves anything: the session and message it came from, and its folded text.

        What was replaced, forgotten or undone is included: it must not be learned again from the session it came from.
        What was saved while the user typed has no message.
        """
        store = self._memories.project
        undone = (one.change for one in self._memories.logs.project.read_changes() if one.undone_at is not None)
        saved = (
            *store.records(superseded=True),
            *self._memories.records(PROJECT_KINDS),
            *(former.record for former in store.formers()),
            *(record for change in undone for record in read_changed_records(change)[1]),
        )
        return {
            (said.session, said.message, fold_text(record.content))
            for record in saved
            if (said := record.provenance) is not None and said.session
        }

    @cached_property
    def _taken_back(self) -> tuple[list[tuple[MemoryRecord, float]], dict[str, float]]:
        """What the user undid or forgot, each memory with the time; and by id, when an undo brought a memory back."""
        memories = self._memories
        live = {(one.id, fold_text(one.content)) for one in memories.records()}
        gone = [
            (version.record, version.until)
            for version in memories.versions()
            if version.is_final and version.because == "forgotten" and version.until is not None
        ]
        restored: dict[str, float] = {}
        for log in dict.fromkeys((memories.logs.project, memories.logs.user)):
            for logged in log.read_changes():
                if (at := logged.undone_at) is not None:
                    before, after = read_changed_records(logged.change)
                    gone += [(one, at) for one in after if (one.id, fold_text(one.content)) not in live]
                    restored |= {one.id: max(at, restored.get(one.id, 0.0)) for one in before}
        return gone, restored

    def _was_taken_back(self, finding: Finding) -> bool:
        """Whether a finding says what its session led to and the user then took back.

        "Remember that X" is saved as X while the user types; the session's text gives the sentence in other words.
        """
        text = self._redact(finding.text)
        return any(
            record.provenance is not None
            and record.provenance.session == finding.session
            and finding.at <= at
            and (
                compare_texts(record.content, text) == "same"
                or is_restated(text, record.content)
                or is_restated(record.content, text)
            )
            for record, at in self._taken_back[0]
        )

    def _is_restated(self, text: str, session: str) -> bool:
        """Whether the same session led to a memory that says this and more.

        "The port is 9090 now" has become "the staging server listens on port 9090" when the user typed it.
        """
        text = self._redact(text)
        return any(
            record.kind == "fact"
            and record.provenance is not None
            and record.provenance.asserted_by == "user"
            and fold_text(record.content) != fold_text(text)
            and is_restated(text, record.content)
            for record in self._memories.stated_in(session)
        )

    def _find_known(self, finding: Finding) -> MemoryRecord | None:
        """Return what says the same as a statement where saving it would not find it: in other scopes and kinds.

        That is a preference, a memory of all projects, a project fact that the model saved, or a fact that clio made of
        the sentence when the user typed it. A limit of the session says the same if the sentence has all its words.
        """
        memories = self._memories
        text = self._redact(finding.text)
        terms = set(extract_terms(text))
        stated = [one for one in memories.stated_in(finding.session) if one.is_stated_by_user and one.kind == "fact"]
        known = (*memories.records(("preference", "discovery"), with_notes=False), *memories.user.records(), *stated)
        for record in known:
            if terms.isdisjoint(extract_terms(record.content)):
                continue
            is_limit = record.is_limit and _is_from(record, finding.session)
            if compare_texts(record.content, text) == "same" or (is_limit and is_restated(record.content, text)):
                return record
        return None

    def knows(self, finding: Finding) -> bool:
        """Whether project memory contains the finding at present."""
        text = fold_text(self._redact(finding.text))
        entries = self._memories.records(PROJECT_KINDS)
        return any(entry.kind == finding.kind and fold_text(entry.content) == text for entry in entries)

    def correct(self, corrections: Sequence[Correction]) -> list[Correction]:
        """Replace facts and discoveries by the corrections that refute them; return corrections that refute none.

        Raises StorageError, OSError, TimeoutError.
        """
        discoveries = self._memories.records(("discovery",))
        matched = match_corrections(corrections, lambda one: self._near(one, discoveries))
        for match in matched:
            self._replace(match)
        applied = {(match.correction.message, match.correction.quote) for match in matched}
        return [
            structs.replace(one, text=self._redact(one.text), quote=self._redact(one.quote))
            for one in corrections
            if (one.message, one.quote) not in applied and not self._is_restated(one.text, one.session)
        ]

    def _near(self, correction: Correction, discoveries: Sequence[MemoryRecord]) -> list[Stated]:
        """Return the statements in memory that share words with a correction or, as "no, 45" has none, with the message
        before it.
        """
        records = {
            hit.record.id: hit.record
            for store in (self._memories.project, self._memories.user)
            for kind in ("fact", "note")
            for query in dict.fromkeys((correction.text, correction.before[-_CHARS_BEFORE:]))
            if query
            for hit in store.peek(query, _MAX_COMPARED, kind)
        }
        typed = [self._stated(record) for record in records.values() if not record.is_variant]
        return typed + [self._stated(entry) for entry in discoveries]

    def _stated(self, record: MemoryRecord) -> Stated:
        said = record.provenance
        if record.kind == "discovery":
            at = max(record.updated, record.stated_since)
        else:
            at = self._times.get(said.message) or id_time(said.message) if said else 0.0
        # An undone correction must not refute again what the undo restored.
        at = max(at or record.stated_since, self._taken_back[1].get(record.id, 0.0))
        is_live = said is not None and said.asserted_by == "user" and not said.message
        return Stated(id=record.id, text=record.content, at=at, session=said.session if said else "", is_live=is_live)

    def _replace(self, match: Match) -> None:
        """Save the statement of a correction, and archive what it refutes."""
        correction, refuted = match.correction, match.refuted
        new: MemoryRecord | None = None
        if text := match.content:
            self.save(
                Finding(
                    kind="fact",
                    text=text,
                    confidence=_CORRECTED,
                    asserted_by="user",
                    quote=correction.quote[:QUOTE_CHARS],
                    session=correction.session,
                    message=correction.message,
                    at=correction.at,
                )
            )
            plain = fold_text(self._redact(text))
            facts = self._memories.records(("fact",))
            new = next((one for one in facts if fold_text(one.content) == plain), None)
        ids = [one.id for one in refuted if new is None or one.id != new.id]
        title = f"replaced by “{truncate_line(correction.text, 80)}”"
        gone = archive_refuted(self._memories, ids, new, title)
        if new is not None:
            self._forget_short_form(correction, new)
        self._done.counts["superseded"] += gone
        if gone and new is None:
            self._done.lines.append(
                tr(
                    "“{old}” was refuted by “{quote}”",
                    old=truncate_line(refuted[0].text, 100),
                    quote=correction.quote[:100],
                )
            )

    def _forget_short_form(self, correction: Correction, new: MemoryRecord) -> None:
        """Archive the correction's own sentence, if it was saved as a fact before it was known what it corrects."""
        store = self._memories.project
        short_forms = [
            record.id
            for record in store.index.of_session(correction.session)
            if record.kind == "fact"
            and record.id != new.id
            and record.provenance is not None
            and record.provenance.message == correction.message
            and is_restated(record.content, new.content)
        ]
        if short_forms:
            store.forget_all(short_forms, f"part of “{shorten_content(new)}”", "outweighed")

    def _add_line(self, finding: Finding, text: str, rest: str = "") -> None:
        by = tr(", found by the model") if finding.asserted_by == "model" else ""
        self._done.lines.append(f"{tr(get_kind_label(finding.kind))} “{truncate_line(text, 120)}”{rest}{by}")

    def _save_typed_memory(self, finding: Finding, importance: float) -> None:
        said = _provenance(finding)
        if finding.asserted_by == "model":
            # An answer may repeat a memory that was put before the question; that does not confirm the memory.
            hits = self._memories.project.peek(finding.text, _MAX_COMPARED, finding.kind)
            if is_known(finding.text, (hit.record.content for hit in hits)):
                said = Provenance(asserted_by="model")
        done = self._memories.add(
            MemoryDraft(
                content=finding.text,
                kind="fact" if finding.kind == "fact" else "preference",
                importance=_IMPORTANCE + _BY_TURN * importance,
                examples=finding.files,
                confidence=finding.confidence,
                created=finding.at,
            ),
            scope="user" if list_about_user(finding.text) else "project",
            provenance=said,
        )
        if self._is_outdated(finding, done):
            if (change := self._memories.logs.last()) is not None:
                self._memories.revert(change)
                self._memories.logs.mark([change], is_undone=True)
            self._done.counts["outdated"] += 1
            return
        self._times[finding.message] = finding.at
        became = _RESULT_NAMES.get(done.action, "facts" if finding.kind == "fact" else "preferences")
        self._done.counts[became] += 1
        if became not in ("confirmed", "dropped"):
            other = done.other if done.action == "superseded" else None
            old = tr(", replacing “{content}”", content=shorten_content(other)) if other else ""
            self._add_line(finding, done.record.content, old)

    def _is_outdated(self, finding: Finding, done: Saved) -> bool:
        """Whether the memory it replaced was stated later: turns are not replayed in chronological order."""
        old = done.other if done.action == "superseded" else None
        if old is None or old.provenance is None:
            return False
        said = self._times.get(old.provenance.message) or id_time(old.provenance.message) or old.created
        return finding.at < said

    def _save_project_memory(self, finding: Finding) -> None:
        draft = MemoryDraft(
            kind=finding.kind,
            content=finding.text,
            solution=finding.solution,
            steps=finding.steps,
            confidence=finding.confidence,
            examples=finding.files,
            created=finding.at,
        )
        added = self._memories.add(draft, _provenance(finding))
        self._done.counts[f"{finding.kind}s" if added.is_new else "confirmed"] += 1
        if added.is_new:
            self._add_line(finding, added.record.line)


def hash_finding(finding: Finding) -> str:
    """Return a hash of a finding's content, independent of where it was found."""
    parts = (finding.kind, finding.text, finding.solution, *finding.steps)
    return hashlib.sha256("\0".join(map(fold_text, parts)).encode("utf-8", "replace")).hexdigest()[:16]


def _is_from(record: MemoryRecord, session: str) -> bool:
    return record.provenance is not None and record.provenance.session == session


def _provenance(finding: Finding) -> Provenance:
    return Provenance(session=finding.session, message=finding.message, asserted_by=finding.asserted_by)


def fold_text(text: str) -> str:
    """Return a text in a form in which case and white space make no difference."""
    return " ".join(text.casefold().split())


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
        notes = {
            note.key: note
            for note in self._memories.notes()
            if note.key != PROGRESS_KEY and 0 < len(note.content.strip()) <= _MAX_NOTE
        }
        for key in sorted(notes.keys() & state.notes.keys()):
            if self._is_over():
                break
            note = notes[key]
            name = hashlib.sha256(note.content.encode("utf-8", "replace")).hexdigest()[:16]
            if len(state.notes[key]) < MIN_SESSIONS or state.promoted.get(key) == name:
                continue
            draft = MemoryDraft(
                kind="discovery", content=f"{key}: {' '.join(note.content.split())}", confidence=_PROMOTED
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
            for hit in self._memories.project.peek(entry.content, _MAX_CONTRADICTING, "fact")
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
        if not stamp or (stamp == state.compacted and self._now - state.compacted_at < _COMPACT_EVERY_S):
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
            if document and self._now - document.value.compacted_at < _COMPACT_EVERY_S:
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


def _stamp(store: TypedStore) -> str:
    """Return a string that changes whenever the files of a store do; empty if there are none."""
    # Both: a change goes to the journal first, and the snapshot stays as it was.
    stamps = map(get_stamp, (store.path, store.path.with_suffix(".journal.jsonl")))
    found = [stamp[1:] for stamp in stamps if stamp]
    return msgspec.json.encode(found).decode() if found else ""
