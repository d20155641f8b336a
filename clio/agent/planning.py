"""Plan mode: what the model is told in it, whether it has proposed something, and which mode comes after.

The plan is the session's list of work, as the model wrote it; so it is on disk, in recovery notes, and edited like it.
That plan mode is on, and that a plan waits, is kept with the session too; the mode to go back to is not: it is the one
of the start, so that no file widens what may run.
"""

from clio.config.schema import ApprovalMode
from clio.messages import Fragment, UserMessage
from clio.prompt_files import load_prompt
from clio.security.approval import Policy, get_next_mode
from clio.sessions.session import Session
from clio.sessions.state import Planned, Todo
from clio.tools.session_tools import render

CARRY_OUT = "Carry out the plan."
"""What is said for the person who approves."""
_TAG = "plan_mode"
_LIST_TOKENS = 1_500


class Planning:
    """Changes the approval mode of one running clio, and knows what plan mode has come to.

    before: the mode an approved plan is carried out in, unless the person says another one.
    """

    def __init__(self, policy: Policy, session: Session) -> None:
        self.before: ApprovalMode = "ask" if policy.mode == "plan" else policy.mode
        self._policy = policy
        self._session = session
        self._turn_mode: ApprovalMode = self.before
        self._todos: tuple[Todo, ...] | None = None
        self._ended = False
        self._approved = False

    @property
    def is_on(self) -> bool:
        """Whether nothing but reading is done."""
        return self._policy.mode == "plan"

    @property
    def proposed(self) -> tuple[Todo, ...]:
        """The plan the last turn has made, if it has come to its end, made one, and plan mode is still on."""
        todos = self._session.todos
        made = self._ended and self.is_on and todos != self._todos
        return todos if made and any(todo.status != "completed" for todo in todos) else ()

    def set_mode(self, mode: ApprovalMode) -> None:
        """Go to a mode that was named."""
        if mode == "plan" and not self.is_on:
            self.before = self._policy.mode
        self._policy.mode = mode
        self._keep()

    def cycle(self) -> ApprovalMode:
        """Go to the next mode, which is returned. The modes passed through count for nothing afterwards."""
        mode = get_next_mode(self._policy.mode)
        if mode == "plan":
            self.before = "ask" if self._turn_mode == "all" else self._turn_mode
        self._policy.mode = mode
        self._keep()
        return mode

    def approve(self, mode: ApprovalMode) -> str:
        """The list is approved as it stands, to be carried out in this mode; the words the next turn begins with."""
        self._policy.mode = mode
        self._ended, self._approved = False, True
        self._keep()
        return CARRY_OUT

    def set_aside(self) -> None:
        """The plan has been looked at and not approved; it stays the list of work."""
        self._ended = False
        self._keep()

    def begin_session(self, session: Session, *, asked: bool) -> None:
        """Another session runs: plan mode is on where it was left in it, and its plan waits as it did.

        asked: the person has named a mode for this start, which then holds.
        """
        self._session = session
        planned = session.planned
        self._todos, self._ended, self._approved = None, False, False
        if planned is not None and not asked:
            self._ended = planned.proposed
            self.set_mode("plan")

    def begin_turn(self) -> list[Fragment]:
        """A turn begins: what the model is told about plan mode, and of its list."""
        session = self._session
        self._todos, self._ended = session.todos, False
        self._keep()
        approved, self._approved = self._approved, False
        if not self.is_on:
            self._turn_mode = self._policy.mode
        if self.is_on:
            return [_told("context/plan", _TAG, "plan mode is on"), *_listed(session.todos)]
        if approved:
            return [_told("context/plan_approved", "plan_approved", "the plan was approved"), *_listed(session.todos)]
        if _was_planning(session):
            return [_told("context/plan_over", "plan_mode_over", "plan mode was on before")]
        return []

    def end_turn(self, *, done: bool) -> None:
        """The turn is over; what a turn wrote that was stopped is not put before the person."""
        self._ended = done
        self._keep()

    def _keep(self) -> None:
        """Have the session know how plan mode stands, so that it stands there again after a restart."""
        session = self._session
        planned = Planned(proposed=bool(self.proposed)) if self.is_on else None
        if session.planned != planned:
            session.set_planned(planned)


def _told(prompt: str, name: str, reason: str) -> Fragment:
    return Fragment(name=name, text=load_prompt(prompt), source="approve", reason=reason, whole=True)


def _listed(todos: tuple[Todo, ...]) -> list[Fragment]:
    """The list as it stands, which the person may have edited."""
    if not todos:
        return []
    reason = "the list that is planned"
    return [Fragment(name="todos", text=render(todos), source="session", reason=reason, cap_tokens=_LIST_TOKENS)]


def _was_planning(session: Session) -> bool:
    """Whether the model was told of plan mode last, and of nothing since."""
    for message in reversed(session.messages):
        if isinstance(message, UserMessage) and message.context and not message.steers:
            return f"<{_TAG} " in message.context
    return False
