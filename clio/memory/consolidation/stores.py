"""The stores that a consolidation run changes: saving findings, and at the end supersede, promote, merge and prune.

Also how far consolidation has come, in `.clio/sleep.json`.
"""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.config.project_links import SHARED_NAME
from clio.errors import CorruptDocument, UserError
from clio.ids import id_time
from clio.memory.consolidation.command_findings import HabitState
from clio.memory.consolidation.corrections import (
    Correction,
    Stated,
    archive_refuted,
    make_replacement,
    match_corrections,
)
from clio.memory.consolidation.experiences import QUOTE_CHARS, Finding
from clio.memory.consolidation.value_changes import is_restated
from clio.memory.store.change_log import LOG_NAME, ScopeLogs, decode_records
from clio.memory.store.deduplication import compare_texts, is_known
from clio.memory.store.ltm_codec import normalize_rule_path, to_record
from clio.memory.store.ltm_objects import ObjectState
from clio.memory.store.memory_index import Ranked
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import (
    PROGRESS_KEY,
    PROJECT_KINDS,
    TRUST,
    Kind,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    Saved,
    get_kind_label,
    shorten_content,
)
from clio.memory.store.typed_store import Compacted, TypedStore
from clio.memory.styles.trajectories import Trajectories
from clio.sessions.state import SessionInfo
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.storage.locks import FileLock
from clio.text.consolidate import is_variant_expired
from clio.text.formatting import truncate_line
from clio.text.scoring import DAY_S, decay_confidence
from clio.text.similarity import LshIndex, compute_signature, extract_distinctive_words

MAX_SAVED_HABITS = 2_000
MIN_SESSIONS = 3
"""Number of sessions in which a note must have been used to be promoted; further sessions are not stored."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of one session was replayed. Turns are named by the id of their first message.

    Attributes:
        done: the last turn up to which all turns were replayed.
        beyond: turns after it that were replayed, too.
        messages, updated: the number of messages and the last change of the session when all turns had been replayed.
    """

    done: str = ""
    beyond: tuple[str, ...] = ()
    messages: int = 0
    updated: float = 0.0

    def is_all_of(self, info: SessionInfo) -> bool:
        """Whether the session is unchanged since all its turns were replayed."""
        return bool(self.messages) and (self.messages, self.updated) == (info.messages, info.updated_at)


class ConsolidationState(Struct, frozen=True, kw_only=True):
    """The state that one consolidation run leaves for the next one: the content of `sleep.json`.

    Attributes:
        sessions: the progress of each session, by id.
        habits: the commands counted so far.
        notes: the sessions in which each note was used, at most three.
        promoted: for each promoted note, a hash of its text at that time.
        told: hashes of the habits that were saved as memories, each with the month.
        corrections: corrections that have refuted nothing so far; what they correct may be in turns that are not
            replayed yet.
        last_full: when the last complete pass ended, in seconds since the epoch.
        compacted, compacted_at: the stamp of the memory files after they were last compacted, and the time of that.
    """

    sessions: dict[str, Progress] = {}
    habits: HabitState = HabitState()
    notes: dict[str, tuple[str, ...]] = {}
    promoted: dict[str, str] = {}
    told: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    last_full: float = 0.0
    compacted: str = ""
    compacted_at: float = 0.0

    def tell(self, digests: Iterable[str]) -> "ConsolidationState":
        """Return the state after habits were saved as memories."""
        return structs.replace(self, told=(*self.told, *digests)[-MAX_SAVED_HABITS:])

    def with_notes(self, session: str, keys: Iterable[str]) -> "ConsolidationState":
        """Return the state after notes were used in a session."""
        new = {
            key: (*there, session)
            for key in keys
            if session not in (there := self.notes.get(key, ())) and len(there) < MIN_SESSIONS
        }
        return structs.replace(self, notes=self.notes | new) if new else self

    def only(self, sessions: Iterable[str]) -> "ConsolidationState":
        """Return the state without sessions that no longer exist."""
        there = set(sessions)
        kept = {id: progress for id, progress in self.sessions.items() if id in there}
        return self if len(kept) == len(self.sessions) else structs.replace(self, sessions=kept)


_STATE = DocumentFormat(schema="clio.sleep", version=1, type=ConsolidationState)


def read_state(path: Path) -> tuple[ConsolidationState, str]:
    """Return the state, and a message if its file was damaged and moved aside; then everything is replayed again.

    Raises NewerDocument, OSError.
    """
    try:
        document = load_document(path, _STATE)
    except CorruptDocument as error:
        return ConsolidationState(), str(error)
    return (document.value if document else ConsolidationState()), ""


def write_state(path: Path, state: ConsolidationState) -> None:
    """Write the state. The caller must hold the lock `sleep.lock`. Raises OSError."""
    save_document(path, _STATE, Document(value=state))


# The files to copy for a dry run. trusted.json is included because untrusted shared memories are not read.
_PROJECT_PATTERNS = ("memories*.json*", "ltm*.json", LOG_NAME, "sleep.json", "trajectories*.jsonl")
_USER_PATTERNS = ("memories*.json*", LOG_NAME, "sleep.person.json", "trusted.json")


class ConsolidationStores:
    """The stores that a run changes. All changes are in one group of logs, so that undo treats a run as one change.

    No model is asked whether two memories are the same: a run must not wait for one.

    Args:
        project: the folder to which paths in memories are relative.
        folder: the folder of the project's stores.
        person: the folder of the user's stores.
    """

    def __init__(
        self, project: Path, folder: Path, person: Path, *, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self.folder = folder
        self.person = person
        self.redact = redact
        self.logs = ScopeLogs(folder, person, clock=clock)
        self.memories = MemoryStore(
            folder, person, project=project, logs=self.logs, redact=redact, clock=clock, trust_home=person
        )
        self.trajectories = Trajectories(folder / "trajectories.jsonl")
        self.state_file = folder / "sleep.json"
        self.person_file = person / "sleep.person.json"


@contextmanager
def copied(folder: Path, person: Path) -> Generator[tuple[Path, Path]]:
    """Yield temporary copies of both folders' stores, for a dry run; they are deleted afterwards. Raises OSError.

    They are in the system's directory for temporary files, readable only by this user.
    """
    with tempfile.TemporaryDirectory(prefix="clio-dry-run-") as name:
        there = (Path(name) / "project" / ".clio", Path(name) / "home")
        for source, target, patterns in zip((folder, person), there, (_PROJECT_PATTERNS, _USER_PATTERNS), strict=True):
            target.mkdir(parents=True)
            for path in (path for pattern in patterns for path in source.glob(pattern) if path.is_file()):
                shutil.copyfile(path, target / path.name)
        for name in ("memory", SHARED_NAME):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, there[0] / name, symlinks=True)
        yield there


_KINDS: dict[str, Kind] = {"solution": "solution", "workflow": "workflow", "rule": "rule"}
_COUNT_NAMES = {"solution": "solutions", "workflow": "workflows", "rule": "rules"}
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
MAX_COMPARED = 50
"""Number of memories with words of a correction that are compared with it."""
_CHARS_BEFORE = 500
"""Number of characters of the message before a correction whose words are searched, too: its end."""

Source = tuple[str, str, str]
"""The session and message of a finding, and its text in comparable form."""


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

    done: what is saved is added to it.
    """

    def __init__(self, stores: ConsolidationStores, done: Changes) -> None:
        self._done = done
        self._stores = stores
        self._known: set[Source] | None = None
        self._saved_this_run: set[str] = set()
        self._times: dict[str, float] = {}

    @cached_property
    def _taken_back(self) -> "_TakenBack":
        return _find_taken_back(self._stores)

    def save(self, finding: Finding, importance: float = 0.5) -> bool:
        """Save a finding; return False if it is known or invalid. Raises StorageError, OSError, TimeoutError.

        importance: the importance of its turn, 0.0 to 1.0.
        """
        name = digest(finding)
        if name in self._saved_this_run or self.was_saved(finding):
            return False
        self._saved_this_run.add(name)
        if finding.kind == "fact" and self._is_restated(finding.text, finding.session):
            return False
        if finding.kind in ("fact", "preference") and self._taken_back.has(finding, self._stores.redact):
            return False
        try:
            if finding.kind in _KINDS:
                self._save_project_memory(finding)
            else:
                self._save_typed_memory(finding, importance)
        except UserError:
            return False  # too long, or nothing is left of it without secrets
        return True

    def was_saved(self, finding: Finding) -> bool:
        """Whether a finding was saved before, so that what became of it since needs no finding."""
        source = self._source(finding)
        return not {source, (source[0], "", source[2])}.isdisjoint(self._sources())

    def _is_restated(self, text: str, session: str) -> bool:
        """Whether the same session led to a memory that says this and more.

        "The port is 9090 now" has become "the staging server listens on port 9090" when the user typed it.
        """
        text = self._stores.redact(text)
        stores = (self._stores.memories.project, self._stores.memories.user)
        return any(
            record.provenance is not None
            and record.provenance.session == session
            and record.provenance.asserted_by == "user"
            and fold_text(record.content) != fold_text(text)
            and is_restated(text, record.content)
            for store in stores
            for record in store.each("fact")
        )

    def knows(self, finding: Finding) -> bool:
        """Whether project memory contains the finding at present."""
        kind, text = _KINDS.get(finding.kind), fold_text(self._stores.redact(finding.text))
        return any(
            entry.kind == kind and fold_text(entry.content) == text
            for entry in self._stores.memories.records(PROJECT_KINDS)
        )

    def correct(self, corrections: Sequence[Correction]) -> list[Correction]:
        """Replace facts and discoveries by the corrections that refute them; return corrections that refute none.

        Raises StorageError, OSError, TimeoutError.
        """
        discoveries = [entry for entry in self._stores.memories.records(PROJECT_KINDS) if entry.kind == "discovery"]
        matched = match_corrections(corrections, lambda one: self._near(one, discoveries))
        for correction, refuted in matched:
            self._replace(correction, refuted)
        applied = {(correction.message, correction.quote) for correction, _ in matched}
        redact = self._stores.redact
        return [
            structs.replace(one, text=redact(one.text), quote=redact(one.quote))
            for one in corrections
            if (one.message, one.quote) not in applied and not self._is_restated(one.text, one.session)
        ]

    def _near(self, correction: Correction, discoveries: Sequence[MemoryRecord]) -> list[Stated]:
        """Return the statements in memory that share words with a correction or, as "no, 45" has none, with the message
        before it.
        """
        records = {
            hit.record.id: hit.record
            for store in (self._stores.memories.project, self._stores.memories.user)
            for kind in ("fact", "note")
            for query in dict.fromkeys((correction.text, correction.before[-_CHARS_BEFORE:]))
            if query
            for hit in store.peek(query, MAX_COMPARED, kind)
        }
        return [
            *(self._stated(record) for record in records.values() if not record.is_variant),
            *(
                Stated(
                    id=entry.id,
                    text=entry.content,
                    at=max(entry.updated, entry.begun, self._taken_back.restored.get(entry.id, 0.0)),
                    session=entry.provenance.session if entry.provenance else "",
                )
                for entry in discoveries
            ),
        ]

    def _stated(self, record: MemoryRecord) -> Stated:
        said = record.provenance
        at = (self._times.get(said.message) or id_time(said.message)) if said and said.message else 0.0
        # An undone correction must not refute again what the undo restored.
        at = max(at or record.begun, self._taken_back.restored.get(record.id, 0.0))
        return Stated(id=record.id, text=record.content, at=at, session=said.session if said else "")

    def _replace(self, correction: Correction, refuted: Sequence[Stated]) -> None:
        """Save the statement of a correction, and archive what it refutes."""
        text = make_replacement(refuted[0].text, correction)
        if text:
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
        memories = self._stores.memories
        plain = fold_text(self._stores.redact(text))
        new = (
            next((one for one in memories.project.records() if fold_text(one.content) == plain), None) if text else None
        )
        ids = [one.id for one in refuted if new is None or one.id != new.id]
        title = f"replaced by “{truncate_line(correction.text, 80)}”"
        gone = archive_refuted(memories, ids, new, title)
        if new is not None:
            self._forget_short_form(correction, new)
        self._done.counts["superseded"] += gone
        if gone and new is None:
            self._done.lines.append(
                f"“{truncate_line(refuted[0].text, 100)}” was refuted by “{correction.quote[:100]}”"
            )

    def _forget_short_form(self, correction: Correction, new: MemoryRecord) -> None:
        """Archive the correction's own sentence, if it was saved as a fact before it was known what it corrects."""
        store = self._stores.memories.project
        short_forms = [
            record.id
            for record in store.each("fact")
            if record.id != new.id
            and record.provenance is not None
            and (record.provenance.session, record.provenance.message) == (correction.session, correction.message)
            and is_restated(record.content, new.content)
        ]
        if short_forms:
            store.forget_all(short_forms, f"part of “{shorten_content(new)}”", "outweighed")

    def _save_typed_memory(self, finding: Finding, importance: float) -> None:
        said = _provenance(finding)
        if finding.asserted_by == "model":
            # An answer may repeat a memory that was put before the question; that does not confirm the memory.
            hits = self._stores.memories.project.peek(finding.text, MAX_COMPARED, finding.kind)
            said = Provenance(asserted_by="model") if is_known(finding.text, _contents(hits)) else said
        done = self._stores.memories.add(
            MemoryDraft(
                content=finding.text,
                kind="fact" if finding.kind == "fact" else "preference",
                importance=_IMPORTANCE + _BY_TURN * importance,
                examples=finding.files,
                confidence=finding.confidence,
                created=finding.at,
            ),
            scope="project",
            provenance=said,
        )
        if self._is_outdated(finding, done):
            self._undo_last()
            self._done.counts["outdated"] += 1
            return
        self._times[finding.message] = finding.at
        self._count(finding, done)

    def _is_outdated(self, finding: Finding, done: Saved) -> bool:
        """Whether the memory it replaced was stated later: turns are not replayed in chronological order."""
        old = done.other if done.action == "superseded" else None
        if old is None or old.provenance is None:
            return False
        said = self._times.get(old.provenance.message) or id_time(old.provenance.message) or old.created
        return finding.at < said

    def _undo_last(self) -> None:
        change = self._stores.logs.last()
        if change is not None:
            self._stores.memories.revert(change)
            self._stores.logs.mark([change], is_undone=True)

    def _count(self, finding: Finding, done: Saved) -> None:
        became = _RESULT_NAMES.get(done.action, "facts" if finding.kind == "fact" else "preferences")
        self._done.counts[became] += 1
        if became not in ("confirmed", "dropped"):
            old = f", replacing “{shorten_content(done.other)}”" if done.action == "superseded" and done.other else ""
            self._done.lines.append(f"{get_kind_label(finding.kind)} “{truncate_line(done.record.content, 120)}”{old}")

    def _save_project_memory(self, finding: Finding) -> None:
        draft = MemoryDraft(
            kind=_KINDS[finding.kind],
            content=finding.text,
            solution=finding.solution,
            steps=finding.steps,
            confidence=finding.confidence,
            examples=finding.files,
            created=finding.at,
        )
        added = self._stores.memories.add(draft, _provenance(finding))
        self._done.counts[_COUNT_NAMES[finding.kind] if added.is_new else "confirmed"] += 1
        if added.is_new:
            self._done.lines.append(f"{get_kind_label(finding.kind)} “{truncate_line(added.record.line, 120)}”")

    def _source(self, finding: Finding) -> Source:
        return (finding.session, finding.message, fold_text(self._stores.redact(finding.text)))

    def _sources(self) -> set[Source]:
        """Return what was saved before, by where it came from; read once, before this run saves anything.

        What was replaced, forgotten or undone is included: it must not be learned again from the session it came from.
        What was saved while the user typed has no message.
        """
        if self._known is None:
            store = self._stores.memories.project
            undone: list[MemoryRecord] = []
            for logged in self._stores.logs.project.read_changes():
                if logged.undone_at is not None and logged.change.store in ("memory", "ltm"):
                    undone += _read_changed(logged.change.store, logged.change.after)
            current = (*store.records(superseded=True), *self._stores.memories.records(PROJECT_KINDS))
            saved = (*current, *(former.record for former in store.formers()), *undone)
            self._known = {
                (said.session, said.message, fold_text(record.content))
                for record in saved
                if (said := record.provenance) is not None and said.session
            }
        return self._known


class _TakenBack(Struct, frozen=True, kw_only=True):
    """What the user undid or forgot.

    Attributes:
        statements: the memories that ended with it, each with the time.
        restored: when a memory came back because a change was undone, by id.
    """

    statements: tuple[tuple[MemoryRecord, float], ...]
    restored: dict[str, float]

    def has(self, finding: Finding, redact: Callable[[str], str]) -> bool:
        """Whether a finding says what its session led to and the user then took back.

        "Remember that X" is saved as X while the user types; the session's text gives the sentence in other words.
        """
        text = redact(finding.text)
        return any(
            record.provenance is not None
            and record.provenance.session == finding.session
            and finding.at <= at
            and (
                compare_texts(record.content, text) == "same"
                or is_restated(text, record.content)
                or is_restated(record.content, text)
            )
            for record, at in self.statements
        )


def _find_taken_back(stores: ConsolidationStores) -> _TakenBack:
    """Read from both logs what the user undid or forgot."""
    live = {(one.id, fold_text(one.content)) for one in stores.memories.records()}
    statements = [
        (version.record, version.until)
        for version in stores.memories.versions()
        if version.left and version.because == "forgotten" and version.until is not None
    ]
    restored: dict[str, float] = {}
    for log in dict.fromkeys((stores.logs.project, stores.logs.user)):
        for logged in log.read_changes():
            at, change = logged.undone_at, logged.change
            if at is None or change.store not in ("memory", "ltm"):
                continue
            before, after = (_read_changed(change.store, side) for side in (change.before, change.after))
            statements += [(one, at) for one in after if (one.id, fold_text(one.content)) not in live]
            restored |= {one.id: max(at, restored.get(one.id, 0.0)) for one in before}
    return _TakenBack(statements=tuple(statements), restored=restored)


def _read_changed(store: str, side: msgspec.Raw) -> list[MemoryRecord]:
    if store == "memory":
        return decode_records(side, MemoryRecord)
    return [to_record(one.kind, one.entry, one.id) for one in decode_records(side, ObjectState)]


def digest(finding: Finding) -> str:
    """Return a hash of a finding's content, independent of where it was found."""
    parts = (finding.kind, finding.text, finding.solution, *finding.steps)
    return hashlib.sha256("\0".join(map(fold_text, parts)).encode("utf-8", "replace")).hexdigest()[:16]


def _contents(hits: Iterable[Ranked]) -> Iterator[str]:
    return (hit.record.content for hit in hits)


def _provenance(finding: Finding) -> Provenance:
    return Provenance(session=finding.session, message=finding.message, asserted_by=finding.asserted_by)


def fold_text(text: str) -> str:
    """Return a text in a form in which case and white space make no difference."""
    return " ".join(text.casefold().split())


KINDS: tuple[Kind, ...] = ("discovery", "pattern", "rule")
"""Kinds of statements that a newer one can outdate. An error may have several solutions, a task several workflows."""
SAME_TIME_S = 2 * 3_600.0
"""Statements within this time do not outdate each other, such as "worker 1 runs here" and "worker 2 runs there"."""


def find_outdated(entries: Sequence[MemoryRecord], facts: Sequence[MemoryRecord] = ()) -> dict[str, str]:
    """Return the outdated project memories: id → id of the newest memory or fact that contradicts it.

    facts: typed memories in the form of `as_entry`; they can outdate project memories of any kind.
    """
    found: dict[str, str] = {}
    for kind in KINDS:
        there = [entry for entry in entries if entry.kind == kind]
        known = {entry.id: entry for entry in (*facts, *there)}
        alike: LshIndex[str] = LshIndex()
        signatures = {id: compute_signature(extract_distinctive_words(entry.content)) for id, entry in known.items()}
        for id, one in signatures.items():
            alike.add(id, one)
        for old in there:
            # Only candidates of the index are compared, since comparing each pair takes quadratic time.
            near = [known[id] for id in alike.find_candidates(signatures[old.id]) if id != old.id]
            newer = [new for new in near if _takes_its_place(old, new)]
            if newer:
                found[old.id] = max(newer, key=lambda new: (new.begun, new.id)).id
    return found


def as_entry(record: MemoryRecord) -> MemoryRecord:
    """Return a typed memory in the form of a project memory, for comparison."""
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
    if (
        new.begun - old.updated < SAME_TIME_S
        or _trust(new) < _trust(old)
        or normalize_rule_path(old.context) != normalize_rule_path(new.context)
    ):
        return False
    # Statements about different files do not contradict each other.
    if old.examples and new.examples and not set(old.examples) & set(new.examples):
        return False
    return compare_texts(old.content, new.content) == "supersedes"


def _trust(entry: MemoryRecord) -> int:
    return TRUST[entry.provenance.asserted_by if entry.provenance else "model"]


MAX_CHARS = 600
"""Maximum length of a note that is promoted; a longer one is a document, and search finds it as a note."""
_CONFIDENCE = 0.7


def promote(
    stores: ConsolidationStores, state: ConsolidationState, over: Callable[[], bool], done: Changes
) -> ConsolidationState:
    """Add notes that were used in three sessions to the discoveries, each once as long as its text does not change.

    Returns the state with the hashes of promoted notes. Raises StorageError, OSError, TimeoutError.
    """
    there = {note.key: note for note in stores.memories.notes()}
    for key in sorted(state.notes):
        note = there.get(key)
        if over():
            break
        if note is None or len(state.notes[key]) < MIN_SESSIONS or not _is_promotable(note):
            continue
        name = hashlib.sha256(note.content.encode("utf-8", "replace")).hexdigest()[:16]
        if state.promoted.get(key) == name:
            continue
        draft = MemoryDraft(
            kind="discovery", content=f"{key}: {' '.join(note.content.split())}", confidence=_CONFIDENCE
        )
        said = Provenance(session=state.notes[key][-1], asserted_by="model")
        try:
            added = stores.memories.add(draft, said)
        except UserError:
            continue  # not valid as a memory; the note itself stays
        state = structs.replace(state, promoted=state.promoted | {key: name})
        if added.is_new:
            done.counts["promoted"] += 1
            done.lines.append(f"note {key!r}, used in {MIN_SESSIONS} sessions, is now project fact {added.record.id}")
    return state


def _is_promotable(note: MemoryRecord) -> bool:
    return note.key != PROGRESS_KEY and 0 < len(note.content.strip()) <= MAX_CHARS


EVERY_S = 20 * 3_600.0
"""Interval at which an unchanged store is searched for faded memories: about once a day."""

MAX_CONTRADICTING = 20
"""Number of facts that share words with a project memory and are checked for a contradiction."""


class _Person(Struct, frozen=True, kw_only=True):
    """The time at which any project's consolidation last compacted the user's memories."""

    compacted_at: float = 0.0


_PERSON = DocumentFormat(schema="clio.sleep_of_person", version=1, type=_Person)


def tidy(
    stores: ConsolidationStores, state: ConsolidationState, now: float, over: Callable[[], bool], done: Changes
) -> ConsolidationState:
    """Run all tidying steps until `over` returns true, add what they changed to `done`, and return the new state.

    Raises StorageError, OSError, TimeoutError.
    """
    for step in (_expire_variants, _supersede, _prune, _retain):
        if over():
            return state
        step(stores, now, done)
    if not over():
        state = _compact(stores, state, now, over, done)
    if not over():
        _compact_person(stores, now, over, done)
    return state


def _expire_variants(stores: ConsolidationStores, now: float, done: Changes) -> None:
    """Archive contradicting variants that are doubtful and have not been stated again for long."""
    gone: list[str] = []
    for store in (stores.memories.project, stores.memories.user):
        # Variants count as superseded for every other search, because they are never recalled by themselves.
        ids = [record.id for record in store.records(superseded=True) if _expires(record, now)]
        if ids:
            store.forget_all(ids, f"archived {len(ids)} doubtful variants")
            gone += ids
    if gone:
        done.lines.append(f"archived {len(gone)} variants with less than 30 % confidence and older than 90 days")
    done.counts["archived"] += len(gone)


def _expires(record: MemoryRecord, now: float) -> bool:
    if record.variants_of is None or record.explicit:
        return False
    sure = decay_confidence(record.confidence, (now - record.accessed) / DAY_S)
    return is_variant_expired(sure, (now - max(record.seen, record.created)) / DAY_S)


def _supersede(stores: ConsolidationStores, now: float, done: Changes) -> None:
    """Archive project memories that a newer one, or a newer fact, contradicts."""
    entries = stores.memories.records(PROJECT_KINDS)
    store = stores.memories.project
    kinds = [entry for entry in entries if entry.kind in KINDS]
    near = [hit.record for entry in kinds for hit in store.peek(entry.content, MAX_CONTRADICTING, "fact")]
    facts = {record.id: as_entry(record) for record in near if not record.is_variant}
    successors = find_outdated(entries, tuple(facts.values()))
    gone = stores.memories.ltm.supersede(successors) if successors else ()
    said = facts | {entry.id: entry for entry in entries}
    done.lines += (
        f"{get_kind_label(old.kind)} “{old.line[:100]}” replaced by “{said[successors[old.id]].line[:100]}”"
        for old in gone
    )
    done.counts["superseded"] += len(gone)


def _prune(stores: ConsolidationStores, now: float, done: Changes) -> None:
    """Archive project memories that are old or doubtful, as `/memory prune` does."""
    if not stores.memories.ltm.prune(dry_run=True).removed:
        return
    removed = stores.memories.ltm.prune().removed
    done.lines += (f"archived {get_kind_label(entry.kind)} “{entry.line[:100]}”" for entry in removed)
    done.counts["archived"] += len(removed)


def _retain(stores: ConsolidationStores, now: float, done: Changes) -> None:
    retained = stores.trajectories.retain(now)
    done.counts.update(turns_archived=retained.archived, turns_deleted=retained.deleted)


def _compact(
    stores: ConsolidationStores, state: ConsolidationState, now: float, over: Callable[[], bool], done: Changes
) -> ConsolidationState:
    """Compact the project's memories, unless they are unchanged and were compacted less than 20 hours ago."""
    store = stores.memories.project
    stamp = _stamp(store)
    if not stamp or (stamp == state.compacted and now - state.compacted_at < EVERY_S):
        return state
    _add_compacted(store.compact(stop=over), done)
    # An interrupted compaction is not recorded as done, so that the next run finishes it.
    return state if over() else structs.replace(state, compacted=_stamp(store), compacted_at=now)


def _compact_person(stores: ConsolidationStores, now: float, over: Callable[[], bool], done: Changes) -> None:
    """Compact the user's memories about once a day, whichever project's consolidation comes first."""
    store = stores.memories.user
    if not _stamp(store):
        return
    # The user's memories belong to all projects, whose consolidations may run at the same time.
    lock = FileLock(stores.person_file.with_name("sleep.person.lock"))
    if not lock.acquire():
        return  # another project's consolidation is doing it
    try:
        if now - _read_compacted_at(stores.person_file) < EVERY_S:
            return
        _add_compacted(store.compact(stop=over), done)
        if not over():
            save_document(stores.person_file, _PERSON, Document(value=_Person(compacted_at=now)))
    finally:
        lock.release()


def _read_compacted_at(path: Path) -> float:
    try:
        document = load_document(path, _PERSON)
    except CorruptDocument:
        return 0.0  # the damaged file was moved aside; at worst the memories are compacted once more
    return document.value.compacted_at if document else 0.0


def _add_compacted(compacted: Compacted, done: Changes) -> None:
    faded, merged = compacted.removed - compacted.merged, compacted.merged
    done.counts.update(archived=faded, merged=merged)
    if faded:
        done.lines.append(f"{faded} memories faded")
    if merged:
        done.lines.append(f"{merged} memories merged with similar ones")


def _stamp(store: TypedStore) -> str:
    """Return a string that changes whenever the files of a store do; empty if there are none."""
    found: list[tuple[int, int, int]] = []
    # Both: a change goes to the journal first, and the snapshot stays as it was.
    for path in (store.path, store.path.with_suffix(".journal.jsonl")):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return msgspec.json.encode(found).decode() if found else ""
