"""Parts of the display of a running turn: progress, reasoning, notifications, and a timer for redrawing."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from msgspec import Struct
from rich.text import Text

from clio.agent.user_interface import TurnFinished
from clio.config.schema import Notify, ShowReasoning
from clio.ui.line_rules import fit_parts
from clio.ui.painter import Part, truncate_to_cells
from clio.ui.pipe_screen import format_seconds
from clio.ui.safe_text import clean_line
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
        return fit_parts((bar, hint, f"{self.done:,} of {self.total:,}"), width)


def format_bar_and_time(share: float, seconds: float, cells: int = _BAR_CELLS) -> str:
    """Return the bar of a share, 0 to 1, reached after `seconds`: "▰▰▰▰▱▱▱▱▱▱ 40 % · 12 s left"."""
    full = min(int(share * cells), cells)
    left = f" · {format_seconds(seconds * (1 - share) / share)} left" if _is_estimate_reliable(share, seconds) else ""
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


_BELL = "\a"
_NOTIFICATION_CELLS = 120
_OSC9_PROGRAMS = frozenset(("iTerm.app", "WezTerm", "ghostty"))
_OSC777_TERMS = ("foot", "rxvt-unicode")


class Notifier(Struct, frozen=True, kw_only=True):
    """Writes a notification when a turn has ended. kind: as the setting `notify`, with "auto" resolved."""

    kind: Notify = "off"
    after_s: float = 10.0

    def format_for(self, event: TurnFinished) -> str:
        """Return control sequences for the terminal; "" if the turn was short or was stopped by the user."""
        if self.kind == "off" or event.seconds < self.after_s or event.status == "interrupted":
            return ""
        outcome = "is done" if event.status == "done" else "has ended"
        reason = f": {event.error}" if event.error else ""
        return format_notification(self.kind, "clio", f"{outcome} after {format_seconds(event.seconds)}{reason}")


def format_notification(kind: Notify, title: str, text: str) -> str:
    """Return the notification in this terminal's format; control characters are removed from the text."""
    text = truncate_to_cells(clean_line(text), _NOTIFICATION_CELLS)
    match kind:
        case "osc9":
            return f"\x1b]9;{title} {text}\a"
        case "osc777":
            return f"\x1b]777;notify;{title};{text.replace(';', ',')}\a"
        case "bell":
            return _BELL
        case "off" | "auto":
            return ""


def resolve_notify(kind: Notify, env: Mapping[str, str]) -> Notify:
    """Resolve "auto" to what this terminal is known to support; a bell if nothing is known."""
    if kind != "auto":
        return kind
    if env.get("TMUX") or env.get("STY"):
        return "bell"  # multiplexers do not pass notifications on
    if env.get("TERM_PROGRAM") in _OSC9_PROGRAMS or env.get("KITTY_WINDOW_ID"):
        return "osc9"
    return "osc777" if env.get("TERM", "").startswith(_OSC777_TERMS) else "bell"


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
            parts.append(Part(body=Text(f"thought for {format_seconds(seconds)}", self._theme.faint)))
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
