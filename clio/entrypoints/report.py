"""The result of `clio -p` as JSON: the report of a run, and an answer that must fit a JSON schema."""

import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.agent.user_interface import Event, ToolFinished, TurnFinished
from clio.app import App
from clio.errors import UsageError
from clio.messages import Fragment, Usage
from clio.prompt_files import load_prompt
from clio.sessions.state import Todo
from clio.text.formatting import Cost
from clio.ui.safe_text import escape_json_controls

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


SCHEMA_VERSION = 1
"""Version of the events; increased only if a reader that ignores unknown fields would still misread them."""


class ToolCallReport(Struct, frozen=True, kw_only=True):
    """One tool call in the JSON report."""

    name: str
    ok: bool
    summary: str
    seconds: float


class Report(Struct, frozen=True, kw_only=True):
    """The object that `--output json` prints on one line. style: the answer's, "" while styles are off.

    plan: the task list proposed in plan mode. cost: None if no server billed anything.
    structured: the answer as JSON if `--json-schema` requested it and it fits.
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
    """The first line: model, session and directory. `version` is that of this format."""

    session_id: str
    model: str
    server: str
    cwd: str
    approve: str
    clio: str
    version: int = SCHEMA_VERSION


class ApprovalRequested(Struct, frozen=True, kw_only=True, tag="approval_requested"):
    """With `--input stream-json`: a call waits for `{"type": "answer", "id": …, "answer": "yes"}`, or "no" or "always".

    rule: the rule that "always" would add, "" if none. command, diff: what would be done.
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
    """An invalid input line that was skipped. line: from 1."""

    line: int
    error: str


class Result(Report, frozen=True, kw_only=True, tag="result"):
    """The last line: the last turn's report, with changed files and costs of all turns. See `Report`."""


StreamEvent = Event | SessionStarted | ApprovalRequested | QuestionAsked | InputRefused | Result
"""The type of every line of `--output stream-json`."""


class Reporter:
    """Collects the events of a run into a Report."""

    def __init__(self) -> None:
        self._calls: list[ToolCallReport] = []
        self._changed: dict[str, None] = {}  # used as an ordered set of the changed files
        self._finished: list[TurnFinished] = []

    def handle(self, event: Event) -> None:
        """Record an event of the loop."""
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
        """Return the whole run in one object, with status and text of its last turn.

        more: further or replaced fields.
        """
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


def make_result_event(report: Report) -> Result:
    """Return the report as the last line of a stream."""
    return Result(**{name: getattr(report, name) for name in Report.__struct_fields__})


def print_json_line(value: StreamEvent | Report) -> None:
    """Print one JSON object on a line of standard output, and flush."""
    data = msgspec.json.encode(value)
    if not data.isascii() or b"\x7f" in data:
        data = escape_json_controls(data.decode("utf-8")).encode("utf-8")
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


RETRIES = 2
"""How often the model is asked again with a description of the error."""
MAX_BYTES = 1_000_000
_MAX_ERRORS = 10
_FENCE = re.compile(r"\A\s*```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_CAP_TOKENS = 8_000


class FittedAnswer(Struct, frozen=True, kw_only=True):
    """An answer checked against the schema. `value` is valid only if `problems`, one sentence each, is empty."""

    value: Any = None
    problems: tuple[str, ...] = ()


class AnswerSchema:
    """A JSON schema for the answer. `$ref` is resolved only inside the schema itself: nothing is fetched."""

    def __init__(self, path: Path) -> None:
        """Load the schema. Raises UsageError if the file is missing, not JSON, or not a JSON Schema."""
        self._text, schema = _load(path)
        self._validator = _validator(schema, path)

    def fragment(self) -> Fragment:
        """Return the schema as context for the model, placed before the text of the turn."""
        return Fragment(
            name="answer_schema",
            text=f"{load_prompt('context/answer_schema')}\n{self._text}",
            source="--json-schema",
            reason="the answer must be JSON of this form",
            cap_tokens=_CAP_TOKENS,
            whole=True,
        )

    def fit_answer(self, answer: str) -> FittedAnswer:
        """Parse the answer, JSON alone or in one ``` fence, and check it against the schema."""
        fenced = _FENCE.match(answer)
        try:
            value = json.loads(fenced[1] if fenced else answer, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            return FittedAnswer(problems=(f"the answer is not JSON alone: {error}",))
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: [str(key) for key in error.path])
        except Exception as error:  # a dangling $ref is detected only when it is resolved
            return FittedAnswer(problems=(f"the schema cannot be applied: {error}",))
        return FittedAnswer(value=value, problems=tuple(_problem(error) for error in errors[:_MAX_ERRORS]))

    @staticmethod
    def describe_problems(problems: tuple[str, ...]) -> str:
        """Return the message to the model if its answer does not fit the schema."""
        return "\n".join([load_prompt("context/answer_again"), *(f"- {problem}" for problem in problems)])


def _load(path: Path) -> tuple[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--json-schema {str(path)!r} cannot be read: {error.strerror}; name a file") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"--json-schema {str(path)!r} is larger than {MAX_BYTES:,} bytes; name a smaller one")
    try:
        text = data.decode("utf-8-sig")
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema {str(path)!r} is not JSON: {error}") from None
    if not isinstance(schema, (dict, bool)):
        raise UsageError(f"--json-schema {str(path)!r} is not a JSON Schema: it must be an object")
    return text.strip(), cast(Any, schema)


def _validator(schema: Any, path: Path) -> "Validator":
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.path)) or "its top"
        raise UsageError(f"--json-schema {str(path)!r} is not a JSON Schema: at {place}: {error.message}") from None
    # an empty registry, because the default one would fetch missing schemas from the network
    return kind(schema, registry=Registry())


def _problem(error: Any) -> str:
    place = "/".join(map(str, error.path))
    return f"{'at ' + place if place else 'the whole'}: {error.message[:300]}"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


SCHEMA_MISFIT = 7
"""The exit code for an answer that does not fit the schema."""


async def run_to_schema(
    app: App, schema: AnswerSchema, run_turn: Callable[[str], Awaitable[TurnFinished]], text: str
) -> dict[str, Any]:
    """Run a turn whose answer must fit the schema; ask again at most RETRIES times.

    Returns:
        Fields for the report: `structured` if the answer fits, else status, error and exit code.
    """
    app.pending_input.add_fragment(schema.fragment())
    finished = await run_turn(text)
    fitted = schema.fit_answer(finished.text)
    for _ in range(RETRIES):
        if finished.status != "done" or not fitted.problems:
            break
        finished = await app.run_turn(schema.describe_problems(fitted.problems))
        fitted = schema.fit_answer(finished.text)
    if finished.status != "done":
        return {"exit_code": finished.exit_code, "error": finished.error}
    if not fitted.problems:
        return {"exit_code": 0, "structured": fitted.value}
    error = f"the answer does not fit --json-schema after {RETRIES} more tries: {fitted.problems[0]}"
    return {"exit_code": SCHEMA_MISFIT, "status": "misfit", "error": error}
