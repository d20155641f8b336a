"""The screen of one-shot runs and of terminals without cursor movement: plain text without control sequences."""

import errno
import math
import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO, assert_never

from clio.agent.user_interface import (
    NEEDS_APPROVAL,
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
from clio.messages import Usage
from clio.text.formatting import begin_lower, describe_cache_use, format_tokens
from clio.text.translation import mark, tr, tr_count
from clio.ui.line_rules import USER_SIGN
from clio.ui.safe_text import StreamCleaner, clean, clean_line, restore_full_line

if TYPE_CHECKING:
    from clio.commands.command import CommandResult
    from clio.ui.keyboard import TypingState
    from clio.ui.painter import Part, TerminalSize
    from clio.ui.theme import Theme


SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_PERIOD_S = 0.1


def format_seconds(seconds: float) -> str:
    """Format a duration: "0.4 s", "12 s", "1 min 05 s", "2 h 03 min"."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return tr("{whole} min {whole2:02} s", whole=whole // 60, whole2=whole % 60)
    minutes = whole // 60
    return tr("{hours} h {minutes:02} min", hours=minutes // 60, minutes=minutes % 60)


def format_usage(usage: Usage) -> str:
    """Format a turn's tokens: "↑12k (8.0k cached, 2.0k written) ↓450"; empty if the server reports none."""
    if not usage.prompt_tokens and not usage.completion_tokens:
        return ""
    cached = describe_cache_use(usage.cached_tokens, usage.cache_write_tokens, format_tokens)
    return f"↑{format_tokens(usage.prompt_tokens)}{cached} ↓{format_tokens(usage.completion_tokens)}"


def format_turn_footer(event: TurnFinished) -> str:
    """Return the line under a turn: requests, tokens, cost if any, seconds."""
    steps = tr_count(event.steps, "request") if event.steps else tr("nothing sent")
    cost = event.cost.text if event.cost is not None and event.cost.micro_dollars else ""
    return " · ".join(part for part in (steps, format_usage(event.usage), cost, format_seconds(event.seconds)) if part)


def get_spinner_frame(seconds: float) -> str:
    """Return the spinner's character after so many seconds."""
    return SPINNER[int(max(seconds, 0.0) / SPINNER_PERIOD_S) % len(SPINNER)]


# Characters that clio itself prints, for terminals that are not UTF-8; any other becomes a question mark.
ASCII_REPLACEMENTS = str.maketrans({
    "●": "*", "…": "...", "·": "-", "•": "*", "─": "-", "━": "-", "▌": "|", "↻": "~", "✗": "x", "›": ">", "❯": ">",
    "█": "#", "▓": "%", "▒": "+", "≡": "=", "■": "@", "░": ":", "▰": "#", "▱": "-", "↑": "^", "↓": "v", "↵": "|",
    "✓": "ok", "◆": "*", "☐": "o", "☑": "x", "−": "-",
})  # fmt: skip
# A closed pipe, a closed connection, a terminal whose window was closed.
_READER_GONE_ERRNOS = (errno.EPIPE, errno.ECONNRESET, errno.EIO)


class TerminalOutput:
    """Writes to a stream until its reader closes it; later text is dropped silently.

    on_broken: called once when that happens, so that work without a reader can stop.
    """

    def __init__(self, stream: TextIO, on_broken: Callable[[], None] | None = None) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self.is_broken = False
        self.is_at_line_start = True

    def write(self, text: str) -> None:
        """Write and flush."""
        if self.is_broken or not text:
            return
        try:
            self._stream.write(self._make_encodable(text))
            self._stream.flush()
        except OSError as error:
            if error.errno not in _READER_GONE_ERRNOS:
                raise
            self._mark_broken()
        self.is_at_line_start = text.endswith("\n")

    def write_wrapped(self, text: str) -> None:
        """Write lines and flush; on a terminal, longer ones are wrapped between words."""
        if self._stream.isatty():
            from clio.ui.terminal_text import wrap_for_stream

            text = wrap_for_stream(text, self._stream, hanging_indent=2)
        self.write(f"{text}\n")

    def end_line(self) -> None:
        """Begin a new line unless the current one is empty."""
        if not self.is_at_line_start:
            self.write("\n")

    def _make_encodable(self, text: str) -> str:
        encoding = self._stream.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.translate(ASCII_REPLACEMENTS).encode(encoding, "replace").decode(encoding)
        return text

    def _mark_broken(self) -> None:
        self.is_broken = True
        self._redirect_to_null_device()
        if self._on_broken is not None:
            self._on_broken()

    def _redirect_to_null_device(self) -> None:
        """Redirect the descriptor to the null device: the interpreter flushes it at exit, which would fail again."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):
            return  # a stream without a descriptor, such as one in memory
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


_MAX_ROWS = 20
_BAR_CELLS = 60
ANSWER_RESTARTED = mark("connection lost; the answer starts over")


class AnswerLayout(Protocol):
    """Lays out an answer for a terminal while it arrives."""

    def feed(self, text: str) -> str:
        """Return what can be printed after this text."""
        ...

    def finish(self) -> str:
        """Return the rest; the object can then lay out another text."""
        ...


_CODE = r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)"
_UNSETTLED = re.compile(rf"{_CODE}|([*_`\[<|~]|(?:\\|&[#\w]*)\Z)")
"""The group: what may turn into something else when more text arrives."""
_CODES_AT_END = re.compile(rf"(?:\s|{_CODE})+\Z")
_ROOM_TO_GROW = 20  # cells that must be free after a last word for it to be printed
_PREVIEW_COST = 5
"""After a preview, none is made for this many times as long as it took."""
_MAX_PREVIEW_PAUSE_S = 0.25  # the first preview also imports


class PlainMarkdown:
    """Lays out Markdown without changing what is printed: other programs print on the same terminal.

    A paragraph is printed word by word, as far as further text does not change it; other blocks once they are complete.
    """

    def __init__(self, theme: "Theme", size: "TerminalSize") -> None:
        from clio.ui.markdown import StreamingMarkdown
        from clio.ui.painter import Painter

        self._markdown = StreamingMarkdown(theme)
        self._painter = Painter(theme, size)
        self._printed = ""  # of the unfinished block
        self._line = ""  # the unfinished line, as it was written
        self._next_preview = 0.0

    def feed(self, text: str) -> str:
        """See `AnswerLayout`."""
        output = "".join(map(self._finish_part, self._markdown.feed(text)))
        self._line = (self._line + text).rpartition("\n")[2]
        now = time.monotonic()
        if now >= self._next_preview:
            output += self._preview_tail()
            done = time.monotonic()
            self._next_preview = done + min(_PREVIEW_COST * (done - now), _MAX_PREVIEW_PAUSE_S)
        return output

    def finish(self) -> str:
        """See `AnswerLayout`."""
        self._line, self._next_preview = "", 0.0
        return "".join(map(self._finish_part, self._markdown.finish()))

    def _finish_part(self, part: "Part") -> str:
        rendered, printed = self._painter.render_lines(part), self._printed
        self._printed = ""
        return rendered[len(printed) :] if rendered.startswith(printed) else f"\n{rendered}"

    def _preview_tail(self) -> str:
        from clio.ui.painter import count_row_cells

        if not self._markdown.is_in_paragraph or not self._line[:1].isalpha() or len(self._line.split()) < 2:
            return ""  # lines of lists and tables change those before them
        if (part := self._markdown.get_tail()) is None:
            return ""
        rendered = self._painter.render_lines(part).rstrip("\n")
        last_row = rendered.rpartition("\n")[2]
        # With escape sequences, a name may become a link once it is complete.
        if self._painter.theme.escapes or self._painter.width - count_row_cells(last_row) < _ROOM_TO_GROW:
            rendered = rendered[: len(rendered) - len(last_row.split(" ")[-1])].rstrip(" ")
        unsettled = next((found for found in _UNSETTLED.finditer(rendered) if found[1]), None)
        if unsettled is not None:
            rendered = rendered[: unsettled.start()].rpartition(" ")[0].rstrip(" ")
        rendered = _CODES_AT_END.sub("", rendered)  # a style goes on as the text does
        if not rendered.startswith(self._printed):
            return ""
        printed, self._printed = self._printed, rendered
        return rendered[len(printed) :]


class PipeScreen:
    """Writes answers to `answer` and everything else to `report`: stdout and stderr, or one stream for both.

    Args:
        on_broken: called when the answer has no reader any more; later text is dropped silently.
        make_layout: for a terminal; without it, answers are written as the model wrote them.
    """

    def __init__(
        self,
        answer: TextIO,
        report: TextIO,
        on_broken: Callable[[], None] | None = None,
        *,
        show_footer: bool = False,
        make_layout: Callable[[], AnswerLayout] | None = None,
    ) -> None:
        self._make_layout = make_layout
        self._layout: AnswerLayout | None = None
        self._answer = TerminalOutput(answer, on_broken)
        self._report = self._answer if report is answer else TerminalOutput(report)
        self._cleaner = StreamCleaner()
        self._retry_reason = ""  # the reason for the last retry
        self._show_footer = show_footer

    def handle(self, event: Event) -> None:
        """Print one event."""
        match event:
            case TextDelta(text=text):
                self._write_answer(self._cleaner.feed(text))
            case StreamRestarted():
                self._cleaner, self._layout = StreamCleaner(), None
                self.print_note(tr(ANSWER_RESTARTED))
            case Retrying():
                self.print_note(format_retry(event, self._retry_reason))
                self._retry_reason = event.reason
            case ToolStarted() | StepFinished():
                self._end_answer()
            case ToolFinished():
                self._print_finished_call(event)
            case Notice(text=text, level=level):
                self._print_report(f"{'warning: ' if level == 'warning' else ''}{clean_line(text)}")
            case ContextTrimmed():
                self._print_report(event.description)
            case TurnFinished():
                self._end_turn(event)
            case Steered(text=text):
                self._print_report(f"> {clean_line(text)}")
            case StepStarted():
                self._retry_reason = ""
            case TurnStarted() | ReasoningDelta() | ToolProgress() | MessageAdded():
                pass
            case _:
                assert_never(event)

    def show_header(self, lines: Sequence[str]) -> None:
        """Print the lines of the first screen."""
        self.print_note("\n".join(lines))

    def print_note(self, text: str) -> None:
        """Print an informational line."""
        self._print_report(clean(text))

    def show_user_message(self, text: str, *, is_new_turn: bool = False) -> None:
        """Print a text that the user has sent. is_new_turn: makes no difference."""
        self._print_report(f"{USER_SIGN}{clean(text)}")

    def print_error(self, text: str) -> None:
        """Print an error line."""
        self._print_report(tr("error: {message}", message=begin_lower(clean(text))))

    def print_text(self, text: str) -> None:
        """Print a whole text, such as output of a command, unchanged."""
        self._end_answer()
        self._answer.write(clean(text).rstrip("\n") + "\n")

    def show_result(self, result: "CommandResult", *, continues: bool = False) -> None:
        """Print the result of a slash command; a failure is shown as an error."""
        if result.bar is not None:
            from clio.ui.tables import render_bar

            rows = render_bar(result.bar, _BAR_CELLS)
            self.print_text("\n".join([result.bar.title, *("".join(text for text, _ in row) for row in rows)]))
        if result.text and not result.ok:
            self.print_error(result.text)
        elif result.text:
            self._end_answer()
            self._write_answer(clean(result.text).rstrip("\n"))
            self._end_answer()
        if result.verbatim:
            self.print_text(result.verbatim)
        if result.diff:
            self.print_text(result.diff)
        if result.todos:
            from clio.ui.tables import count_done, render_plain_todos

            rows = render_plain_todos(result.todos, fold=not result.todos_whole)
            self.print_text("\n".join([count_done(result.todos), *rows]))
        if result.table is not None:
            self._answer.end_line()
            for row in (result.table.columns, *result.table.rows):
                line = "  ".join(clean_line(cell) for cell in row).rstrip()
                self._answer.write(f"{line}\n" if line else "")

    def set_typed(self, typing: "TypingState") -> None:
        """Do nothing: text typed ahead is not shown here."""

    def expect_turn(self) -> None:
        """Do nothing: no line is kept below the output."""

    def abandon_turn(self) -> None:
        """Do nothing, as `expect_turn`."""

    def toggle_reasoning(self) -> None:
        """Do nothing: reasoning is not shown here."""

    def toggle_fold(self) -> bool:
        """Return False: nothing is folded here."""
        return False

    def close(self) -> None:
        """End an unfinished line."""
        self._end_answer()

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Do nothing: nothing is redrawn here that would have to pause."""
        yield

    def _print_finished_call(self, event: ToolFinished) -> None:
        mark = "*" if event.ok else "x"
        if event.summary.startswith("saved already as"):
            return  # the model repeated a memory that auto-remember saved and reported before the turn
        summary = restore_full_line(clean_line(event.summary), () if event.ok else clean(event.preview).splitlines())
        self._print_report(f"{mark} {clean_line(event.title)}" + (f" ... {summary}" if summary else ""))
        details = event.diff or ("" if event.ok or summary == tr(NEEDS_APPROVAL) else event.preview)
        lines = clean(details).splitlines()
        if not event.diff:  # blank lines of a diff are lines of the file
            lines = [line for line in lines if line.strip() and clean_line(line) != summary]
        limit = _MAX_ROWS  # only a diff can be longer; /last shows all of it
        for line in lines[:limit]:
            self._report.write(f"  {line}".rstrip() + "\n")  # not wrapped: code and output of commands
        if event.diff and len(lines) > limit:
            self._report.write(f"  ... {tr_count(len(lines) - limit, 'more line')}\n")

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_answer()
        if event.status != "done":
            self.print_error(event.error or event.status)
        if self._show_footer:
            self._print_report(format_turn_footer(event))

    def _write_answer(self, text: str) -> None:
        if self._make_layout is not None:
            self._layout = self._layout or self._make_layout()
            text = self._layout.feed(text)
        self._answer.write(text)

    def _end_answer(self) -> None:
        if rest := self._cleaner.finish():
            self._write_answer(rest)
        if self._layout is not None:
            self._answer.write(self._layout.finish())
        self._answer.end_line()

    def _print_report(self, text: str) -> None:
        self._end_answer()
        self._report.write_wrapped(text.rstrip("\n"))


def format_retry(event: Retrying, printed_reason: str = "") -> str:
    """Return why and when a request is sent again: "rate limited · retrying in 6 s (2 of 4)".

    printed_reason: the reason already on the screen, which is not repeated.
    """
    reason = "" if event.reason == printed_reason else f"{clean_line(event.reason)} · "
    wait = format_seconds(max(math.ceil(event.delay_s), 1)).replace(".0 s", " s")
    return tr(
        "{reason}retrying in {wait} ({attempt} of {of})", reason=reason, wait=wait, attempt=event.attempt, of=event.of
    )
