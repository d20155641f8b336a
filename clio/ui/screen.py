"""The screen of a terminal with cursor control: finished output is printed once, only live rows are redrawn.

*Live* rows are those of a running turn: the unfinished end of the answer, running calls, the status line, typed text.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Literal, TextIO, assert_never

from msgspec import Struct
from rich.text import Text

from clio.agent.user_interface import (
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
from clio.messages import ToolMessage
from clio.sessions.state import Todo
from clio.text.translation import tr
from clio.ui.diff_view import render_diff
from clio.ui.footer import Activity, render_status_row
from clio.ui.hanging_text import HangingText, render_user_message
from clio.ui.keyboard import TypedLine, TypingState, render_typed_row, render_waiting_texts
from clio.ui.line_rules import CLEAR_BELOW, fit_parts, fit_parts_counted, wrap_parts
from clio.ui.markdown import ANSWER_SIGN, StreamingMarkdown, preload_markdown, render_markdown
from clio.ui.painter import Painter, Part, TerminalSize, count_row_cells
from clio.ui.pipe_screen import (
    ANSWER_RESTARTED,
    TerminalOutput,
    format_retry,
    format_turn_footer,
)
from clio.ui.printed_rows import PrintedRows
from clio.ui.safe_text import StreamCleaner, clean, clean_line
from clio.ui.tables import count_done, render_bar, render_pinned_todos, render_table, render_todos
from clio.ui.terminal_signals import TerminalSignals
from clio.ui.theme import Terminal, Theme
from clio.ui.turn_display import (
    CallRows,
    ReasoningStream,
    Ticker,
    run_in_background,
)

# Synchronized output (DEC mode 2026): the terminal shows everything between these at once, which avoids flicker. Other
# terminals ignore them.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


class LiveArea:
    """Rows at the bottom of the screen that can be redrawn. Printed text leaves the area and is never printed twice.

    The area is at most one row shorter than the screen, and shows the last rows, so that the cursor can always
    return to its first row. Rows above the first changed one are left alone. Each drawing is a single write.

    Args:
        write: takes text for the terminal, including control sequences.
        reflows: see `Terminal.reflows`.
    """

    def __init__(self, write: Callable[[str], None], size: TerminalSize, *, reflows: bool) -> None:
        self._write = write
        self._size = size
        self._reflows = reflows
        self._drawn: list[str] = []
        self._drawn_size = (0, 0)
        self._cursor: tuple[int | None, int] = (None, 0)

    def draw(self, rows: Sequence[str], printed: str = "", *, column: int | None = None, rows_below: int = 0) -> None:
        """Print text permanently above the area (whole lines) and draw these rows in the area, in one write.

        column: where to put the cursor in its row; None puts it at the end of the row. rows_below: how many rows of the
        area are below the cursor's row.
        """
        size = self._size()
        visible = list(rows[-max(size[1] - 1, 1) :])
        rows_below = min(rows_below, max(len(visible) - 1, 0))
        cursor = (column, rows_below)
        if not printed and visible == self._drawn and size == self._drawn_size and cursor == self._cursor:
            return
        unchanged = 0 if printed or size != self._drawn_size else self._count_unchanged_rows(visible, rows_below)
        text = self._erase(unchanged) + printed + "\n".join(visible[unchanged:])
        text += (f"\x1b[{rows_below}A" if rows_below else "") + _move_to_column(column)
        self._write(f"{_BEGIN}{text}{_END}" if text else "")
        self._drawn, self._drawn_size, self._cursor = visible, size, cursor

    def clear(self) -> None:
        """Erase the area."""
        self.draw(())

    def _erase(self, unchanged: int) -> str:
        """Return the sequence that moves to the first row of the area that is not kept and clears from there."""
        if not self._drawn:
            return ""
        columns, lines = self._size()
        column, rows_below = self._cursor
        cursor_row = len(self._drawn) - 1 - rows_below
        above = cursor_row - unchanged
        if self._reflows and columns < self._drawn_size[0]:
            # The terminal has wrapped the rows that became too long, and the cursor moved with its text.
            cells = [max(count_row_cells(row), 1) for row in self._drawn[: cursor_row + 1]]
            above = sum(-(-count // columns) for count in cells[:-1])
            above += (cells[-1] - 1 if column is None else column) // columns
        up = min(above, lines - 1)
        return "\r" + (f"\x1b[{up}A" if up else "") + CLEAR_BELOW

    def _count_unchanged_rows(self, visible: Sequence[str], rows_below: int) -> int:
        """Count the leading rows that need no redrawing. From the cursor's row on, all rows are drawn."""
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._drawn, visible, strict=False)))
        most = min(len(self._drawn) - 1 - self._cursor[1], len(visible) - 1 - rows_below)
        return max(min(same, most), 0)


def _move_to_column(column: int | None) -> str:
    if column is None:
        return ""
    return f"\r\x1b[{column}C" if column else "\r"


_NO_LIMIT = 10**9  # a requested diff is shown whole


class PartBlock(Struct, frozen=True):
    """Parts that belong together. has_blank_before: print a blank line before them."""

    parts: list[Part]
    has_blank_before: bool = True


def render_result_blocks(result: CommandResult, theme: Theme, width: int) -> Iterator[PartBlock]:
    """Yield the fields of a command result in order, laid out for `width` columns; a failure is shown as an error."""
    if result.bar is not None:
        title = Part(body=Text(" ".join(clean(result.bar.title).split()), theme.strong))
        rows = (Part(body=Text.assemble(*row), wraps=False) for row in render_bar(result.bar, width, theme.faint))
        yield PartBlock([title, *rows])
    if result.text and not result.ok:
        yield PartBlock(make_message_parts(result.text, theme.bad), has_blank_before=False)
    elif result.text:
        yield PartBlock(render_markdown(clean(result.text), theme))
    if result.verbatim:
        yield PartBlock([Part(body=Text(row)) for row in clean(result.verbatim).rstrip("\n").split("\n")])
    if result.diff:
        yield PartBlock([Part(body=row) for row in render_diff(result.diff, theme, width, _NO_LIMIT)])
    if result.table is not None:
        heading, lines = render_table(result.table, width)
        head = [Part(body=Text(heading, theme.faint), wraps=False)] if heading else []
        yield PartBlock([*head, *(Part(body=Text(line), wraps=False) for line in lines)])
    if result.todos:
        count = Part(body=Text(count_done(result.todos), theme.faint))
        rows = render_todos(result.todos, width, theme, fold=not result.todos_whole)
        yield PartBlock([count, *(Part(body=row, wraps=False) for row in rows)])


def make_message_parts(text: str, style: str) -> list[Part]:
    """Return a message of clio's own, one part for each line."""
    return [_make_message(line, style) for line in clean(text).rstrip("\n").split("\n")]


def _make_message(line: str, style: str) -> Part:
    """Return one line of clio's own; the rows after its first are indented, unless the line is."""
    indent = len(line) - len(line.lstrip(" "))
    return Part(body=HangingText(line, style=style, hang=indent + 2))


FRAME_S = 0.05  # at most 20 frames a second
_COST_FACTOR = 4  # a slow frame delays the next one: drawing takes at most a fifth of the time
_STATUS_MIN_LINES = 6  # on a lower screen there is neither a status line nor a blank line above what the turn does
_ROWS_BELOW_CALLS = 5  # a blank row, the working line, the input line, the status line, and one that stays above
_LOW_SCREEN_LINES = 15  # on a lower screen the task list is not shown

ScreenSection = Literal["", "prompt", "reasoning", "text", "tools", "notes", "footer"]


def _no_status_parts() -> tuple[str, ...]:
    return ()


def _no_todos() -> tuple[Todo, ...]:
    return ()


class Screen:
    """Shows the loop's events. While a turn runs, the screen calls `tick` itself.

    Args:
        reasoning: how to show the model's reasoning at first.
        get_status_parts: returns the values of the status line, most important first; called for every frame.
        get_own_status: returns the line of the user's own command, which replaces the values, in SGR; "" for none.
        get_todos: returns the session's task list; called for every frame.
        prompt: the prompt of the input line, as between turns.
        signals: the title, the progress and the notifications of the terminal.
        printed: notes what is printed, and keeps the input line on its row.
        clock: returns seconds; only differences matter.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: TerminalSize,
        *,
        reasoning: ShowReasoning = "fold",
        get_status_parts: Callable[[], tuple[str, ...]] = _no_status_parts,
        get_own_status: Callable[[], str] = str,
        get_todos: Callable[[], tuple[Todo, ...]] = _no_todos,
        prompt: str = "❯ ",
        signals: TerminalSignals | None = None,
        printed: PrintedRows | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.theme = terminal.theme
        self._get_status_parts = get_status_parts
        self._get_own_status = get_own_status
        self._get_todos = get_todos
        self._prompt = prompt
        self._signals = signals or TerminalSignals()
        self._printed = printed or PrintedRows(size)
        self._painter = Painter(self.theme, size)
        self._size = size
        self._clock = clock
        self._output = TerminalOutput(stream)
        self._area = LiveArea(self._output.write, size, reflows=terminal.reflows)
        self._ticker = Ticker(self.tick, FRAME_S)
        self._cleaner = StreamCleaner()
        self._streamed_text: list[str] = []  # text that was streamed since the last frame
        self._answer = StreamingMarkdown(self.theme, sign=ANSWER_SIGN)
        self._reasoning = ReasoningStream(self.theme, reasoning)
        self._thinking_since = 0.0
        self._streaming: Literal["", "text", "reasoning"] = ""
        self._calls = CallRows(self.theme, lambda: size()[1] - _ROWS_BELOW_CALLS)
        self._activity = Activity()
        self._section: ScreenSection = ""
        self._queued_text: list[str] = []
        self._step_printed = False
        self._retry_reason = ""  # the reason for the last retry
        self._turn_started: float | None = None
        self._typing = TypingState(line=TypedLine())
        self._cursor: int | None = None
        self._paused = 0
        self._pinned_todos: tuple[Todo, ...] = ()  # the task list above the input line
        self._printed_todos: tuple[Todo, ...] = ()  # as it was printed last
        self._tail_rows: list[str] = []
        self._tail_key: tuple[int, int] = (-1, 0)
        self._tail_version = 0
        self._drawn_at = -1e9
        self._interval = FRAME_S

    def handle(self, event: Event) -> None:
        """Show one event."""
        self._activity.handle_event(event, self._clock())
        match event:
            case TurnStarted():
                self._begin_turn()
                self._pin_todos()
            case StepStarted():
                self._step_printed = False
                self._retry_reason = ""
            case Steered(text=text):
                self._end_stream()
                self._queue_parts("prompt", *render_user_message(text, self.theme))
            case TextDelta(text=text):
                self._add_streamed_text("text", text)
            case ReasoningDelta(text=text):
                self._add_streamed_text("reasoning", text)
            case StreamRestarted():
                self._discard_stream()
            case Retrying():
                self._end_stream()
                self._queue_parts(
                    "notes", _make_message(f"↻ {format_retry(event, self._retry_reason)}", self.theme.warning)
                )
                self._retry_reason = event.reason
            case ToolStarted():
                self._end_stream()
                parts = self._calls.start_call(event, self._clock(), self._painter.width)
                self._queue_parts("tools", *parts)
            case ToolProgress():
                self._calls.update_progress(event, self._clock())
                return  # may come from another thread: the next tick draws it
            case ToolFinished():
                self._end_stream()
                self._queue_parts("tools", *self._calls.finish_call(event, self._clock(), self._painter.width))
                self._pin_todos()
            case Notice(text=text, level=level):
                self._end_stream()
                style = self.theme.warning if level == "warning" else self.theme.faint
                self._queue_parts("notes", _make_message(clean_line(text), style))
            case ContextTrimmed():
                self._end_stream()
                self._queue_parts("notes", _make_message(event.description, self.theme.faint))
            case StepFinished():
                self._end_stream()
            case TurnFinished():
                self._end_turn(event)
            case MessageAdded(message=ToolMessage(tool_call_id=call_id, content=content)):
                self._calls.set_content(call_id, content)
                return
            case MessageAdded():
                return
            case _:
                assert_never(event)
        self._draw_if_due()

    def tick(self) -> None:
        """Redraw what has changed, such as the elapsed seconds."""
        self._draw_if_due()

    def print_note(self, text: str) -> None:
        """Print an informational line in a faint style."""
        self._print_message(text, self.theme.faint)

    def show_header(self, lines: Sequence[str]) -> None:
        """Print the lines of the first screen, the first one in a strong style, and a blank line below.

        Lines that are too long are wrapped between their parts, separated by " · ".
        """
        styles = (self.theme.strong, *[self.theme.faint] * (len(lines) - 1))
        width = self._painter.width - 1
        rows = [
            Text(row, style)
            for line, style in zip(lines, styles, strict=True)
            for row in wrap_parts(clean_line(line).split(" · "), width)
        ]
        self.show_rows([*rows, Text("")])

    def print_error(self, text: str) -> None:
        """Print an error line."""
        self._print_message(text, self.theme.bad)

    def show_result(self, result: CommandResult, *, continues: bool = False) -> None:
        """Print the result of a slash command; a failure is shown as an error.

        continues: it is the next piece of the result printed last, so no blank line is between them.
        """
        for block in render_result_blocks(result, self.theme, self._painter.width):
            self._queue_parts("notes", *block.parts, has_blank_before=block.has_blank_before and not continues)
        self._draw_if_due(now=True)

    def show_user_message(self, text: str, *, is_new_turn: bool = False) -> None:
        """Print a text that the user has sent, on rows with a background.

        is_new_turn: it begins a turn, so that the blank line before it is already there.
        """
        if is_new_turn:
            self._section = ""
        self._queue_parts("prompt", *render_user_message(text, self.theme))
        self._draw_if_due(now=True)

    def expect_turn(self) -> None:
        """Draw the input line and the status line before the first event of a turn, so that they never disappear."""
        if self._turn_started is None:
            self._activity = Activity()
            self._turn_started = self._activity.since = self._clock()
            self._section = "prompt"  # what is told before the first event is below the line that was entered
            self._ticker.start()
            self._draw_if_due(now=True)

    def abandon_turn(self) -> None:
        """Remove what `expect_turn` drew, if the turn has ended without an event."""
        if self._turn_started is not None:
            self._end_stream()
            self._leave_turn()

    def show_rows(self, rows: Iterable[Text]) -> None:
        """Print lines of one style each, such as theme samples; lines marked `no_wrap` are cut at the edge."""
        rows = list(rows)
        for row in rows:
            if row.no_wrap:
                row.truncate(self._painter.width)
        self._queue_parts("notes", *(Part(body=row) for row in rows), has_blank_before=True)
        self._draw_if_due(now=True)

    def show_parts(self, parts: Iterable[Part]) -> None:
        """Print parts that belong together, such as the end of a resumed conversation."""
        self._queue_parts("notes", *parts, has_blank_before=True)
        self._draw_if_due(now=True)

    def toggle_reasoning(self) -> None:
        """Unfold or fold the model's reasoning, for the running stream and for later ones."""
        self._render_streamed_text()
        self._queue_parts("reasoning", *self._reasoning.toggle())
        self._tail_version += 1
        self._draw_if_due(now=True)

    def toggle_fold(self) -> bool:
        """Unfold or fold the live calls; False if there is nothing to unfold, or an output taller than the screen.

        A list of calls that is taller is printed instead, so that its beginning can be scrolled to.
        """
        if self._turn_started is None or not self._calls.can_unfold:
            return False
        self._calls.toggle_fold()
        columns, lines = self._painter.width, self._size()[1]
        rows = (len(self._painter.render_rows(part)) for part in self._calls.render_rows(self._clock(), columns))
        if sum(rows) > lines - _ROWS_BELOW_CALLS:
            if self._calls.has_output:
                self._calls.toggle_fold()
                return False
            self._queue_parts("tools", *self._calls.print_finished(columns))
        self._draw_if_due(now=True)
        return True

    def set_typed(self, typing: TypingState) -> None:
        """Show what the user types while the turn runs, and the texts that wait."""
        self._typing = typing
        self._draw_if_due(now=True)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """A context in which another program has the terminal: live rows are erased, new output is printed
        afterwards.
        """
        self._queue_parts("tools", *self._calls.print_finished(self._painter.width))
        self._draw_if_due(now=True)
        self._paused += 1
        self._area.clear()
        try:
            yield
        finally:
            self._paused -= 1
            self._draw_if_due(now=True)

    def close(self) -> None:
        """Stop drawing and leave the cursor on a new line; may be called at any time, and repeatedly."""
        self._ticker.stop()
        self._turn_started, self._typing = None, TypingState(line=TypedLine())
        self._end_stream()
        self._draw_if_due(now=True)
        self._signals.close()

    def _begin_turn(self) -> None:
        self._turn_started = self._activity.since = self._clock()
        self._section = "prompt"
        self._signals.begin_turn()
        self._ticker.start()
        run_in_background(preload_markdown)

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_stream()
        self._queue_parts("tools", *self._calls.end_turn(self._painter.width))
        self._unpin_todos()
        if event.status == "interrupted":
            self._queue_parts("footer", _make_message(clean_line(event.error or "interrupted"), self.theme.warning))
        elif event.status != "done":
            self._queue_parts("footer", _make_message(clean_line(event.error or event.status), self.theme.bad))
        self._queue_parts("footer", _make_message(format_turn_footer(event), self.theme.faint))
        self._leave_turn()
        self._signals.end_turn(event)

    def _pin_todos(self) -> None:
        """Pin the task list while it has open tasks, unless it is printed as it is."""
        todos = self._get_todos()
        if self._size()[1] <= _LOW_SCREEN_LINES or todos == self._printed_todos:
            self._pinned_todos = ()
        elif not all(todo.status == "completed" for todo in todos):
            self._pinned_todos = todos
        elif self._pinned_todos:
            self._pinned_todos = todos
            self._unpin_todos()

    def _unpin_todos(self) -> None:
        """Print the pinned list: its rows would stay blank until the next output."""
        todos, self._pinned_todos = self._pinned_todos, ()
        if todos:
            rows = render_pinned_todos(todos, self._painter.width, self.theme)
            self._queue_parts("notes", *(Part(body=row, wraps=False) for row in rows))
            self._printed_todos = todos

    def _leave_turn(self) -> None:
        self._turn_started, self._typing = None, TypingState(line=TypedLine())
        self._ticker.stop()
        self._draw_if_due(now=True)

    def _add_streamed_text(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if self._streaming != kind:
            self._end_stream()
            if kind == "text" or self._reasoning.show == "show":
                self._queue_parts("tools", *self._calls.print_finished(self._painter.width))
            self._streaming = kind
            self._thinking_since = self._clock()
        self._streamed_text.append(text)

    def _render_streamed_text(self) -> None:
        """Render the text streamed since the last frame, all at once: many deltas cost no more than one."""
        if not self._streamed_text or not self._streaming:
            return
        text = self._cleaner.feed("".join(self._streamed_text))
        self._streamed_text.clear()
        self._queue_parts(self._streaming, *(self._answer if self._streaming == "text" else self._reasoning).feed(text))
        self._tail_version += 1

    def _end_stream(self) -> None:
        """End the running stream and print its last part permanently."""
        if not self._streaming:
            return
        self._render_streamed_text()
        kind = self._streaming
        rest = self._cleaner.finish()
        if kind == "text":
            self._queue_parts(kind, *self._answer.feed(rest), *self._answer.finish())
        else:
            seconds = self._clock() - self._thinking_since
            self._queue_parts(kind, *self._reasoning.feed(rest), *self._reasoning.finish(seconds))
        self._streaming = ""
        self._tail_version += 1

    def _discard_stream(self) -> None:
        """Discard the unfinished end of the answer; a note marks text already in the scrollback as outdated."""
        self._answer.finish()
        self._reasoning.finish()
        self._cleaner = StreamCleaner()
        self._streamed_text.clear()
        self._streaming = ""
        self._tail_version += 1
        if self._step_printed:
            self._queue_parts("notes", Part(body=Text(tr(ANSWER_RESTARTED), self.theme.faint)), has_blank_before=True)
        self._step_printed = False

    def _print_message(self, text: str, style: str) -> None:
        self._queue_parts("notes", *make_message_parts(text, style))
        self._draw_if_due(now=True)

    def _queue_parts(self, section: ScreenSection, *parts: Part, has_blank_before: bool = False) -> None:
        """Print parts with the next frame; a blank line separates sections."""
        self._render_streamed_text()
        if section != "tools" and parts:
            self._queue_parts("tools", *self._calls.print_finished(self._painter.width))
        for number, part in enumerate(parts):
            wants_gap = number == 0 and ((has_blank_before and self._section) or _needs_gap(self._section, section))
            if wants_gap and (self._queued_text or not self._printed.ends_with_blank):
                self._queued_text.append("\n")
            self._queued_text.append(self._painter.render_lines(part))
            self._section = section
            self._step_printed = self._step_printed or section in ("text", "reasoning")

    def _draw_if_due(self, *, now: bool = False) -> None:
        """Draw a frame if one is due. Outside a turn everything is drawn at once."""
        started = self._clock()
        if self._paused or (not now and self._turn_started is not None and started - self._drawn_at < self._interval):
            return
        self._render_streamed_text()
        started = self._clock()  # after rendering, which has to be done anyway and must not delay the next frame
        self._cursor = None
        printed = "".join(self._queued_text)
        self._queued_text.clear()
        self._printed.add(printed)
        rows: list[str] = []
        if self._turn_started is not None:
            rows, bottom = list(self._render_turn_rows(started)), list(self._render_bottom_rows(started))
            rows += [""] * self._printed.count_padding(len(rows) + len(bottom)) + bottom
        below = 1 if rows and self._size()[1] >= _STATUS_MIN_LINES else 0
        self._area.draw(rows, printed, column=self._cursor, rows_below=below)
        self._printed.hold(len(rows))
        self._drawn_at = started
        self._interval = max(FRAME_S, _COST_FACTOR * (self._clock() - started))

    def _render_turn_rows(self, now: float) -> Iterator[str]:
        """Yield the live rows of the answer and of the calls."""
        section = self._section
        tail = self._render_tail()
        if tail:
            yield from [""] * _needs_gap(section, self._streaming or "text")
            yield from tail
            section = self._streaming or "text"
        if self._calls:
            yield from [""] * _needs_gap(section, "tools")
            for part in self._calls.render_rows(now, self._painter.width):
                yield from self._painter.render_rows(part)

    def _render_tail(self) -> list[str]:
        """Return the rows of the unfinished end of the answer, rendered again only if the text or the width has
        changed.
        """
        key = (self._tail_version, self._painter.width)
        if key != self._tail_key:
            stream = self._answer if self._streaming == "text" else self._reasoning
            part = stream.get_tail() if self._streaming else None
            self._tail_rows = self._painter.render_rows(part) if part is not None else []
            self._tail_key = key
        return self._tail_rows

    def _render_bottom_rows(self, now: float) -> Iterator[str]:
        """Yield the task list, what the turn does, the texts that wait, the input line, and the status line.

        The last two are where they are between turns, too.
        """
        width, lines = self._painter.width, self._size()[1]
        if lines >= _STATUS_MIN_LINES:
            yield ""
        yield from map(self._render_row, render_pinned_todos(self._pinned_todos, width, self.theme))
        folds = self._activity.label == "thinking" and self._reasoning.show != "hide"
        hint = ""
        if folds:
            is_shown = self._reasoning.show == "show"
            hint = tr("ctrl-t to hide thinking") if is_shown else tr("ctrl-t to show thinking")
        seconds = now - max(self._activity.since, self._turn_started or 0.0)
        elapsed = now - (self._turn_started or now)
        yield self._render_row(render_status_row(self._activity.label, seconds, elapsed, (hint,), width, self.theme))
        for line in render_waiting_texts(self._typing.waiting, width, lines):
            yield self._render_row(Text(line, self.theme.faint))
        if self._typing.mention_labels:
            yield self._render_row(Text(fit_parts_counted(self._typing.mention_labels, width), self.theme.accent))
        typed, self._cursor = render_typed_row(self._typing, self._prompt, width)
        style = "" if self._typing.line.text else self.theme.faint
        yield self._render_row(Text.assemble((self._prompt, self.theme.prompt), (typed, style)))
        if lines >= _STATUS_MIN_LINES:
            if own := self._get_own_status():
                yield self._render_row(Text.from_ansi(own, style=self.theme.faint))
            else:
                yield self._render_row(Text(fit_parts(self._get_status_parts(), width), self.theme.faint))

    def _render_row(self, row: Text) -> str:
        return self._painter.render_rows(Part(body=row, wraps=False))[0]


def _needs_gap(before: ScreenSection, after: ScreenSection) -> bool:
    """Whether a blank line separates two sections; calls and notes belong together."""
    return before not in ("", after) and not {before, after} <= {"tools", "notes"}
