"""What a turn teaches: what its words say plainly is remembered before it, how it went is noted after it."""

from collections.abc import Callable, Sequence
from functools import partial

from clio.agent.events import Emit, Notice
from clio.errors import StorageError
from clio.memory.noticing import describe_held, look_for_notices, question, remember_noticed
from clio.memory.preferences.notice_parts import Noticed
from clio.memory.system import MemorySystem
from clio.sessions.session import Session
from clio.storage.jsonl import take_damage_notes
from clio.storage.locks import sentence

Doubt = tuple[str, Callable[[], None]]
"""A question about what may have been meant for this work alone, and what a yes does."""


class Lessons:
    """Of one running clio. notices: whether words are listened to at all."""

    def __init__(self, memory: MemorySystem, emit: Emit, *, notices: bool) -> None:
        self._memory = memory
        self._emit = emit
        self._notices = notices
        self._doubtful: tuple[Noticed, ...] = ()
        self._session = ""

    def take_doubts(self) -> tuple[Doubt, ...]:
        """What the words of the last turn may have meant for it alone, at most one question for each scope."""
        doubtful, self._doubtful = self._doubtful, ()
        return self._questions(doubtful, self._session)

    def keep_doubts(self) -> None:
        """Keep the questions for the next interactive start, where the user cannot be asked now."""
        doubtful, self._doubtful = self._doubtful, ()
        if not doubtful:
            return
        try:
            self._memory.pending_limits.add(doubtful, self._session)
        except (StorageError, OSError) as error:
            self._emit(Notice(text=f"not kept for the next start: {error}", level="warning"))
            return
        contents = "; ".join(one.content for one in doubtful)
        self._emit(Notice(text=f"clio will ask at the next interactive start whether to remember: {contents}"))

    def take_pending(self) -> tuple[Doubt, ...]:
        """What was stated in runs that could not ask, as questions."""
        if self._memory.is_silent or not self._notices:
            return ()
        try:
            pending = self._memory.pending_limits.take()
        except (StorageError, OSError) as error:
            self._emit(Notice(text=f"limits stated in earlier runs are not asked about: {error}", level="warning"))
            return ()
        return self._questions(tuple(one.noticed for one in pending), pending[0].session if pending else "")

    def begin(self, session: Session, text: str) -> None:
        """Remember what the words of a turn say plainly; what is doubtful holds for the session."""
        if not self._notices:
            return
        heard = look_for_notices(self._memory, text)
        self._remember(session.id, heard.certain)
        self._doubtful, self._session = heard.doubtful, session.id
        if heard.held:
            self._memory.hold_limits(heard.held)
            self._emit(Notice(text=describe_held(heard.held)))

    def end(self, session: Session, status: str) -> None:
        """Note how a turn ended, and tell what signs of a person's opinion taught."""
        try:
            noted = self._memory.end_turn(session, status)
        except (StorageError, OSError) as error:
            why = sentence(error) if isinstance(error, OSError) else error
            self._emit(Notice(text=f"nothing was learned from this turn: {why}", level="warning"))
            return
        finally:
            for text in take_damage_notes():
                self._emit(Notice(text=text, level="warning"))
        for one in noted:
            sign = "+" if one.rating.reward > 0 else "−"
            self._emit(Notice(text=f"{sign} {one.rating.note}: counts a little for {one.turn.style or 'this answer'}"))

    def _questions(self, doubtful: Sequence[Noticed], session: str) -> tuple[Doubt, ...]:
        groups = [[one for one in doubtful if one.in_project is scope] for scope in (True, False)]
        return tuple((question(group), partial(self._remember, session, group)) for group in groups if group)

    def _remember(self, session: str, noticed: Sequence[Noticed]) -> None:
        if line := remember_noticed(self._memory, noticed, session):
            self._memory.forget_held([one.content for one in noticed])
            self._emit(Notice(text=line))
