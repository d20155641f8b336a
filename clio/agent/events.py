"""What the loop says while it works. Screens, files and pipes listen; the loop does not know them.

Each event is one JSON object with `type` in `--output stream-json`; the field names are that format.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from clio.messages import Message, Usage
from clio.text.formatting import Cost

Status = Literal[
    "done", "failed", "interrupted", "max_steps", "max_cost", "context_full", "approval_needed", "refused", "blocked"
]
"""How a turn ended. refused: by the server. blocked: by a hook of the user's, before it began."""
EXIT_CODES: dict[Status, int] = {
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
    """What the person said into the running turn goes with the request of `step`, before which it is on disk."""

    text: str
    step: int


class TextDelta(Struct, frozen=True, kw_only=True, tag="text"):
    """More of the answer."""

    text: str


class ReasoningDelta(Struct, frozen=True, kw_only=True, tag="reasoning"):
    """More of what the model thinks aloud, where the server shows it."""

    text: str


class StreamRestarted(Struct, frozen=True, kw_only=True, tag="stream_restarted"):
    """The answer broke off and a new one says something else: what was shown since the step began is void."""


class Retrying(Struct, frozen=True, kw_only=True, tag="retrying"):
    """A request failed and will be sent again after `delay_s` seconds."""

    attempt: int
    of: int
    delay_s: float
    reason: str


class MessageAdded(Struct, frozen=True, kw_only=True, tag="message"):
    """A whole message is now part of the session."""

    message: Message


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call was understood and is about to be judged and run."""

    call_id: str
    name: str
    title: str


class ToolProgress(Struct, frozen=True, kw_only=True, tag="tool_progress"):
    """News from a running call; an empty text after the user allowed it, when it begins to run."""

    call_id: str
    text: str


NEEDS_APPROVAL = "needs approval"
"""The summary of a call that nobody could allow; what would allow it is the error its turn ends with."""


class ToolFinished(Struct, frozen=True, kw_only=True, tag="tool_finished"):
    """A call is over. `preview` is the first lines of what the model reads; `files_changed` are workspace paths.

    asked: a person was shown what it would do, diff and all, and said yes.
    """

    call_id: str
    name: str
    title: str
    ok: bool
    summary: str
    seconds: float
    preview: str = ""
    diff: str = ""
    asked: bool = False
    files_changed: tuple[str, ...] = ()


class ContextTrimmed(Struct, frozen=True, kw_only=True, tag="context_trimmed"):
    """The window was made smaller. Nothing is lost: `handle` names what `messages` moved to the archive.

    shrunk: messages of the window that are shown shorter from now on.
    """

    handle: str
    messages: int
    shrunk: int
    freed_tokens: int
    stage: Literal["proactive", "validation", "reactive", "manual"]

    @property
    def line(self) -> str:
        """For the person, without a full stop."""
        moved = f"moved {_many(self.messages, 'message')} to the archive" if self.messages else ""
        shown = f"shortened {_many(self.shrunk, 'tool output')}" if self.shrunk else ""
        return f"{', '.join(filter(None, (moved, shown)))} ({self.handle}), {self.freed_tokens:,} tokens freed"


class Notice(Struct, frozen=True, kw_only=True, tag="notice"):
    """Something a person should know; the turn goes on."""

    text: str
    level: Literal["info", "warning"] = "info"


class StepFinished(Struct, frozen=True, kw_only=True, tag="step_finished"):
    """A step and its tool calls are over and on disk. `usage` is None where the server bills nothing."""

    step: int
    usage: Usage | None


class TurnFinished(Struct, frozen=True, kw_only=True, tag="turn_finished"):
    """The end of a turn. `error` is one sentence where `status` is not "done"; `exit_code` is what one-shot returns.

    cost: of its requests; None where no server billed any.
    """

    status: Status
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


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
