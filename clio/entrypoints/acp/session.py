"""One conversation of an editor: its prompts become turns and commands; a stored one is shown again."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast

from msgspec import structs

from clio.agent.interrupts import StopOnce
from clio.app import App
from clio.commands.command import (
    Choose,
    CommandResult,
    Confirm,
    ExportSession,
    FollowUp,
    GitWork,
    GrantTrust,
    LoadWindow,
    LongWork,
    NewSession,
    Prefill,
    ReviewPlan,
    RunPrompt,
    SetApproval,
    SetModel,
    Shell,
    SleepNow,
    SwitchSession,
    Table,
    Track,
    WaitFor,
)
from clio.commands.git_commands import describe_branch
from clio.commands.plan_commands import to_markdown
from clio.commands.registry import COMMANDS, added, run_command
from clio.commands.typed_line import MakeMeaning, MakePrompt, is_command
from clio.config.schema import ApprovalMode
from clio.config.trust import grant_all
from clio.entrypoints.acp.approver import EditorDesk, Kind
from clio.entrypoints.acp.listener import Listener, decoded, fenced
from clio.entrypoints.acp.prompt import EditorShelf
from clio.entrypoints.acp.updates import Outbox, Place, Said, Shown, Sides, Stand, UpdateMaker
from clio.entrypoints.export_file import export
from clio.entrypoints.long_work import work_of
from clio.errors import ClioError
from clio.export.document import Call, call_title
from clio.ids import new_id
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.sessions.state import first_words
from clio.text.formatting import MICROS
from clio.ui.safe_text import clean, clean_line
from clio.ui.tables import bar_rows

_TERMINAL_ONLY = frozenset("clear commit exit theme".split())
_BAR_WIDTH = 60


def offered(shell: Shell) -> Iterator[tuple[str, str, str]]:
    """The commands that work in an editor: name, summary, and a hint on the argument."""
    for command in (*COMMANDS, *added(shell)):
        if command.name not in _TERMINAL_ONLY:
            yield command.name, command.summary, command.argument or " | ".join(sub.name for sub in command.subcommands)


def markdown(result: CommandResult) -> str:
    """A command's result as Markdown, in the order in which a conversation shows it."""
    parts: list[str] = []
    if result.bar is not None:
        rows = ["".join(piece for piece, _ in row) for row in bar_rows(result.bar, _BAR_WIDTH)]
        parts.append(fenced(clean("\n".join([result.bar.title, *rows]))))
    if result.text:
        parts.append(clean(result.text))
    if result.verbatim:
        parts.append(fenced(clean(result.verbatim)))
    if result.diff:
        parts.append(fenced(clean(result.diff)).replace("```\n", "```diff\n", 1))
    if result.table is not None:
        parts.append(_table(result.table))
    if result.todos:
        parts.append(clean(to_markdown(result.todos)).rstrip())
    return "\n\n".join(part for part in parts if part)


def _table(table: Table) -> str:
    rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(clean(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


Places = Callable[[str, object], list[Place]]
"""Finds the files that a call with this name and these arguments is about."""


def replay(messages: Sequence[Message], make: UpdateMaker, places: Places, put: Callable[[Any], None]) -> None:
    """Pass everything the user saw of a conversation to `put`, oldest first; calls come with their results."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case UserMessage(origin="user"):
                put(Said("user_message_chunk", clean(message.content)))
            case AssistantMessage():
                if message.reasoning.strip():
                    put(Said("agent_thought_chunk", clean(message.reasoning)))
                if message.content.strip():
                    put(Said("agent_message_chunk", clean(message.content)))
                calls.update((call.id, call) for call in message.tool_calls)
            case ToolMessage():
                _call(message, calls.get(message.tool_call_id), make, places, put)
            case _:
                pass  # messages of clio's own to the model were not shown


def _call(
    result: ToolMessage, call: ToolCall | None, make: UpdateMaker, places: Places, put: Callable[[Any], None]
) -> None:
    given = decoded(call.arguments) if call else None
    title = call_title(Call(id=call.id, name=call.name, arguments=given)) if call else ""
    named = places(result.name, given)
    id = result.tool_call_id
    status = "completed" if result.ok else "failed"
    words = clean_line(f"{result.name} {title}")
    put(make.call_started(id, result.name, words, status=status, places=named, given=given))
    changed = _changed(result, given) if named else None
    shown = Shown(changes=((named[0].path, changed),)) if changed else Shown(text=fenced(clean(result.content)))
    put(make.call_news(id, shown=shown))


def _changed(result: ToolMessage, given: object) -> Sides | None:
    """The texts before and after an edit, as far as the call's arguments contain them."""
    if not result.ok or not isinstance(given, dict):
        return None
    arguments = cast(dict[str, object], given)
    match result.name:
        case "edit_file":
            old, new = arguments.get("old_string"), arguments.get("new_string")
        case "write_file":
            old, new = None, arguments.get("content")
        case _:
            return None
    if not isinstance(new, str) or not isinstance(old, str | None):
        return None
    return Sides(old=old, new=new, line=1)


Stop = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_IN_TERMINAL = "This needs a terminal; start `clio -c` in the project and give the command there."


class EditorSession:
    """A running session. `id` is that of clio's stored session, so it can be opened in a terminal too.

    One prompt runs at a time; prompts that come meanwhile steer it. shelf: images and attachments of the prompt.
    """

    def __init__(
        self,
        app: App,
        *,
        make: UpdateMaker,
        outbox: Outbox,
        desk: EditorDesk,
        listener: Listener,
        shelf: EditorShelf,
    ) -> None:
        self.app = app
        self.shelf = shelf
        self.id = app.session.id
        self._make = make
        self._outbox = outbox
        self._desk = desk
        self._listener = listener
        self._task: asyncio.Task[Stop] | None = None
        self._stop = StopOnce(time.monotonic)
        self._told: dict[str, object] = {"mode": app.policy.mode, "plan": ()}
        self._usage: Usage | None = None

    @property
    def mode(self) -> ApprovalMode:
        """The approval mode."""
        return self.app.policy.mode

    @property
    def running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._task is not None and not self._task.done()

    def begin(self) -> None:
        """Send commands, notices and state once the editor knows the session's id."""
        self._told.pop("commands", None)
        self._tell_commands()
        self._listener.open(self.id)
        self.tell()

    def replay(self) -> None:
        """Send the whole conversation again."""
        replay(self.app.session.messages, self._make, self._listener.places, self._put)
        self._told["plan"] = ()

    def start(self, words: str) -> "asyncio.Task[Stop]":
        """Start a turn for a prompt, or pass it to the running turn; the task ends with that turn.

        Nothing is awaited here, so a cancellation that follows at once finds the task.
        """
        if self.running and self._task is not None:
            if is_command(words):
                self._look(words)
            else:
                self.app.mailbox.put(words)
            return self._task
        self._stop.reset()
        self._task = asyncio.create_task(self._answer(words))
        return self._task

    async def wait(self, task: "asyncio.Task[Stop]") -> Stop:
        """Wait for a prompt's end. Cancelling the caller stops the turn first. Raises ClioError where it failed."""
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        await self._outbox.flush()
        return "cancelled" if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Stop the running turn; do nothing where none runs, or where it was asked to stop a moment ago."""
        if self.running and self._task is not None and self._stop.passes():
            self._task.cancel()

    def set_mode(self, mode: ApprovalMode) -> None:
        """Change the approval mode at the editor's request."""
        self.app.planning.set_mode(mode)
        self._told["mode"] = mode

    def heard_step(self, usage: Usage | None) -> None:
        """A step has ended, or the todo list may have changed: send what changed."""
        if usage is not None and usage.prompt_tokens:
            self._usage = usage
        self.tell()

    def tell(self) -> None:
        """Send what has changed: approval mode, plan, title, and usage."""
        app, session = self.app, self.app.session
        self._tell("mode", self.mode, lambda: self._make.mode(self.mode))
        self._tell("plan", session.todos, lambda: self._make.plan(session.todos))
        title = session.name or first_words(session.messages)
        if title:
            self._tell("title", title, lambda: self._make.titled(title))
        if self._usage is not None and app.context is not None:
            cost = app.spending.of_session(session)
            dollars = cost.micro_dollars / MICROS if cost is not None and cost.is_known else None
            used = self._usage.prompt_tokens + self._usage.completion_tokens
            full = (used, app.context.limits.context_window, dollars)
            self._tell("usage", full, lambda: self._make.usage(*full))

    async def close(self) -> None:
        """Stop the running turn and close the app."""
        if self.running and self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self.app.close()

    async def _answer(self, words: str) -> Stop:
        try:
            stop = await (self._command(words) if is_command(words) else self._turn(words))
            while stop == "end_turn" and (following := await self._following()):
                stop = await self._turn(following)
            return stop
        finally:
            self.app.mailbox.take_all()  # steering texts that came too late for a failed turn are dropped
            self.tell()
            self._tell_commands()

    async def _turn(self, words: str, make: MakeMeaning | None = None) -> Stop:
        """Run one turn. make: expands a custom command. Raises ClioError where the turn failed."""
        self._listener.begin_turn()
        finished = await self.app.run_turn(words, make)
        self.tell()
        self.app.lessons.keep_doubts()
        match finished.status:
            case "done":
                ends: dict[str, Stop] = {"content_filter": "refusal", "length": "max_tokens"}
                return ends.get(self._listener.last_reason, "end_turn")
            case "max_steps":
                self._listener.note(finished.error)
                return "max_turn_requests"
            case "interrupted":
                return "cancelled"
            case _:
                raise ClioError(finished.error)

    async def _following(self) -> str:
        """The text of the next turn: steering texts that came too late, or an approved plan; "" for none."""
        if late := self.app.mailbox.take_all():
            return "\n\n".join(late)
        return await self._review() if self.app.planning.proposed else ""

    async def _review(self) -> str:
        """Let the user review the plan; return the text of the next turn, "" for none."""
        planning = self.app.planning
        modes = dict.fromkeys((planning.before, "ask", "edits"))
        options: list[tuple[str, str, Kind]] = [(mode, f"Carry it out, mode {mode}", "allow_once") for mode in modes]
        options.append(("no", "Keep planning", "reject_once"))
        shown = Shown(text=to_markdown(self.app.session.todos))
        chosen = await self._desk.choose("Carry out this plan?", options, kind="switch_mode", shown=shown)
        for mode in modes:
            if mode == chosen:
                words = planning.approve(mode)
                self.tell()
                return words
        planning.set_aside()
        return ""

    def _look(self, line: str) -> None:
        """Run a read-only command while a turn runs."""
        result = run_command(self.app, line)
        if result.follow_up is not None:
            self._listener.note(f"{line.split()[0]} has to wait; give it again when this turn is done")
        else:
            self._show(result)

    async def _command(self, line: str) -> Stop:
        result = run_command(self.app, line)
        self._show(result)
        if self.app.session.unsaved:
            self._listener.note(f"warning: this session is not saved: {self.app.session.unsaved}")
        return "end_turn" if result.follow_up is None else await self._follow(result.follow_up)

    async def _follow(self, step: FollowUp) -> Stop:
        """Carry out what a command asked for, as far as an editor can."""
        app, listener = self.app, self._listener
        match step:
            case RunPrompt(text=text):
                return await self._turn(text)
            case MakePrompt(said=said, make=make):
                return await self._turn(said, make)
            case ReviewPlan():
                words = await self._review()
                return await self._turn(words) if words else "end_turn"
            case LoadWindow(then=then):
                await app.window()
                return await self._command(then)
            case SetModel(name=name):
                app.set_model(name)
                listener.note(f"{app.provider.model} at {app.provider.name} answers from now on")
            case SetApproval(mode=mode):
                app.planning.set_mode(mode)
            case Confirm(question=question, then=then, word=word):
                return await self._confirm(question, then, typed=bool(word))
            case ExportSession(path=path):
                place = path if path == "-" else str(app.project / path)
                self._show(await asyncio.to_thread(export, app, structs.replace(step, path=place)))
            case SleepNow():
                self._show(await self._work(work_of(app, step)))
            case LongWork():
                self._show(await self._work(step))
            case WaitFor(saying=saying, work=work):
                listener.note(f"{saying} …")
                result = await work()
                self._show(result)
                return "end_turn" if result.follow_up is None else await self._follow(result.follow_up)
            case GitWork(kind="pr", words=base, file=file):
                self._show(await describe_branch(app, base, file))
            case GrantTrust():
                grant_all(app.loaded)
                listener.note("trusted; the project's settings count in sessions that are opened from now on")
            case Prefill(text=text):
                listener.text(f"Next: `{text}`")
            case Choose():
                pass  # the result's table says how to choose
            case NewSession() | SwitchSession():
                listener.text("Sessions are opened in the editor: by its list of threads, or by a new one.")
            case _:
                listener.text(_IN_TERMINAL)
        return "end_turn"

    async def _confirm(self, question: str, then: str, *, typed: bool) -> Stop:
        if typed:
            self._listener.text(f"{question} Type `{then}` to agree.")
            return "end_turn"
        options: list[tuple[str, str, Kind]] = [("yes", "Yes", "allow_once"), ("no", "No", "reject_once")]
        return await self._command(then) if await self._desk.choose(question, options) == "yes" else "end_turn"

    async def _work(self, step: LongWork) -> CommandResult:
        """Run long work, shown as a tool call with progress; cancelling keeps what is done by then."""
        stopped, id = threading.Event(), f"work_{new_id()}"
        self._put(self._make.call_started(id, "", step.label, status="in_progress"))

        def tell(done: int, total: int) -> None:
            self._outbox.put(self.id, self._make.call_news(id, shown=Shown(text=f"{done:,} of {total:,}")), key=id)

        stand: Stand = "failed"
        try:
            result = await asyncio.to_thread(step.work, Track(stop=stopped.is_set, tell=tell))
            stand = "completed"
            return result
        finally:
            stopped.set()
            self._put(self._make.call_news(id, status=stand))

    def _show(self, result: CommandResult) -> None:
        if text := markdown(result):
            self._listener.text(f"\n\n{text}\n\n")

    def _tell_commands(self) -> None:
        """Send the command list if files or MCP servers changed it."""
        rows = tuple(offered(self.app))
        self._tell("commands", rows, lambda: self._make.commands(rows))

    def _tell(self, what: str, value: object, update: Callable[[], object]) -> None:
        if self._told.get(what) != value:
            self._told[what] = value
            self._put(update())

    def _put(self, update: object) -> None:
        self._outbox.put(self.id, update)
