"""How far the consolidation of a project has come, in `.clio/sleep.json`."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import CorruptDocument
from clio.memory.consolidation.command_findings import HabitState
from clio.memory.consolidation.corrections import Correction
from clio.sessions.state import SessionInfo
from clio.storage.documents import Document, DocumentFormat, load_document, save_document

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
