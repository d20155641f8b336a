"""What the loop says, turned into what an editor shows. One for each session."""

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec

from clio.agent.events import (
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
from clio.entrypoints.acp.updates import (
    NOTHING,
    Outbox,
    Place,
    Said,
    Shown,
    Sides,
    Stand,
    UpdateMaker,
    Voice,
    read_patches,
    sides,
    text_now,
)
from clio.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from clio.security.actions import Workspace
from clio.text.formatting import block
from clio.text.json_data import decode_json
from clio.ui.safe_text import Cleaner, clean, clean_line

CURRENT_CALL: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the tool call that runs in this task; parallel calls each see their own."""
_TAIL_CHARS = 4_000
"""Of a running command's output."""


class Listener:
    """Sends one session's events to the editor. Set `workspace`, `redact` and `session_id` before the first event.

    editor_path: a file's path as the editor knows it, whose folder may be a link. on_step: called after each step with
    its billed usage, and with None after each call that may have changed the todo list.
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
        self._shown: dict[str, Shown] = {}
        self._output: dict[str, str] = {}
        self._cleaners: dict[Voice, Cleaner] = {}
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
                self.note("the answer broke off and begins anew:")
            case Retrying():
                self._thought(f"{event.reason}; again in {event.delay_s:.0f} s ({event.attempt} of {event.of})")
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
                self.note(event.line)
            case Notice(text=text, level=level):
                self.note(f"warning: {text}" if level == "warning" else text)
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

    def changes(self, diff: str) -> tuple[list[Place], Shown]:
        """The changed locations and the texts before and after. diff: without secrets."""
        if self.workspace is None:
            return [], Shown()
        places: list[Place] = []
        changes: list[tuple[str, Sides]] = []
        for patch in read_patches(diff):
            path = self.workspace.resolve(patch.name)
            now = None if patch.new_name == NOTHING else text_now(path.read_bytes)
            shown_path = self._editor_path(path)
            both = list(sides(patch, self.redact(now) if now is not None else None))
            changes += [(shown_path, one) for one in both]
            places.append(Place(shown_path, both[0].line if both else None))
        return places, Shown(changes=tuple(changes))

    def _answered(self, message: AssistantMessage) -> None:
        self._end_streams()
        self.last_reason = message.finish_reason
        self._calls.update((call.id, call) for call in message.tool_calls)

    def _start(self, id: str, name: str, title: str, status: Stand) -> None:
        if id in self._begun:
            return
        self._begun.add(id)
        call = self._calls.get(id)
        given = decoded(call.arguments) if call else None
        places = self.places(name, given)
        self._put(self._make.call_started(id, name, clean_line(title), status=status, places=places, given=given))

    def _progress(self, event: ToolProgress) -> None:
        if not event.text:
            return
        before = self._output.get(event.call_id, "")
        text = before + clean(event.text).rstrip("\n") + "\n"
        self._output[event.call_id] = text = text[-_TAIL_CHARS:]
        update = self._make.call_news(event.call_id, shown=Shown(text=fenced(text)))
        self._outbox.put(self.session_id, update, key=event.call_id)

    def _finish(self, event: ToolFinished) -> None:
        self._start(event.call_id, event.name, event.title, "in_progress")
        places, shown = self.changes(event.diff) if event.diff else ([], None)
        if shown is not None:
            self._shown[event.call_id] = shown
        status: Stand = "completed" if event.ok else "failed"
        self._put(self._make.call_news(event.call_id, status=status, shown=shown, places=places))
        if event.name == "todo_operations":
            self._on_step(None)

    def _result(self, message: ToolMessage) -> None:
        """Send the complete result, as the model reads it, unless the call already shows its change."""
        self._start(message.tool_call_id, message.name, message.name, "failed")
        if message.ok and message.tool_call_id in self._shown:
            return
        status: Stand = "completed" if message.ok else "failed"
        shown = Shown(text=fenced(clean(message.content)))
        self._put(self._make.call_news(message.tool_call_id, status=status, shown=shown))

    def _stream(self, voice: Voice, text: str) -> None:
        if shown := self._cleaners.setdefault(voice, Cleaner()).feed(text):
            self._say(voice, shown)

    def _end_streams(self) -> None:
        for voice, cleaner in self._cleaners.items():
            if rest := cleaner.finish():
                self._say(voice, rest)

    def _thought(self, text: str) -> None:
        self._say("agent_thought_chunk", f"\n{clean(text)}\n")

    def _say(self, voice: Voice, text: str) -> None:
        if text:
            self._outbox.put(self.session_id, Said(voice, text))

    def _put(self, update: Any) -> None:
        self._outbox.put(self.session_id, update)


def fenced(text: str) -> str:
    """The text as a Markdown code block, with a fence longer than any in it; "" for a blank text."""
    return block(text.rstrip()) if text.strip() else ""


def decoded(arguments: str) -> object:
    """A call's arguments as JSON values; unchanged where they are not JSON."""
    try:
        return decode_json(arguments)
    except msgspec.DecodeError:
        return arguments
