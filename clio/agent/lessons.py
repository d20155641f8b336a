"""What a turn teaches: what its words say plainly is remembered before it, how it went is noted after it."""

from collections.abc import Callable, Sequence
from functools import partial

from clio.agent.events import Emit, Notice
from clio.errors import StorageError
from clio.memory.noticing import look_for_notices, question, remember_noticed
from clio.memory.preferences.notice import Noticed
from clio.memory.system import MemorySystem
from clio.sessions.session import Session
from clio.storage.damage import take_damage_notes
from clio.storage.reasons import sentence

Doubt = tuple[str, Callable[[], None]]
"""A question about what may have been meant for this work alone, and what a yes does."""


class Lessons:
    """Of one running clio. notices: whether words are listened to at all."""

    def __init__(self, memory: MemorySystem, emit: Emit, *, notices: bool) -> None:
        self._memory = memory
        self._emit = emit
        self._notices = notices
        self._doubts: tuple[Doubt, ...] = ()

    def take_doubts(self) -> tuple[Doubt, ...]:
        """What the words of the last turn may have meant for it alone, which is no longer here then."""
        doubts, self._doubts = self._doubts, ()
        return doubts

    def begin(self, session: Session, text: str) -> None:
        """Remember what the words of a turn say plainly; the rest is doubtful."""
        certain, doubtful = look_for_notices(self._memory, text) if self._notices else ([], [])
        self._remember(session, certain)
        self._doubts = tuple((question(one), partial(self._remember, session, (one,))) for one in doubtful)

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

    def _remember(self, session: Session, noticed: Sequence[Noticed]) -> None:
        if line := remember_noticed(self._memory, noticed, session.id):
            self._emit(Notice(text=line))
