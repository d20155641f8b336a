"""`clio -p`: one turn, its answer on standard output, and an exit code a script can trust."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

import msgspec
from msgspec import Struct

from clio.agent.events import EXIT_CODES, Emit, Event, ToolFinished, TurnFinished
from clio.algorithms.money import Cost
from clio.app import App, build_app
from clio.commands.base import RunPrompt
from clio.commands.called import MakePrompt
from clio.commands.checklist import to_markdown
from clio.commands.registry import added_prompt
from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.errors import ApprovalNeeded, SessionNotFound, ToolFailed
from clio.messages import Usage
from clio.providers.registry import OFFLINE
from clio.providers.transport import start_import
from clio.security.approval import Answer, ApprovalRequest
from clio.sessions.state import Todo
from clio.ui.pipe_screen import PipeScreen
from clio.ui.plain import clean


class ToolCallReport(Struct, frozen=True, kw_only=True):
    """One tool call in the JSON report."""

    name: str
    ok: bool
    summary: str
    seconds: float


class Report(Struct, frozen=True, kw_only=True):
    """What `--output json` prints, one object on one line. style: the answer's, "" while styles are off.

    plan: what was proposed in plan mode, as the list of work would be. cost: None where no server billed anything.
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
    style: str = ""
    cost: Cost | None = None
    plan: tuple[Todo, ...] = ()


class NobodyThere:
    """Answers for the person who is not at the keyboard: no approval, no opinion."""

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Raises ApprovalNeeded, which names what would have allowed the action."""
        raise ApprovalNeeded(
            f"{request.title} needs approval and nobody can be asked in a one-shot run; "
            "allow it with --approve edits, --approve all, or a rule under `allow` in .clio/config.yaml"
        )


class NoAnswer:
    """The asker of a one-shot run."""

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Raises ToolFailed: the model must decide for itself."""
        raise ToolFailed("nobody is there to answer in a one-shot run; decide yourself and say what you assumed")


class Reporter:
    """Collects the events of a turn into a Report."""

    def __init__(self) -> None:
        self._calls: list[ToolCallReport] = []
        self._changed: dict[str, None] = {}  # a dict keeps the order in which the files changed
        self._finished: TurnFinished | None = None

    def handle(self, event: Event) -> None:
        """Listen to the loop."""
        if isinstance(event, ToolFinished):
            call = ToolCallReport(name=event.name, ok=event.ok, summary=event.summary, seconds=event.seconds)
            self._calls.append(call)
            self._changed.update(dict.fromkeys(event.files_changed))
        elif isinstance(event, TurnFinished):
            self._finished = event

    def report(self, session_id: str, style: str, plan: tuple[Todo, ...]) -> Report:
        """The whole turn in one object."""
        end = self._finished or TurnFinished(status="interrupted", text="", steps=0, usage=Usage(), seconds=0.0)
        return Report(
            session_id=session_id,
            status=end.status,
            text=end.text,
            steps=end.steps,
            tool_calls=self._calls,
            files_changed=list(self._changed),
            usage=end.usage,
            seconds=end.seconds,
            error=end.error,
            style=style,
            cost=end.cost,
            plan=plan,
        )


def run(options: Options, loaded: Loaded) -> int:
    """Run the one turn `options.prompt` asks for and return the exit code."""
    if loaded.config.provider != OFFLINE:
        start_import()  # the longest part of a start, beside all the rest of it
    return asyncio.run(_run(options, loaded))


async def _run(options: Options, loaded: Loaded) -> int:
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    reporter = Reporter()
    listen = _listener(options, reporter, stop=lambda: _cancel(task))
    app = build_app(loaded, approver=NobodyThere(), asker=NoAnswer(), emit=listen, env=os.environ)
    exit_code = EXIT_CODES["interrupted"]
    with contextlib.suppress(asyncio.CancelledError):  # the turn has ended itself; what is left is to report and leave
        try:
            _choose_session(app, options)
            finished = await _run_turn(app, options.prompt or "")
            exit_code = finished.exit_code
            if options.output == "text" and (plan := app.planning.proposed):
                _print_plan(plan, below=finished.text)
        finally:
            await app.close()
    if options.output == "json":
        _print_line(reporter.report(app.session.id, _style(app), app.planning.proposed))
    return exit_code


async def _run_turn(app: App, text: str) -> TurnFinished:
    """The turn of these words, or of what they stand for where they call a command that is not built in.

    Raises UsageError where such a command was called wrongly, or meant and misspelt.
    """
    step = added_prompt(app, text)
    match step:
        case MakePrompt(said=said, make=make):
            return await app.run_turn(said, make)
        case RunPrompt(text=words):
            return await app.run_turn(words)
        case None:
            return await app.run_turn(text)


def _print_plan(todos: tuple[Todo, ...], below: str) -> None:
    """The plan below the answer, as a Markdown checklist."""
    gap = "\n" if below else ""
    with contextlib.suppress(BrokenPipeError):  # whoever read the answer has seen enough
        sys.stdout.write(gap + clean(to_markdown(todos)))
        sys.stdout.flush()


def _style(app: App) -> str:
    chosen = None if app.memory.is_silent else app.memory.styles.current
    return chosen.skill.id if chosen else ""


def _cancel(task: "asyncio.Task[int]") -> None:
    task.cancel()


def _choose_session(app: App, options: Options) -> None:
    """A new session unless an earlier one was asked for."""
    if options.resume:
        app.open_session(app.store.find(options.resume))
    elif options.resume is not None or options.continue_latest:
        latest = app.store.latest()
        if latest is None:
            raise SessionNotFound("there is no session to continue in this project; leave out -c")
        app.open_session(latest)


def _listener(options: Options, reporter: Reporter, stop: Callable[[], None]) -> Emit:
    """Who hears the events. stop: called when nobody reads the answer any more."""
    match options.output:
        case "json":
            return reporter.handle
        case "stream-json":
            return _print_line
        case "text":
            return PipeScreen(sys.stdout, sys.stderr, on_broken=stop).handle


def _print_line(value: Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
