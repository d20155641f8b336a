"""How far consolidation has come, in `.clio/sleep.json`, and which turns are still to be replayed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, StorageError, UserError
from clio.memory.consolidation.command_findings import HabitState
from clio.memory.consolidation.experiences import Experience, experiences_of
from clio.memory.consolidation.stated_facts import Correction
from clio.memory.transcripts.session_text import MEMORY_TOOL
from clio.messages import AssistantMessage, Message, is_turn_start
from clio.sessions.listing import find_session_ids, list_file_names, list_sessions
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.text.consolidate import compute_replay_priority
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

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


class ConsolidationState(Struct, frozen=True, kw_only=True):
    """What one night leaves to the next.

    sessions: by id. habits: the commands counted so far. notes: the sessions each note was seen in, at most three.
    promoted: a digest of each note's words when it became project knowledge. told: digests of the habits that were
    handed on, each with the month it was. corrections: those that refuted nothing yet; what they correct may be in
    turns that are not replayed yet. last_full: when the last whole pass ended, in seconds since the epoch.
    compacted, compacted_at: how the memories' files stood after they were compacted last, and when that was.
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
        """The state once habits were handed on."""
        return structs.replace(self, told=(*self.told, *digests)[-MAX_TOLD:])

    def with_notes(self, session: str, keys: Iterable[str]) -> "ConsolidationState":
        """The state once these notes were seen in a session."""
        new = {
            key: (*there, session)
            for key in keys
            if session not in (there := self.notes.get(key, ())) and len(there) < LEAST_SESSIONS
        }
        return structs.replace(self, notes=self.notes | new) if new else self

    def only(self, sessions: Iterable[str]) -> "ConsolidationState":
        """The state without sessions that are no more."""
        there = set(sessions)
        kept = {id: progress for id, progress in self.sessions.items() if id in there}
        return self if len(kept) == len(self.sessions) else structs.replace(self, sessions=kept)


FORMAT = DocumentFormat(schema="clio.sleep", version=1, type=ConsolidationState)


def read_state(path: Path) -> tuple[ConsolidationState, str]:
    """The state, and what was wrong with its file, which then is set aside: all is replayed once more.

    Raises NewerDocument, OSError.
    """
    try:
        document = load_document(path, FORMAT)
    except CorruptDocument as error:
        return ConsolidationState(), str(error)
    return (document.value if document else ConsolidationState()), ""


def write_state(path: Path, state: ConsolidationState) -> None:
    """Keep the state, whole; the lock of sleep must be held. Raises OSError."""
    save_document(path, FORMAT, Document(value=state))


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


_SEEING = frozenset(("store", "retrieve"))


class Turn(Struct, frozen=True, gc=False):
    """One turn that waits. priority: how likely it is drawn, next to the others. at, importance: as of `Experience`."""

    session: str
    message: str
    priority: float
    at: float
    importance: float


class Listed(Struct, frozen=True, kw_only=True):
    """A session with turns that wait, or whose progress is to be noted. notes: keys of the notes it stored or read."""

    info: SessionInfo
    replayed: Replayed
    turns: tuple[Turn, ...]
    notes: frozenset[str]


class Sessions:
    """The stored sessions of a project that no other process has open. Transcripts are read one at a time.

    current: id of the session that this process continues; "" for none.
    """

    def __init__(
        self, store: SessionStore, known: Mapping[str, Progress], rewards: Mapping[str, float], current: str = ""
    ) -> None:
        self._store = store
        self._current = current
        self._known = known
        self._rewards = rewards
        self.unread = self.looked_at = 0
        self.count = len(self.ids())

    def ids(self) -> set[str]:
        """All there are, running ones too."""
        return find_session_ids(list_file_names(self._store.folder))

    def waiting(self, now: float, over: Callable[[], bool]) -> Iterator[Listed]:
        """The sessions that have changed since they were replayed, the last changed first, until it is over.

        Nothing is learned from what other programs wrote: it is there to be found, and its facts were offered. Nor from
        what sub-agents did: the session that sent them has what came of it, and no person spoke. Nor from what came
        with the project.
        """
        foreign = self._store.find_foreign(self.ids())
        for info in list_sessions(self._store.folder, over):
            if over():
                return
            self.looked_at += 1
            progress = self._known.get(info.id, Progress())
            if info.running and info.id != self._current:
                continue
            if not info.is_conversation or info.id in foreign or progress.is_all_of(info):
                continue
            messages = self._read(info.id)
            if messages is None:
                continue
            turns = experiences_of(info.id, messages, progress.done)
            replayed = Replayed(progress, (turn.message for turn in turns))
            wait = set(replayed.waiting)
            yield Listed(
                info=info,
                replayed=replayed,
                turns=tuple(self._turn(turn, now) for turn in turns if turn.message in wait),
                notes=notes_seen(messages),
            )

    def experiences(self, session: str, wanted: Mapping[str, Turn]) -> list[Experience]:
        """Turns of a session with their words, by the id of the message they begin with; those no more are left out."""
        messages = self._read(session) or ()
        starts = [place for place, message in enumerate(messages) if is_turn_start(message)]
        found: list[Experience] = []
        for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
            turn = wanted.get(messages[start].id)
            if turn is not None:
                found.append(self._with_words(turn, messages[start:end]))
        return found

    def _turn(self, turn: Experience, now: float) -> Turn:
        days = max(now - turn.at, 0.0) / DAY_S
        priority = compute_replay_priority(turn.importance, days, turn.message in self._rewards)
        return Turn(turn.session, turn.message, priority, turn.at, turn.importance)

    def _with_words(self, turn: Turn, messages: tuple[Message, ...]) -> Experience:
        reward = self._rewards.get(turn.message)
        return Experience(
            session=turn.session,
            message=turn.message,
            at=turn.at,
            importance=turn.importance,
            rewards=() if reward is None else (reward,),
            messages=messages,
        )

    def _read(self, session: str) -> tuple[Message, ...] | None:
        """The messages; None where they cannot be read, or the session was deleted meanwhile."""
        try:
            return self._store.read(session)
        except (StorageError, UserError, OSError):
            self.unread += 1
            return None


def notes_seen(messages: Sequence[Message]) -> frozenset[str]:
    """Keys of the notes that were stored or read with the memory tool."""
    calls = (call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls)
    found = (_key(call.arguments) for call in calls if call.name == MEMORY_TOOL)
    return frozenset(key for key in found if key)


def _key(arguments: str) -> str:
    try:
        given = decode_json(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    key = fields.get("key")
    return key if fields.get("operation") in _SEEING and isinstance(key, str) else ""
