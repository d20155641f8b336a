"""The events that a conversation emits, and what it needs from a user interface: approval, answers, input in a turn."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, structs

from clio.messages import Message, Usage
from clio.security.actions import RunCommand
from clio.text.formatting import Cost
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    import asyncio

    from clio.sandbox.sandbox import Confinement
    from clio.security.approval import Answer, ApprovalRequest, Approver
    from clio.tools.session_tools import Asker

TurnStatus = Literal[
    "done", "failed", "interrupted", "max_steps", "max_cost", "context_full", "approval_needed", "refused", "blocked"
]
"""How a turn ended. refused: by the server. blocked: by one of the user's hooks, before it began."""
# Scripts depend on these codes, so they never change; docs/headless.md lists them.
EXIT_CODES: dict[TurnStatus, int] = {
    "done": 0,
    "failed": 1,
    "max_steps": 1,
    "refused": 2,
    "context_full": 3,
    "approval_needed": 4,
    "max_cost": 5,
    "blocked": 6,
    "interrupted": 130,
}


class TurnStarted(Struct, frozen=True, kw_only=True, tag="turn_started"):
    """A user message was accepted and is on disk."""

    session_id: str
    text: str
    model: str


class StepStarted(Struct, frozen=True, kw_only=True, tag="step_started"):
    """A request is about to be sent. `step` counts from 1 in each turn; `prompt_tokens` is clio's own estimate."""

    step: int
    prompt_tokens: int


class Steered(Struct, frozen=True, kw_only=True, tag="steered"):
    """Text that the user entered during the turn is sent with the request of `step`; it is already on disk."""

    text: str
    step: int


class TextDelta(Struct, frozen=True, kw_only=True, tag="text"):
    """More text of the answer."""

    text: str


class ReasoningDelta(Struct, frozen=True, kw_only=True, tag="reasoning"):
    """More of the model's reasoning, if the server sends it."""

    text: str


class StreamRestarted(Struct, frozen=True, kw_only=True, tag="stream_restarted"):
    """The answer broke off and is replaced by a different one: text shown since the step began is no longer valid."""


class Retrying(Struct, frozen=True, kw_only=True, tag="retrying"):
    """A request failed and will be sent again after `delay_s` seconds: attempt `attempt` of `of`."""

    attempt: int
    of: int
    delay_s: float
    reason: str


class MessageAdded(Struct, frozen=True, kw_only=True, tag="message"):
    """A complete message was added to the session."""

    message: Message


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call was parsed and is about to be judged and run."""

    call_id: str
    name: str
    title: str


class ToolProgress(Struct, frozen=True, kw_only=True, tag="tool_progress"):
    """The last lines of a running call's output; empty text when it starts to run after the user allowed it."""

    call_id: str
    text: str


NEEDS_APPROVAL = mark("needs approval")
"""Summary of a call that no user could approve; the error of the turn tells what would allow it."""


class ToolFinished(Struct, frozen=True, kw_only=True, tag="tool_finished"):
    """A call has ended.

    Attributes:
        files_changed: paths relative to the workspace.
        preview: some lines of the result: the beginning and the end of a command's output, the lines that explain a
            failure, or the first lines of any other result.
        hidden_lines: how many lines of a command's output the preview leaves out.
        asked: whether the user was asked for approval, saw the diff, and allowed the call.
    """

    call_id: str
    name: str
    title: str
    ok: bool
    summary: str
    seconds: float
    preview: str = ""
    hidden_lines: int = 0
    diff: str = ""
    asked: bool = False
    files_changed: tuple[str, ...] = ()


class ContextTrimmed(Struct, frozen=True, kw_only=True, tag="context_trimmed"):
    """Messages left the context window or were shortened in it. None is lost: all are stored in the archive.

    Attributes:
        handle: the name under which the model can read the archived messages.
        messages: number of messages that left the window.
        shrunk: number of messages that are shortened from now on.
        stage: why: the window was nearly full ("proactive"), the finished request was too large ("validation"), the
            server refused it as too large ("reactive"), or the user asked for it ("manual").
    """

    handle: str
    messages: int
    shrunk: int
    freed_tokens: int
    stage: Literal["proactive", "validation", "reactive", "manual"]

    @property
    def description(self) -> str:
        """The event as a line for the user, without a full stop."""
        moved = (
            tr("moved {messages} to the archive", messages=tr_count(self.messages, "message")) if self.messages else ""
        )
        shortened = (
            tr("shortened {tool_outputs}", tool_outputs=tr_count(self.shrunk, "tool output")) if self.shrunk else ""
        )
        return tr(
            "{filter} ({handle}), {freed_tokens:,} tokens freed",
            filter=", ".join(filter(None, (moved, shortened))),
            handle=self.handle,
            freed_tokens=self.freed_tokens,
        )


class Notice(Struct, frozen=True, kw_only=True, tag="notice"):
    """Something the user should know; the turn continues."""

    text: str
    level: Literal["info", "warning"] = "info"


class StepFinished(Struct, frozen=True, kw_only=True, tag="step_finished"):
    """A step and its tool calls have ended and are on disk. `usage` is None if the server sends none."""

    step: int
    usage: Usage | None


class TurnFinished(Struct, frozen=True, kw_only=True, tag="turn_finished"):
    """The end of a turn. `error` is one sentence if `status` is not "done"; `exit_code` is what one-shot mode returns.

    steps: how many steps sent a request that reached a server.
    cost: cost of its requests; None if no server sent a bill.
    """

    status: TurnStatus
    text: str
    steps: int
    usage: Usage
    seconds: float
    error: str = ""
    exit_code: int = 0
    cost: Cost | None = None


Event = (
    TurnStarted
    | StepStarted
    | Steered
    | TextDelta
    | ReasoningDelta
    | StreamRestarted
    | Retrying
    | MessageAdded
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ContextTrimmed
    | Notice
    | StepFinished
    | TurnFinished
)

Emit = Callable[[Event], None]


class UserInterface(Protocol):
    """A terminal, a screen reader, an editor, or a stream of JSON lines.

    Attributes:
        never_asks: whether no user can answer; a request for approval is then an error.
        never_answers: whether no user can answer questions of the model, which then are not offered to it.
    """

    never_asks: bool
    never_answers: bool

    async def approve(self, request: "ApprovalRequest") -> "Answer":
        """Ask whether an action may be carried out. Cancelling withdraws the question. Raises ApprovalNeeded."""
        ...

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask the user a question of the model. Raises ToolFailed if no user can answer."""
        ...

    def emit(self, event: Event) -> None:
        """Show an event. Must return at once."""
        ...


class ComposedInterface:
    """A user interface composed of three objects, for programs that keep them separate."""

    def __init__(self, approver: "Approver", asker: "Asker", emit: Emit) -> None:
        self._approver = approver
        self._asker = asker
        self._emit = emit
        self.never_asks = bool(getattr(approver, "never_asks", False))
        self.never_answers = bool(getattr(asker, "never_answers", False))

    async def approve(self, request: "ApprovalRequest") -> "Answer":
        """See `UserInterface`."""
        return await self._approver.ask(request)

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        return await self._asker.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._emit(event)


class ExplainingInterface:
    """Explains once how commands that run without approval are confined, before the first question about a command.

    Explains nothing if confinement is off, or if the user is never asked.
    """

    def __init__(self, ui: UserInterface, confinement: "Confinement") -> None:
        self._ui = ui
        self._confinement = confinement
        self.never_asks = ui.never_asks
        self.never_answers = ui.never_answers
        self._is_explained = ui.never_asks or not confinement.is_enabled

    async def approve(self, request: "ApprovalRequest") -> "Answer":
        """See `UserInterface`."""
        if not self._is_explained and isinstance(request.action, RunCommand):
            self._is_explained = True
            import asyncio

            # In a thread: the first description tests the system's sandbox, which starts a process.
            self.emit(Notice(text=await asyncio.to_thread(self._confinement.describe)))
        return await self._ui.approve(request)

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        return await self._ui.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._ui.emit(event)


class SubagentInterface:
    """The user interface of a sub-agent: questions contain its name and come one at a time, events go to `emit`."""

    def __init__(self, ui: UserInterface, emit: Emit, name: str, question_lock: "asyncio.Lock") -> None:
        self._ui = ui
        self._name = name
        self._question_lock = question_lock
        self._emit = emit
        self.never_asks = ui.never_asks
        self.never_answers = ui.never_answers

    async def approve(self, request: "ApprovalRequest") -> "Answer":
        """See `UserInterface`."""
        async with self._question_lock:
            return await self._ui.approve(structs.replace(request, title=f"{self._name}: {request.title}"))

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        async with self._question_lock:
            return await self._ui.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._emit(event)


class Mailbox:
    """Messages for the running turn, oldest first. Used on the event loop's thread only; kept in memory only.

    If the turn ends before they could be sent, they stay for the caller of the turn.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """Messages that have not been sent yet."""
        return tuple(self._waiting)

    def put(self, text: str) -> None:
        """Add a message for the running turn; blank text is ignored."""
        if text.strip():
            self._waiting.append(text)

    def pop_newest(self) -> str:
        """Remove and return the newest message, "" if none is waiting."""
        return self._waiting.pop() if self._waiting else ""

    def pop_oldest(self) -> str:
        """Remove and return the oldest message, "" if none is waiting."""
        return self._waiting.pop(0) if self._waiting else ""

    def pop_all(self) -> list[str]:
        """Remove and return all messages."""
        messages, self._waiting = self._waiting, []
        return messages


class StopRequests:
    """Lets the first stop request through, and later ones only after one second.

    Pressing the key again out of impatience must not cut short the cleanup that the first press started.

    Args:
        clock: returns seconds; only differences matter.
    """

    REPEAT_AFTER_S = 1.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_request_at: float | None = None

    def reset(self) -> None:
        """Allow the next request at once, because something new runs."""
        self._last_request_at = None

    def is_allowed(self) -> bool:
        """Whether to carry out this stop request."""
        now = self._clock()
        if self._last_request_at is not None and now - self._last_request_at < self.REPEAT_AFTER_S:
            return False
        self._last_request_at = now
        return True
