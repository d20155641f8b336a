"""What a run of `clio -p` came to, as programs read it: one object for `json`, the last line for `stream-json`."""

import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clio.agent.user_interface import Event, ToolFinished, TurnFinished
from clio.messages import Usage
from clio.sessions.state import Todo
from clio.text.formatting import Cost
from clio.ui.safe_text import inert_json

SCHEMA_VERSION = 1
"""Of the events; it grows where a reader that passes over what it does not know would still be wrong."""


class ToolCallReport(Struct, frozen=True, kw_only=True):
    """One tool call in the JSON report."""

    name: str
    ok: bool
    summary: str
    seconds: float


class Report(Struct, frozen=True, kw_only=True):
    """What `--output json` prints, one object on one line. style: the answer's, "" while styles are off.

    plan: what was proposed in plan mode, as the list of work would be. cost: None where no server billed anything.
    structured: the answer as JSON where `--json-schema` asked for it and it fits.
    """

    session_id: str
    status: str
    text: str
    steps: int
    tool_calls: list[ToolCallReport]
    files_changed: list[str]
    usage: Usage
    seconds: float
    error: str
    exit_code: int
    style: str = ""
    cost: Cost | None = None
    plan: tuple[Todo, ...] = ()
    structured: Any = None


class SessionStarted(Struct, frozen=True, kw_only=True, tag="session"):
    """The first line: who answers, where. `version` is that of this format."""

    session_id: str
    model: str
    server: str
    cwd: str
    approve: str
    clio: str
    version: int = SCHEMA_VERSION


class ApprovalRequested(Struct, frozen=True, kw_only=True, tag="approval_requested"):
    """With `--input stream-json`: a call waits for `{"type": "answer", "id": …, "answer": "yes"}`, or "no" or "always".

    rule: what "always" would add, "" where it adds nothing. command, diff: what would be done.
    """

    id: str
    title: str
    risk: Literal["low", "medium", "high"]
    reason: str
    rule: str = ""
    command: str = ""
    diff: str = ""


class QuestionAsked(Struct, frozen=True, kw_only=True, tag="question_asked"):
    """With `--input stream-json`: the model asks, and waits for an answer line; `options` may be empty."""

    id: str
    question: str
    options: tuple[str, ...] = ()


class InputRefused(Struct, frozen=True, kw_only=True, tag="input_refused"):
    """A line of the input was not understood and is passed over. line: from 1."""

    line: int
    error: str


class Result(Report, frozen=True, kw_only=True, tag="result"):
    """The last line: the last turn's report, with what all turns of the run changed and cost. See `Report`."""


StreamEvent = Event | SessionStarted | ApprovalRequested | QuestionAsked | InputRefused | Result
"""Every line of `--output stream-json`."""


class Reporter:
    """Collects the events of a run into a Report."""

    def __init__(self) -> None:
        self._calls: list[ToolCallReport] = []
        self._changed: dict[str, None] = {}  # a dict keeps the order in which the files changed
        self._finished: list[TurnFinished] = []

    def handle(self, event: Event) -> None:
        """Listen to the loop."""
        if isinstance(event, ToolFinished):
            call = ToolCallReport(name=event.name, ok=event.ok, summary=event.summary, seconds=event.seconds)
            self._calls.append(call)
            self._changed.update(dict.fromkeys(event.files_changed))
        elif isinstance(event, TurnFinished):
            self._finished.append(event)

    @property
    def text(self) -> str:
        """The last answer."""
        return self._finished[-1].text if self._finished else ""

    def report(self, session_id: str, **more: Any) -> Report:
        """The whole run in one object, with status and text of its last turn. more: further fields, or other values."""
        none = TurnFinished(status="interrupted", text="", steps=0, usage=Usage(), seconds=0.0, exit_code=130)
        turns = self._finished or [none]
        end = turns[-1]
        costs = [turn.cost for turn in turns if turn.cost is not None]
        fields: dict[str, Any] = {
            "session_id": session_id,
            "status": end.status,
            "text": end.text,
            "steps": sum(turn.steps for turn in turns),
            "tool_calls": self._calls,
            "files_changed": list(self._changed),
            "usage": sum((turn.usage for turn in turns), Usage()),
            "seconds": round(sum(turn.seconds for turn in turns), 3),
            "error": end.error,
            "exit_code": end.exit_code,
            "cost": sum(costs[1:], costs[0]) if costs else None,
        }
        return Report(**(fields | more))


def as_result(report: Report) -> Result:
    """The report as the last line of a stream."""
    return Result(**{name: getattr(report, name) for name in Report.__struct_fields__})


def print_line(value: StreamEvent | Report) -> None:
    """One JSON object on a line of standard output, at once."""
    data = msgspec.json.encode(value)
    if not data.isascii() or b"\x7f" in data:
        data = inert_json(data.decode("utf-8")).encode("utf-8")
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()
