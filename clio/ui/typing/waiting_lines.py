"""The texts that wait for their turn, one line each, for the screen of a turn and for the prompt. Pure."""

from collections.abc import Sequence

from clio.ui.plain import clean_line
from clio.ui.typing.typed_state import Waiting
from clio.ui.width import crop

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
