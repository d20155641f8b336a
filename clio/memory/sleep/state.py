"""How far sleep has come, in `.clio/sleep.json`: what was replayed of each session, and what later nights build on."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import CorruptDocument
from clio.memory.sleep.habits import HabitState
from clio.sessions.state import SessionInfo
from clio.storage.documents import Document, Format, load, save

MAX_TOLD = 2_000
LEAST_SESSIONS = 3
"""In so many different sessions a note must have been seen to be promoted; more are not kept."""


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was replayed of one session.

    done: id of the message that begins the last turn of those replayed without a gap. beyond: turns replayed after it.
    messages, updated: how long the session was and when it had changed last, once nothing was left to replay.
    """

    done: str = ""
    beyond: tuple[str, ...] = ()
    messages: int = 0
    updated: float = 0.0

    def is_all_of(self, info: SessionInfo) -> bool:
        """Whether nothing can be new in the session."""
        return bool(self.messages) and (self.messages, self.updated) == (info.messages, info.updated_at)


class SleepState(Struct, frozen=True, kw_only=True):
    """What one night leaves to the next.

    sessions: by id. habits: the commands counted so far. notes: the sessions each note was seen in, at most three.
    promoted: a digest of each note's words when it became project knowledge. told: digests of the habits that were
    handed on, each with the month it was. last_full: when the last whole pass ended, in seconds since the epoch.
    compacted, compacted_at: how the memories' files stood after they were compacted last, and when that was.
    """

    sessions: dict[str, Progress] = {}
    habits: HabitState = HabitState()
    notes: dict[str, tuple[str, ...]] = {}
    promoted: dict[str, str] = {}
    told: tuple[str, ...] = ()
    last_full: float = 0.0
    compacted: str = ""
    compacted_at: float = 0.0

    def tell(self, digests: Iterable[str]) -> "SleepState":
        """The state once habits were handed on."""
        return structs.replace(self, told=(*self.told, *digests)[-MAX_TOLD:])

    def with_notes(self, session: str, keys: Iterable[str]) -> "SleepState":
        """The state once these notes were seen in a session."""
        new = {
            key: (*there, session)
            for key in keys
            if session not in (there := self.notes.get(key, ())) and len(there) < LEAST_SESSIONS
        }
        return structs.replace(self, notes=self.notes | new) if new else self

    def only(self, sessions: Iterable[str]) -> "SleepState":
        """The state without sessions that are no more."""
        there = set(sessions)
        kept = {id: progress for id, progress in self.sessions.items() if id in there}
        return self if len(kept) == len(self.sessions) else structs.replace(self, sessions=kept)


FORMAT = Format(schema="clio.sleep", version=1, type=SleepState)


def read_state(path: Path) -> tuple[SleepState, str]:
    """The state, and what was wrong with its file, which then is set aside: all is replayed once more.

    Raises NewerDocument, OSError.
    """
    try:
        document = load(path, FORMAT)
    except CorruptDocument as error:
        return SleepState(), str(error)
    return (document.value if document else SleepState()), ""


def write_state(path: Path, state: SleepState) -> None:
    """Keep the state, whole; the lock of sleep must be held. Raises OSError."""
    save(path, FORMAT, Document(value=state))


class Replayed:
    """What is replayed of one session in this pass: it knows the order of its turns.

    turns: ids of the messages the turns begin with, in their order, from the first not done.
    """

    def __init__(self, progress: Progress, turns: Iterable[str]) -> None:
        self._progress = progress
        self._turns = tuple(turns)
        self._done = set(progress.beyond)

    @property
    def waiting(self) -> list[str]:
        """The turns that were not replayed yet."""
        return [turn for turn in self._turns if turn not in self._done]

    def add(self, turn: str) -> None:
        """A turn was replayed."""
        self._done.add(turn)

    def progress(self, info: SessionInfo) -> Progress:
        """How far the session has come. info: as it was when its turns were listed."""
        done, place = self._progress.done, 0
        while place < len(self._turns) and self._turns[place] in self._done:
            done = self._turns[place]
            place += 1
        rest = tuple(turn for turn in self._turns[place:] if turn in self._done)
        if place < len(self._turns):
            return Progress(done=done, beyond=rest)
        return Progress(done=done, messages=info.messages, updated=info.updated_at)
