"""A text longer than the screen: its scroll position, and the region of the screen that shows it."""

from collections.abc import Callable

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import AnyContainer, ConditionalContainer, FormattedTextControl, Window
from prompt_toolkit.layout.dimension import Dimension

from clio.text.translation import mark, tr
from clio.ui.painter import count_cells, truncate_to_cells

RowPosition = tuple[int, int]
"""A line index and a row within that line."""


class ScrollPage:
    """The scroll position in a text longer than the screen. Draws nothing and reads no keys.

    Args:
        count: number of lines.
        render_line: returns a line as rendered rows, at least one, for the terminal's present width.

    Attributes:
        is_end_seen: whether the last row has been displayed.
    """

    def __init__(self, count: int, render_line: Callable[[int], list[str]]) -> None:
        self.count = count
        self._render_line = render_line
        self._top: RowPosition = (0, 0)
        self.is_end_seen = False

    def get_visible_rows(self, height: int) -> list[str]:
        """Return the rows to display; fewer than `height` only if the whole text is shorter."""
        self._top = min(self._top, self._find_last_top(height))
        rows: list[str] = []
        line, row = self._top
        while len(rows) < height and line < self.count:
            rows += self._render_line(line)[row:]
            line, row = line + 1, 0
        self.is_end_seen = self.is_end_seen or (line >= self.count and len(rows) <= height)
        return rows[:height]

    def count_lines_below(self, height: int) -> int:
        """Count the lines below the displayed ones, including one that is displayed in part."""
        line, row = self._top
        rows_left = height
        while line < self.count:
            rows_left -= len(self._render_line(line)) - row
            line, row = line + 1, 0
            if rows_left <= 0:
                return self.count - line + (rows_left < 0)
        return 0

    def fits_in_height(self, height: int) -> bool:
        """Whether the whole text is displayed."""
        return self.count <= height and sum(len(self._render_line(line)) for line in range(self.count)) <= height

    def scroll(self, rows: int, height: int) -> None:
        """Scroll down by so many rows, up if negative."""
        for _ in range(abs(rows)):
            self._top = self._get_next_position(self._top) if rows > 0 else self._get_previous_position(self._top)
        self._top = min(self._top, self._find_last_top(height))

    def scroll_to_start(self) -> None:
        """Scroll to the beginning."""
        self._top = (0, 0)

    def scroll_to_end(self, height: int) -> None:
        """Scroll to the end."""
        self._top = self._find_last_top(height)

    def describe_position(self, height: int) -> str:
        """Return which lines are displayed, such as "lines 1-18 of 240"."""
        last, rows = self._top[0], -self._top[1]
        while last < self.count and (rows := rows + len(self._render_line(last))) < height:
            last += 1
        return tr(
            "lines {top:,}-{last:,} of {count:,}",
            top=self._top[0] + 1,
            last=min(last + 1, self.count),
            count=self.count,
        )

    def _find_last_top(self, height: int) -> RowPosition:
        """Return the last position that still fills the page."""
        line, missing = self.count, height
        while line > 0 and missing > 0:
            line -= 1
            missing -= len(self._render_line(line))
        return (line, max(-missing, 0)) if missing <= 0 else (0, 0)

    def _get_next_position(self, position: RowPosition) -> RowPosition:
        line, row = position
        if line < self.count and row + 1 < len(self._render_line(line)):
            return line, row + 1
        return min(line + 1, self.count), 0

    def _get_previous_position(self, position: RowPosition) -> RowPosition:
        line, row = position
        if row > 0:
            return line, row - 1
        return (line - 1, len(self._render_line(line - 1)) - 1) if line > 0 else (0, 0)


_MIN_HEIGHT = 3  # rows of a page even on the smallest screen
_PAGER_HINTS = (mark("j k space b g G scroll"), "j k scroll")


class PageRegion:
    """Displays the rows of a page and one row with the position below them.

    size: returns the terminal's columns and rows. count_other_rows: returns how many rows other content takes.
    """

    def __init__(
        self, page: ScrollPage, size: Callable[[], tuple[int, int]], count_other_rows: Callable[[], int]
    ) -> None:
        self._page = page
        self._size = size
        self._count_other_rows = count_other_rows
        text = FormattedTextControl(lambda: ANSI("\n".join(page.get_visible_rows(self.height))))
        self._text_window = Window(text, height=Dimension(min=1), dont_extend_height=True, wrap_lines=False)
        self.windows: list[AnyContainer] = [
            self._text_window,
            ConditionalContainer(
                Window(FormattedTextControl(self._render_position), height=1, dont_extend_height=True),
                Condition(lambda: not page.fits_in_height(self.height)),
            ),
        ]

    @property
    def height(self) -> int:
        """The number of rows of the page now."""
        return max(self._size()[1] - self._count_other_rows() - 2, _MIN_HEIGHT)

    def is_drawn_whole(self) -> bool:
        """Whether the last drawing had room for all visible rows of the page."""
        drawn = self._text_window.render_info
        return drawn is not None and drawn.window_height >= drawn.content_height

    def bind_keys(self, keys: KeyBindings) -> None:
        """Bind the scrolling keys; none of them is a letter, so none can be an answer."""

        def down(event: KeyPressEvent) -> None:
            self._page.scroll(1, self.height)

        def up(event: KeyPressEvent) -> None:
            self._page.scroll(-1, self.height)

        def page_down(event: KeyPressEvent) -> None:
            self._page.scroll(max(self.height - 1, 1), self.height)

        def page_up(event: KeyPressEvent) -> None:
            self._page.scroll(-max(self.height - 1, 1), self.height)

        def home(event: KeyPressEvent) -> None:
            self._page.scroll_to_start()

        def end(event: KeyPressEvent) -> None:
            self._page.scroll_to_end(self.height)

        for names, act in (
            (("j", "down"), down),
            (("k", "up"), up),
            ((" ", "pagedown"), page_down),
            (("b", "pageup"), page_up),
            (("g", "home"), home),
            (("G", "end"), end),
        ):
            for name in names:
                keys.add(name)(act)

    def _render_position(self) -> StyleAndTextTuples:
        position, columns = self._page.describe_position(self.height), self._size()[0]
        hints = (f"{position} · {tr(hint)}" for hint in _PAGER_HINTS)
        text = next((text for text in hints if count_cells(text) + 3 < columns), position)
        return [("class:hint", "  " + truncate_to_cells(text, columns - 3))]
