"""A run with turns, answers and questions as JSON lines: `--input stream-json --output stream-json`."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Struct

from clio.agent.user_interface import EXIT_CODES, TurnFinished
from clio.app import App
from clio.entrypoints.report import ApprovalRequested, InputRefused, QuestionAsked, StreamEvent
from clio.errors import ApprovalNeeded, ToolFailed
from clio.ids import new_id
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.threads import freeze_startup_objects, start_daemon_thread
from clio.tools.files.diff import diff_change

MAX_LINE_BYTES = 32_000_000


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


async def read_stream_input(stream: BinaryIO, refuse: Callable[[InputRefused], None]) -> AsyncIterator[StreamInput]:
    """Yield the input lines as they arrive, until the input ends; invalid ones are reported and skipped."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        line = b" "
        while line:
            try:
                line = stream.readline(MAX_LINE_BYTES + 1)
            except (OSError, ValueError):
                line = b""  # the input was closed
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                return  # clio has exited first

    # A daemon thread: reading cannot be interrupted, and clio must exit without waiting for another line.
    start_daemon_thread(read, "input")
    number = 0
    while line := await lines.get():
        number += 1
        if not line.strip():
            continue
        try:
            yield _decode_line(line)
        except ValueError as error:
            refuse(InputRefused(line=number, error=str(error)))


def decode_image(image: Image) -> bytes:
    """Decode the picture. Raises ValueError if it is not base64."""
    try:
        return base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("an image is not base64; send its bytes as base64 in `data`") from None


def _decode_line(line: bytes) -> StreamInput:
    """Parse a line. Raises ValueError with a sentence."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line is longer than {MAX_LINE_BYTES:,} bytes; name a file with @ instead")
    try:
        said = msgspec.json.decode(line, type=StreamInput)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not understood: {error}") from None
    if isinstance(said, Prompt):
        if not said.text.strip() and not said.images:
            raise ValueError("a prompt is empty; say something in `text`")
        for image in said.images:
            decode_image(image)
    return said


class StreamQuestions:
    """Puts questions to the program and waits for the answers. Once the input has ended, none can come.

    clean: replaces secrets. display: formats paths.
    """

    def __init__(self, put: Callable[[StreamEvent], None]) -> None:
        self.clean: Callable[[str], str] = str
        self.display: Callable[[Path], str] = str
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
        self._put(question)
        try:
            return await waiting
        except asyncio.CancelledError:
            if self._ended and waiting.cancelled():
                return None
            raise
        finally:
            del self._open[question.id]


class StreamApprover:
    """Asks the program whether a call may be made."""

    def __init__(self, desk: StreamQuestions) -> None:
        self._desk = desk

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask about a call. Any answer but yes, no and always counts as no. Raises ApprovalNeeded if the input has
        ended.
        """
        verdict, action, clean, display = request.verdict, request.action, self._desk.clean, self._desk.display
        changes = action.changes if isinstance(action, ChangeFiles) else ()
        reply = await self._desk.wait(
            ApprovalRequested(
                id=new_id(),
                title=clean(request.title),
                risk=verdict.risk,
                reason=verdict.reason,
                rule=verdict.rule or "",
                command=clean(action.command) if isinstance(action, RunCommand) else "",
                diff=clean("".join(diff_change(change, display).text for change in changes)),
            )
        )
        if reply is None:
            raise ApprovalNeeded(
                f"{request.title} needs approval and the input has ended; keep it open and answer the question, "
                "or allow it with --approve or --allow"
            )
        match reply.answer.strip().lower():
            case "yes":
                return Answer("once")
            case "always" if verdict.rule is not None:
                return Answer("always")
            case "no":
                return Answer("no", reply.reason)
            case other:
                return Answer("no", reply.reason or f"the answer {other!r} is not yes, no or always")


class StreamAsker:
    """Puts the model's questions to the program."""

    def __init__(self, desk: StreamQuestions) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask the question. Raises ToolFailed if the input has ended."""
        reply = await self._desk.wait(QuestionAsked(id=new_id(), question=question, options=options))
        if reply is None:
            raise ToolFailed("nobody is there to answer any more; decide yourself and say what you assumed")
        return reply.answer


WRONG_INPUT = 2


class StreamRun:
    """Runs the turns of the input one after the other, and passes every other line to the running one.

    run_turn: runs one turn. refuse: reports an invalid line to the program.
    """

    def __init__(
        self,
        app: App,
        desk: StreamQuestions,
        run_turn: Callable[[str], Awaitable[TurnFinished]],
        refuse: Callable[[InputRefused], None],
    ) -> None:
        self._app = app
        self._desk = desk
        self._run_turn = run_turn
        self._tell = refuse
        self._waiting: asyncio.Queue[Prompt | None] = asyncio.Queue()
        self._running: asyncio.Task[TurnFinished] | None = None
        self._interrupted = False
        self._refused = 0

    async def run(self, first: str, said: AsyncIterator[StreamInput]) -> int:
        """Run all turns until the input has ended and the last is over; return the exit code of the last.

        first: the text of `-p`, "" for none.
        """
        if first:
            self._waiting.put_nowait(Prompt(text=first))
        listening = asyncio.create_task(self._listen(said))
        try:
            code = 0
            while prompt := await self._waiting.get():
                code = await self._turn(prompt)
                freeze_startup_objects()
        finally:
            listening.cancel()
        return code or (WRONG_INPUT if self._refused else 0)

    def refuse(self, refused: InputRefused) -> None:
        """Report an invalid line, and record it for the exit code."""
        self._refused += 1
        self._tell(refused)

    async def _listen(self, said: AsyncIterator[StreamInput]) -> None:
        async for one in said:
            match one:
                case Prompt():
                    self._waiting.put_nowait(one)
                case Steer(text=text) if self._running is not None:
                    self._app.mailbox.put(text)
                case Steer(text=text):
                    self._waiting.put_nowait(Prompt(text=text))
                case Interrupt():
                    if self._running is not None:
                        self._interrupted = self._running.cancel()
                case Reply(id=id):
                    if not self._desk.answer(one):
                        self.refuse(InputRefused(line=0, error=f"no question waits for an answer to {id[:80]!r}"))
        self._waiting.put_nowait(None)
        self._desk.end()

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
        finally:
            self._running = None
        for text in self._app.mailbox.take_all():  # arrived too late for the turn it was meant for
            self._waiting.put_nowait(Prompt(text=text))
        return code
