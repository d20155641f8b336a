"""The one door to everything that is remembered: notes, project knowledge, earlier sessions."""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from clio.errors import ToolFailed
from clio.fragments import Fragment
from clio.memory.inject import knowledge_fragment
from clio.memory.long_term import LongTermMemory
from clio.memory.notes import Notes
from clio.memory.ranking import rank
from clio.memory.records import Entry, Hit, Knowledge, Note, Provenance, Recall
from clio.memory.rule_scope import matching_rules
from clio.memory.session_search import search_sessions
from clio.memory.undo import UndoLog
from clio.sessions.store import SessionStore

DEFAULT_SESSIONS = 50
DEFAULT_RESULTS = 5
PROGRESS_KEY = "session_progress"


def _unchanged(text: str) -> str:
    return text


class MemorySystem:
    """What one project remembers.

    incognito: nothing is read and nothing written; every method but `prefix_fragments` and the
        progress pair raises ToolFailed.
    ltm: whether project knowledge enters the prompt; all else works without it.
    redact: applied to every text before it is stored.
    All methods raise StorageError for a file that is not what it should be, and OSError.
    """

    def __init__(
        self,
        project: Path,
        store: SessionStore,
        *,
        incognito: bool,
        ltm: bool,
        redact: Callable[[str], str] = _unchanged,
        clock: Callable[[], float] = time.time,
    ) -> None:
        folder = project / ".clio"
        self._store = store
        self._incognito = incognito
        self._inject = ltm
        self._redact = redact
        self._ltm_path = folder / "ltm.json"
        self._undo = UndoLog(folder / "memory.undo.jsonl")
        self._project = project
        self._ltm = LongTermMemory(self._ltm_path, project=project, undo=self._undo, clock=clock)
        self._notes = Notes(folder / "memory", clock)

    def prefix_fragments(self) -> list[Fragment]:
        """What stands in the system prompt for the whole session; to be asked once. Empty where memory is off."""
        if self._incognito or not self._inject:
            return []
        knowledge = self._ltm.read()
        rules = matching_rules(knowledge.of("rule"), self._project, self._project)
        freshness = self._ltm.freshness(knowledge.entries)
        block = knowledge_fragment(knowledge, freshness, str(self._ltm_path), rules=rules)
        return [block.fragment] if block else []

    def store_note(self, key: str, content: str) -> bool:
        """Put a note aside; True if there was none of that key. Raises ValueError for a key that cannot be one."""
        self._refuse_incognito()
        return self._notes.store(self._redact(key), self._redact(content))

    def retrieve_note(self, key: str) -> Note | None:
        """The note of that key, or None."""
        self._refuse_incognito()
        return self._notes.retrieve(self._redact(key))

    def write_progress(self, page: str) -> None:
        """Keep how the work stands as the note `session_progress`. Nothing is written where memory is off."""
        if not self._incognito:
            self._notes.store_page(PROGRESS_KEY, self._redact(page))

    def read_progress(self) -> str:
        """The page `write_progress` kept last, whichever session wrote it; empty without one, or where memory is off.

        A note the model stored under the same name is not it.
        """
        return "" if self._incognito else self._notes.page(PROGRESS_KEY)

    def list_notes(self) -> tuple[Note, ...]:
        """All notes, newest first."""
        self._refuse_incognito()
        return self._notes.newest_first()

    def delete_note(self, key: str) -> bool:
        """Delete a note; False if there was none."""
        self._refuse_incognito()
        return self._notes.delete(self._redact(key))

    def knowledge(self) -> Knowledge:
        """The whole project knowledge."""
        self._refuse_incognito()
        return self._ltm.read()

    def add_discovery(self, fact: str, confidence: float, provenance: Provenance) -> bool:
        """Remember a fact about the project; False if it was known and is now confirmed."""
        self._refuse_incognito()
        return self._add(Entry(kind="discovery", text=fact, confidence=confidence), provenance)

    def add_solution(self, error: str, solution: str, examples: tuple[str, ...], provenance: Provenance) -> bool:
        """Remember what helped against an error; False if it was known and has helped once more."""
        self._refuse_incognito()
        return self._add(Entry(kind="solution", text=error, solution=solution, examples=examples), provenance)

    def add_pattern(self, pattern: str, confidence: float, examples: tuple[str, ...], provenance: Provenance) -> bool:
        """Remember a convention of the code; False if it was known and is now confirmed."""
        self._refuse_incognito()
        return self._add(Entry(kind="pattern", text=pattern, confidence=confidence, examples=examples), provenance)

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Notes and project knowledge ranked together; what shares no word with the query is no answer."""
        self._refuse_incognito()
        return rank(query, self._ltm.read(), self._notes.newest_first(), limit)

    def recall_sessions(
        self,
        query: str,
        *,
        current: str | None = None,
        max_sessions: int = DEFAULT_SESSIONS,
        max_results: int = DEFAULT_RESULTS,
    ) -> Recall:
        """Passages of earlier sessions that fit the query; `current` is the id of the session to leave out."""
        self._refuse_incognito()
        return search_sessions(self._store, query, exclude=current, max_sessions=max_sessions, max_results=max_results)

    def _add(self, draft: Entry, provenance: Provenance) -> bool:
        clean = structs.replace(
            draft,
            text=self._redact(draft.text),
            solution=self._redact(draft.solution),
            examples=tuple(self._redact(text) for text in draft.examples),
        )
        return self._ltm.add(clean, provenance).new

    def _refuse_incognito(self) -> None:
        if self._incognito:
            raise ToolFailed("memory is off in an incognito session: nothing is stored or recalled; go on without it")
