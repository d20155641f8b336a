"""A line that is typed on, shown as a terminal itself shows one: characters as they come, and backspaces.

Nothing is drawn anew: what backspaces cannot show is written as a further line, which a screen reader then reads.
"""

from collections.abc import Callable

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import DummyOutput

from clio.ui.output import Output
from clio.ui.width import cells_of

_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"  # so that a paste of many lines arrives as one
_BACK = "\b"


class EchoedLine:
    """Shows each state of a line that is told. write: takes text for the terminal. columns: those of the terminal."""

    def __init__(self, write: Callable[[str], None], columns: Callable[[], int]) -> None:
        self._write = write
        self._columns = columns
        self._lead = ""
        self._text = ""
        self._cursor = 0
        self._behind = ""
        """What stands behind the cursor of a line too long to go back in, and is not written."""
        self.is_open = False

    def show(self, lead: str, text: str, cursor: int) -> None:
        """The line is this now. lead: what stands before it. cursor: 0 to the text's length.

        Of a text of several lines the one the cursor is in is shown, and its number in place of the lead.
        """
        before = text[:cursor].split("\n")
        rows = text.split("\n")
        if len(rows) > 1:
            lead = f"line {len(before)} of {len(rows)}: "
        line, column = rows[len(before) - 1], len(before[-1])
        if not self.is_open or lead != self._lead or not self._edit(line, column):
            self._anew(lead, line, column)

    def end(self) -> None:
        """Nothing more is typed on this line."""
        if self.is_open:
            self.is_open = False
            self._write("\n")

    def _anew(self, lead: str, line: str, column: int) -> None:
        self.end()
        self._lead, self._text, self._behind, self.is_open = lead, line, "", True
        if not self._on_one_row(line, column, len(line)):
            self._text, self._behind = line[:column], line[column:]
        self._write(lead + self._text + _BACK * cells_of(self._text[column:]))
        self._cursor = column

    def _edit(self, line: str, column: int) -> bool:
        """Bring the line on the terminal to this; False where backspaces cannot."""
        shown = len(line) - len(self._behind)
        if not line.endswith(self._behind) or column > shown:
            return False
        keys = self._keys(line[:shown], column)
        if keys is None:
            return False
        self._text, self._cursor = line[:shown], column
        if keys:
            self._write(keys)
        return True

    def _keys(self, new: str, column: int) -> str | None:
        """What to write so that the line is this one; None where something else stands there in part."""
        old, here = self._text, self._cursor
        if new == old:
            return self._move(old, here, column)
        start = min(_common(old, new), here, column)
        end = _common(old[start:][::-1], new[start:][::-1])
        gone, come = old[start : len(old) - end], new[start : len(new) - end]
        if gone and come:
            return None
        there = self._move(old, here, start)
        back = self._move(new, len(new), column)
        if there is None or back is None or (gone and not self._on_one_row(old, start, len(old))):
            return None
        return there + new[start:] + " " * cells_of(gone) + _BACK * cells_of(gone) + back

    def _move(self, text: str, here: int, there: int) -> str | None:
        """From one place of a text to another: forward by writing what stands there, back on the same row only."""
        if there >= here:
            return text[here:there]
        return _BACK * cells_of(text[there:here]) if self._on_one_row(text, there, here) else None

    def _on_one_row(self, text: str, one: int, other: int) -> bool:
        """Whether two places stand on one row of the terminal: no backspace leads to the row above."""
        columns = max(self._columns(), 1)
        return len({cells_of(self._lead + text[:place]) // columns for place in (one, other)}) == 1


class EchoOutput(DummyOutput):
    """For prompt_toolkit: it may draw what it wants, and nothing comes of it. The line is shown by an `EchoedLine`."""

    def __init__(self, output: Output, size: Callable[[], tuple[int, int]]) -> None:
        self._output = output
        self._size = size

    def get_size(self) -> Size:
        """The terminal's own."""
        columns, rows = self._size()
        return Size(rows=rows, columns=columns)

    def enable_bracketed_paste(self) -> None:
        """Ask the terminal to mark pastes; nothing is seen of that."""
        self._output.write(_PASTES_ON)

    def disable_bracketed_paste(self) -> None:
        """No longer."""
        self._output.write(_PASTES_OFF)


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    length = min(len(one), len(other))
    return next((place for place in range(length) if one[place] != other[place]), length)
