"""The screen of a terminal that can move its cursor: what is finished is printed once, what is not is redrawn below.

From top to bottom: scrollback; the open end of the answer; the calls that run, in their order; the status line.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TextIO, assert_never

from rich.text import Text

from clio.agent.events import (
    ContextTrimmed,
    Event,
    MessageAdded,
    Notice,
    ReasoningDelta,
    Retrying,
    Steered,
    StepFinished,
    StepStarted,
    StreamRestarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from clio.commands.base import CommandResult
from clio.ui.bar import bar_rows
from clio.ui.live import LiveArea
from clio.ui.markdown import StreamingMarkdown, preload, whole
from clio.ui.output import Output
from clio.ui.painter import Painter, Part, Size
from clio.ui.pipe_screen import RESTARTED, PipeScreen, retry_line
from clio.ui.plain import Cleaner, clean, clean_line
from clio.ui.reasoning import ReasoningStream
from clio.ui.status import footer, format_seconds, spinner_frame
from clio.ui.table import table_lines
from clio.ui.theme import Terminal
from clio.ui.ticker import Ticker, in_background
from clio.ui.tool_rows import details, diff_rows, finished_row, running_row
from clio.ui.typed_line import TypedLine
from clio.ui.typed_state import Typing
from clio.ui.typing_rows import said_parts, typed_row, waiting_lines
from clio.ui.width import crop

FRAME_S = 0.05  # 20 frames a second at most
_COST_FACTOR = 4  # a frame that takes long makes the next one wait: at most a fifth of the time goes into drawing
_STATUS_MIN_LINES = 6

Section = Literal["", "prompt", "reasoning", "text", "tools", "notes", "footer"]


class _Call:
    """A tool call on the screen until it and all calls before it are over."""

    def __init__(self, title: str, started: float) -> None:
        self.title = title
        self.started = started
        self.progress = ""
        self.finished: ToolFinished | None = None


class Screen:
    """Listens to the loop's events and shows them. `tick` is called by the screen itself while a turn runs.

    clock: seconds, only differences count.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: Size,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.theme = terminal.theme
        self._painter = Painter(self.theme, size)
        self._size = size
        self._clock = clock
        self._output = Output(stream)
        self._area = LiveArea(self._output.write, size, reflows=terminal.reflows)
        self._ticker = Ticker(self.tick, FRAME_S)
        self._cleaner = Cleaner()
        self._answer = StreamingMarkdown(self.theme)
        self._reasoning = ReasoningStream(self.theme)
        self._streaming: Literal["", "text", "reasoning"] = ""
        self._calls: dict[str, _Call] = {}
        self._section: Section = ""
        self._to_print: list[str] = []
        self._step_printed = False
        self._turn_started: float | None = None
        self._typing = Typing(line=TypedLine())
        self._cursor: int | None = None
        self._paused = 0
        self._tail_rows: list[str] = []
        self._tail_key: tuple[int, int] = (-1, 0)
        self._version = 0
        self._drawn_at = -1e9
        self._interval = FRAME_S

    def handle(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TurnStarted():
                self._begin_turn()
            case StepStarted():
                self._step_printed = False
            case Steered(text=text):
                self._end_stream()
                self._print("prompt", *said_parts(text, self.theme))
            case TextDelta(text=text):
                self._stream("text", text)
            case ReasoningDelta(text=text):
                self._stream("reasoning", text)
            case StreamRestarted():
                self._restart()
            case Retrying():
                self._end_stream()
                self._print("notes", Part(body=Text(f"↻ {retry_line(event)}", self.theme.warning)))
            case ToolStarted(call_id=call_id, title=title):
                self._end_stream()
                self._calls[call_id] = _Call(title, self._clock())
            case ToolProgress(call_id=call_id, text=text):
                if (call := self._calls.get(call_id)) is not None:
                    call.progress = text
                return  # may come from another thread: the next tick draws it
            case ToolFinished():
                self._finish_call(event)
            case Notice(text=text, level=level):
                self._end_stream()
                style = self.theme.warning if level == "warning" else self.theme.faint
                self._print("notes", Part(body=Text(clean_line(text), style)))
            case ContextTrimmed():
                self._end_stream()
                self._print("notes", Part(body=Text(event.line, self.theme.faint)))
            case StepFinished():
                self._end_stream()
            case TurnFinished():
                self._end_turn(event)
            case MessageAdded():
                return
            case _:
                assert_never(event)
        self._refresh()

    def tick(self) -> None:
        """Draw what has changed, such as the elapsed seconds."""
        self._refresh()

    def note(self, text: str) -> None:
        """A faint line about what happens."""
        self._say(text, self.theme.faint)

    def error(self, text: str) -> None:
        """A line about what went wrong."""
        self._say(text, self.theme.bad)

    def markdown(self, text: str) -> None:
        """A whole Markdown text."""
        self._print("notes", *whole(clean(text), self.theme), apart=True)
        self._refresh(now=True)

    def show_result(self, result: CommandResult) -> None:
        """What a slash command gave; one that failed is shown as an error."""
        if result.bar is not None:
            title = Part(body=Text(clean_line(result.bar.title), self.theme.strong))
            lines = bar_rows(result.bar, self._painter.width, self.theme.faint)
            self._print("notes", title, *(Part(body=Text.assemble(*row), wraps=False) for row in lines), apart=True)
        if result.text and not result.ok:
            self.error(result.text)
        elif result.text:
            self.markdown(result.text)
        if result.verbatim:
            rows = clean(result.verbatim).rstrip("\n").split("\n")
            self._print("notes", *(Part(body=Text(row)) for row in rows), apart=True)
        if result.diff:
            rows = diff_rows(result.diff, self.theme, max_rows=10**9)
            self._print("notes", *(Part(body=row) for row in rows), apart=True)
        if result.table is not None:
            heading, rows = table_lines(result.table, self._painter.width)
            head = [Part(body=Text(heading, self.theme.faint), wraps=False)] if heading else []
            self._print("notes", *head, *(Part(body=Text(row), wraps=False) for row in rows), apart=True)
        self._refresh(now=True)

    def set_typed(self, typing: Typing) -> None:
        """Show what the person types while the turn runs, and what of it waits."""
        self._typing = typing
        self._refresh()

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Leave the terminal to somebody else: the live rows go, what comes meanwhile is printed afterwards."""
        self._refresh(now=True)
        self._paused += 1
        self._area.clear()
        try:
            yield
        finally:
            self._paused -= 1
            self._refresh(now=True)

    def close(self) -> None:
        """Stop drawing and leave the cursor on a fresh line; harmless at any time."""
        self._ticker.stop()
        self._turn_started, self._typing = None, Typing(line=TypedLine())
        self._end_stream()
        self._refresh(now=True)

    def _begin_turn(self) -> None:
        self._turn_started = self._clock()
        self._section = "prompt"
        self._ticker.start()
        in_background(preload)

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_stream()
        self._print_calls(self._calls.values())
        self._calls.clear()
        if event.status == "interrupted":
            self._print("footer", Part(body=Text(clean_line(event.error or "interrupted"), self.theme.warning)))
        elif event.status != "done":
            self._print("footer", Part(body=Text(clean_line(event.error or event.status), self.theme.bad)))
        self._print("footer", Part(body=Text(footer(event), self.theme.faint)))
        self._turn_started, self._typing = None, Typing(line=TypedLine())
        self._ticker.stop()
        self._refresh(now=True)

    def _stream(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if self._streaming != kind:
            self._end_stream()
            self._streaming = kind
        text = self._cleaner.feed(text)
        self._print(kind, *(self._answer if kind == "text" else self._reasoning).feed(text))
        self._version += 1

    def _end_stream(self) -> None:
        """Finish what is streaming: its tail is printed for good."""
        if not self._streaming:
            return
        kind = self._streaming
        stream = self._answer if kind == "text" else self._reasoning
        self._print(kind, *stream.feed(self._cleaner.finish()), *stream.finish())
        self._streaming = ""
        self._version += 1

    def _restart(self) -> None:
        """Forget the open end of the answer; what is already in the scrollback can only be called void."""
        self._answer.finish()
        self._reasoning.finish()
        self._cleaner = Cleaner()
        self._streaming = ""
        self._version += 1
        if self._step_printed:
            self._print("notes", Part(body=Text(RESTARTED, self.theme.faint)), apart=True)
        self._step_printed = False

    def _finish_call(self, event: ToolFinished) -> None:
        self._end_stream()
        call = self._calls.setdefault(event.call_id, _Call(event.title, self._clock()))
        call.finished = event
        done: list[_Call] = []
        for call_id, waiting in list(self._calls.items()):
            if waiting.finished is None:
                break
            done.append(self._calls.pop(call_id))
        self._print_calls(done)

    def _print_calls(self, calls: Iterable[_Call]) -> None:
        for call in calls:
            if call.finished is None:  # the turn ended before it did
                row = running_row(call.title, "interrupted", 0.0, self._painter.width, self.theme)
                self._print("tools", Part(body=row, wraps=False))
                continue
            row = finished_row(call.finished, self._painter.width, self.theme)
            self._print("tools", Part(body=row, wraps=False))
            self._print("tools", *(Part(body=line, wraps=False) for line in details(call.finished, self.theme)))

    def _say(self, text: str, style: str) -> None:
        self._print("notes", *(Part(body=Text(line, style)) for line in clean(text).rstrip("\n").split("\n")))
        self._refresh(now=True)

    def _print(self, section: Section, *parts: Part, apart: bool = False) -> None:
        """Put parts into the scrollback with the next frame; a blank line stands between sections."""
        for number, part in enumerate(parts):
            if number == 0 and ((apart and self._section) or _needs_gap(self._section, section)):
                self._to_print.append("\n")
            self._to_print.append(self._painter.lines(part))
            self._section = section
            self._step_printed = self._step_printed or section in ("text", "reasoning")

    def _refresh(self, *, now: bool = False) -> None:
        """Draw a frame if one is due. Outside a turn everything is drawn at once."""
        started = self._clock()
        if self._paused or (not now and self._turn_started is not None and started - self._drawn_at < self._interval):
            return
        self._cursor = None
        rows = list(self._rows(started)) if self._turn_started is not None else []
        printed = "".join(self._to_print)
        self._to_print.clear()
        self._area.show(rows, printed, column=self._cursor)
        self._drawn_at = started
        self._interval = max(FRAME_S, _COST_FACTOR * (self._clock() - started))

    def _rows(self, now: float) -> Iterator[str]:
        """The live rows of this moment."""
        section = self._section
        tail = self._tail()
        if tail:
            yield from [""] * _needs_gap(section, self._streaming or "text")
            yield from tail
            section = self._streaming or "text"
        if self._calls:
            yield from [""] * _needs_gap(section, "tools")
            yield from (self._call_row(call, now) for call in self._calls.values())
        if self._size()[1] >= _STATUS_MIN_LINES:
            yield ""
        yield from self._status_rows(now)

    def _tail(self) -> list[str]:
        """The rows of the answer's open end, painted anew only when it or the width has changed."""
        key = (self._version, self._painter.width)
        if key != self._tail_key:
            stream = self._answer if self._streaming == "text" else self._reasoning
            part = stream.tail() if self._streaming else None
            self._tail_rows = self._painter.rows(part) if part is not None else []
            self._tail_key = key
        return self._tail_rows

    def _call_row(self, call: _Call, now: float) -> str:
        width = self._painter.width
        if call.finished is not None:
            row = finished_row(call.finished, width, self.theme)
        else:
            row = running_row(call.title, call.progress, now - call.started, width, self.theme)
        return self._painter.rows(Part(body=row, wraps=False))[0]

    def _status_rows(self, now: float) -> Iterator[str]:
        elapsed = now - (self._turn_started or now)
        width = self._painter.width
        for line in waiting_lines(self._typing.waiting, width, self._size()[1]):
            yield self._painter.rows(Part(body=Text(line, self.theme.faint), wraps=False))[0]
        text = crop(f"{spinner_frame(elapsed)} {format_seconds(elapsed)} · esc stops", width)
        yield self._painter.rows(Part(body=Text(text, self.theme.faint), wraps=False))[0]
        row, self._cursor = typed_row(self._typing, width)
        if row:
            style = "" if self._typing.line.text else self.theme.faint
            yield self._painter.rows(Part(body=Text(row, style), wraps=False))[0]


def open_screen(stream: TextIO, terminal: Terminal, size: Size) -> Screen | PipeScreen:
    """The screen for this terminal: a live one, or plain text for a dumb terminal and a pipe."""
    if terminal.live:
        return Screen(stream, terminal, size)
    return PipeScreen(stream, stream, show_footer=True)


def _needs_gap(before: Section, after: Section) -> bool:
    """Whether a blank line stands between two sections; calls and notes belong together."""
    return before not in ("", after) and not {before, after} <= {"tools", "notes"}
