"""The stores a consolidation run changes, and how findings are saved in them."""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from clio.config.project_links import SHARED_NAME
from clio.errors import UserError
from clio.ids import id_time
from clio.memory.consolidation.corrections import Correction, Stated, match_corrections, replacement
from clio.memory.consolidation.experiences import QUOTE_CHARS, Finding
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memories import Memories
from clio.memory.store.notes import Notes
from clio.memory.store.record import Kind, MemoryDraft, MemoryRecord, Provenance, Saved, short
from clio.memory.store.redact_memory import cleaned_entry
from clio.memory.store.undo_log import UndoLog
from clio.memory.styles.feedback import Trajectories
from clio.text.formatting import truncate_line

_OF_PROJECT = ("memories*.json*", "ltm*.json", "sleep.json", "trajectories*.jsonl")
_OF_PERSON = ("memories*.json*", "sleep.person.json", "trusted.json")


class ConsolidationStores:
    """The stores, with nobody asked whether two memories are one: a night must not wait for a model.

    project: the folder that the files named in memories are relative to. folder: what holds the project's stores.
    person: what holds the person's. All changes are noted in one log, so that a night can be one group of them.
    """

    def __init__(
        self, project: Path, folder: Path, person: Path, *, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self.folder = folder
        self.person = person
        self.redact = redact
        self.undo = UndoLog(folder / "memory.undo.jsonl")
        self.memories = Memories(folder.parent, person, undo=self.undo, redact=redact, clock=clock)
        self.knowledge = LongTermMemory(folder / "ltm.json", project=project, undo=self.undo, clock=clock, home=person)
        self.notes = Notes(folder / "memory", clock)
        self.trajectories = Trajectories(folder / "trajectories.jsonl")
        self.state_file = folder / "sleep.json"
        self.person_file = person / "sleep.person.json"


@contextmanager
def copied(folder: Path, person: Path) -> Generator[tuple[Path, Path]]:
    """Copies of both folders' stores, for a dry run; gone afterwards. Raises OSError.

    They lie where the operating system keeps what is temporary, readable by this user only.
    """
    with tempfile.TemporaryDirectory(prefix="clio-dry-run-") as name:
        there = (Path(name) / "project" / ".clio", Path(name) / "home")
        for source, target, patterns in zip((folder, person), there, (_OF_PROJECT, _OF_PERSON), strict=True):
            target.mkdir(parents=True)
            for path in (path for pattern in patterns for path in source.glob(pattern) if path.is_file()):
                shutil.copyfile(path, target / path.name)
        for name in ("memory", SHARED_NAME):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, there[0] / name, symlinks=True)
        yield there


_KINDS: dict[str, Kind] = {"solution": "solution", "workflow": "workflow", "rule": "rule"}
_COUNTED = {"solution": "solutions", "workflow": "workflows", "rule": "rules"}
_BECAME = {
    "merged": "confirmed",
    "superseded": "superseded",
    "variant": "variants",
    "replaced_variant": "variants",
    "dropped": "dropped",
}
_IMPORTANCE, _BY_TURN = 0.5, 0.4
"""What a fact weighs: half, and more by how much its turn mattered."""
_CORRECTED = 0.9
"""Confidence in what the user said as a correction."""
NEAR = 50
"""So many memories with words of a correction are compared with it."""

Source = tuple[str, str, str]
"""A session, a message, and the words found there, as they are compared."""


class FindingSaver:
    """Keeps findings, each once a night. What a night that was killed had kept already is not kept again.

    counts: what became of them, in the names of a report's fields. changes: one line for each that changed something.
    """

    def __init__(self, ground: ConsolidationStores) -> None:
        self.counts: Counter[str] = Counter()
        self.changes: list[str] = []
        self._ground = ground
        self._known: set[Source] | None = None
        self._tonight: set[str] = set()
        self._times: dict[str, float] = {}

    def keep(self, finding: Finding, importance: float = 0.5) -> bool:
        """Keep one finding; False where it is known, or cannot be kept. importance: of the turn it is from, 0 to 1.

        Raises StorageError, OSError, TimeoutError.
        """
        name = digest(finding)
        if name in self._tonight or self._source(finding) in self._sources():
            return False
        self._tonight.add(name)
        try:
            if finding.kind in _KINDS:
                self._know(finding)
            else:
                self._remember(finding, importance)
        except UserError:
            return False  # too long, or nothing but a secret: not worth more
        return True

    def knows(self, finding: Finding) -> bool:
        """Whether the project knowledge has it now."""
        kind, text = _KINDS.get(finding.kind), _plain(self._ground.redact(finding.text))
        return any(
            entry.kind == kind and _plain(entry.content) == text for entry in self._ground.knowledge.read().entries
        )

    def correct(self, corrections: Sequence[Correction]) -> list[Correction]:
        """Let corrections take the place of the facts and discoveries they refute; returns those that refute none.

        Raises StorageError, OSError, TimeoutError.
        """
        discoveries = [entry for entry in self._ground.knowledge.read().entries if entry.kind == "discovery"]
        matched = match_corrections(corrections, lambda one: self._near(one, discoveries))
        for correction, refuted in matched:
            self._replace(correction, refuted)
        applied = [correction for correction, _ in matched]
        redact = self._ground.redact
        return [
            structs.replace(one, text=redact(one.text), quote=redact(one.quote))
            for one in corrections
            if one not in applied
        ]

    def _near(self, correction: Correction, discoveries: Sequence[MemoryRecord]) -> list[Stated]:
        """What is remembered and has words of a correction."""
        records = {
            hit.record.id: hit.record
            for store in (self._ground.memories.project, self._ground.memories.user)
            for kind in ("fact", "note")
            for hit in store.peek(correction.text, NEAR, kind)
        }
        return [
            *(self._stated(record) for record in records.values() if not record.is_variant),
            *(
                Stated(
                    id=entry.id,
                    text=entry.content,
                    at=max(entry.updated, entry.begun),
                    session=entry.provenance.session if entry.provenance else "",
                )
                for entry in discoveries
            ),
        ]

    def _stated(self, record: MemoryRecord) -> Stated:
        said = record.provenance
        at = (self._times.get(said.message) or id_time(said.message)) if said and said.message else 0.0
        return Stated(id=record.id, text=record.content, at=at or record.begun, session=said.session if said else "")

    def _replace(self, correction: Correction, refuted: Sequence[Stated]) -> None:
        """Save what a correction says now, and put what it refutes into the archive."""
        text = replacement(refuted[0].text, correction)
        if text:
            self.keep(
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
        memories = self._ground.memories
        plain = _plain(self._ground.redact(text))
        new = next((one for one in memories.project.records() if _plain(one.content) == plain), None) if text else None
        ids = [one.id for one in refuted if new is None or one.id != new.id]
        title = f"replaced by “{truncate_line(correction.text, 80)}”"
        gone = 0
        for store in (memories.project, memories.user):
            if live := [record.id for record in store.live(ids)]:
                gone += store.forget_all(live, title, "outweighed")
        entries = [id for id in ids if id[1:2] == "-"]
        if entries and new is not None:
            gone += len(self._ground.knowledge.supersede(dict.fromkeys(entries, new.id)))
        elif entries:
            gone += len(self._ground.knowledge.forget(entries))
        self.counts["superseded"] += gone
        if gone and new is None:
            self.changes.append(f"“{truncate_line(refuted[0].text, 100)}” was refuted by “{correction.quote[:100]}”")

    def _remember(self, finding: Finding, importance: float) -> None:
        done = self._ground.memories.remember(
            finding.text,
            "fact" if finding.kind == "fact" else "preference",
            _IMPORTANCE + _BY_TURN * importance,
            files=finding.files,
            scope="project",
            provenance=_provenance(finding),
            confidence=finding.confidence,
        )
        if self._is_outdated(finding, done):
            self._take_back()
            self.counts["outdated"] += 1
            return
        self._times[finding.message] = finding.at
        self._count(finding, done)

    def _is_outdated(self, finding: Finding, done: Saved) -> bool:
        """Whether what it took the place of was said later: turns are not replayed in the order they were said in."""
        old = done.other if done.action == "superseded" else None
        if old is None or old.provenance is None:
            return False
        said = self._times.get(old.provenance.message) or id_time(old.provenance.message) or old.created
        return finding.at < said

    def _take_back(self) -> None:
        change = self._ground.undo.last()
        if change is not None:
            self._ground.memories.revert(change)
            self._ground.undo.take(change.id)

    def _count(self, finding: Finding, done: Saved) -> None:
        became = _BECAME.get(done.action, "facts" if finding.kind == "fact" else "preferences")
        self.counts[became] += 1
        if became not in ("confirmed", "dropped"):
            old = f", in the place of “{short(done.other)}”" if done.action == "superseded" and done.other else ""
            self.changes.append(f"{finding.kind} “{truncate_line(done.record.content, 120)}”{old}")

    def _know(self, finding: Finding) -> None:
        draft = MemoryDraft(
            kind=_KINDS[finding.kind],
            content=finding.text,
            solution=finding.solution,
            steps=finding.steps,
            confidence=finding.confidence,
            examples=finding.files,
        )
        added = self._ground.knowledge.add(cleaned_entry(draft, self._ground.redact), _provenance(finding))
        self.counts[_COUNTED[finding.kind] if added.is_new else "confirmed"] += 1
        if added.is_new:
            self.changes.append(f"{finding.kind} “{truncate_line(added.record.line, 120)}”")

    def _source(self, finding: Finding) -> Source:
        return (finding.session, finding.message, _plain(self._ground.redact(finding.text)))

    def _sources(self) -> set[Source]:
        """What is known, by where it came from; read once, before anything of this night is kept."""
        if self._known is None:
            records: list[MemoryRecord] = self._ground.memories.project.records(superseded=True)
            entries: Sequence[MemoryRecord] = self._ground.knowledge.read().entries
            self._known = {
                (said.session, said.message, _plain(text))
                for said, text in (
                    *((record.provenance, record.content) for record in records),
                    *((entry.provenance, entry.content) for entry in entries),
                )
                if said is not None and said.message
            }
        return self._known


def digest(finding: Finding) -> str:
    """What tells a finding from others, wherever it was found."""
    parts = (finding.kind, finding.text, finding.solution, *finding.steps)
    return hashlib.sha256("\0".join(map(_plain, parts)).encode("utf-8", "replace")).hexdigest()[:16]


def _provenance(finding: Finding) -> Provenance:
    return Provenance(session=finding.session, message=finding.message, asserted_by=finding.asserted_by)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
