"""The JSON of `clio -p`: report and events, `--input stream-json` lines, and answers that must fit a JSON schema."""

import asyncio
import base64
import binascii
import json
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, cast

import msgspec
from msgspec import Meta, Struct

from clio.agent.user_interface import EXIT_CODES, Event, ToolFinished, TurnFinished
from clio.app import App
from clio.errors import ApprovalNeeded, ToolFailed, UsageError, UserError
from clio.ids import new_id
from clio.messages import Fragment, Usage
from clio.prompt_files import load_prompt
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.sessions.state import Todo
from clio.text.formatting import Cost
from clio.text.translation import tr
from clio.threads import freeze_startup_objects, start_daemon_thread
from clio.tools.files.diff import diff_change
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
    """A JSON schema for the answer. `$ref` is resolved only inside the schema itself: nothing is fetched.

    Args:
        text: the schema as JSON.
        name: what error messages call it.

    Raises:
        UsageError: the text is not JSON, or not a JSON Schema.
    """

    def __init__(self, text: str, name: str) -> None:
        self._text = text.strip()
        self._validator = _make_validator(_parse_schema(self._text, name), name)

    @classmethod
    def load(cls, path: Path) -> "AnswerSchema":
        """Load the schema of `--json-schema`. Raises UsageError if the file is missing or not a JSON Schema."""
        name = f"--json-schema {str(path)!r}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(
                tr("{name} cannot be read: {strerror}; give the path of a file", name=name, strerror=error.strerror)
            ) from None
        if len(data) > MAX_BYTES:
            raise UsageError(
                tr("{name} is larger than {max_bytes:,} bytes; use a smaller file", name=name, max_bytes=MAX_BYTES)
            )
        try:
            return cls(data.decode("utf-8-sig"), name)
        except UnicodeDecodeError as error:
            raise UsageError(tr("{name} is not JSON: {error}", name=name, error=error)) from None

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
            value = json.loads(fenced[1] if fenced else answer, parse_constant=_reject_constant)
        except (ValueError, RecursionError) as error:
            return FittedAnswer(problems=(f"the answer is not JSON alone: {error}",))
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: [str(key) for key in error.path])
        except Exception as error:  # a dangling $ref is detected only when it is resolved
            return FittedAnswer(problems=(f"the schema cannot be applied: {error}",))
        return FittedAnswer(
            value=value, problems=tuple(_describe_schema_error(error) for error in errors[:_MAX_ERRORS])
        )

    @staticmethod
    def describe_problems(problems: tuple[str, ...]) -> str:
        """Return the message to the model if its answer does not fit the schema."""
        return "\n".join([load_prompt("context/answer_again"), *(f"- {problem}" for problem in problems)])


def _parse_schema(text: str, name: str) -> Any:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(tr("{name} is not JSON: {error}", name=name, error=error)) from None
    if not isinstance(schema, (dict, bool)):
        raise UsageError(tr("{name} is not a JSON Schema: it must be an object", name=name))
    return cast(Any, schema)


def _make_validator(schema: Any, name: str) -> "Validator":
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    validator_class = validator_for(schema, default=Draft202012Validator)
    try:
        validator_class.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.path)) or "its top"
        raise UsageError(
            tr("{name} is not a JSON Schema: at {place}: {problem}", name=name, place=place, problem=error.message)
        ) from None
    # an empty registry, because the default one would fetch missing schemas from the network
    return validator_class(schema, registry=Registry())


def _describe_schema_error(error: Any) -> str:
    place = "/".join(map(str, error.path))
    return f"{'at ' + place if place else 'the whole answer'}: {error.message[:300]}"


def _reject_constant(name: str) -> Any:
    raise ValueError(tr("{name} is not JSON", name=name))


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
    error = tr(
        "the answer still does not match the schema after {retries} retries: {problems}",
        retries=RETRIES,
        problems=fitted.problems[0],
    )
    return {"exit_code": SCHEMA_MISFIT, "status": "misfit", "error": error}


MAX_LINE_BYTES = 32_000_000
"""Enough for 20 pictures in base64."""
_REST_BYTES = 1 << 20
MAX_WAITING_BYTES = 64_000_000
"""Above this size of the messages that wait for their turn, no further line is read."""
_LINE_OVERHEAD_BYTES = 1_000
"""What a message takes in memory beside its text, so that many short ones count as well."""


class Image(Struct, frozen=True, kw_only=True):
    """A picture that belongs to a message. data: base64."""

    data: str


class Prompt(Struct, frozen=True, kw_only=True, tag="user"):
    """A message for a turn of its own; during a turn it waits for the end of that turn."""

    text: str
    images: Annotated[tuple[Image, ...], Meta(max_length=20)] = ()


class Steer(Struct, frozen=True, kw_only=True, tag="steer"):
    """A message for the running turn, sent with its next request; without one, a turn of its own."""

    text: str


class Interrupt(Struct, frozen=True, kw_only=True, tag="interrupt"):
    """Stop the running turn and what it started; ignored if none runs."""


class Reply(Struct, frozen=True, kw_only=True, tag="answer"):
    """The answer to `approval_requested` or `question_asked`. answer: "yes", "no", "always", or text.

    reason: for a no, sent to the model.
    """

    id: str
    answer: str
    reason: str = ""


StreamInput = Prompt | Steer | Interrupt | Reply
"""The type of every input line."""


class InputRoom:
    """Limits the size of the input that was read and is not used yet. Used by the reading thread and the event loop.

    A program that writes messages faster than turns end then waits in its own write. While a question is open, reading
    goes on, because its answer may be behind any number of messages.
    """

    def __init__(self, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        self._questions = 0
        self._changed = threading.Condition()

    def wait(self) -> None:
        """Block until a line may be read."""
        with self._changed:
            self._changed.wait_for(lambda: self.held <= self._max_bytes or self._questions)

    @property
    def takes_only_answers(self) -> bool:
        """Whether a line that has arrived now is accepted only if it answers a question."""
        with self._changed:
            return self.held > self._max_bytes and self._questions > 0

    def hold(self, size: int) -> None:
        """Count bytes that are in memory now; a negative size for those that are not any more."""
        with self._changed:
            self.held += size
            self._changed.notify()

    def add_questions(self, count: int) -> None:
        """Count questions that are open now; a negative count for those that are not any more."""
        with self._changed:
            self._questions += count
            self._changed.notify()


def _estimate_size(message: Prompt | Steer) -> int:
    images = message.images if isinstance(message, Prompt) else ()
    return sys.getsizeof(message.text) + sum(len(image.data) for image in images) + _LINE_OVERHEAD_BYTES


async def read_stream_input(
    stream: BinaryIO, refuse: Callable[[InputRefused], None], room: InputRoom
) -> AsyncIterator[StreamInput]:
    """Yield the input lines as they arrive, until the input ends; invalid ones are reported and skipped.

    room: counts each line until the next one is asked for; what the caller stores after that, it counts itself.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()

    def read() -> None:
        line = b" "
        while line:
            room.wait()
            try:
                line = stream.readline(MAX_LINE_BYTES + 1)
                # The rest belongs to the same line: read as lines of their own, its parts could be answers.
                rest = line if len(line) > MAX_LINE_BYTES else b""
                while rest and not rest.endswith(b"\n"):
                    rest = stream.readline(_REST_BYTES)
            except (OSError, ValueError):
                line = b""  # the input was closed
            # Not before the line has arrived: the question may have been withdrawn meanwhile.
            only_answers = room.takes_only_answers
            room.hold(len(line) + _LINE_OVERHEAD_BYTES)
            try:
                loop.call_soon_threadsafe(lines.put_nowait, (line, only_answers))
            except RuntimeError:
                return  # clio has exited first

    # A daemon thread: reading cannot be interrupted, and clio must exit without waiting for another line.
    start_daemon_thread(read, "input")
    number = 0
    while True:
        line, only_answers = await lines.get()
        if not line:
            return
        number += 1
        size = len(line) + _LINE_OVERHEAD_BYTES
        try:
            message = _decode_line(line) if line.strip() else None
            del line  # else it stays in memory while the message is used
            if only_answers and isinstance(message, Prompt | Steer):
                raise ValueError(
                    tr("too many messages wait while a question is open; answer it, then send this message again")
                )
            if message is not None:
                yield message
        except ValueError as error:
            refuse(InputRefused(line=number, error=str(error)))
        finally:
            room.hold(-size)


def decode_image(image: Image) -> bytes:
    """Decode the picture. Raises ValueError if it is not base64."""
    try:
        return base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(tr("an image is not base64; send its bytes as base64 in `data`")) from None


def _decode_line(line: bytes) -> StreamInput:
    """Parse a line. Raises ValueError with a sentence."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(
            tr(
                "a line is longer than {max_line_bytes:,} bytes; name a file with @ instead",
                max_line_bytes=MAX_LINE_BYTES,
            )
        )
    try:
        message = msgspec.json.decode(line, type=StreamInput)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(tr("invalid line: {error}", error=error)) from None
    if isinstance(message, Prompt):
        if not message.text.strip() and not message.images:
            raise ValueError(tr("the prompt is empty; put the message in `text`"))
        for image in message.images:
            decode_image(image)
    return message


class StreamQuestions:
    """Puts questions to the program and waits for the answers. Once the input has ended, none can come.

    redact: replaces secrets. display: formats paths.
    """

    def __init__(self, put: Callable[[StreamEvent], None]) -> None:
        self.redact: Callable[[str], str] = str
        self.display: Callable[[Path], str] = str
        self.room = InputRoom()
        self._put = put
        self._open: dict[str, asyncio.Future[Reply]] = {}
        self._ended = False

    def answer(self, reply: Reply) -> bool:
        """Deliver an answer to the question with its id; False if no such question is open."""
        waiting = self._open.get(reply.id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(reply)
        return True

    def end(self) -> None:
        """The input has ended: withdraw all open questions."""
        self._ended = True
        for waiting in self._open.values():
            if not waiting.done():
                waiting.cancel()

    async def wait(self, question: ApprovalRequested | QuestionAsked) -> Reply | None:
        """Ask, and return the answer; None if the input has ended. Cancelling withdraws the question."""
        if self._ended:
            return None
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[question.id] = waiting
        self.room.add_questions(1)
        self._put(question)
        try:
            return await waiting
        except asyncio.CancelledError:
            if self._ended and waiting.cancelled():
                return None
            raise
        finally:
            del self._open[question.id]
            self.room.add_questions(-1)


class StreamApprover:
    """Asks the program whether a call may be made."""

    def __init__(self, questions: StreamQuestions) -> None:
        self._questions = questions

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask about a call. Any answer but yes, no and always counts as no. Raises ApprovalNeeded if the input has
        ended.
        """
        verdict, action, redact, display = (
            request.verdict,
            request.action,
            self._questions.redact,
            self._questions.display,
        )
        changes = action.changes if isinstance(action, ChangeFiles) else ()
        reply = await self._questions.wait(
            ApprovalRequested(
                id=new_id(),
                title=redact(request.title),
                risk=verdict.risk,
                reason=verdict.reason,
                rule=verdict.rule or "",
                command=redact(action.command) if isinstance(action, RunCommand) else "",
                diff=redact("".join(diff_change(change, display).text for change in changes)),
            )
        )
        if reply is None:
            raise ApprovalNeeded(
                tr(
                    "{title} needs approval, but the input has ended; keep it open and answer the question, or "
                    "allow it with --approve or --allow",
                    title=request.title,
                )
            )
        match reply.answer.strip().lower():
            case "yes":
                return Answer("once")
            case "always" if verdict.rule is not None:
                return Answer("always")
            case "no":
                return Answer("no", reply.reason)
            case other:
                return Answer("no", reply.reason or tr("the answer {other!r} is not yes, no or always", other=other))


class StreamAsker:
    """Puts the model's questions to the program."""

    def __init__(self, questions: StreamQuestions) -> None:
        self._questions = questions

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask the question. Raises ToolFailed if the input has ended."""
        reply = await self._questions.wait(QuestionAsked(id=new_id(), question=question, options=options))
        if reply is None:
            raise ToolFailed("the input has ended, so no one can answer", "decide yourself and state your assumptions")
        return reply.answer


WRONG_INPUT = 2
"""The exit code if a line of the input was invalid and no turn failed."""


class StreamRun:
    """Runs the turns of the input one after the other, and passes every other line to the running one.

    run_turn: runs one turn. refuse: reports an invalid line to the program.
    """

    def __init__(
        self,
        app: App,
        questions: StreamQuestions,
        run_turn: Callable[[str], Awaitable[TurnFinished]],
        refuse: Callable[[InputRefused], None],
    ) -> None:
        self._app = app
        self._questions = questions
        self._run_turn = run_turn
        self._report_refused = refuse
        self._waiting: asyncio.Queue[Prompt | None] = asyncio.Queue()
        self._steered_bytes = 0
        self._running: asyncio.Task[TurnFinished] | None = None
        self._interrupted = False
        self._refused = 0

    async def run(self, first: str, inputs: AsyncIterator[StreamInput]) -> int:
        """Run all turns until the input has ended and the last is over; return the exit code of the last.

        first: the text of `-p`, "" for none.
        """
        if first:
            self._add(Prompt(text=first))
        listening = asyncio.create_task(self._listen(inputs))
        try:
            code, has_ended = 0, False
            # A steering message that came too late for the last turn is behind the end of the input.
            while not (has_ended and self._waiting.empty()):
                prompt = await self._waiting.get()
                if prompt is None:
                    has_ended = True
                    continue
                self._questions.room.hold(-_estimate_size(prompt))
                code = await self._turn(prompt)
                freeze_startup_objects()
        finally:
            listening.cancel()
        return code or (WRONG_INPUT if self._refused else 0)

    def refuse(self, refused: InputRefused) -> None:
        """Report an invalid line, and record it for the exit code."""
        self._refused += 1
        self._report_refused(refused)

    async def _listen(self, inputs: AsyncIterator[StreamInput]) -> None:
        async for message in inputs:
            match message:
                case Prompt():
                    self._add(message)
                case Steer(text=text) if self._running is not None:
                    self._app.mailbox.put(text)
                    self._steered_bytes += (size := _estimate_size(message))
                    self._questions.room.hold(size)
                case Steer(text=text):
                    self._add(Prompt(text=text))
                case Interrupt():
                    if self._running is not None:
                        self._interrupted = self._running.cancel()
                case Reply(id=id):
                    if not self._questions.answer(message):
                        self.refuse(InputRefused(line=0, error=tr("no open question has the id {id!r}", id=id[:80])))
        self._waiting.put_nowait(None)
        self._questions.end()

    def _add(self, prompt: Prompt) -> None:
        self._questions.room.hold(_estimate_size(prompt))
        self._waiting.put_nowait(prompt)

    async def _turn(self, prompt: Prompt) -> int:
        numbers = [self._app.pending_input.add_image(decode_image(image)) for image in prompt.images]
        text = " ".join([prompt.text, *(f"@clipboard:{number}" for number in numbers)])
        self._interrupted = False
        self._running = asyncio.ensure_future(self._run_turn(text))
        try:
            code = (await self._running).exit_code
        except asyncio.CancelledError:
            if not self._interrupted:
                raise  # the whole run was cancelled, not only this turn
            code = EXIT_CODES["interrupted"]
        except UserError as error:  # a wrong command must not end the conversation
            code = EXIT_CODES["refused"]
            self._app.conversation.ui.emit(
                TurnFinished(
                    status="refused", text="", steps=0, usage=Usage(), seconds=0.0, error=str(error), exit_code=code
                )
            )
        finally:
            self._running = None
            self._questions.room.hold(-self._steered_bytes)
            self._steered_bytes = 0
        for text in self._app.mailbox.pop_all():  # arrived too late for the turn it was meant for
            self._add(Prompt(text=text))
        return code
