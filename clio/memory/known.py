"""The half of memory's door that is about what the project knows: the entries of `ltm.json`, and notes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from clio.errors import StorageError, ToolFailed
from clio.memory.cleaning import cleaned, cleaned_entry
from clio.memory.handles import find_handle
from clio.memory.long_term import LongTermMemory
from clio.memory.ltm.prune import MAX_AGE_DAYS, MIN_CONFIDENCE
from clio.memory.ltm.versions import EntryVersion
from clio.memory.note_changes import note_change
from clio.memory.notes import Notes
from clio.memory.ranking import rank
from clio.memory.records import Added, Entry, Freshness, Hit, Knowledge, LtmStats, Note, Provenance, Pruned
from clio.memory.team.share import Sharing
from clio.memory.undo import UndoLog


class KnownOfProject:
    """Project knowledge and notes, cleaned of secrets on the way in.

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
        undo: UndoLog,
        redact: Callable[[str], str],
        clock: Callable[[], float],
        home: Path | None = None,
    ) -> None:
        folder = project / ".clio"
        self._incognito = incognito
        self._redact = redact
        self._clock = clock
        self._undo = undo
        self._ltm_path = folder / "ltm.json"
        self._ltm = LongTermMemory(self._ltm_path, project=project, undo=undo, clock=clock, home=home)
        self._sharing = Sharing(self._ltm_path, project=project, home=home, clock=clock, clean=redact)
        self._notes = Notes(folder / "memory", clock)
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
        return self._ltm.read()

    def freshness(self, entries: Sequence[Entry]) -> dict[str, Freshness]:
        """How each entry stands to its example files, by id."""
        self._refuse_incognito()
        return self._ltm.freshness(entries)

    def find(self, id: str) -> Entry:
        """The entry of that id, or of the only one that begins so."""
        known = {entry.id: entry for entry in self.knowledge().entries}
        return self._ltm.with_uses((known[find_handle(id, known)],))[0]

    def use(self, ids: Sequence[str]) -> None:
        """Count entries as asked for and given; where that cannot be written, nothing is lost but the count."""
        self._refuse_incognito()
        with suppress(OSError, StorageError):
            self._ltm.use(ids)

    def knowledge_versions(self) -> tuple[EntryVersion, ...]:
        """Everything the entries ever said, and when, the oldest first."""
        self._refuse_incognito()
        return self._ltm.versions()

    def add(self, draft: Entry, provenance: Provenance) -> Added:
        """Remember something about the project, or confirm what says the same."""
        self._refuse_incognito()
        return self._ltm.add(cleaned_entry(draft, self._redact), provenance)

    def update(self, id: str, **changes: Any) -> Entry:
        """Change fields of an entry, which then counts as confirmed."""
        self._refuse_incognito()
        return self._ltm.update(id, **{name: cleaned(value, self._redact) for name, value in changes.items()})

    def forget(self, ids: Sequence[str]) -> tuple[Entry, ...]:
        """Move entries to the archive."""
        self._refuse_incognito()
        return self._ltm.forget(ids)

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

    def archived(self) -> tuple[Entry, ...]:
        """What was forgotten or pruned, the newest to leave first."""
        self._refuse_incognito()
        return self._ltm.archived()

    @property
    def sharing(self) -> Sharing:
        """What of the project knowledge is shared through git, and turning that on and off."""
        self._refuse_incognito()
        return self._sharing

    # Notes

    def store_note(self, key: str, content: str) -> bool:
        """Put a note aside; True if there was none of that key. Raises ValueError for a key that cannot be one."""
        self._refuse_incognito()
        key, content = self._redact(key), self._redact(content)
        before = self._notes.retrieve(key)
        new = self._notes.store(key, content)
        self._undo.record(note_change(key, before, content, at=self._clock()))
        return new

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
        before = self._notes.retrieve(key)
        if before is not None:
            self._undo.record(note_change(key, before, None, at=self._clock()))
        return self._notes.delete(key)

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Notes and project knowledge ranked together; what shares no word with the query is no answer.

        What is found counts as used.
        """
        self._refuse_incognito()
        hits = rank(query, self._ltm.read(), self._notes.newest_first(), limit)
        self.use([hit.id for hit in hits if hit.id])
        return hits
