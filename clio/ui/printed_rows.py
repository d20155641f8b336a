"""The rows above the bottom area of the screen: a menu or a question may hide them for a while, and they come back.

The *bottom area* is whatever is drawn last and redrawn in place: the input line with its menu, the live rows of a turn,
a question. A bottom area that needs more rows than are left would scroll the text above it away, and leave a gap when
it is gone. Where it is known what stands above, the area is drawn over it instead.
"""

import re
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point

from clio.ui.line_rules import CLEAR_BELOW
from clio.ui.painter import TerminalSize, count_cells, count_row_cells
from clio.ui.terminal_handoff import count_started_programs

_MAX_LINES = 400  # more than any screen shows
_CLEAR_ROW = "\x1b[2K"
_RESET = "\x1b[0m"
_KEEP_AUTOWRAP_OFF, _KEEP_AUTOWRAP_ON = "\x1b[?7l", "\x1b[?7h"
_CODES_AND_TEXT = re.compile(r"(\x1b(?:\[[0-9;]*[mK]|\]8;[^\x1b]*\x1b\\))|([^\x1b]+)")


class PrintedRows:
    """Keeps the last printed lines, and what is certain about the place of the bottom area. Draws nothing.

    The counts below are lower bounds until the terminal has said where its cursor is, or a screenful has been printed.
    Then they stay exact until the size changes or another program has had the terminal.

    Args:
        size: returns the terminal's columns and lines.
        reflows: see `Terminal.reflows`.
    """

    def __init__(self, size: TerminalSize, *, reflows: bool = False) -> None:
        self._get_size = size
        self._reflows = reflows
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._above = 0  # rows of the screen above the bottom area
        self._room = 1  # rows from the first one of the bottom area to the end of the screen
        self._held = 1  # rows from there to the lowest one that a bottom area has had
        self._size = size()
        self._programs = count_started_programs()
        self._before_program: tuple[list[str], int] | None = None  # the lines, and `_above` if it was exact
        self._version = 0  # another one whenever the bottom area may have moved

    @property
    def room(self) -> int:
        """The number of rows that a bottom area can certainly use without scrolling."""
        self._note_changes()
        return self._room

    @property
    def is_at_bottom(self) -> bool:
        """Whether the bottom area certainly ends, or ended when it was highest, on the last row of the screen."""
        self._note_changes()
        return self._above + self._held >= self._size[1]

    @property
    def is_exact(self) -> bool:
        """Whether it is known in which row of the screen the bottom area begins."""
        self._note_changes()
        return self._above + self._room >= self._size[1]

    @property
    def ends_with_blank(self) -> bool:
        """Whether the row above the bottom area is known to be blank."""
        self._note_changes()
        return bool(self._lines) and not self._lines[-1]

    @property
    def version(self) -> int:
        """A number for `note_row`."""
        self._note_changes()
        return self._version

    def note_row(self, row: int, version: int) -> None:
        """Note in which row of the screen the bottom area began, from 0; it may have been drawn since.

        version: the number when the terminal was asked. The reply is ignored if the area may have moved meanwhile.
        """
        self._note_changes()
        lines = self._size[1]
        if version != self._version or self.is_exact or not 0 <= row < lines:
            return
        if self._before_program is not None:
            # A program that prints, or fills the screen without restoring it, ends in another row: the last one, which
            # a bottom area of two rows or more never begins in.
            before, above = self._before_program
            if row == above < lines - 1:
                self._lines.extend(before)
            self._before_program = None
        elif row < self._above:
            self._lines.clear()  # the rows are not what they should be, such as wrapped in another way
        self._above = min(row, lines - self._room)
        self._room = lines - self._above
        self._held = min(self._held, self._room)

    def add(self, text: str) -> None:
        """Note text printed above the bottom area, in whole lines as they were written to the terminal."""
        if not text:
            return
        self._note_changes()
        lines = text.removesuffix("\n").split("\n")
        self._lines.extend(lines)
        self._move_down(sum(self._count_rows(line, self._size[0]) for line in lines))

    def hold(self, rows: int) -> None:
        """Note that the bottom area is drawn with so many rows."""
        self._note_changes()
        self._held = max(self._held, min(rows, self._size[1]))
        self._room = max(self._room, self._held)
        self._above = min(self._above, self._size[1] - self._room)

    def clear(self) -> None:
        """Note that the screen was cleared, and that the bottom area begins in its first row."""
        self._note_changes()
        self._lines.clear()
        self._above, self._room, self._held = 0, self._size[1], 1
        self._note_move()

    def forget(self) -> None:
        """Note that another program may have written anything."""
        self._lines.clear()
        self._above, self._room, self._held = 0, 1, 1
        self._note_move()

    def count_padding(self, rows: int) -> int:
        """Return how many blank rows above a bottom area of `rows` rows keep its last row where it was."""
        return max(min(self._held, self._size[1] - 1) - rows, 0) if self.is_at_bottom else 0

    def list_rows(self) -> list[str]:
        """Return the known rows that are certainly on the screen just above the bottom area."""
        self._note_changes()
        columns = self._size[0]
        rows: deque[str] = deque()
        for line in reversed(self._lines):
            if len(rows) >= self._above:
                break
            # without reflow the terminal has cut off what does not fit
            rows.extendleft(reversed(split_row(line, columns)) if self._reflows else [line])
        return list(islice(rows, max(len(rows) - self._above, 0), None))

    def _note_move(self) -> None:
        self._version += 1
        self._before_program = None

    def _move_down(self, rows: int) -> None:
        self._note_move()
        self._above = min(self._above + rows, self._size[1] - 1)
        self._room, self._held = max(self._room - rows, 1), max(self._held - rows, 1)

    def _count_rows(self, line: str, columns: int) -> int:
        cells = count_row_cells(line)
        return max(-(-cells // max(columns, 1)), 1)

    def _note_changes(self) -> None:
        """Take account of another size, and of programs that had the terminal."""
        if (programs := count_started_programs()) != self._programs:
            self._programs = programs
            before = (list(self._lines), self._above) if self._above + self._room >= self._size[1] else None
            self.forget()
            self._before_program = before
        size = self._get_size()
        if size == self._size:
            return
        before, self._size = self._size, size
        self._note_move()
        if self._reflows and size[0] > before[0]:  # lines that were wrapped take fewer rows now
            self._above -= sum(
                self._count_rows(line, before[0]) - self._count_rows(line, size[0]) for line in self._lines
            )
        # A lower screen keeps the row of the cursor, which is one of the bottom area's.
        self._above = max(min(self._above, size[1] - self._room), 0)
        self._room = self._held = 1


def split_row(row: str, columns: int) -> list[str]:
    """Split a rendered row as a terminal of so many columns wraps it; styles go on in the next row."""
    if count_row_cells(row) <= columns:
        return [row]
    rows: list[str] = []
    current, used, style = "", 0, ""
    for code, text in _CODES_AND_TEXT.findall(row):
        if code:
            current += code
            style = "" if code == _RESET else style + code if code.endswith("m") else style
            continue
        for character in text:
            cells = count_cells(character)
            if used + cells > columns:
                rows.append(current + _RESET)
                current, used = style, 0
            current, used = current + character, used + cells
    return [*rows, current]


class RowCover:
    """Lets an application of prompt_toolkit be drawn over printed rows. When it is erased, they are printed again.

    Attributes:
        rows: how many rows are hidden now.
    """

    def __init__(self, app: Application[Any], printed: PrintedRows) -> None:
        self.rows = 0
        self._app = app
        self._printed = printed
        self._first_rows = 0  # rows hidden at the top of the screen
        self._shown_rows = 0  # rows printed again above the application
        self._renderer: Any = app.renderer
        self._erase: Callable[[bool], None] = app.renderer.erase
        app.renderer.erase = self.erase

    @property
    def last_rows(self) -> int:
        """How many of the last rows are hidden, at most."""
        return self.rows - self._first_rows

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Erase the application and print the hidden rows again; replaces the method of its renderer."""
        self._erase(leave_alternate_screen)
        if self.rows:
            self._uncover()
            self._app.output.flush()

    def cover(self, first_rows: int = 0, last_rows: int = 0) -> None:
        """Hide rows from the next drawing on; call before it. It begins so many rows higher.

        first_rows: the first rows of the screen, over which all others move up, so that the last ones stay visible.
        last_rows: the last rows, over which the application is drawn.
        """
        if (first_rows, first_rows + last_rows) == (self._first_rows, self.rows):
            return
        output, renderer = self._app.output, self._renderer
        position = renderer._cursor_pos
        output.cursor_backward(position.x)
        output.cursor_up(position.y)
        output.reset_attributes()
        output.write_raw(CLEAR_BELOW)
        self._uncover()
        known = self._printed.list_rows()
        self._first_rows = min(first_rows, len(known))
        self.rows = min(self._first_rows + last_rows, len(known))
        if self.rows:
            moved = known[self._first_rows : len(known) + self._first_rows - self.rows] if self._first_rows else []
            self._shown_rows = len(moved)
            output.cursor_up(self.rows + len(moved))
            self._write_rows(moved)
        renderer._cursor_pos = Point(0, 0)
        renderer._last_screen = None

    def fit(self, _: object = None) -> None:
        """Hide as many rows as the application lacks: a handler for `before_render`.

        Where that would hide all that is known, such as the one line about an editor that failed, the terminal scrolls.
        """
        lacking = self.measure_height() - self._printed.room
        if not self._app.is_done and self.rows < lacking < len(self._printed.list_rows()):
            self.cover(lacking)

    def measure_height(self) -> int:
        """Return how many rows the application is going to need."""
        size = self._app.output.get_size()
        return min(self._app.layout.container.preferred_height(size.columns, size.rows).preferred, size.rows)

    def note_drawn(self, _: object = None) -> None:
        """Note the height of the drawing: a handler for `after_render`."""
        if (drawn := self._app.renderer.last_rendered_screen) is not None:
            self._printed.hold(drawn.height - self.rows)

    def _uncover(self) -> None:
        """Print the hidden rows again; the cursor is in the first row of the application, and then in the one below."""
        if not self.rows:
            return
        known = self._printed.list_rows()
        count = min(self.rows + self._shown_rows, len(known))
        self._app.output.cursor_up(self._shown_rows)
        self._write_rows(known[len(known) - count :])
        self.rows = self._first_rows = self._shown_rows = 0

    def _write_rows(self, rows: list[str]) -> None:
        if rows:
            text = "".join(f"{_CLEAR_ROW}{row}{_RESET}\r\n" for row in rows)
            self._app.output.write_raw(f"{_KEEP_AUTOWRAP_OFF}{text}{_KEEP_AUTOWRAP_ON}{CLEAR_BELOW}")
