"""Events of a turn as updates of the Agent Client Protocol, sent in order through one queue."""

import asyncio
import re
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.agent.user_interface import (
    ContextTrimmed,
    Event,
    MessageAdded,
    Notice,
    ReasoningDelta,
    Retrying,
    StepFinished,
    StreamRestarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
)
from clio.commands.settings_commands import MODES
from clio.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from clio.security.actions import Workspace
from clio.sessions.state import Todo, TodoStatus
from clio.text.formatting import format_code_block
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr
from clio.tools.files.diff import split_diff_lines
from clio.ui.safe_text import StreamCleaner, clean, clean_line, escape_controls

if TYPE_CHECKING:
    from acp.schema import (
        AvailableCommand,
        AvailableCommandsUpdate,
        PermissionOption,
        SessionModeState,
        ToolCallLocation,
        ToolCallUpdate,
    )


MAX_UNCUT_CHARS = 400_000
"""Characters. A larger file is not sent whole: only its changed places are."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
NO_FILE = "/dev/null"


class Hunk(Struct, frozen=True, kw_only=True):
    """One hunk: old and new lines with their newlines, and the number of the first line in the new text."""

    first: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class FilePatch(Struct, frozen=True, kw_only=True):
    """The changes of one file. A name is NOTHING if the file is new or deleted."""

    old_name: str
    new_name: str
    hunks: tuple[Hunk, ...]

    @property
    def name(self) -> str:
        """The file's name; its old one if it was deleted."""
        return self.old_name if self.new_name == NO_FILE else self.new_name


class FileVersions(Struct, frozen=True, kw_only=True):
    """The text before and after. old: None for a new file. line: the first changed line, from 1."""

    old: str | None
    new: str
    line: int


def read_patches(diff: str) -> list[FilePatch]:
    """Parse a diff in clio's own format, file by file."""
    patches: list[FilePatch] = []
    rows = diff.split("\n")
    at = 0
    while at < len(rows):
        if rows[at].startswith("--- ") and at + 1 < len(rows) and rows[at + 1].startswith("+++ "):
            old_name, new_name, at = rows[at][4:], rows[at + 1][4:], at + 2
            hunks: list[Hunk] = []
            while at < len(rows) and (head := _HUNK.fullmatch(rows[at])):
                hunk, at = _read_hunk(head, rows, at + 1)
                hunks.append(hunk)
            patches.append(FilePatch(old_name=old_name, new_name=new_name, hunks=tuple(hunks)))
        else:
            at += 1
    return patches


def make_file_versions(patch: FilePatch, now: str | None) -> Iterator[FileVersions]:
    """Both texts of a file: whole if `now`, its text after the change, is given and fits; else hunk by hunk."""
    if patch.old_name == NO_FILE or patch.new_name == NO_FILE:
        old = "".join(line for hunk in patch.hunks for line in hunk.old)
        new = "".join(line for hunk in patch.hunks for line in hunk.new)
        yield FileVersions(old=None if patch.old_name == NO_FILE else old, new=new, line=1)
        return
    before = _unpatched(patch.hunks, now) if now is not None and len(now) <= MAX_UNCUT_CHARS else None
    if before is not None and now is not None:
        yield FileVersions(old=before, new=now, line=_changed_line(patch.hunks))
        return
    for hunk in patch.hunks:
        yield FileVersions(old="".join(hunk.old), new="".join(hunk.new), line=_changed_line((hunk,)))


def read_current_text(read: Callable[[], bytes]) -> str | None:
    """Return the text of a file for `sides`; None if it is missing, not UTF-8, too large, or has carriage returns."""
    try:
        data = read()
        return data.decode("utf-8") if len(data) <= MAX_UNCUT_CHARS and b"\r" not in data else None
    except (OSError, UnicodeDecodeError):
        return None


def _read_hunk(head: re.Match[str], rows: Sequence[str], at: int) -> tuple[Hunk, int]:
    left, right = (int(head[group]) if head[group] is not None else 1 for group in (2, 4))
    old: list[str] = []
    new: list[str] = []
    while at < len(rows) and (len(old) < left or len(new) < right or rows[at] == _NO_NEWLINE):
        mark, line = rows[at][:1], rows[at][1:] + "\n"
        if rows[at] == _NO_NEWLINE:
            _drop_newline(rows[at - 1][:1], old, new)
        if mark in (" ", "-"):
            old.append(line)
        if mark in (" ", "+"):
            new.append(line)
        at += 1
    return Hunk(first=int(head[3]), old=tuple(old), new=tuple(new)), at


def _drop_newline(mark: str, old: list[str], new: list[str]) -> None:
    for marks, lines in ((" -", old), (" +", new)):
        if mark in marks and lines:
            lines[-1] = lines[-1].removesuffix("\n")


def _unpatched(hunks: Sequence[Hunk], now: str) -> str | None:
    """Return the text before the hunks were applied; None if they do not match it."""
    lines = split_diff_lines(now)
    for hunk in reversed(hunks):
        start = hunk.first - 1 if hunk.new else hunk.first
        if tuple(lines[start : start + len(hunk.new)]) != hunk.new:
            return None
        lines[start : start + len(hunk.new)] = hunk.old
    return "".join(lines)


def _changed_line(hunks: Sequence[Hunk]) -> int:
    """The number of the first changed line in the new text."""
    if not hunks:
        return 1
    hunk = hunks[0]
    same = 0
    while same < min(len(hunk.old), len(hunk.new)) and hunk.old[same] == hunk.new[same]:
        same += 1
    return max(hunk.first, 1) + same


MessageAuthor = Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
CallStatus = Literal["pending", "in_progress", "completed", "failed"]
_KINDS: dict[str, str] = {
    "read_file": "read",
    "read_output": "read",
    "list_files": "search",
    "find_files": "search",
    "search_text": "search",
    "code_lookup": "search",
    "search_sessions": "search",
    "read_messages": "search",
    "recall_sessions": "search",
    "recall_messages": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "run_command": "execute",
    "job_output": "execute",
    "job_stop": "execute",
    "git": "execute",
    "web_fetch": "fetch",
    "web_search": "fetch",
    "todo_operations": "think",
    "memory_operations": "think",
}
_PLAN: dict[TodoStatus, Literal["pending", "in_progress", "completed"]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "blocked": "pending",
}
MODE_NAMES = {"ask": mark("Ask"), "edits": mark("Allow edits"), "all": mark("Allow everything"), "plan": mark("Plan")}


class SpokenMessage(Struct):
    """A piece of text; consecutive pieces of one kind are joined while they wait."""

    voice: MessageAuthor
    text: str


class Place(Struct, frozen=True):
    """A location in a file. line: from 1; None for the whole file."""

    path: str
    line: int | None = None


class ShownContent(Struct, frozen=True, kw_only=True):
    """The content of a call: Markdown, and the texts before and after each change, under the file's path."""

    text: str = ""
    changes: tuple[tuple[str, FileVersions], ...] = ()


class UpdateMaker:
    """Makes values of the protocol's types. One per process: the schema takes most of a second to import.

    Control sequences are removed from all texts, because some editors run in a terminal. Paths, ids and the texts of a
    change are exact.
    """

    def __init__(self) -> None:
        from acp import schema

        self._schema = schema

    def make_message(self, voice: MessageAuthor, text: str) -> Any:
        """A chunk of the user's or the agent's text."""
        schema = self._schema
        makers = {
            "agent_message_chunk": schema.AgentMessageChunk,
            "agent_thought_chunk": schema.AgentThoughtChunk,
            "user_message_chunk": schema.UserMessageChunk,
        }
        return makers[voice](session_update=voice, content=schema.TextContentBlock(type="text", text=text))  # pyright: ignore[reportArgumentType]

    def make_call_start(
        self, id: str, name: str, title: str, *, status: CallStatus, places: Sequence[Place] = (), given: object = None
    ) -> Any:
        """A tool call begins. given: its arguments."""
        return self._schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=id,
            title=clean_line(title),
            kind=_KINDS.get(name, "other"),  # pyright: ignore[reportArgumentType]
            status=status,
            locations=self._places(places) or None,
            raw_input=spell_out_value(given),
        )

    def make_call_update(
        self,
        id: str,
        *,
        status: CallStatus | None = None,
        shown: ShownContent | None = None,
        places: Sequence[Place] = (),
    ) -> Any:
        """A tool call has changed; new content replaces the old."""
        return self._schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=id,
            status=status,
            content=self._content(shown) if shown is not None else None,
            locations=self._places(places) or None,
        )

    def make_question(
        self, id: str, title: str, kind: str, shown: ShownContent, places: Sequence[Place] = ()
    ) -> "ToolCallUpdate":
        """The tool call that a permission request is about."""
        return self._schema.ToolCallUpdate(
            tool_call_id=id,
            title=clean_line(title),
            kind=kind,  # pyright: ignore[reportArgumentType]
            status="pending",
            content=self._content(shown),
            locations=self._places(places) or None,
        )

    def make_option(
        self, id: str, name: str, kind: Literal["allow_once", "allow_always", "reject_once"]
    ) -> "PermissionOption":
        """One option of a permission request."""
        return self._schema.PermissionOption(option_id=id, name=clean_line(name), kind=kind)

    def make_plan(self, todos: Iterable[Todo]) -> Any:
        """The todo list as the editor's plan."""
        schema = self._schema
        entries = [
            schema.PlanEntry(
                content=clean_line(
                    todo.title + (f" (blocked: {todo.note})" if todo.status == "blocked" and todo.note else "")
                ),
                priority="medium",
                status=_PLAN[todo.status],
            )
            for todo in todos
        ]
        return schema.AgentPlanUpdate(session_update="plan", entries=entries)

    def make_mode_change(self, mode: str) -> Any:
        """The approval mode has changed."""
        return self._schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)

    def make_mode_list(self, current: str) -> "SessionModeState":
        """All approval modes, and the current one."""
        schema = self._schema
        offered = [
            schema.SessionMode(id=mode, name=tr(MODE_NAMES[mode]), description=tr(what)) for mode, what in MODES.items()
        ]
        return schema.SessionModeState(current_mode_id=current, available_modes=offered)

    def make_command_list(self, rows: Iterable[tuple[str, str, str]]) -> "AvailableCommandsUpdate":
        """The slash commands: name, summary, and a hint on the argument."""
        schema = self._schema
        made: list[AvailableCommand] = []
        for name, what, hint in ((name, clean_line(what), clean_line(hint)) for name, what, hint in rows):
            taken = schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint)) if hint else None
            made.append(schema.AvailableCommand(name=name, description=what, input=taken))
        return schema.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=made)

    def make_title_change(self, title: str) -> Any:
        """The session's title has changed."""
        return self._schema.SessionInfoUpdate(session_update="session_info_update", title=clean_line(title))

    def make_usage(self, used: int, size: int, dollars: float | None) -> Any:
        """The tokens in the window, its size, and the cost of the session so far."""
        schema = self._schema
        cost = schema.Cost(amount=dollars, currency="USD") if dollars is not None else None
        return schema.UsageUpdate(session_update="usage_update", used=used, size=size, cost=cost)

    def _places(self, places: Sequence[Place]) -> "list[ToolCallLocation]":
        return [self._schema.ToolCallLocation(path=place.path, line=place.line) for place in places]

    def _content(self, shown: ShownContent) -> list[Any]:
        schema = self._schema
        content: list[Any] = []
        if shown.text:
            block = schema.TextContentBlock(type="text", text=clean(shown.text))
            content.append(schema.ContentToolCallContent(type="content", content=block))
        for path, both in shown.changes:
            content.append(schema.FileEditToolCallContent(type="diff", path=path, old_text=both.old, new_text=both.new))
        return content


def spell_out_value(value: object) -> object:
    """Spell out every control character in the texts of a JSON value."""
    match value:
        case str():
            return escape_controls(value)
        case list():
            return [spell_out_value(one) for one in cast("list[object]", value)]
        case dict():
            return {escape_controls(key): spell_out_value(one) for key, one in cast("dict[str, object]", value).items()}
        case _:
            return value


Send = Callable[[str, Any], Awaitable[None]]
"""Sends one update of a session; raises ConnectionError if the editor has exited."""


class Outbox:
    """The queue of all sessions' updates, sent in order. Waiting text is joined, so a slow editor gets fewer updates.

    `put` may be called from any thread.
    """

    def __init__(self, send: Send, said: Callable[[MessageAuthor, str], Any]) -> None:
        self._send = send
        self._make_text = said
        self._waiting: deque[tuple[str, str, Any]] = deque()
        self._news = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pump = asyncio.create_task(self._run())

    def put(self, session_id: str, update: Any, *, key: str = "") -> None:
        """Queue an update, or `SpokenMessage`. key: replaces the last update if it still waits and has the same key."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._put, session_id, update, key)
        else:
            self._put(session_id, update, key)

    async def flush(self) -> None:
        """Wait until the queue is empty."""
        await self._empty.wait()

    async def close(self) -> None:
        """Stop sending."""
        self._pump.cancel()
        self._empty.set()
        await asyncio.wait({self._pump})

    def _put(self, session_id: str, update: Any, key: str) -> None:
        if self._pump.done():
            return
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last[0] == session_id:
            if (
                isinstance(update, SpokenMessage)
                and isinstance(last[2], SpokenMessage)
                and last[2].voice == update.voice
            ):
                last[2].text += update.text
                return
            if key and last[1] == key:
                self._waiting.pop()
        self._waiting.append((session_id, key, update))
        self._empty.clear()
        self._news.set()

    async def _run(self) -> None:
        try:
            while True:
                await self._news.wait()
                while self._waiting:
                    session_id, _, update = self._waiting.popleft()
                    if isinstance(update, SpokenMessage):
                        update = self._make_text(update.voice, update.text)
                    await self._send(session_id, update)
                self._news.clear()
                self._empty.set()
        except ConnectionError:
            return
        finally:
            self._waiting.clear()
            self._empty.set()


CURRENT_CALL: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the tool call that runs in this task; parallel calls each see their own."""
_TAIL_CHARS = 4_000
"""Characters kept of a running command's output."""


class EditorListener:
    """Sends one session's events to the editor. Set `workspace`, `redact` and `session_id` before the first event.

    Args:
        editor_path: returns a file's path as the editor names it, whose directory may be a link.
        on_step: called after each step with its billed usage, and with None after each call that may have changed the
            todo list.
    """

    def __init__(
        self,
        make: UpdateMaker,
        outbox: Outbox,
        *,
        editor_path: Callable[[Path], str],
        on_step: Callable[[Usage | None], object],
    ) -> None:
        self.session_id = ""
        self.workspace: Workspace | None = None
        self.redact: Callable[[str], str] = str
        self.finished: TurnFinished | None = None
        self.last_reason = ""
        self._make = make
        self._outbox = outbox
        self._editor_path = editor_path
        self._on_step = on_step
        self._calls: dict[str, ToolCall] = {}
        self._begun: set[str] = set()
        self._shown: dict[str, ShownContent] = {}
        self._output: dict[str, str] = {}
        self._cleaners: dict[MessageAuthor, StreamCleaner] = {}
        self._early: list[Event] = []

    def open(self, session_id: str) -> None:
        """Start sending to this session; events that came before are sent first."""
        self.session_id = session_id
        early, self._early = self._early, []
        for event in early:
            self.handle(event)

    def begin_turn(self) -> None:
        """Reset the state of the previous turn."""
        self.finished, self.last_reason = None, ""
        for kept in (self._calls, self._begun, self._shown, self._output):
            kept.clear()

    def handle(self, event: Event) -> None:
        """Send an event to the editor."""
        if not self.session_id:
            self._early.append(event)
            return
        match event:
            case TextDelta(text=text):
                self._stream("agent_message_chunk", text)
            case ReasoningDelta(text=text):
                self._stream("agent_thought_chunk", text)
            case StreamRestarted():
                self.note(tr("the answer was cut off and starts again:"))
            case Retrying():
                self._thought(
                    tr(
                        "{reason}; retrying in {delay_s:.0f} s ({attempt} of {of})",
                        reason=event.reason,
                        delay_s=event.delay_s,
                        attempt=event.attempt,
                        of=event.of,
                    )
                )
            case MessageAdded(message=AssistantMessage() as message):
                self._answered(message)
            case MessageAdded(message=ToolMessage() as message):
                self._result(message)
            case ToolStarted():
                CURRENT_CALL.set(event.call_id)
                self._start(event.call_id, event.name, event.title, "in_progress")
            case ToolProgress():
                self._progress(event)
            case ToolFinished():
                self._finish(event)
            case ContextTrimmed():
                self.note(event.description)
            case Notice(text=text, level=level):
                self.note(tr("warning: {text}", text=text) if level == "warning" else text)
            case StepFinished(usage=usage):
                self._on_step(usage)
            case TurnFinished():
                self.finished = event
            case _:
                pass

    def note(self, text: str) -> None:
        """Send a notice of clio's own as a quotation, set off from the answer."""
        lines = clean(text).strip().splitlines()
        if lines:
            self._end_streams()
            quoted = "\n".join(f"> {line}" for line in lines)
            self._say("agent_message_chunk", f"\n\n{quoted}\n\n")

    def text(self, text: str) -> None:
        """Send Markdown of clio's own, such as the result of a command."""
        self._say("agent_message_chunk", clean(text))

    def places(self, name: str, arguments: object) -> list[Place]:
        """The file named in a call's arguments, with its first line."""
        if self.workspace is None or not isinstance(arguments, dict):
            return []
        given: dict[str, object] = arguments  # pyright: ignore[reportUnknownVariableType]
        path, line = given.get("path"), given.get("offset")
        if not isinstance(path, str) or name == "web_fetch":
            return []
        try:
            resolved = self.workspace.resolve(path)
        except (OSError, ValueError, RuntimeError):
            return []
        return [Place(self._editor_path(resolved), line if isinstance(line, int) and line > 0 else None)]

    def changes(self, diff: str) -> tuple[list[Place], ShownContent]:
        """The changed locations and the texts before and after. diff: without secrets."""
        if self.workspace is None:
            return [], ShownContent()
        places: list[Place] = []
        changes: list[tuple[str, FileVersions]] = []
        for patch in read_patches(diff):
            path = self.workspace.resolve(patch.name)
            now = None if patch.new_name == NO_FILE else read_current_text(path.read_bytes)
            shown_path = self._editor_path(path)
            both = list(make_file_versions(patch, self.redact(now) if now is not None else None))
            changes += [(shown_path, one) for one in both]
            places.append(Place(shown_path, both[0].line if both else None))
        return places, ShownContent(changes=tuple(changes))

    def _answered(self, message: AssistantMessage) -> None:
        self._end_streams()
        self.last_reason = message.finish_reason
        self._calls.update((call.id, call) for call in message.tool_calls)

    def _start(self, id: str, name: str, title: str, status: CallStatus) -> None:
        if id in self._begun:
            return
        self._begun.add(id)
        call = self._calls.get(id)
        given = decode_arguments(call.arguments) if call else None
        places = self.places(name, given)
        self._put(self._make.make_call_start(id, name, clean_line(title), status=status, places=places, given=given))

    def _progress(self, event: ToolProgress) -> None:
        if not event.text:
            return
        before = self._output.get(event.call_id, "")
        text = before + clean(event.text).rstrip("\n") + "\n"
        self._output[event.call_id] = text = text[-_TAIL_CHARS:]
        update = self._make.make_call_update(event.call_id, shown=ShownContent(text=fence_text(text)))
        self._outbox.put(self.session_id, update, key=event.call_id)

    def _finish(self, event: ToolFinished) -> None:
        self._start(event.call_id, event.name, event.title, "in_progress")
        places, shown = self.changes(event.diff) if event.diff else ([], None)
        if shown is not None:
            self._shown[event.call_id] = shown
        status: CallStatus = "completed" if event.ok else "failed"
        self._put(self._make.make_call_update(event.call_id, status=status, shown=shown, places=places))
        if event.name == "todo_operations":
            self._on_step(None)

    def _result(self, message: ToolMessage) -> None:
        """Send the complete result, as the model reads it, unless the call already shows its change."""
        self._start(message.tool_call_id, message.name, message.name, "failed")
        if message.ok and message.tool_call_id in self._shown:
            return
        status: CallStatus = "completed" if message.ok else "failed"
        shown = ShownContent(text=fence_text(clean(message.content)))
        self._put(self._make.make_call_update(message.tool_call_id, status=status, shown=shown))

    def _stream(self, voice: MessageAuthor, text: str) -> None:
        if shown := self._cleaners.setdefault(voice, StreamCleaner()).feed(text):
            self._say(voice, shown)

    def _end_streams(self) -> None:
        for voice, cleaner in self._cleaners.items():
            if rest := cleaner.finish():
                self._say(voice, rest)

    def _thought(self, text: str) -> None:
        self._say("agent_thought_chunk", f"\n{clean(text)}\n")

    def _say(self, voice: MessageAuthor, text: str) -> None:
        if text:
            self._outbox.put(self.session_id, SpokenMessage(voice, text))

    def _put(self, update: Any) -> None:
        self._outbox.put(self.session_id, update)


def fence_text(text: str) -> str:
    """The text as a Markdown code block, with a fence longer than any in it; "" for a blank text."""
    return format_code_block(text.rstrip()) if text.strip() else ""


def decode_arguments(arguments: str) -> object:
    """Return a call's arguments as JSON values; unchanged if they are not JSON."""
    try:
        return decode_json(arguments)
    except msgspec.DecodeError:
        return arguments
