"""The part of `MemorySystem` about the project: the entries of `ltm.json`, and notes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clio.errors import StorageError, ToolFailed
from clio.memory.retrieval.candidates import search_project
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.ltm_reader import LtmReading
from clio.memory.store.record import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    Freshness,
    Hit,
    Knowledge,
    LtmStats,
    MemoryDraft,
    MemoryRecord,
    Note,
    Provenance,
    Pruned,
    Saved,
)

if TYPE_CHECKING:
    from clio.memory.store.ltm_store import LongTermMemory
    from clio.memory.store.notes import Notes
    from clio.memory.store.versions import EntryVersion
    from clio.memory.team.share import Sharing


class KnownOfProject:
    """Project knowledge and notes, cleaned of secrets on the way in. What a turn does not read is loaded on first use.

    is_off: nothing is brought up and nothing may be stored, until somebody turns it on again.
    home: where it is kept whether the person trusts what others share; None: what is shared is left alone.
    All methods raise ToolFailed while memory is off, StorageError for a file that is not what it should be, UserError
    for what cannot be found, and OSError.
    """

    def __init__(
        self,
        project: Path,
        *,
        incognito: bool,
        logs: ScopeLogs,
        redact: Callable[[str], str],
        clock: Callable[[], float],
        home: Path | None = None,
    ) -> None:
        self._project = project
        self._trust_home = home
        self._incognito = incognito
        self._redact = redact
        self._clock = clock
        self._logs = logs
        self._ltm_path = project / ".clio" / "ltm.json"
        self._known = LtmReading(self._ltm_path, project=project, clock=clock, home=home)
        self.is_off = False

    def _refuse_incognito(self) -> None:
        if self.is_off:
            raise ToolFailed("memory is off: nothing is stored or recalled; `/memory on` turns it on again")
        if self._incognito:
            raise ToolFailed("memory is off in an incognito session: nothing is stored or recalled; go on without it")

    # Project knowledge

    def knowledge(self) -> Knowledge:
        """The whole project knowledge."""
        self._refuse_incognito()
        return self._known.read()

    def freshness(self, entries: Sequence[MemoryRecord]) -> dict[str, Freshness]:
        """How each entry stands to its example files, by id."""
        self._refuse_incognito()
        return self._known.freshness(entries)

    def find(self, id: str) -> MemoryRecord:
        """The entry of that id, or of the only one that begins so."""
        self._refuse_incognito()
        return self._ltm.find(id)

    def use(self, ids: Sequence[str]) -> None:
        """Count entries as asked for and given; where that cannot be written, nothing is lost but the count."""
        self._refuse_incognito()
        with suppress(OSError, StorageError):
            self._ltm.use(ids)

    def knowledge_versions(self) -> "tuple[EntryVersion, ...]":
        """Everything the entries ever said, and when, the oldest first."""
        self._refuse_incognito()
        return self._ltm.versions()

    def add(self, draft: MemoryDraft, provenance: Provenance) -> Saved:
        """Remember something about the project, or confirm what says the same."""
        self._refuse_incognito()
        return self._ltm.add(draft, provenance)

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        """Change fields of an entry, which then counts as confirmed."""
        self._refuse_incognito()
        return self._ltm.update(id, **changes)

    def forget(self, ids: Sequence[str]) -> tuple[MemoryRecord, ...]:
        """Move entries to the archive."""
        self._refuse_incognito()
        return self._ltm.forget(ids)

    def supersede(self, successors: Mapping[str, str]) -> tuple[MemoryRecord, ...]:
        """Move entries to the archive that others replaced: id → id of the entry or memory that did."""
        self._refuse_incognito()
        return self._ltm.supersede(successors)

    def prune(
        self, *, max_age_days: float = MAX_AGE_DAYS, min_confidence: float = MIN_CONFIDENCE, dry_run: bool = False
    ) -> Pruned:
        """Move what is old or doubtful to the archive, or say what would be moved."""
        self._refuse_incognito()
        return self._ltm.prune(max_age_days=max_age_days, min_confidence=min_confidence, dry_run=dry_run)

    def ltm_stats(self) -> LtmStats:
        """The project knowledge in numbers."""
        self._refuse_incognito()
        return self._ltm.stats()

    def archived(self) -> tuple[MemoryRecord, ...]:
        """What was forgotten or pruned, the newest to leave first."""
        self._refuse_incognito()
        return self._ltm.archived()

    @property
    def sharing(self) -> "Sharing":
        """What of the project knowledge is shared through git, and turning that on and off."""
        self._refuse_incognito()
        from clio.memory.team.share import Sharing

        return Sharing(
            self._ltm_path, project=self._project, home=self._trust_home, clock=self._clock, clean=self._redact
        )

    @cached_property
    def _ltm(self) -> "LongTermMemory":
        from clio.memory.store.ltm_store import LongTermMemory

        return LongTermMemory(
            self._ltm_path,
            project=self._project,
            log=self._logs.project,
            clock=self._clock,
            home=self._trust_home,
            redact=self._redact,
        )

    # Notes

    def store_note(self, key: str, content: str) -> bool:
        """Put a note aside; True if there was none of that key. Raises ValueError for a key that cannot be one."""
        self._refuse_incognito()
        key, content = self._redact(key), self._redact(content)
        with self._noting(key, content):
            return self._notes.store(key, content)

    def retrieve_note(self, key: str) -> Note | None:
        """The note of that key, or None."""
        self._refuse_incognito()
        return self._notes.retrieve(self._redact(key))

    def list_notes(self) -> tuple[Note, ...]:
        """All notes, newest first."""
        self._refuse_incognito()
        return self._notes.newest_first()

    def delete_note(self, key: str) -> bool:
        """Delete a note; False if there was none."""
        self._refuse_incognito()
        key = self._redact(key)
        if self._notes.retrieve(key) is None:
            return self._notes.delete(key)
        with self._noting(key, None):
            return self._notes.delete(key)

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Notes and project knowledge ranked together; what the query gives no reason for is no answer.

        What is found counts as used.
        """
        self._refuse_incognito()
        hits = search_project(query, self._known.read().entries, self._notes.newest_first(), limit, self._clock())
        self.use([hit.id for hit in hits if hit.id])
        return tuple(hits)

    @cached_property
    def _notes(self) -> "Notes":
        from clio.memory.store.notes import Notes

        return Notes(self._project / ".clio" / "memory", self._clock)

    def _noting(self, key: str, content: str | None) -> AbstractContextManager[None]:
        """Log that a note gets this content, or is deleted; then the body does it."""
        from clio.memory.store.notes import note_change

        return self._logs.project.making(note_change(key, self._notes.retrieve(key), content, at=self._clock()))
