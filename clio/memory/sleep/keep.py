"""Where what was found goes: facts among the memories, fixes, workflows and rules into the project knowledge."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from clio.errors import UserError
from clio.ids import time_of
from clio.memory.sleep.finding import Finding
from clio.memory.sleep.ground import Ground
from clio.memory.store.record import Entry, Kind, MemoryRecord, Provenance, Remembered, short
from clio.memory.store.redact_memory import cleaned_entry
from clio.text.formatting import truncate_line

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

Source = tuple[str, str, str]
"""A session, a message, and the words found there, as they are compared."""


class Keeper:
    """Keeps findings, each once a night. What a night that was killed had kept already is not kept again.

    counts: what became of them, in the names of a report's fields. changes: one line for each that changed something.
    """

    def __init__(self, ground: Ground) -> None:
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
        return any(entry.kind == kind and _plain(entry.text) == text for entry in self._ground.knowledge.read().entries)

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

    def _is_outdated(self, finding: Finding, done: Remembered) -> bool:
        """Whether what it took the place of was said later: turns are not replayed in the order they were said in."""
        old = done.old if done.action == "superseded" else None
        if old is None or old.provenance is None:
            return False
        said = self._times.get(old.provenance.message) or time_of(old.provenance.message) or old.created
        return finding.at < said

    def _take_back(self) -> None:
        change = self._ground.undo.last()
        if change is not None:
            self._ground.memories.revert(change)
            self._ground.undo.take(change.id)

    def _count(self, finding: Finding, done: Remembered) -> None:
        became = _BECAME.get(done.action, "facts" if finding.kind == "fact" else "preferences")
        self.counts[became] += 1
        if became not in ("confirmed", "dropped"):
            old = f", in the place of “{short(done.old)}”" if done.action == "superseded" and done.old else ""
            self.changes.append(f"{finding.kind} “{truncate_line(done.record.content, 120)}”{old}")

    def _know(self, finding: Finding) -> None:
        draft = Entry(
            kind=_KINDS[finding.kind],
            text=finding.text,
            solution=finding.solution,
            steps=finding.steps,
            confidence=finding.confidence,
            examples=finding.files,
        )
        added = self._ground.knowledge.add(cleaned_entry(draft, self._ground.redact), _provenance(finding))
        self.counts[_COUNTED[finding.kind] if added.new else "confirmed"] += 1
        if added.new:
            self.changes.append(f"{finding.kind} “{truncate_line(added.entry.line, 120)}”")

    def _source(self, finding: Finding) -> Source:
        return (finding.session, finding.message, _plain(self._ground.redact(finding.text)))

    def _sources(self) -> set[Source]:
        """What is known, by where it came from; read once, before anything of this night is kept."""
        if self._known is None:
            records: list[MemoryRecord] = self._ground.memories.project.records(superseded=True)
            entries: Sequence[Entry] = self._ground.knowledge.read().entries
            self._known = {
                (said.session, said.message, _plain(text))
                for said, text in (
                    *((record.provenance, record.content) for record in records),
                    *((entry.provenance, entry.text) for entry in entries),
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
