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
from clio.commands.command import CommandResult
from clio.config.schema import ShowReasoning
from clio.ui.call_rows import CallRows
from clio.ui.footer.status import footer
from clio.ui.footer.status_line import Activity, status_row
from clio.ui.line.rules import fit_counted
from clio.ui.live import LiveArea
from clio.ui.markup.markdown import StreamingMarkdown, preload, whole
from clio.ui.notify import Notifier
from clio.ui.output import Output
from clio.ui.painter import Painter, Part, Size
from clio.ui.pipe_screen import RESTARTED, PipeScreen, retry_line
from clio.ui.plain import Cleaner, clean, clean_line
from clio.ui.reasoning import ReasoningStream
from clio.ui.result_parts import result_blocks, said
from clio.ui.theme import Terminal
from clio.ui.ticker import Ticker, in_background
from clio.ui.typing.rows import said_parts, typed_row
from clio.ui.typing.typed_line import TypedLine
from clio.ui.typing.typed_state import Typing
from clio.ui.typing.waiting_lines import waiting_lines

FRAME_S = 0.05  # 20 frames a second at most
_COST_FACTOR = 4  # a frame that takes long makes the next one wait: at most a fifth of the time goes into drawing
_STATUS_MIN_LINES = 6

Section = Literal["", "prompt", "reasoning", "text", "tools", "notes", "footer"]


def _no_facts() -> tuple[str, ...]:
    return ()


class Screen:
    """Listens to the loop's events and shows them. `tick` is called by the screen itself while a turn runs.

    reasoning: how to begin with what the model thinks aloud. facts: of the session, most important first, for the line
    of a running turn; asked for every frame. notifier: tells of a long turn's end. clock: seconds, only differences
    count.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: Size,
        *,
        reasoning: ShowReasoning = "fold",
        facts: Callable[[], tuple[str, ...]] = _no_facts,
        notifier: Notifier = Notifier(),  # noqa: B008  # frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.theme = terminal.theme
        self._facts = facts
        self._notifier = notifier
        self._painter = Painter(self.theme, size)
        self._size = size
        self._clock = clock
        self._output = Output(stream)
        self._area = LiveArea(self._output.write, size, reflows=terminal.reflows)
        self._ticker = Ticker(self.tick, FRAME_S)
        self._cleaner = Cleaner()
        self._fresh: list[str] = []  # what streams and has come since the last frame
        self._answer = StreamingMarkdown(self.theme)
        self._reasoning = ReasoningStream(self.theme, reasoning)
        self._thinking_since = 0.0
        self._streaming: Literal["", "text", "reasoning"] = ""
        self._calls = CallRows(self.theme)
        self._activity = Activity()
        self._section: Section = ""
        self._to_print: list[str] = []
        self._step_printed = False
        self._told = ""  # why the last request was sent again
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
        self._activity.hear(event, self._clock())
        match event:
            case TurnStarted():
                self._begin_turn()
            case StepStarted():
                self._step_printed = False
                self._told = ""
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
                self._print("notes", Part(body=Text(f"↻ {retry_line(event, self._told)}", self.theme.warning)))
                self._told = event.reason
            case ToolStarted():
                self._end_stream()
                self._calls.start(event, self._clock())
            case ToolProgress():
                self._calls.progress(event, self._clock())
                return  # may come from another thread: the next tick draws it
            case ToolFinished():
                self._end_stream()
                self._print("tools", *self._calls.finish(event, self._clock(), self._painter.width))
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
        for block in result_blocks(result, self.theme, self._painter.width):
            self._print("notes", *block.parts, apart=block.apart)
        self._refresh(now=True)

    def show_rows(self, rows: Iterable[Text]) -> None:
        """Lines of one look each, such as samples of themes; those that are `no_wrap` are cut at the edge."""
        rows = list(rows)
        for row in rows:
            if row.no_wrap:
                row.truncate(self._painter.width)
        self._print("notes", *(Part(body=row) for row in rows), apart=True)
        self._refresh(now=True)

    def toggle_reasoning(self) -> None:
        """Unfold what the model thinks aloud, or fold it: what streams now, and what comes later."""
        self._take_in()
        self._print("reasoning", *self._reasoning.toggle())
        self._version += 1
        self._refresh(now=True)

    def set_typed(self, typing: Typing) -> None:
        """Show what the person types while the turn runs, and what of it waits."""
        self._typing = typing
        self._refresh(now=True)

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
        self._turn_started = self._activity.since = self._clock()
        self._section = "prompt"
        self._ticker.start()
        in_background(preload)

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_stream()
        self._print("tools", *self._calls.end(self._painter.width))
        if event.status == "interrupted":
            self._print("footer", Part(body=Text(clean_line(event.error or "interrupted"), self.theme.warning)))
        elif event.status != "done":
            self._print("footer", Part(body=Text(clean_line(event.error or event.status), self.theme.bad)))
        self._print("footer", Part(body=Text(footer(event), self.theme.faint)))
        self._turn_started, self._typing = None, Typing(line=TypedLine())
        self._ticker.stop()
        self._refresh(now=True)
        self._output.write(self._notifier.of(event))

    def _stream(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if self._streaming != kind:
            self._end_stream()
            self._streaming = kind
            self._thinking_since = self._clock()
        self._fresh.append(text)

    def _take_in(self) -> None:
        """Lay out what has come since the last frame: many deltas cost no more than one."""
        if not self._fresh or not self._streaming:
            return
        text = self._cleaner.feed("".join(self._fresh))
        self._fresh.clear()
        self._print(self._streaming, *(self._answer if self._streaming == "text" else self._reasoning).feed(text))
        self._version += 1

    def _end_stream(self) -> None:
        """Finish what is streaming: its tail is printed for good."""
        if not self._streaming:
            return
        self._take_in()
        kind = self._streaming
        held = self._cleaner.finish()
        if kind == "text":
            self._print(kind, *self._answer.feed(held), *self._answer.finish())
        else:
            seconds = self._clock() - self._thinking_since
            self._print(kind, *self._reasoning.feed(held), *self._reasoning.finish(seconds))
        self._streaming = ""
        self._version += 1

    def _restart(self) -> None:
        """Forget the open end of the answer; what is already in the scrollback can only be called void."""
        self._answer.finish()
        self._reasoning.finish()
        self._cleaner = Cleaner()
        self._fresh.clear()
        self._streaming = ""
        self._version += 1
        if self._step_printed:
            self._print("notes", Part(body=Text(RESTARTED, self.theme.faint)), apart=True)
        self._step_printed = False

    def _say(self, text: str, style: str) -> None:
        self._print("notes", *said(text, style))
        self._refresh(now=True)

    def _print(self, section: Section, *parts: Part, apart: bool = False) -> None:
        """Put parts into the scrollback with the next frame; a blank line stands between sections."""
        self._take_in()
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
        self._take_in()
        started = self._clock()  # laying out must be done in any case: it makes no frame wait
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
            for part in self._calls.rows(now, self._painter.width):
                yield from self._painter.rows(part)
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

    def _status_rows(self, now: float) -> Iterator[str]:
        elapsed = now - (self._turn_started or now)
        width = self._painter.width
        for line in waiting_lines(self._typing.waiting, width, self._size()[1]):
            yield self._painter.rows(Part(body=Text(line, self.theme.faint), wraps=False))[0]
        folds = self._activity.what == "thinking" and self._reasoning.show != "hide"
        hint = f"ctrl-t {'folds' if self._reasoning.show == 'show' else 'shows'} it" if folds else ""
        seconds = now - max(self._activity.since, self._turn_started or 0.0)
        row = status_row(self._activity.what, seconds, elapsed, (hint, *self._facts()), width, self.theme)
        yield self._painter.rows(Part(body=row, wraps=False))[0]
        if self._typing.chips:
            chips = Text(fit_counted(self._typing.chips, width), self.theme.accent)
            yield self._painter.rows(Part(body=chips, wraps=False))[0]
        row, self._cursor = typed_row(self._typing, width)
        if row:
            style = "" if self._typing.line.text else self.theme.faint
            yield self._painter.rows(Part(body=Text(row, style), wraps=False))[0]


def open_screen(
    stream: TextIO,
    terminal: Terminal,
    size: Size,
    *,
    reasoning: ShowReasoning = "fold",
    facts: Callable[[], tuple[str, ...]] = _no_facts,
    notifier: Notifier = Notifier(),  # noqa: B008  # frozen
) -> Screen | PipeScreen:
    """The screen for this terminal: a live one, or plain text for a dumb terminal and a pipe."""
    if terminal.live:
        return Screen(stream, terminal, size, reasoning=reasoning, facts=facts, notifier=notifier)
    return PipeScreen(stream, stream, show_footer=True)


def _needs_gap(before: Section, after: Section) -> bool:
    """Whether a blank line stands between two sections; calls and notes belong together."""
    return before not in ("", after) and not {before, after} <= {"tools", "notes"}
