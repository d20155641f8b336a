"""What is still to be replayed, session by session: which turns, how heavy, without their words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import StorageError, UserError
from clio.memory.sleep.experiences import Experience, experiences_of
from clio.memory.sleep.state import Progress, Replayed
from clio.memory.transcripts.session_text import MEMORY_TOOL
from clio.messages import AssistantMessage, Message, begins_turn
from clio.sessions.listing import file_names, list_sessions, session_ids
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.text.consolidate import replay_priority
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

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
    """The stored sessions of a project that nobody has open. Transcripts are read one at a time, and none is kept."""

    def __init__(self, store: SessionStore, known: Mapping[str, Progress], rewards: Mapping[str, float]) -> None:
        self._store = store
        self._known = known
        self._rewards = rewards
        self.unread = self.looked_at = 0
        self.count = len(self.ids())

    def ids(self) -> set[str]:
        """All there are, running ones too."""
        return session_ids(file_names(self._store.folder))

    def waiting(self, now: float, over: Callable[[], bool]) -> Iterator[Listed]:
        """The sessions that have changed since they were replayed, the last changed first, until it is over.

        Nothing is learned from what other programs wrote: it is there to be found, and its facts were offered. Nor from
        what sub-agents did: the session that sent them has what came of it, and no person spoke. Nor from what came
        with the project.
        """
        foreign = self._store.foreign(self.ids())
        for info in list_sessions(self._store.folder, over):
            if over():
                return
            self.looked_at += 1
            progress = self._known.get(info.id, Progress())
            if info.running or not info.is_talk or info.id in foreign or progress.is_all_of(info):
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
        starts = [place for place, message in enumerate(messages) if begins_turn(message)]
        found: list[Experience] = []
        for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
            turn = wanted.get(messages[start].id)
            if turn is not None:
                found.append(self._with_words(turn, messages[start:end]))
        return found

    def _turn(self, turn: Experience, now: float) -> Turn:
        days = max(now - turn.at, 0.0) / DAY_S
        priority = replay_priority(turn.importance, days, turn.message in self._rewards)
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
