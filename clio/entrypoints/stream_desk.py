"""Questions to the program at the other end of `--input stream-json`: each is a line, and waits for its answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from clio.entrypoints.report import ApprovalRequested, QuestionAsked, StreamEvent
from clio.entrypoints.stream_input import Reply
from clio.errors import ApprovalNeeded, ToolFailed
from clio.ids import new_id
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.tools.files.diff import diff_change


class StreamDesk:
    """Knows which questions are open. Once the input has ended nobody is there to answer.

    clean: replaces secrets. display: names paths.
    """

    def __init__(self, put: Callable[[StreamEvent], None]) -> None:
        self.clean: Callable[[str], str] = str
        self.display: Callable[[Path], str] = str
        self._put = put
        self._open: dict[str, asyncio.Future[Reply]] = {}
        self._ended = False

    def answer(self, reply: Reply) -> bool:
        """Give an answer to the question that waits for it; False where none does."""
        waiting = self._open.get(reply.id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(reply)
        return True

    def end(self) -> None:
        """No answers come any more."""
        self._ended = True
        for waiting in self._open.values():
            if not waiting.done():
                waiting.cancel()

    async def wait(self, question: ApprovalRequested | QuestionAsked) -> Reply | None:
        """The answer; None where none can come any more. Cancelling withdraws the question."""
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

    def __init__(self, desk: StreamDesk) -> None:
        self._desk = desk

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Raises ApprovalNeeded where the input has ended. An answer nobody understands is a no."""
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

    def __init__(self, desk: StreamDesk) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Raises ToolFailed where the input has ended."""
        reply = await self._desk.wait(QuestionAsked(id=new_id(), question=question, options=options))
        if reply is None:
            raise ToolFailed("nobody is there to answer any more; decide yourself and say what you assumed")
        return reply.answer
