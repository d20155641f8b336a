"""How a tool call looks: one line while it runs, the same line with its result, and a bounded look at what it did."""

from collections.abc import Iterator

from rich.padding import Padding
from rich.text import Text

from clio.agent.events import ToolFinished
from clio.ui.diffs.view import diff_lines
from clio.ui.footer.status import format_seconds, spinner_frame
from clio.ui.painter import Part
from clio.ui.plain import clean, clean_line
from clio.ui.progress import LONG_S, bar_and_time, share_in
from clio.ui.theme import Theme
from clio.ui.width import cells_of, crop

BULLET = "●"
MAX_DIFF_ROWS = 20
_FAILED_ROWS = 3
_SLOW_S = 1.0
_MIN_TITLE = 8
_WIDE = 60


def running_row(title: str, progress: str, seconds: float, width: int, theme: Theme) -> Text:
    """The line of a call that runs; where its output tells percentages, with a bar and the time left."""
    told = clean_line(progress)
    share = share_in(told)
    if share is not None and seconds >= LONG_S:
        bar = bar_and_time(share, seconds, 10 if width >= _WIDE else 5)
        return _row(spinner_frame(seconds), theme.accent, title, bar, width, theme)
    tail = " ".join(part for part in (told, format_seconds(seconds) if seconds >= _SLOW_S else "") if part)
    return _row(spinner_frame(seconds), theme.accent, title, tail, width, theme)


def finished_row(event: ToolFinished, width: int, theme: Theme) -> Text:
    """The line of a call that is over: `● read clio/app.py:10-40 … 31 lines`."""
    summary = "failed" if _told_below(event, width) else clean_line(event.summary)
    return _row(BULLET, theme.good if event.ok else theme.bad, event.title, summary, width, theme)


def interrupted_row(title: str, width: int, theme: Theme) -> Text:
    """The line of a call that never ended."""
    return _row(BULLET, theme.warning, title, "interrupted", width, theme)


def details(event: ToolFinished, theme: Theme, width: int = 0) -> Iterator[Part]:
    """What is shown below a finished call: the diff of a change not seen before, or the first lines of a failure."""
    if event.diff and event.asked:
        return
    if event.diff:
        rows = diff_rows(event.diff, theme, MAX_DIFF_ROWS, width=width)
        yield from (Part(body=row, wraps=False) for row in rows)
    elif not event.ok:
        sentence = _told_below(event, width)
        for line in _preview(event)[:_FAILED_ROWS]:
            text = Text(line.expandtabs(4), theme.bad)
            if sentence:
                yield Part(body=Padding(text, (0, 0, 0, 2), expand=False))
            elif clean_line(line).strip("[]") != clean_line(event.summary):  # a command's output begins with its end
                yield Part(body=Text("  ", theme.bad).append_text(text), wraps=False)


def diff_rows(diff: str, theme: Theme, max_rows: int, hint: str = "", *, width: int = 0) -> Iterator[Text]:
    """A unified diff with colours, at most so many rows; the last then says how many are missing.

    The names of the files are left out where there is only one. hint: how to see the rest. width: columns there are,
    for line numbers.
    """
    return diff_lines(diff, theme, width, max_rows, hint)


def _told_below(event: ToolFinished, width: int) -> bool:
    """Whether a failure is a sentence that has no room beside the title: it is said once, in full, below it."""
    lines = () if event.ok or event.diff else _preview(event)
    first, summary = clean_line(lines[0]) if lines else "", clean_line(event.summary)
    if not summary or not first.startswith(summary.removesuffix("…")):
        return False
    return first != summary or cells_of(f"● {clean_line(event.title)} … {summary}") > width


def _preview(event: ToolFinished) -> list[str]:
    return [line for line in clean(event.preview).splitlines() if line.strip()]


def _row(mark: str, mark_style: str, title: str, tail: str, width: int, theme: Theme) -> Text:
    """One row in the width there is: the title gives way first, but keeps eight columns."""
    title = clean_line(title)
    room = max(width - 2, 1)
    if not tail:
        return Text.assemble((mark, mark_style), " ", crop(title, room))
    joint = " … "
    tail = crop(tail, max(room - len(joint) - min(cells_of(title), _MIN_TITLE), 0))
    if not tail:
        return Text.assemble((mark, mark_style), " ", crop(title, room))
    if cells_of(title) > room - len(joint) - cells_of(tail):
        joint = " "  # the cropped title ends with an ellipsis of its own
    title = crop(title, room - len(joint) - cells_of(tail))
    return Text.assemble((mark, mark_style), " ", title, (joint + tail, theme.faint))
