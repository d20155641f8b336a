"""Plan mode: its notes for the model, the plan that the model proposes, and the mode that follows.

The plan is the session's todo list as the model wrote it, so it is on disk, in recovery notes, and can be edited.
Whether plan mode is on and a plan waits for approval is stored with the session too. The mode to return to is not: it
is the one the process started with, so that no stored file can widen what may run.
"""

from clio.config.schema import ApprovalMode
from clio.messages import Fragment, UserMessage
from clio.prompt_files import load_prompt
from clio.security.approval import Policy, get_next_mode
from clio.sessions.session import Session
from clio.sessions.state import PlanMode, Todo
from clio.tools.session_tools import render_todos

APPROVED_PLAN_TEXT = "Carry out the plan."
"""Text of the next turn when the user approves the plan."""
_PLAN_TAG = "plan_mode"
_MAX_LIST_TOKENS = 1_500
"""Limit for the todo list in the prompt."""


class Planning:
    """Changes the approval mode of one clio process and tracks the proposed plan.

    Attributes:
        mode_before: mode in which an approved plan is carried out unless the user chooses another one.
    """

    def __init__(self, policy: Policy, session: Session) -> None:
        self.mode_before: ApprovalMode = "ask" if policy.mode == "plan" else policy.mode
        self._policy = policy
        self._session = session
        self._turn_mode: ApprovalMode = self.mode_before
        self._todos_at_start: tuple[Todo, ...] | None = None
        self._is_turn_done = False
        self._is_approved = False

    @property
    def is_on(self) -> bool:
        """Whether plan mode is on, in which the model may only read."""
        return self._policy.mode == "plan"

    @property
    def proposed_plan(self) -> tuple[Todo, ...]:
        """The plan made in the last turn; empty if that turn was stopped, made none, or plan mode is off."""
        todos = self._session.todos
        # A list that the turn did not change is an earlier plan, which the user has answered already.
        is_new = self._is_turn_done and self.is_on and todos != self._todos_at_start
        return todos if is_new and any(todo.status != "completed" for todo in todos) else ()

    def set_mode(self, mode: ApprovalMode) -> None:
        """Switch to a mode that the user named."""
        if mode == "plan" and not self.is_on:
            self.mode_before = self._policy.mode
        self._policy.mode = mode
        self._store_state()

    def cycle_mode(self) -> ApprovalMode:
        """Switch to the next mode and return it. Modes passed on the way do not change the mode to return to."""
        mode = get_next_mode(self._policy.mode)
        if mode == "plan":
            self.mode_before = "ask" if self._turn_mode == "all" else self._turn_mode
        self._policy.mode = mode
        self._store_state()
        return mode

    def approve_plan(self, mode: ApprovalMode) -> str:
        """Approve the current todo list and switch to `mode`; return the text the next turn begins with."""
        self._policy.mode = mode
        self._is_turn_done, self._is_approved = False, True
        self._store_state()
        return APPROVED_PLAN_TEXT

    def dismiss_plan(self) -> None:
        """Dismiss the proposal without approving it; it stays the todo list."""
        self._is_turn_done = False
        self._store_state()

    def begin_session(self, session: Session, *, is_from_flag: bool) -> None:
        """Switch to another session: plan mode and a waiting plan are restored as stored in it.

        Args:
            is_from_flag: the user has named a mode for this start, which takes precedence.
        """
        self._session = session
        plan_mode = session.plan_mode
        self._todos_at_start, self._is_turn_done, self._is_approved = None, False, False
        if plan_mode is not None and not is_from_flag:
            self._is_turn_done = plan_mode.proposed
            self.set_mode("plan")

    def begin_turn(self) -> list[Fragment]:
        """Start a turn; return the notes for the model about plan mode and its todo list."""
        session = self._session
        self._todos_at_start, self._is_turn_done = session.todos, False
        self._store_state()
        approved, self._is_approved = self._is_approved, False
        if not self.is_on:
            self._turn_mode = self._policy.mode
        if self.is_on:
            return [
                _make_plan_fragment("context/plan", _PLAN_TAG, "plan mode is on"),
                *_make_todo_fragments(session.todos),
            ]
        if approved:
            return [
                _make_plan_fragment("context/plan_approved", "plan_approved", "the plan was approved"),
                *_make_todo_fragments(session.todos),
            ]
        if _was_planning(session):
            return [_make_plan_fragment("context/plan_over", "plan_mode_over", "plan mode was on before")]
        return []

    def end_turn(self, *, done: bool) -> None:
        """End a turn. A plan written by a turn that was stopped is not proposed."""
        self._is_turn_done = done
        self._store_state()

    def _store_state(self) -> None:
        """Store the state of plan mode in the session, so that a restart restores it."""
        session = self._session
        plan_mode = PlanMode(proposed=bool(self.proposed_plan)) if self.is_on else None
        if session.plan_mode != plan_mode:
            session.set_plan_mode(plan_mode)


def _make_plan_fragment(prompt: str, name: str, reason: str) -> Fragment:
    return Fragment(name=name, text=load_prompt(prompt), source="approve", reason=reason, whole=True)


def _make_todo_fragments(todos: tuple[Todo, ...]) -> list[Fragment]:
    """Return the current list, which the user may have edited."""
    if not todos:
        return []
    reason = "the todo list of the plan"
    return [
        Fragment(name="todos", text=render_todos(todos), source="session", reason=reason, cap_tokens=_MAX_LIST_TOKENS)
    ]


def _was_planning(session: Session) -> bool:
    """Whether the newest note to the model about plan mode says that it is on."""
    for message in reversed(session.messages):
        if isinstance(message, UserMessage) and message.context and not message.steers:
            # The newest message with context decides: an older note about plan mode has been replaced since.
            return f"<{_PLAN_TAG} " in message.context
    return False
