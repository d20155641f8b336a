"""One conversation of an editor: prompts become turns and commands; questions become permission requests."""

import asyncio
import base64
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from msgspec import structs

from clio.agent.user_interface import StopRequests
from clio.app import App
from clio.commands.command import (
    ApplySetting,
    Choose,
    CommandContext,
    CommandResult,
    Confirm,
    ConsolidateNow,
    ExpandCommand,
    ExportSession,
    FollowUp,
    GitTask,
    GrantTrust,
    LoadWindow,
    LongWork,
    NewSession,
    Prefill,
    ReviewPlan,
    RunExpandedCommand,
    RunPrompt,
    SetApproval,
    SetModel,
    SwitchSession,
    WaitFor,
    WorkControl,
    is_command,
    run_handler,
)
from clio.commands.git_commands import describe_branch
from clio.commands.plan_commands import format_todos_as_markdown
from clio.commands.registry import COMMANDS, list_added_commands, run_command
from clio.config.schema import ApprovalMode
from clio.config.trust import trust_project
from clio.context.message_parts import PendingInput, format_file_mention
from clio.context.message_views import cut_text
from clio.entrypoints.acp.updates import (
    CURRENT_CALL,
    CallStatus,
    EditorListener,
    FileVersions,
    Outbox,
    Place,
    ShownContent,
    SpokenMessage,
    UpdateMaker,
    decode_arguments,
    fence_text,
)
from clio.entrypoints.background_work import export_to_file, make_long_work
from clio.errors import ClioError, ToolFailed, UsageError
from clio.export.document import ExportedCall, format_call_title
from clio.ids import new_id
from clio.images import MAX_IMAGE_BYTES
from clio.messages import AssistantMessage, Fragment, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.security.actions import CallServer, ChangeFiles, FetchUrl, FileChange, ReadFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.sessions.state import find_first_words
from clio.text.formatting import MICROS_PER_DOLLAR
from clio.text.translation import mark, tr
from clio.ui.result_markdown import format_result_as_markdown
from clio.ui.safe_text import clean, clean_line, spell_out, spell_out_line

if TYPE_CHECKING:
    from acp.schema import (
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        PermissionOption,
        RequestPermissionResponse,
        ResourceContentBlock,
        TextContentBlock,
        ToolCallUpdate,
    )


Block: TypeAlias = (
    "TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock"
)
MAX_ATTACHED_CHARS = 48_000  # about 12,000 tokens, as much as a mention of a file may add
_ATTACHED_TOKENS = 24_000
_LINE_RANGE = re.compile(r"L(\d{1,9})(?:[-:]L?(\d{1,9}))?")


class EditorAttachments(PendingInput):
    """Input for the next message that also holds texts the editor attached to a message."""

    def __init__(self) -> None:
        super().__init__()
        self._attached: list[Fragment] = []

    def attach(self, name: str, text: str) -> None:
        """Attach a text to the next message, truncated to MAX_ATTACHED_CHARS."""
        shown = cut_text(text, MAX_ATTACHED_CHARS, "read the file for all of it")
        self._attached.append(
            Fragment(
                name="attached",
                text=shown,
                source=name.replace('"', "'"),
                reason="the user attached it",
                cap_tokens=_ATTACHED_TOKENS,
            )
        )

    def take_fragments(self) -> list[Fragment]:
        """Remove and return all attachments, oldest first."""
        attachments, self._attached = self._attached, []
        return [*super().take_fragments(), *attachments]


def read_prompt_blocks(blocks: "list[Block]", attachments: EditorAttachments) -> str:
    """Return the text of a prompt; images and attached texts are added to `attachments`, and the text names them.

    Raises UsageError for an empty prompt, and for audio and other binary data.
    """
    text = ""
    for block in blocks:
        piece = _read_block_text(block, attachments)
        # Editors cut a prompt at each mention, with or without the space before it; two words must not run together.
        glued = text and not text[-1].isspace() and piece[:1] and not piece[0].isspace()
        text += (" " if glued and block.type != "text" else "") + piece
    if not text.strip():
        raise UsageError(tr("the prompt is empty; write a message"))
    return text.strip()


def _read_block_text(block: "Block", attachments: EditorAttachments) -> str:
    if block.type == "text":
        return block.text
    if block.type == "image":
        return _attach_picture(block.data, attachments)
    if block.type == "audio":
        raise UsageError(tr("clio does not accept audio; send text, files or images"))
    if block.type == "resource_link":
        return format_mention(block.uri, block.title or block.name)
    resource = block.resource
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        attachments.attach(_name_from_uri(resource.uri), text)
        return _name_from_uri(resource.uri)
    if (resource.mime_type or "").startswith("image/"):
        return _attach_picture(str(getattr(resource, "blob", "")), attachments)
    raise UsageError(
        tr("{from_uri!r} is neither text nor an image; name the file instead", from_uri=_name_from_uri(resource.uri))
    )


def format_mention(uri: str, title: str) -> str:
    """Return how the text names a link: a file as a mention, which clio then reads; anything else by its address."""
    path, lines = _parse_file_uri(uri)
    if path:
        return format_file_mention(path) + lines
    return f"{title} ({uri})" if title and title != uri else uri


def _name_from_uri(uri: str) -> str:
    """Return the name under which a text is attached."""
    path, lines = _parse_file_uri(uri)
    return f"{Path(path).name}{lines}" if path else uri


def _parse_file_uri(uri: str) -> tuple[str, str]:
    """Return the path and the line range, as in a mention, of a file URI; empty strings for any other address."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return "", ""
    found = _LINE_RANGE.fullmatch(unquote(parts.fragment))
    last = found[2] if found else None
    lines = f":{found[1]}{f'-{last}' if last else ''}" if found else ""
    return url2pathname(parts.path), lines


def _attach_picture(data: str, attachments: EditorAttachments) -> str:
    if len(data) > MAX_IMAGE_BYTES * 4 // 3 + 4:  # base64 has four characters for three bytes
        raise UsageError(
            tr(
                "the image is larger than {max_image_bytes} MB; send a smaller one",
                max_image_bytes=MAX_IMAGE_BYTES // 1000000,
            )
        )
    try:
        return f"@clipboard:{attachments.add_image(base64.b64decode(data, validate=True))}"
    except ValueError:  # binascii.Error is one
        raise UsageError(tr("the image is not valid base64; send it again")) from None


Ask = Callable[[str, "ToolCallUpdate", "list[PermissionOption]"], Awaitable["RequestPermissionResponse"]]
"""Sends a permission request of a session to the editor; raises ConnectionError if it has exited."""
Kind = Literal["allow_once", "allow_always", "reject_once"]


class EditorQuestions:
    """Asks the user questions of one session. session_id: set before the first question."""

    def __init__(self, make: UpdateMaker, outbox: Outbox, ask: Ask) -> None:
        self.make = make
        self.session_id = ""
        self._outbox = outbox
        self._ask = ask

    async def ask_choice(
        self,
        title: str,
        options: Sequence[tuple[str, str, Kind]],
        *,
        id: str = "",
        kind: str = "other",
        shown: ShownContent | None = None,
        places: Sequence[Place] = (),
    ) -> str:
        """Ask, and return the id of the chosen option; "" if the question was closed without an answer.

        Args:
            title: the question.
            options: id, label and kind of each option.
            id: of the tool call the question is about; "" shows the question as an entry of its own.
            kind: of that call, such as "edit".
            shown: what the call would do.
            places: the files it is about.
        """
        own = not id
        # The protocol has only permission requests, each for a tool call; a plain question gets a call of its own.
        id = id or f"question_{new_id()}"
        shown = shown or ShownContent()
        if own:
            self._put(self.make.make_call_start(id, "", title, status="pending"))
        await self._outbox.flush()  # the call must be on the editor's screen before the question about it
        question = self.make.make_question(id, title, kind, shown, places)
        offered = [self.make.make_option(*option) for option in options]
        answer = await self._ask(self.session_id, question, offered)
        chosen = getattr(answer.outcome, "option_id", "")
        chosen = chosen if any(chosen == known for known, _, _ in options) else ""
        is_allowed = any(chosen == known and kind != "reject_once" for known, _, kind in options)
        status: CallStatus = (
            ("completed" if is_allowed else "failed") if own else ("in_progress" if is_allowed else "pending")
        )
        self._put(self.make.make_call_update(id, status=status))
        return chosen

    def _put(self, update: object) -> None:
        self._outbox.put(self.session_id, update)


class EditorApprover:
    """Shows what a call would do, and asks. `redact` and `editor_path` are set before the first question."""

    def __init__(self, questions: EditorQuestions, editor_path: Callable[[Path], str]) -> None:
        self.redact: Callable[[str], str] = str
        self._questions = questions
        self._editor_path = editor_path

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask the user; a question closed without an answer counts as no."""
        rule = request.verdict.rule
        options: list[tuple[str, str, Kind]] = [("once", tr("Allow once"), "allow_once")]
        if rule is not None:
            options.append(("always", tr("Always allow: {rule}", rule=spell_out_line(rule)), "allow_always"))
        options.append(("session", tr("Allow in this session"), "allow_always"))
        options.append(("no", tr("Reject"), "reject_once"))
        kind, shown, places = self._describe(request)
        chosen = await self._questions.ask_choice(
            spell_out_line(self.redact(request.title)),
            options,
            id=CURRENT_CALL.get(),
            kind=kind,
            shown=shown,
            places=places,
        )
        match chosen:
            case "once" | "always" | "session":
                return Answer(kind=chosen)
            case "no":
                return Answer(kind="no")
            case _:
                return Answer(kind="no", reason=tr("the question was closed without an answer"))

    def _describe(self, request: ApprovalRequest) -> tuple[str, ShownContent, list[Place]]:
        """Return the kind of the call, a description of what it would do, and the files it is about."""
        why = tr(
            "{title} (risk: {risk})",
            title=spell_out_line(request.verdict.reason),
            risk=request.verdict.risk,
        )
        match request.action:
            case ChangeFiles(changes=changes):
                paths = [self._editor_path(change.path) for change in changes]
                both = tuple((path, self._sides(change)) for path, change in zip(paths, changes, strict=True))
                moved = [
                    tr("{path} moves to {editor_path}", path=path, editor_path=self._editor_path(change.moved_to))
                    for path, change in zip(paths, changes, strict=True)
                    if change.moved_to is not None
                ]
                kinds = {"delete": "delete", "move": "move"}
                kind = kinds.get(changes[0].kind, "edit") if len(changes) == 1 else "edit"
                text = "\n\n".join([*moved, why])
                return kind, ShownContent(text=text, changes=both), [Place(path) for path in paths]
            case RunCommand(command=command, note=note):
                why = f"{why}\n\n{note}" if note else why
                return "execute", ShownContent(text=f"{fence_text(spell_out(self.redact(command)))}\n\n{why}"), []
            case FetchUrl(url=url, query=query):
                sent = f"{query}\n{url}" if query else url
                return "fetch", ShownContent(text=f"{fence_text(spell_out(self.redact(sent)))}\n\n{why}"), []
            case ReadFiles(paths=paths):
                names = [self._editor_path(path) for path in paths]
                return "read", ShownContent(text=f"{fence_text(spell_out(chr(10).join(names)))}\n\n{why}"), []
            case CallServer(arguments=arguments):
                return "other", ShownContent(text=f"{fence_text(spell_out(self.redact(arguments)))}\n\n{why}"), []
            case _:
                return "other", ShownContent(text=why), []

    def _sides(self, change: FileChange) -> FileVersions:
        old = self.redact(change.before) if change.before is not None else None
        return FileVersions(old=old, new=self.redact(change.after or ""), line=1)


class EditorAsker:
    """Asks the user the model's questions. Editors offer buttons but no text field, so a question needs options."""

    def __init__(self, questions: EditorQuestions) -> None:
        self._questions = questions

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask, and return the chosen option; "" if none was chosen.

        Raises ToolFailed for a question without options.
        """
        if not options:
            raise ToolFailed(
                "this editor can only show options to choose from",
                "call again with options, or ask in your answer and end the turn",
            )
        rows: list[tuple[str, str, Kind]] = [
            (str(number), clean_line(option), "allow_once") for number, option in enumerate(options)
        ]
        chosen = await self._questions.ask_choice(
            clean_line(question), [*rows, ("none", tr("No answer"), "reject_once")], id=CURRENT_CALL.get()
        )
        return options[int(chosen)] if chosen.isdecimal() else ""


_TERMINAL_ONLY = frozenset("clear commit exit theme".split())


def list_editor_commands(ctx: CommandContext) -> Iterator[tuple[str, str, str]]:
    """Yield the commands that work in an editor: name, summary, and a hint on the argument."""
    for command in (*COMMANDS, *list_added_commands(ctx)):
        if command.name not in _TERMINAL_ONLY:
            yield (
                command.name,
                tr(command.summary),
                command.argument or " | ".join(sub.name for sub in command.subcommands),
            )


Places = Callable[[str, object], list[Place]]
"""Finds the files that a call with this name and these arguments is about."""


def replay_messages(messages: Sequence[Message], make: UpdateMaker, places: Places, put: Callable[[Any], None]) -> None:
    """Pass everything the user saw of a conversation to `put`, oldest first; calls come with their results."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case UserMessage(origin="user"):
                put(SpokenMessage("user_message_chunk", clean(message.content)))
            case AssistantMessage():
                if message.reasoning.strip():
                    put(SpokenMessage("agent_thought_chunk", clean(message.reasoning)))
                if message.content.strip():
                    put(SpokenMessage("agent_message_chunk", clean(message.content)))
                calls.update((call.id, call) for call in message.tool_calls)
            case ToolMessage():
                _replay_call(message, calls.get(message.tool_call_id), make, places, put)
            case _:
                pass  # messages of clio's own to the model were not shown


def _replay_call(
    result: ToolMessage, call: ToolCall | None, make: UpdateMaker, places: Places, put: Callable[[Any], None]
) -> None:
    given = decode_arguments(call.arguments) if call else None
    title = format_call_title(ExportedCall(id=call.id, name=call.name, arguments=given)) if call else ""
    named = places(result.name, given)
    id = result.tool_call_id
    status = "completed" if result.ok else "failed"
    text = clean_line(f"{result.name} {title}")
    put(make.make_call_start(id, result.name, text, status=status, places=named, given=given))
    changed = _find_edited_texts(result, given) if named else None
    shown = (
        ShownContent(changes=((named[0].path, changed),))
        if changed
        else ShownContent(text=fence_text(clean(result.content)))
    )
    put(make.make_call_update(id, shown=shown))


def _find_edited_texts(result: ToolMessage, given: object) -> FileVersions | None:
    """Return the texts before and after an edit, as far as the call's arguments contain them; None if not at all."""
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
    return FileVersions(old=old, new=new, line=1)


Stop = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_IN_TERMINAL = mark("This needs a terminal; start `clio -c` in the project and type the command there.")


class EditorSession:
    """A running session. `id` is that of clio's stored session, so it can be opened in a terminal too.

    One prompt runs at a time; prompts that arrive meanwhile steer it. attachments: images and texts of the prompt.
    """

    def __init__(
        self,
        app: App,
        *,
        make: UpdateMaker,
        outbox: Outbox,
        questions: EditorQuestions,
        listener: EditorListener,
        attachments: EditorAttachments,
    ) -> None:
        self.app = app
        self.attachments = attachments
        self.id = app.session.id
        self._make = make
        self._outbox = outbox
        self._questions = questions
        self._listener = listener
        self._task: asyncio.Task[Stop] | None = None
        self._stop = StopRequests(time.monotonic)
        # The values the editor got last, so that only changes are sent.
        self._sent: dict[str, object] = {"mode": app.policy.mode, "plan": ()}
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
        self._sent.pop("commands", None)
        self._send_commands()
        self._listener.open(self.id)
        self.report_changes()

    def replay(self) -> None:
        """Send the whole conversation again."""
        replay_messages(self.app.session.messages, self._make, self._listener.places, self._put)
        self._sent["plan"] = ()

    def start(self, text: str) -> "asyncio.Task[Stop]":
        """Start a turn for a prompt, or pass it to the running turn; the task ends with that turn.

        Nothing is awaited here, so a cancellation that follows at once finds the task.
        """
        if self.running and self._task is not None:
            if is_command(text):
                self._run_read_only(text)
            else:
                self.app.mailbox.put(text)
            return self._task
        self._stop.reset()
        self._task = asyncio.create_task(self._answer(text))
        return self._task

    async def wait(self, task: "asyncio.Task[Stop]") -> Stop:
        """Wait for a prompt's end. Cancelling the caller stops the turn first. Raises ClioError if it failed."""
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        await self._outbox.flush()  # updates sent after the response would belong to no turn
        return "cancelled" if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Stop the running turn; does nothing if none runs, or if it was asked to stop a moment ago."""
        if self.running and self._task is not None and self._stop.is_allowed():
            self._task.cancel()

    def set_mode(self, mode: ApprovalMode) -> None:
        """Change the approval mode at the editor's request."""
        self.app.planning.set_mode(mode)
        self._sent["mode"] = mode

    def report_usage(self, usage: Usage | None) -> None:
        """Send what changed with a step that ended, or with a change of the todo list."""
        if usage is not None and usage.prompt_tokens:
            self._usage = usage
        self.report_changes()

    def report_changes(self) -> None:
        """Send what has changed: approval mode, plan, title, and usage."""
        app, session = self.app, self.app.session
        self._send_change("mode", self.mode, lambda: self._make.make_mode_change(self.mode))
        self._send_change("plan", session.todos, lambda: self._make.make_plan(session.todos))
        title = session.name or find_first_words(session.messages)
        if title:
            self._send_change("title", title, lambda: self._make.make_title_change(title))
        if self._usage is not None and app.window is not None:
            cost = app.spending.get_session_cost(session)
            dollars = cost.micro_dollars / MICROS_PER_DOLLAR if cost is not None and cost.is_known else None
            used = self._usage.prompt_tokens + self._usage.completion_tokens
            full = (used, app.window.limits.context_window, dollars)
            self._send_change("usage", full, lambda: self._make.make_usage(*full))

    async def close(self) -> None:
        """Stop the running turn and close the app."""
        if self.running and self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self.app.close()

    async def _answer(self, text: str) -> Stop:
        try:
            stop = await (self._command(text) if is_command(text) else self._turn(text))
            while stop == "end_turn" and (following := await self._choose_next_text()):
                stop = await self._turn(following)
            return stop
        finally:
            self.app.mailbox.pop_all()  # steering texts that came too late for a failed turn are dropped
            self.report_changes()
            self._send_commands()

    async def _turn(self, text: str, make: ExpandCommand | None = None) -> Stop:
        """Run one turn. make: expands a custom command. Raises ClioError if the turn failed."""
        self._listener.begin_turn()
        finished = await self.app.run_turn(text, make)
        self.report_changes()
        self.app.learner.defer_suggestions()  # an editor cannot ask outside a turn; they are asked in a terminal later
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

    async def _choose_next_text(self) -> str:
        """Return the text of the next turn: steering texts that came too late, or an approved plan; "" for none."""
        if late := self.app.mailbox.pop_all():
            return "\n\n".join(late)
        return await self._review() if self.app.planning.proposed_plan else ""

    async def _review(self) -> str:
        """Let the user review the plan; return the text of the next turn, "" for none."""
        planning = self.app.planning
        modes = dict.fromkeys((planning.mode_before, "ask", "edits"))
        options: list[tuple[str, str, Kind]] = [
            (mode, tr("Carry it out, mode {mode}", mode=mode), "allow_once") for mode in modes
        ]
        options.append(("no", tr("Keep planning"), "reject_once"))
        shown = ShownContent(text=format_todos_as_markdown(self.app.session.todos))
        chosen = await self._questions.ask_choice(tr("Carry out this plan?"), options, kind="switch_mode", shown=shown)
        for mode in modes:
            if mode == chosen:
                text = planning.approve_plan(mode)
                self.report_changes()
                return text
        planning.dismiss_plan()
        return ""

    def _run_read_only(self, line: str) -> None:
        """Run a read-only command while a turn runs."""
        result = run_command(self.app, line)
        if result.follow_up is not None:
            self._listener.note(tr("{line} has to wait; type it again when this turn is done", line=line.split()[0]))
        else:
            self._show(result)

    async def _command(self, line: str) -> Stop:
        result = run_command(self.app, line)
        self._show(result)
        if self.app.session.unsaved_reason:
            self._listener.note(
                tr(
                    "warning: this session is not saved: {unsaved_reason}",
                    unsaved_reason=self.app.session.unsaved_reason,
                )
            )
        return "end_turn" if result.follow_up is None else await self._follow(result.follow_up)

    async def _follow(self, step: FollowUp) -> Stop:
        """Carry out the follow-up of a command, as far as an editor can."""
        app, listener = self.app, self._listener
        match step:
            case RunPrompt(text=text):
                return await self._turn(text)
            case RunExpandedCommand(line=shown_line, expand=make):
                return await self._turn(shown_line, make)
            case ReviewPlan():
                text = await self._review()
                return await self._turn(text) if text else "end_turn"
            case LoadWindow(then=then):
                await app.open_window()
                return await self._command(then)
            case SetModel(name=name):
                app.set_model(name)
                listener.note(tr("now using {model} at {name}", model=app.provider.model, name=app.provider.name))
            case ApplySetting(name=name, value=value):
                app.apply_setting(name, value)
            case SetApproval(mode=mode):
                app.planning.set_mode(mode)
            case Confirm(question=question, then=then, required_word=word):
                return await self._confirm(question, then, typed=bool(word))
            case ExportSession(path=path):
                place = path if path == "-" else str(app.project / path)
                self._show(await asyncio.to_thread(export_to_file, app, structs.replace(step, path=place)))
            case ConsolidateNow():
                self._show(await self._work(make_long_work(app, step)))
            case LongWork():
                self._show(await self._work(step))
            case WaitFor(label=label, work=work):
                listener.note(f"{label} …")
                result = await work()
                self._show(result)
                return "end_turn" if result.follow_up is None else await self._follow(result.follow_up)
            case GitTask(kind="pr", instructions=base, file=file):
                self._show(await describe_branch(app, base, file))
            case GrantTrust():
                trust_project(app.loaded)
                listener.note(tr("trusted; the project's settings apply to sessions opened from now on"))
            case Prefill(text=text):
                listener.text(tr("Next: `{text}`", text=text))
            case Choose():
                pass  # the result's table explains how to choose
            case NewSession() | SwitchSession():
                listener.text(tr("Open sessions in the editor: from its list of threads, or as a new thread."))
            case _:
                listener.text(tr(_IN_TERMINAL))
        return "end_turn"

    async def _confirm(self, question: str, then: str | Callable[[], CommandResult], *, typed: bool) -> Stop:
        if typed and isinstance(then, str):  # a button would be too easy to press for something that cannot be undone
            self._listener.text(tr("{question} Type `{then}` to agree.", question=question, then=then))
            return "end_turn"
        options: list[tuple[str, str, Kind]] = [("yes", tr("Yes"), "allow_once"), ("no", tr("No"), "reject_once")]
        if await self._questions.ask_choice(question, options) == "yes":
            if isinstance(then, str):
                return await self._command(then)
            self._show(run_handler(then))
        return "end_turn"

    async def _work(self, step: LongWork) -> CommandResult:
        """Run long work, shown as a tool call with progress; cancelling keeps what is done by then."""
        stopped, id = threading.Event(), f"work_{new_id()}"
        self._put(self._make.make_call_start(id, "", step.label, status="in_progress"))

        def report_progress(done: int, total: int) -> None:
            self._outbox.put(
                self.id,
                self._make.make_call_update(
                    id, shown=ShownContent(text=tr("{done:,} of {total:,}", done=done, total=total))
                ),
                key=id,
            )

        status: CallStatus = "failed"
        try:
            result = await asyncio.to_thread(
                step.work, WorkControl(is_stopped=stopped.is_set, report_progress=report_progress)
            )
            status = "completed"
            return result
        finally:
            stopped.set()  # cancelling the await does not end the thread; the work itself looks at this
            self._put(self._make.make_call_update(id, status=status))

    def _show(self, result: CommandResult) -> None:
        if text := format_result_as_markdown(result):
            self._listener.text(f"\n\n{text}\n\n")

    def _send_commands(self) -> None:
        """Send the command list if files or MCP servers changed it."""
        rows = tuple(list_editor_commands(self.app))
        self._send_change("commands", rows, lambda: self._make.make_command_list(rows))

    def _send_change(self, what: str, value: object, update: Callable[[], object]) -> None:
        if self._sent.get(what) != value:
            self._sent[what] = value
            self._put(update())

    def _put(self, update: object) -> None:
        self._outbox.put(self.id, update)
