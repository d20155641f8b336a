"""How far the consolidation of a project has come, in `.clio/sleep.json`, and which turns wait to be replayed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, StorageError, UserError
from clio.memory.consolidation.command_findings import HabitState
from clio.memory.consolidation.experiences import Correction, Experience, find_own_start, split_into_turns
from clio.memory.transcripts.session_text import MEMORY_TOOL
from clio.messages import AssistantMessage, Message, UserMessage, is_turn_start
from clio.sessions.listing import find_session_ids, list_file_names, list_sessions
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import Document, DocumentFormat, load_document, save_document
from clio.text.consolidate import compute_replay_priority
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

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

    def covers(self, info: SessionInfo) -> bool:
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

    def with_told_habits(self, digests: Iterable[str]) -> "ConsolidationState":
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

    def without_deleted_sessions(self, sessions: Iterable[str]) -> "ConsolidationState":
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


class ReplayedTurns:
    """The turns of one session that are replayed in this pass.

    turns: ids of the first messages of its turns in order, after those that were replayed without a gap.
    """

    def __init__(self, progress: Progress, turns: Iterable[str]) -> None:
        self._progress = progress
        self._turns = tuple(turns)
        self._done = set(progress.beyond)

    @property
    def waiting(self) -> list[str]:
        """The turns that have not been replayed yet."""
        return [turn for turn in self._turns if turn not in self._done]

    def add(self, turn: str) -> None:
        """Mark a turn as replayed."""
        self._done.add(turn)

    def progress(self, info: SessionInfo) -> Progress:
        """Return the progress of the session. info: the session when its turns were listed."""
        done, place = self._progress.done, 0
        while place < len(self._turns) and self._turns[place] in self._done:
            done = self._turns[place]
            place += 1
        rest = tuple(turn for turn in self._turns[place:] if turn in self._done)
        if place < len(self._turns):
            return Progress(done=done, beyond=rest)
        return Progress(done=done, messages=info.messages, updated=info.updated_at)


_BEFORE_CHARS = 500
_SEEING = frozenset(("store", "retrieve"))


class Turn(Struct, frozen=True, gc=False):
    """One waiting turn. priority: its weight when turns are drawn at random. at, importance: see `Experience`."""

    session: str
    message: str
    priority: float
    at: float
    importance: float


class Listed(Struct, frozen=True, kw_only=True):
    """A session whose turns wait or whose progress must be saved. notes: keys of the notes it stored or read."""

    info: SessionInfo
    replayed: ReplayedTurns
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
        """Return the ids of all sessions, including running ones."""
        return find_session_ids(list_file_names(self._store.folder))

    def waiting(self, now: float, over: Callable[[], bool]) -> Iterator[Listed]:
        """Yield the sessions that changed since they were replayed, the last changed first, until `over` is true.

        Nothing is learned from imported sessions (their facts were offered at the import), from sessions of sub-agents
        (no user spoke there, and the calling session has the result), or from sessions that came with the project.
        What a copy of a session has from the first one is learned there: said once, it must not count twice.
        """
        ids = self.ids()
        foreign = self._store.find_foreign(ids)
        for info in list_sessions(self._store.folder, over):
            if over():
                return
            self.looked_at += 1
            progress = self._known.get(info.id, Progress())
            # The process that has the session open replays it when it ends.
            if info.running and info.id != self._current:
                continue
            if not info.is_conversation or info.id in foreign or progress.covers(info):
                continue
            messages = self._read(info.id)
            if messages is None:
                continue
            turns = split_into_turns(info.id, messages, progress.done)
            if info.parent in ids:
                turns = [turn for turn in turns if turn.at >= info.created_at]
            replayed = ReplayedTurns(progress, (turn.message for turn in turns))
            wait = set(replayed.waiting)
            yield Listed(
                info=info,
                replayed=replayed,
                turns=tuple(self._turn(turn, now) for turn in turns if turn.message in wait),
                notes=find_used_notes(messages[find_own_start(messages) :]),
            )

    def experiences(self, session: str, wanted: Mapping[str, Turn]) -> tuple[list[Experience], Sequence[Message]]:
        """Return the wanted turns of a session with their messages, in order, and all its messages.

        Turns that no longer exist are left out.

        wanted: by id of the turn's first message.
        """
        messages = self._read(session) or ()
        starts = [place for place, message in enumerate(messages) if is_turn_start(message)]
        found: list[Experience] = []
        before = ""
        for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
            began = messages[start]
            turn = wanted.get(began.id)
            if turn is not None:
                found.append(
                    Experience(
                        session=turn.session,
                        message=turn.message,
                        at=turn.at,
                        importance=turn.importance,
                        messages=messages[start:end],
                        before=before,
                    )
                )
            before = began.content[-_BEFORE_CHARS:] if isinstance(began, UserMessage) else ""
        return found, messages

    def _turn(self, turn: Experience, now: float) -> Turn:
        days = max(now - turn.at, 0.0) / DAY_S
        priority = compute_replay_priority(turn.importance, days, turn.message in self._rewards)
        return Turn(turn.session, turn.message, priority, turn.at, turn.importance)

    def _read(self, session: str) -> tuple[Message, ...] | None:
        """Return the messages, or None if they cannot be read or the session was deleted meanwhile."""
        try:
            return self._store.read(session)
        except (StorageError, UserError, OSError):
            self.unread += 1
            return None


def find_used_notes(messages: Sequence[Message]) -> frozenset[str]:
    """Return the keys of the notes that were stored or read with the memory tool."""
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
