"""The screen for a screen reader: every line is printed once, in order, and nothing is drawn again."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, assert_never

from msgspec import Struct

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
from clio.context.command_results import OMITTED
from clio.text.formatting import begin_lower
from clio.text.translation import tr
from clio.ui.footer import Activity
from clio.ui.line_rules import USER_SIGN
from clio.ui.markdown import preload_markdown
from clio.ui.painter import TerminalSize
from clio.ui.pipe_screen import ANSWER_RESTARTED, TerminalOutput
from clio.ui.plain_line import EchoedLine
from clio.ui.reader.spoken_text import (
    ExactLine,
    SpokenMarkdown,
    remove_drawn,
    replace_symbols,
    speak_bar,
    speak_diff,
    speak_footer,
    speak_line,
    speak_retry,
    speak_seconds,
    speak_table,
    speak_text,
    wrap_line,
)
from clio.ui.safe_text import StreamCleaner, clean, clean_line, restore_full_line
from clio.ui.tables import count_done, render_plain_todos
from clio.ui.terminal_signals import TerminalSignals
from clio.ui.theme import Theme
from clio.ui.turn_display import SHOW_PROGRESS_AFTER_S, ReasoningStream, Ticker, run_in_background

if TYPE_CHECKING:
    from clio.ui.keyboard import TypingState, WaitingText


_MIN_REPORTED_S = 1.0  # seconds; folded reasoning that took less is not reported


class SpokenReasoning:
    """Formats the model's reasoning as plain lines for a screen reader. show: as the setting `reasoning`."""

    def __init__(self, show: ShowReasoning) -> None:
        self._stream = ReasoningStream(Theme(colour=False, escapes=False), show)
        self._started = False

    @property
    def is_shown(self) -> bool:
        """Whether the reasoning is printed."""
        return self._stream.show == "show"

    def toggle(self) -> list[str]:
        """Return all hidden reasoning to print, or hide the reasoning that arrives from now on."""
        return self._label_lines([str(part.body) for part in self._stream.toggle()])

    def feed(self, text: str) -> list[str]:
        """Return the lines completed by this text."""
        return self._label_lines([str(part.body) for part in self._stream.feed(text)])

    def finish(self, seconds: float) -> list[str]:
        """Return the last line; if the reasoning was hidden, how long it took."""
        folded = self._stream.show == "fold"
        lines = [str(part.body) for part in self._stream.finish(0.0)]
        spoken = self._label_lines(lines)
        self._started = False
        return (
            [*spoken, tr("thought for {duration}", duration=speak_seconds(seconds))]
            if folded and seconds >= _MIN_REPORTED_S
            else spoken
        )

    def _label_lines(self, lines: list[str]) -> list[str]:
        spoken = [
            f"{'' if self._started or number else 'thinking: '}{remove_drawn(line)}"
            for number, line in enumerate(lines)
        ]
        self._started = self._started or bool(lines)
        return spoken


_MAX_DIFF_LINES = 20


def speak_call(event: ToolFinished) -> Iterator[str]:
    """Describe how a call ended, then its change if the user has not seen it, or the first lines of a failure."""
    lines = [remove_drawn(line).strip() for line in clean(event.preview).splitlines()]
    summary = restore_full_line(clean_line(event.summary), () if event.ok else lines)
    yield speak_line(
        f"{tr('done') if event.ok else tr('failed')}: {clean_line(event.title)}" + (f", {summary}" if summary else "")
    )
    if event.diff and not event.asked:
        yield from speak_diff(event.diff, max_lines=_MAX_DIFF_LINES, hint=tr(", slash diff to read all"))
    elif not event.ok:
        output = [line for line in lines if line not in ("", OMITTED) and clean_line(line) != summary]
        yield from (tr("output: {line}", line=line) for line in output)


def speak_result(result: CommandResult) -> Iterator[str]:
    """Yield the fields of a command result in order; a failure is reported as an error."""
    if result.bar is not None:
        yield from speak_bar(result.bar)
    if result.text and not result.ok:
        yield tr("error: {message}", message=begin_lower(speak_line(" ".join(clean(result.text).split()))))
    elif result.text:
        yield from (
            line if isinstance(line, ExactLine) else replace_symbols(line) for line in speak_text(clean(result.text))
        )
    if result.verbatim:
        lines = clean(result.verbatim).rstrip("\n").split("\n")
        yield from (ExactLine(remove_drawn(line.expandtabs(4)).rstrip()) for line in lines)
    if result.diff:
        yield from speak_diff(result.diff, names=True)
    if result.table is not None:
        yield from speak_table(result.table)
    if result.todos:
        yield count_done(result.todos)
        yield from map(speak_line, render_plain_todos(result.todos, fold=not result.todos_whole))


_REPORT_PERIOD_S = 10.0  # seconds between two progress reports: each interrupts the screen reader


class SpokenProgress:
    """Reports at most every ten seconds how far work has progressed. May be called from any thread.

    hint: what a key does.
    """

    def __init__(self, label: str, stream: TextIO, *, hint: str = "") -> None:
        self._label = label
        self._stream = stream
        self._hint = hint
        self._next: float | None = None
        self._prefix = ""

    def update(self, done: int, total: int) -> None:
        """Set the progress to `done` of `total`."""
        now = time.monotonic()
        if self._next is None:
            self._next = now + SHOW_PROGRESS_AFTER_S
        if done >= total or now < self._next:
            return
        self._next = now + _REPORT_PERIOD_S
        self._write(
            tr(
                "{prefix}{label}, {value} percent, {done:,} of {total:,}",
                prefix=self._prefix,
                label=self._label,
                value=round(100 * done / total),
                done=done,
                total=total,
            )
        )
        if not self._prefix and self._hint:
            self._write(self._hint)
        self._prefix = "still "

    def set_hint(self, hint: str) -> None:
        """Print this hint at once."""
        self._write(hint)

    def _write(self, line: str) -> None:
        self._stream.write(f"{speak_line(line)}\n")
        self._stream.flush()


USER_PREFIX, ANSWER_PREFIX = "you: ", "clio: "
_TICK_S = 0.25  # seconds between two checks whether pending output can be printed
_LONG_CALL_S = 1.0
"""Seconds; the start of a call that takes longer is reported."""
_TYPING_S = 5.0
"""Seconds after the last key before pending output is printed although the user has not sent the line."""


class _Call(Struct):
    title: str
    since: float
    is_reported: bool = False


class ReaderScreen:
    """Prints the loop's events as text. While a turn runs, the screen calls `tick` itself.

    Args:
        reasoning: how to show the model's reasoning at first.
        signals: the title, the progress and the notifications of the terminal.
        clock: seconds.
    """

    def __init__(
        self,
        stream: TextIO,
        size: TerminalSize,
        *,
        reasoning: ShowReasoning = "fold",
        signals: TerminalSignals | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._signals = signals or TerminalSignals()
        self._clock = clock
        self._output = TerminalOutput(stream)
        self._echo = EchoedLine(self._output.write, lambda: size()[0])
        self._ticker = Ticker(self.tick, _TICK_S)
        self._cleaner = StreamCleaner()
        self._answer = SpokenMarkdown()
        self._reasoning = SpokenReasoning(reasoning)
        self._thinking_since: float | None = None
        self._calls: dict[str, _Call] = {}
        self._activity = Activity()
        self._is_turn_running = False
        self._in_answer = False
        """Whether the last line belonged to the answer."""
        self._printed_at = 0.0
        self._typed_at = 0.0
        self._waiting: tuple[WaitingText, ...] = ()
        self._pending_lines: list[str] = []
        self._paused = 0

    def handle(self, event: Event) -> None:
        """Print one event."""
        self._activity.handle_event(event, self._clock())
        match event:
            case TurnStarted():
                self._begin_turn()
            case TextDelta(text=text):
                self._end_reasoning()
                self._print_answer(self._answer.feed(self._cleaner.feed(text)))
            case ReasoningDelta(text=text):
                self._print_reasoning(text)
            case StreamRestarted():
                self._answer, self._cleaner = SpokenMarkdown(), StreamCleaner()
                self._thinking_since = None
                self._print_lines(tr(ANSWER_RESTARTED))
            case Retrying():
                self._end_stream()
                self._print_lines(speak_retry(event))
            case ToolStarted():
                self._end_stream()
                self._calls[event.call_id] = _Call(clean_line(event.title), self._clock())
            case ToolFinished():
                self._end_stream()
                self._calls.pop(event.call_id, None)
                self._print_lines(*speak_call(event))
            case Steered(text=text):
                self._end_stream()
                self._print_lines(f"{USER_PREFIX}{clean_line(text)}")
            case Notice(text=text, level=level):
                self._end_stream()
                self._print_lines(("warning: " if level == "warning" else "") + speak_line(text))
            case ContextTrimmed():
                self._end_stream()
                self._print_lines(speak_line(event.description))
            case StepFinished():
                self._end_stream()
            case TurnFinished():
                self._end_turn(event)
            case StepStarted() | ToolProgress() | MessageAdded():
                pass
            case _:
                assert_never(event)

    def tick(self) -> None:
        """Report long work, and print the output that waited while the user typed."""
        now = self._clock()
        if self._paused or not self._is_turn_running:
            return
        if self._echo.is_open:
            if now - self._typed_at >= _TYPING_S and self._pending_lines:
                self._echo.end()
                self._print_pending()
            return
        for call in self._calls.values():
            if not call.is_reported and now - call.since >= _LONG_CALL_S:
                call.is_reported = True
                self._print_lines(tr("started: {text}", text=speak_line(call.title)))
        if now - self._printed_at >= _REPORT_PERIOD_S:
            self._print_lines(self._describe_progress(now))

    def show_header(self, lines: Sequence[str]) -> None:
        """Print the lines of the first screen."""
        self.print_note("\n".join(lines))

    def print_note(self, text: str) -> None:
        """Print informational lines."""
        self._print_lines(*(speak_line(line) for line in clean(text).rstrip("\n").split("\n")))

    def show_user_message(self, text: str, *, is_new_turn: bool = False) -> None:
        """Print a text that the user has sent. is_new_turn: makes no difference."""
        self.print_note(f"{USER_SIGN}{text}")

    def print_error(self, text: str) -> None:
        """Print an error."""
        self._print_lines(tr("error: {message}", message=begin_lower(speak_line(" ".join(clean(text).split())))))

    def show_result(self, result: CommandResult, *, continues: bool = False) -> None:
        """Print the result of a slash command; a failure is reported as an error."""
        self._print_lines(*speak_result(result))

    def expect_turn(self) -> None:
        """Do nothing: nothing is drawn."""

    def abandon_turn(self) -> None:
        """Do nothing, as `expect_turn`."""

    def toggle_reasoning(self) -> None:
        """Show or hide the model's reasoning, for the running stream and for later ones."""
        lines = self._reasoning.toggle()
        state = tr("read out") if self._reasoning.is_shown else tr("hidden")
        self._print_lines(tr("the model's thinking is now {state}", state=state), *lines)

    def toggle_fold(self) -> bool:
        """Return False: nothing is folded here."""
        return False

    def set_typed(self, typing: "TypingState") -> None:
        """Show what the user types while the turn runs, and print which texts wait."""
        line = typing.line
        new_lines = [f"{text.label}: {clean_line(text.text)}" for text in typing.waiting if text not in self._waiting]
        self._waiting = typing.waiting
        if new_lines or not line.text:
            self._echo.end()
            self._pending_lines[:0] = [*new_lines, speak_line(typing.hint)] if new_lines and typing.hint else new_lines
            self._print_pending()
        if line.text and self._is_turn_running and not self._paused:  # after the turn's end the prompt shows it
            self._typed_at = self._clock()
            self._echo.show(USER_PREFIX, line.text, line.cursor)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """A context in which another program has the terminal; new output is printed afterwards."""
        self._echo.end()
        self._print_pending()
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1
            self._printed_at = self._clock()
            self._print_pending()

    def close(self) -> None:
        """End an unfinished line, and print all pending output."""
        self._ticker.stop()
        self._is_turn_running = False
        self._echo.end()
        self._end_stream()
        self._print_pending()
        self._signals.close()

    def _begin_turn(self) -> None:
        self._signals.begin_turn()
        self._is_turn_running, self._in_answer = True, False
        self._printed_at = self._activity.since = self._clock()
        self._ticker.start()
        run_in_background(preload_markdown)

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_stream()
        self._ticker.stop()
        self._echo.end()
        self._is_turn_running = False
        self._print_pending()
        self._print_lines(*(tr("interrupted: {text}", text=speak_line(call.title)) for call in self._calls.values()))
        self._calls.clear()
        if event.error and event.status != "interrupted":
            self.print_error(event.error)
        self._print_lines(speak_footer(event))
        self._signals.end_turn(event)

    def _print_reasoning(self, text: str) -> None:
        if self._thinking_since is None:
            self._end_stream()
            self._thinking_since = self._clock()
        self._print_lines(*self._reasoning.feed(self._cleaner.feed(text)))

    def _end_reasoning(self) -> None:
        if self._thinking_since is not None:
            lines = self._reasoning.feed(self._cleaner.finish())
            self._print_lines(*lines, *self._reasoning.finish(self._clock() - self._thinking_since))
            self._thinking_since = None

    def _end_stream(self) -> None:
        """Finish the running stream."""
        self._end_reasoning()
        rest = self._cleaner.finish()
        self._print_answer([*self._answer.feed(rest), *self._answer.finish()])

    def _describe_progress(self, now: float) -> str:
        if self._calls:
            running = (f"{speak_line(call.title)}, {speak_seconds(now - call.since)}" for call in self._calls.values())
            return tr("still running: {running}", running="; ".join(running))
        return tr(
            "still {label}, {duration}",
            label=tr(self._activity.label),
            duration=speak_seconds(now - self._activity.since),
        )

    def _print_answer(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._print(line if self._in_answer else type(line)(ANSWER_PREFIX + line))
            self._in_answer = True

    def _print_lines(self, *lines: str) -> None:
        for line in lines:
            self._print(line)
            self._in_answer = False

    def _print(self, line: str) -> None:
        self._pending_lines.append(line)
        self._print_pending()

    def _print_pending(self) -> None:
        """Print pending output unless the user is typing or answering."""
        if self._paused or self._echo.is_open or not self._pending_lines:
            return
        lines, self._pending_lines = self._pending_lines, []
        width = max(self._size()[0] - 1, 1)
        self._output.write("".join(f"{wrap_line(line, width)}\n" for line in lines))
        self._printed_at = self._clock()
