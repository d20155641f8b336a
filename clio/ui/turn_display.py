"""Parts of the display of a running turn: tool calls, progress, reasoning, notifications, and a timer."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from msgspec import Struct
from rich.padding import Padding
from rich.text import Text

from clio.agent.user_interface import ToolFinished, ToolProgress, ToolStarted
from clio.config.schema import ShowReasoning
from clio.context.command_results import OMITTED, weigh_error_line
from clio.text.formatting import use_minus_signs
from clio.text.translation import tr, tr_count
from clio.ui.diff_view import render_diff
from clio.ui.hanging_text import HangingText
from clio.ui.line_rules import fit_parts
from clio.ui.painter import Part, count_cells, truncate_to_cells
from clio.ui.pipe_screen import format_seconds, get_spinner_frame
from clio.ui.safe_text import clean, clean_line
from clio.ui.theme import Theme

SHOW_PROGRESS_AFTER_S = 2.0
"""Seconds; shorter work shows no progress."""
_BAR_CELLS = 10
_FULL_CELL, _EMPTY_CELL = "▰", "▱"
_REDRAW_PERIOD_S = 0.1  # at most ten redraws a second
_RELIABLE_AFTER_S, _RELIABLE_SHARE = 1.0, 0.02  # earlier, an estimate of the time left is too unreliable
_PERCENT = re.compile(r"(?<![\d.,])(\d{1,3})(?:\.\d+)? ?%")


class WorkProgress(Struct):
    """The progress of some work. label: such as "indexing"; started: time of the clock in seconds."""

    label: str
    started: float
    done: int = 0
    total: int = 0

    @property
    def share(self) -> float:
        """The share done, 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total > 0 else 0.0

    def format_short(self, now: float) -> str:
        """Return the progress for a status line: "indexing 40 %"; "" in the first seconds and at the end."""
        if now - self.started < SHOW_PROGRESS_AFTER_S or not self.total > 0 or self.done >= self.total:
            return ""
        return f"{self.label} {round(self.share * 100)} %"

    def format_line(self, now: float, width: int, hint: str = "") -> str:
        """Return a line such as "reading documents ▰▰▰▰▱▱▱▱▱▱ 40 % · 12 s left · esc to interrupt · 120 of 300"."""
        bar = f"{self.label} {format_bar_and_time(self.share, now - self.started)}"
        return fit_parts((bar, hint, tr("{done:,} of {total:,}", done=self.done, total=self.total)), width)


def format_bar_and_time(share: float, seconds: float, cells: int = _BAR_CELLS) -> str:
    """Return the bar of a share, 0 to 1, reached after `seconds`: "▰▰▰▰▱▱▱▱▱▱ 40 % · 12 s left"."""
    full = min(int(share * cells), cells)
    left = (
        tr(" · {seconds} left", seconds=format_seconds(seconds * (1 - share) / share))
        if _is_estimate_reliable(share, seconds)
        else ""
    )
    return f"{_FULL_CELL * full}{_EMPTY_CELL * (cells - full)} {round(share * 100)} %{left}"


def parse_percentage(text: str) -> float | None:
    """Return the last percentage in a line of output as a share, 0.45 for "tests/a.py ..... [ 45%]"; None if none."""
    found = _PERCENT.findall(text)
    return int(found[-1]) / 100 if found and int(found[-1]) <= 100 else None


class TerminalProgress:
    """Draws the progress line of long work on a terminal, and erases it. May be called from any thread.

    width: columns of the terminal. hint: what a key does. after_s: shorter work is not drawn. Only a carriage return
    is used to move the cursor, which every terminal supports.
    """

    def __init__(
        self,
        label: str,
        stream: TextIO,
        *,
        width: Callable[[], int],
        hint: str = "",
        after_s: float = SHOW_PROGRESS_AFTER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hint = hint
        self._after_s = after_s
        self._label = label
        self._stream = stream
        self._width = width
        self._clock = clock
        self._work: WorkProgress | None = None
        self._drawn = ""
        self._drawn_at = -1e9

    def update(self, done: int, total: int) -> None:
        """Set the progress to `done` of `total`; the line is erased at the end."""
        now = self._clock()
        if self._work is None:
            self._work = WorkProgress(self._label, now)
        self._work.done, self._work.total = done, total
        if done >= total:
            self._work = None
            self._draw("")
        elif now - self._work.started >= self._after_s and now - self._drawn_at >= _REDRAW_PERIOD_S:
            self._drawn_at = now
            self._draw(self._format_line(self._work, now))

    def set_hint(self, hint: str) -> None:
        """Change the hint, at once if the line is displayed."""
        self._hint = hint
        if self._work is not None and self._drawn:
            self._draw(self._format_line(self._work, self._clock()))

    def _format_line(self, work: WorkProgress, now: float) -> str:
        return work.format_line(now, max(self._width() - 1, 1), self._hint)

    def _draw(self, line: str) -> None:
        if line == self._drawn:
            return
        blank = " " * max(len(self._drawn) - len(line), 0)
        encoding = self._stream.encoding or "utf-8"
        text = line.encode(encoding, "replace").decode(encoding)
        self._stream.write(f"\r{text}{blank}" + ("" if line else "\r"))
        self._stream.flush()
        self._drawn = line


def _is_estimate_reliable(share: float, seconds: float) -> bool:
    return _RELIABLE_SHARE <= share < 1 and seconds >= _RELIABLE_AFTER_S


class Ticker:
    """Calls `on_tick` every `period_s` seconds; does nothing without a running event loop, as in a plain test."""

    def __init__(self, on_tick: Callable[[], None], period_s: float) -> None:
        self._on_tick = on_tick
        self._period_s = period_s
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start ticking; does nothing if already started."""
        loop = _get_running_loop()
        if self._next is None and loop is not None:
            self._next = loop.call_later(self._period_s, self._tick)

    def stop(self) -> None:
        """Stop ticking."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _tick(self) -> None:
        self._next = asyncio.get_running_loop().call_later(self._period_s, self._tick)
        self._on_tick()


def run_in_background(work: Callable[[], None]) -> None:
    """Start `work` in a worker thread and return at once; do nothing without a running event loop."""
    loop = _get_running_loop()
    if loop is not None:
        loop.run_in_executor(None, work)


def _get_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


BULLET, APPROVED = "●", "✓"
MAX_DIFF_ROWS = 20
_SLOW_S = 1.0  # seconds after which a running call shows its duration
_MIN_TITLE = 8
_SHORT_SHARE = 3  # a reason of up to a third of the row is always beside the title
_WIDE = 60  # columns from which on the progress bar has ten cells instead of five
_TAIL_ROWS, _UNFOLDED_TAIL_ROWS = 3, 20  # last lines of a running command
_MAX_UNFOLDED_LINES = 400  # more than any screen has, so these are shown in the pager
_COMMANDS = frozenset({"run_command", "job_output"})
"""Tools whose output is shown below their row; the results of others are for the model."""
_EXPLORING = {
    "read_file": "file", "search_text": "search", "find_files": "search", "list_files": "folder",
    "code_lookup": "search",
}  # fmt: skip
"""Tools whose successful calls in a row fold into one row, and what they are counted as."""
UNFOLD_KEY = "ctrl-o"


def render_running_row(title: str, progress: str, seconds: float, width: int, theme: Theme) -> Text:
    """Return the row of a running call; if its output reports percentages, with a progress bar and the time left.

    progress: what to show beside the title.
    """
    progress_text = clean_line(progress)
    share = parse_percentage(progress_text)
    tail = " ".join(part for part in (progress_text, format_seconds(seconds) if seconds >= _SLOW_S else "") if part)
    if share is not None and seconds >= SHOW_PROGRESS_AFTER_S:
        tail = format_bar_and_time(share, seconds, 10 if width >= _WIDE else 5)
    return _render_call_row(get_spinner_frame(seconds), theme.accent, title, tail, width, theme)


def render_finished_row(event: ToolFinished, width: int, theme: Theme) -> Text:
    """Return the row of a finished call: `● read clio/app.py:10-40 … 31 lines`, with ✓ if the user approved it."""
    summary = clean_line(event.summary)
    if _is_shown_below(event, width):
        summary = tr("declined") if summary.startswith(f"{tr('declined')}: ") else tr("failed")
    if event.diff:
        summary = use_minus_signs(summary)
    mark = APPROVED if event.asked and event.ok else BULLET
    return _render_call_row(mark, theme.good if event.ok else theme.bad, event.title, summary, width, theme)


def render_call_details(
    event: ToolFinished, theme: Theme, width: int = 0, max_rows: int | None = None
) -> Iterator[Part]:
    """Yield what is shown below a finished call: its diff, lines of a command's output, or the reason of a failure.

    max_rows: how many rows can be unfolded in place; more are shown in the pager.
    """
    if event.diff:
        rows = render_diff(event.diff, theme, width, MAX_DIFF_ROWS)
        yield from (Part(body=row, wraps=False) for row in rows)
        return
    if event.ok and event.name not in _COMMANDS:
        return
    shown_below = _is_shown_below(event, width)
    lines = _list_preview_lines(event)
    gap = _find_gap(lines, event)
    is_paged = max_rows is not None and event.hidden_lines + len(lines) > max_rows
    for place, line in enumerate(lines):
        if place == gap:
            yield _make_more_part(event.hidden_lines, theme, is_paged=is_paged)
            if line == OMITTED:
                continue
        style = theme.bad if not event.ok and (shown_below or weigh_error_line(line) > 1) else theme.faint
        text = line.expandtabs(4)
        if shown_below:
            text = text.removeprefix(f"{tr('declined')}: ")  # which is beside the title
            yield Part(body=Padding(Text(text, style), (0, 0, 0, 2), expand=False))
        # the summary of a failed call may be the first line of its result: do not repeat it
        elif clean_line(line).strip("[]") != clean_line(event.summary):
            yield Part(body=HangingText(f"  {text}", style=style, hang=4))
    if event.hidden_lines and gap is None:
        yield _make_more_part(event.hidden_lines, theme, is_paged=is_paged)


def _find_gap(lines: Sequence[str], event: ToolFinished) -> int | None:
    """Return the place before which a row counts the hidden lines of a command's output: where the last ones are."""
    if not event.hidden_lines or not lines:
        return None
    if event.ok:
        return len(lines) // 2
    return max((place for place, line in enumerate(lines) if line == OMITTED), default=0)


def _make_more_part(hidden: int, theme: Theme, *, is_paged: bool) -> Part:
    key = tr("ctrl-o for the pager") if is_paged else UNFOLD_KEY
    return Part(body=Text(f"  … +{tr_count(hidden, 'line')} · {key}", theme.faint), wraps=False)


def _is_shown_below(event: ToolFinished, width: int) -> bool:
    """Whether a failure message does not fit beside the title, so that it is shown once, in full, below it."""
    lines = () if event.ok or event.diff else _list_preview_lines(event)
    first, summary = clean_line(lines[0]) if lines else "", clean_line(event.summary)
    if not summary or not first.startswith(summary.removesuffix("…")):
        return False
    if first == summary and count_cells(summary) <= width // _SHORT_SHARE:
        return False  # the title is cropped instead
    return first != summary or count_cells(f"● {clean_line(event.title)} … {summary}") > width


def _list_preview_lines(event: ToolFinished) -> list[str]:
    return [line for line in clean(event.preview).splitlines() if line.strip()]


def _render_call_row(mark: str, mark_style: str, title: str, tail: str, width: int, theme: Theme) -> Text:
    """Return one row at most `width` columns wide; the title is cropped first, but keeps at least eight columns."""
    title = clean_line(title)
    available = max(width - 2, 1)
    if not tail:
        return Text.assemble((mark, mark_style), " ", truncate_to_cells(title, available))
    separator = " " if title.endswith("…") else " … "
    tail = truncate_to_cells(tail, max(available - len(separator) - min(count_cells(title), _MIN_TITLE), 0))
    if not tail:
        return Text.assemble((mark, mark_style), " ", truncate_to_cells(title, available))
    room = available - len(separator) - count_cells(tail)
    if count_cells(title) > room:
        room = min(room + len(separator) - 1, count_cells(title) - 1)
        separator = " "  # the cropped title already ends with an ellipsis
    title = truncate_to_cells(title, room)
    return Text.assemble((mark, mark_style), " ", title, (separator + tail, theme.faint))


class _Call:
    """One tool call. `progress` may be set from another thread; the next frame shows it."""

    def __init__(self, name: str, title: str, started: float) -> None:
        self.name = name
        self.title = title
        self.started = started
        self.progress = ""
        self.finished: ToolFinished | None = None
        self.content = ""

    @property
    def kind(self) -> str:
        """What an exploring call is counted as; "" for others, and for one that failed."""
        failed = self.finished is not None and not self.finished.ok
        return "" if failed else _EXPLORING.get(self.name, "")


class CallRows:
    """Tracks tool calls by their events; returns rows for live calls and the parts to print for others.

    The last finished calls stay live until something else is printed: a command's output can be unfolded there, and
    reads and searches in a row fold into one row.

    max_rows: returns how many rows can be unfolded in place now; None if no call is live.
    """

    def __init__(self, theme: Theme, max_rows: Callable[[], int] | None = None) -> None:
        self._theme = theme
        self._max_rows = max_rows
        self._calls: dict[str, _Call] = {}
        self._unfolded = False

    def __bool__(self) -> bool:
        return bool(self._calls)

    @property
    def can_unfold(self) -> bool:
        """Whether there is a live call with more to show."""
        return any(call.finished is not None or call.progress for call in self._calls.values())

    @property
    def has_output(self) -> bool:
        """Whether the call that finished last has an output of its own, and is not one of a list."""
        groups = self._list_finished_groups()
        return bool(groups) and len(groups[-1]) == 1

    def toggle_fold(self) -> None:
        """Show all of the live calls, or only some lines of them."""
        self._unfolded = not self._unfolded

    def start_call(self, event: ToolStarted, now: float, width: int) -> list[Part]:
        """Add a call that begins; return the parts of finished calls that it does not continue.

        now: time of the screen's clock in seconds.
        """
        call = _Call(event.name, event.title, now)
        parts = [] if call.kind and all(live.kind for live in self._calls.values()) else self.print_finished(width)
        self._calls[event.call_id] = call
        return parts

    def update_progress(self, event: ToolProgress, now: float) -> None:
        """Update the progress of a call, or note that it has begun to run; may be called from another thread."""
        if (call := self._calls.get(event.call_id)) is None:
            return
        if not event.text:
            call.started = now
        call.progress = event.text

    def finish_call(self, event: ToolFinished, now: float, width: int) -> list[Part]:
        """Record that a call has finished; return the parts to print permanently.

        Calls are printed in the order they started, so a call that finished early waits for the ones before it.
        """
        call = self._calls.setdefault(event.call_id, _Call(event.name, event.title, now))
        call.finished = event
        groups = self._list_finished_groups()
        return [part for group in groups[:-1] for part in self._pop_group(group, width)]

    def set_content(self, call_id: str, content: str) -> None:
        """Set what the model reads of a call's result, for the unfolded view."""
        if (call := self._calls.get(call_id)) is not None:
            call.content = content

    def print_finished(self, width: int) -> list[Part]:
        """Return the parts of the finished calls that come before the first running one; they are no longer live."""
        return [part for group in self._list_finished_groups() for part in self._pop_group(group, width)]

    def end_turn(self, width: int) -> list[Part]:
        """Return the parts of all calls not printed yet. A call that never finished is shown as interrupted."""
        parts = self.print_finished(width)
        for call in self._calls.values():
            parts += self._render_call(call, width)
        self._calls.clear()
        self._unfolded = False
        return parts

    def render_rows(self, now: float, width: int) -> Iterator[Part]:
        """Yield the rows of the live calls."""
        done = self._list_finished_groups()
        for group in done:
            yield from self._render_group([self._calls[call_id] for call_id in group], width)
        printed = {call_id for group in done for call_id in group}
        for call_id, call in self._calls.items():
            if call_id in printed:
                continue
            if call.finished is not None:
                yield Part(body=render_finished_row(call.finished, width, self._theme), wraps=False)
                continue
            lines = clean(call.progress).splitlines()
            seconds = now - call.started
            is_shown_below = len(lines) > 1 and parse_percentage(lines[-1]) is None
            beside = lines[-1] if lines and not is_shown_below else ""
            row = render_running_row(call.title, beside, seconds, width, self._theme)
            yield Part(body=row, wraps=False)
            if is_shown_below:
                tail = lines[-(_UNFOLDED_TAIL_ROWS if self._unfolded else _TAIL_ROWS) :]
                yield from map(self._make_output_part, tail)

    def _list_finished_groups(self) -> list[list[str]]:
        """Return the ids of the finished calls before the first running one, exploring calls in a row together."""
        groups: list[list[str]] = []
        before = ""
        for call_id, call in self._calls.items():
            if call.finished is None:
                break
            if call.kind and before:
                groups[-1].append(call_id)
            else:
                groups.append([call_id])
            before = call.kind
        return groups

    def _pop_group(self, group: Sequence[str], width: int) -> list[Part]:
        parts = list(self._render_group([self._calls.pop(call_id) for call_id in group], width))
        self._unfolded = False
        return parts

    def _render_group(self, calls: Sequence[_Call], width: int) -> Iterator[Part]:
        if len(calls) == 1:
            yield from self._render_call(calls[0], width)
            return
        targets = [call.title.partition(" ")[2] or call.title for call in calls]
        title = _count_explored(calls)
        names = truncate_to_cells(", ".join(dict.fromkeys(map(clean_line, targets))), max(width - len(title) - 5, 0))
        row = _render_call_row(BULLET, self._theme.good, title, names, width, self._theme)
        yield Part(body=row, wraps=False)
        if self._unfolded:
            for call in calls:
                summary = clean_line(call.finished.summary) if call.finished is not None else ""
                row = " … ".join(filter(None, (clean_line(call.title), summary)))
                yield self._make_output_part(truncate_to_cells(row, max(width - 2, 1)))

    def _render_call(self, call: _Call, width: int) -> Iterator[Part]:
        if call.finished is None:
            row = _render_call_row(BULLET, self._theme.warning, call.title, "interrupted", width, self._theme)
            yield Part(body=row, wraps=False)
            lines = [line for line in clean(call.progress).splitlines() if line.strip()]
            yield from map(self._make_output_part, lines[-_TAIL_ROWS:])
            return
        yield Part(body=render_finished_row(call.finished, width, self._theme), wraps=False)
        if self._unfolded and call.content and not call.finished.diff:
            lines = clean(call.content).splitlines()
            yield from map(self._make_output_part, lines[:_MAX_UNFOLDED_LINES])
        else:
            max_rows = self._max_rows() if self._max_rows is not None else None
            yield from render_call_details(call.finished, self._theme, width, max_rows)

    def _make_output_part(self, line: str) -> Part:
        return Part(body=HangingText(f"  {line.expandtabs(4)}", style=self._theme.faint, hang=4))


def _count_explored(calls: Sequence[_Call]) -> str:
    """Return what was explored: "explored 6 files, 2 searches"; a file that was read twice counts once."""
    titles: dict[str, set[str]] = {}
    for call in calls:
        target = call.title.partition(" ")[2]
        titles.setdefault(call.kind, set()).add(target.partition(":")[0] if call.kind == "file" else target)
    counts = [
        tr("{count} searches", count=len(found)) if kind == "search" and len(found) > 1 else tr_count(len(found), kind)
        for kind, found in titles.items()
    ]
    return tr("explored {counts}", counts=", ".join(counts))


_MAX_LINE_CHARS = 2000  # characters after which a line without newline is broken, because each delta renders it again
_MIN_REPORTED_S = 1.0  # seconds; folded reasoning that took less leaves no line


class ReasoningStream:
    """Renders the model's reasoning line by line.

    show: "fold" hides the text until `toggle` is called, and prints one line with the duration if it took a second;
    "hide" prints nothing.
    """

    def __init__(self, theme: Theme, show: ShowReasoning = "show") -> None:
        self.show: ShowReasoning = show
        self._theme = theme
        self._style = theme.reasoning
        self._folded_text: list[str] = []
        self._partial = ""
        self._started = False
        self._gap = False

    def toggle(self) -> list[Part]:
        """Show all text hidden so far, or hide the text that arrives from now on; return the lines to print.

        The unfinished line is hidden too: printed now, it would be torn from the rest of the line.
        """
        if self.show == "show":
            self.show = "fold"
            self._folded_text, self._partial = [self._partial], ""
            return []
        self.show = "show"
        folded_text, self._folded_text = "".join(self._folded_text), []
        return self.feed(folded_text)

    def feed(self, text: str) -> list[Part]:
        """Return the lines completed by this text."""
        if self.show != "show":
            self._folded_text.append(text)
            return []
        *lines, self._partial = (self._partial + text).split("\n")
        while len(self._partial) > _MAX_LINE_CHARS:
            lines.append(self._partial[:_MAX_LINE_CHARS])
            self._partial = self._partial[_MAX_LINE_CHARS:]
        return [part for line in lines if (part := self._make_part(line)) is not None]

    def finish(self, seconds: float = 0.0) -> list[Part]:
        """Return the last line; the object can then take other reasoning. seconds: how long the reasoning took."""
        parts = [part for part in (self._make_part(self._partial),) if part is not None]
        if self.show == "fold" and seconds >= _MIN_REPORTED_S and any(text.strip() for text in self._folded_text):
            parts.append(
                Part(body=Text(tr("thought for {seconds}", seconds=format_seconds(seconds)), self._theme.faint))
            )
        self._folded_text, self._partial, self._started, self._gap = [], "", False, False
        return parts

    def get_tail(self) -> Part | None:
        """Return the unfinished line."""
        if not self._partial.strip():
            return None
        return Part(body=Text(self._partial.strip(), self._style), gap=self._gap and self._started)

    def _make_part(self, line: str) -> Part | None:
        if not line.strip():
            self._gap = True
            return None
        part = Part(body=Text(line.strip(), self._style), gap=self._gap and self._started)
        self._started, self._gap = True, False
        return part
