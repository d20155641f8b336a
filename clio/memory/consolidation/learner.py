"""The learner: what is learned from the user's messages, from how turns end, and when nothing else is going on.

Three moments in the life of a session call it. `before_turn` saves what a message states plainly, because a limit holds
from the moment it is stated; `after_turn` counts reactions as feedback; `consolidate` replays earlier sessions, when
idle or at exit.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from clio.errors import ClioError, StorageError
from clio.memory.preferences.auto_remember import describe_session_limits, find_statements, question, save_statements
from clio.memory.preferences.stated_preferences import StatedPreference
from clio.memory.system import MemorySystem
from clio.sessions.session import Session
from clio.storage.jsonl import pop_damage_notes
from clio.storage.locks import format_os_error
from clio.threads import ProgressCallback, ignore_progress, never_stop

if TYPE_CHECKING:
    from clio.memory.consolidation.consolidation import By, Report

Suggestion = tuple[str, Callable[[], None]]
"""A question whether a statement is to be remembered for good, and what a "yes" does."""


class Learner:
    """Learns for one clio process.

    Args:
        tell, warn: called with each line for the user.
        auto_remember: whether statements in messages are remembered at all.
        may_consolidate: whether memory is consolidated without being asked to.
        asks_model: whether a model is asked once what it finds in the best turns, when idle.
    """

    def __init__(
        self,
        memory: MemorySystem,
        *,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        auto_remember: bool,
        may_consolidate: bool = False,
        asks_model: bool = False,
    ) -> None:
        self._memory = memory
        self._tell = tell
        self._warn = warn
        self._auto_remember = auto_remember
        self._may_consolidate = may_consolidate
        self._asks_model = asks_model
        self._unconfirmed: tuple[StatedPreference, ...] = ()
        self._session = ""

    def before_turn(self, session: Session, text: str) -> None:
        """Remember what the text of a turn states plainly; what is ambiguous applies to this session only."""
        if not self._auto_remember:
            return
        heard = find_statements(self._memory, text)
        self._remember(session.id, heard.certain)
        self._unconfirmed, self._session = heard.doubtful, session.id
        if heard.held:
            self._memory.hold_limits(heard.held)
            self._tell(describe_session_limits(heard.held))

    def after_turn(self, session: Session, status: str) -> None:
        """Record how a turn ended, and report which of the user's reactions were counted as feedback."""
        try:
            noted = self._memory.end_turn(session, status)
        except (StorageError, OSError) as error:
            why = format_os_error(error) if isinstance(error, OSError) else error
            self._warn(f"nothing was learned from this turn: {why}")
            return
        finally:
            for text in pop_damage_notes():
                self._warn(text)
        for one in noted:
            sign = "+" if one.rating.reward > 0 else "−"
            self._tell(f"{sign} {one.rating.note}: counts a little for {one.turn.style or 'this answer'}")

    def consolidate(
        self,
        by: "By",
        stop: Callable[[], bool] = never_stop,
        budget_s: float | None = None,
        tell: ProgressCallback = ignore_progress,
    ) -> "Report | None":
        """Consolidate memory if that is due and the settings allow it; for a thread.

        Returns None if it did not run, also if another process consolidates or a file cannot be written; only the
        command reports such errors.
        """
        if not self._may_consolidate or self._memory.is_silent or not self._memory.consolidation.is_due():
            return None
        from clio.memory.consolidation.runner import run_consolidation

        with suppress(ClioError, OSError):
            use_model = self._asks_model and by == "idle"
            return run_consolidation(
                self._memory.consolidation, by, stop=stop, budget_s=budget_s, use_model=use_model, tell=tell
            )
        return None

    # Suggestions: statements that may have been meant for the current work only

    def pop_suggestions(self) -> tuple[Suggestion, ...]:
        """Return and clear the questions about statements of the last turn, at most one for each scope."""
        unconfirmed, self._unconfirmed = self._unconfirmed, ()
        return self._questions(unconfirmed, self._session)

    def defer_suggestions(self) -> None:
        """Save the questions for the next interactive start, because the user cannot be asked now."""
        unconfirmed, self._unconfirmed = self._unconfirmed, ()
        if not unconfirmed:
            return
        try:
            self._memory.pending_limits.add(unconfirmed, self._session)
        except (StorageError, OSError) as error:
            self._warn(f"not kept for the next start: {error}")
            return
        contents = "; ".join(one.content for one in unconfirmed)
        self._tell(f"clio will ask at the next interactive start whether to remember: {contents}")

    def pop_deferred_suggestions(self) -> tuple[Suggestion, ...]:
        """Return the questions about statements made in runs that could not ask, and clear them."""
        if self._memory.is_silent or not self._auto_remember:
            return ()
        try:
            pending = self._memory.pending_limits.take()
        except (StorageError, OSError) as error:
            self._warn(f"limits stated in earlier runs are not asked about: {error}")
            return ()
        return self._questions(tuple(one.noticed for one in pending), pending[0].session if pending else "")

    def _questions(self, unconfirmed: Sequence[StatedPreference], session: str) -> tuple[Suggestion, ...]:
        groups = [[one for one in unconfirmed if one.in_project is scope] for scope in (True, False)]
        return tuple((question(group), partial(self._remember, session, group)) for group in groups if group)

    def _remember(self, session: str, noticed: Sequence[StatedPreference]) -> None:
        if line := save_statements(self._memory, noticed, session):
            self._memory.forget_held([one.content for one in noticed])
            self._tell(line)
