"""What is typed while a turn runs, as rows: the texts that wait, and the line under the hands."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from clio.ui.painter import Part
from clio.ui.plain import clean, clean_line
from clio.ui.theme import Theme
from clio.ui.typed_state import Typing, Waiting
from clio.ui.width import crop

_MARK = "› "
_SHOWN = 4
_SHOWN_WHERE_LOW = 2
_LOW_LINES = 16


def waiting_lines(waiting: Sequence[Waiting], width: int, lines: int) -> list[str]:
    """One line for each text that waits, none wider than `width`; on a screen of few `lines` the last ones only."""
    most = _SHOWN if lines > _LOW_LINES else _SHOWN_WHERE_LOW
    shown = waiting if len(waiting) <= most else waiting[1 - most :]
    more = len(waiting) - len(shown)
    first = [crop(f"… {more} more above", width)] if more else []
    return [*first, *(crop(f"{one.label}: {clean_line(one.text)}", width) for one in shown)]


def typed_row(typing: Typing, width: int) -> tuple[str, int | None]:
    """The line on one row of at most `width` columns, and the cursor's column; "" where there is nothing to show."""
    if not typing.line.text:
        hint = crop(typing.hint, width - len(_MARK))
        return (_MARK + hint, len(_MARK)) if hint else ("", None)
    shown, column = typing.line.shown(width - len(_MARK))
    return _MARK + shown, len(_MARK) + column


def said_parts(text: str, theme: Theme) -> Iterator[Part]:
    """A person's words as they stand in the scrollback."""
    for number, line in enumerate(clean(text).strip().split("\n")):
        yield Part(body=Text.assemble((_MARK if number == 0 else "  ", theme.accent), line))
