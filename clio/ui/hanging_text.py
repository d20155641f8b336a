"""Text whose wrapped rows are indented, and the user's message as it is shown in the conversation."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from rich.padding import Padding
from rich.text import Text

from clio.ui.line_rules import USER_SIGN
from clio.ui.painter import Part, count_cells, split_letters
from clio.ui.safe_text import clean
from clio.ui.theme import Theme

_SEPARATOR = " · "  # between parts of a line
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_MIN_TEXT_CELLS = 12  # a deeper indentation would leave too little of a narrow screen for the text


class HangingText(Text):
    """Lines of text; if a line needs several rows, those after the first are indented.

    A background in the text's own style covers its whole rows, up to the edge of the screen.

    Attributes:
        hang: columns before the text of each row after the first.
    """

    __slots__ = ("hang",)

    def __init__(self, *args: str, style: str = "", hang: int = 0) -> None:
        super().__init__(*args, style=style)
        self.hang = hang

    def split_rows(self, width: int) -> Iterator[Text]:
        """Yield the rows, each at most `width` columns wide; words are broken only if they fit on no row."""
        hang = max(min(self.hang, width - _MIN_TEXT_CELLS), 0)
        for line in self.split("\n", allow_blank=True):
            cuts = list(_find_cuts(line.plain, width, width - hang)) if count_cells(line.plain) > width else []
            for number, row in enumerate(line.divide(cuts)):
                row.rstrip()
                yield Text(" " * hang, self.style).append_text(row) if number else row


def _find_cuts(line: str, first_width: int, width: int) -> Iterator[int]:
    """Yield where each row of a long line ends: behind the last " · " in its second half, else behind the last blank.

    A word is broken if it fits on no row, or if there is only a sign, a number or an indentation before it.
    """
    letters = list(split_letters(line))
    starts = [start for start, _ in letters]
    ends = list(accumulate(cells for _, cells in letters))
    is_blank = [line[start:end] == " " for start, end in zip(starts, (*starts[1:], len(line)), strict=True)]
    begin = used = 0  # the first letter of the row, and the columns of all rows before
    available = first_width
    while ends[-1] - used > available:
        end = begin + 1
        while end < len(ends) and ends[end] - used <= available:
            end += 1
        separator = line.rfind(_SEPARATOR, starts[begin], (*starts, len(line))[end] + 1)
        cut = bisect_left(starts, separator + len(_SEPARATOR) - 1) if separator > starts[begin] else end
        if 2 * (ends[cut - 1] - used) <= available:
            cut = end
        while cut > begin and not any(is_blank[cut - 1 : cut + 1]):
            cut -= 1
        if cut > begin:
            next_blank = next((place for place in range(cut, len(ends)) if is_blank[place]), len(ends))
            fits_below = ends[max(next_blank, cut) - 1] - ends[cut - 1] <= width
            has_words = bool(_TWO_LETTERS.search(line, starts[begin], starts[cut]))
            if 2 * (ends[cut - 1] - used) > available or (has_words and fits_below):
                end = cut
        while end < len(ends) and is_blank[end]:
            end += 1
        if end == len(ends):
            return
        yield starts[end]
        begin, used, available = end, ends[end - 1], width


def render_user_message(text: str, theme: Theme) -> Iterator[Part]:
    """Yield the user's message as the conversation shows it: a sign before it, on rows with a background."""
    return (Part(body=line) for line in format_user_message(text, theme))


def format_user_message(text: str, theme: Theme) -> Iterator[HangingText]:
    """Yield the lines of `render_user_message`; nothing for an empty text."""
    for number, line in enumerate(clean(text).strip().expandtabs(4).split("\n") if text else ()):
        row = HangingText(style=theme.user_message, hang=len(USER_SIGN))
        row.append(USER_SIGN if number == 0 else " " * len(USER_SIGN), theme.accent).append(line)
        yield row


def indent_line(line: str, style: str = "", columns: int = 4) -> Part:
    """Return a line, all rows of which are indented by so many columns."""
    return Part(body=Padding(Text(line, style), (0, 0, 0, columns), expand=False))
