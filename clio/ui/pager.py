"""A page of a long text that is moved over line by line, in a few rows of the screen."""

from collections.abc import Callable

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import AnyContainer, ConditionalContainer, FormattedTextControl, Window

from clio.ui.width import cells_of, crop

Place = tuple[int, int]
"""A line, and which of the rows it takes."""


class Page:
    """Where somebody reads. Draws nothing and reads no keys.

    count: lines there are. rows_of: a line as painted rows, at least one, at the terminal's present width.
    end_seen: whether its last row has been in sight.
    """

    def __init__(self, count: int, rows_of: Callable[[int], list[str]]) -> None:
        self.count = count
        self._rows_of = rows_of
        self._top: Place = (0, 0)
        self.end_seen = False

    def view(self, height: int) -> list[str]:
        """The rows to show; fewer than `height` only where the whole text is shorter."""
        self._top = min(self._top, self._last_top(height))
        rows: list[str] = []
        line, row = self._top
        while len(rows) < height and line < self.count:
            rows += self._rows_of(line)[row:]
            line, row = line + 1, 0
        self.end_seen = self.end_seen or (line >= self.count and len(rows) <= height)
        return rows[:height]

    def lines_below(self, height: int) -> int:
        """How many lines are below those in sight, one that is partly seen included."""
        line, row = self._top
        room = height
        while line < self.count:
            room -= len(self._rows_of(line)) - row
            line, row = line + 1, 0
            if room <= 0:
                return self.count - line + (room < 0)
        return 0

    def fits(self, height: int) -> bool:
        """Whether all of it is in sight."""
        return self.count <= height and sum(len(self._rows_of(line)) for line in range(self.count)) <= height

    def scroll(self, rows: int, height: int) -> None:
        """Move by so many rows, back where negative."""
        for _ in range(abs(rows)):
            self._top = self._next(self._top) if rows > 0 else self._before(self._top)
        self._top = min(self._top, self._last_top(height))

    def home(self) -> None:
        """To the beginning."""
        self._top = (0, 0)

    def end(self, height: int) -> None:
        """To the end."""
        self._top = self._last_top(height)

    def where(self, height: int) -> str:
        """What is shown, in words: "lines 1-18 of 240"."""
        last, seen = self._top[0], -self._top[1]
        while last < self.count and (seen := seen + len(self._rows_of(last))) < height:
            last += 1
        return f"lines {self._top[0] + 1:,}-{min(last + 1, self.count):,} of {self.count:,}"

    def _last_top(self, height: int) -> Place:
        """The lowest place whose page is still full."""
        line, missing = self.count, height
        while line > 0 and missing > 0:
            line -= 1
            missing -= len(self._rows_of(line))
        return (line, max(-missing, 0)) if missing <= 0 else (0, 0)

    def _next(self, place: Place) -> Place:
        line, row = place
        if line < self.count and row + 1 < len(self._rows_of(line)):
            return line, row + 1
        return min(line + 1, self.count), 0

    def _before(self, place: Place) -> Place:
        line, row = place
        if row > 0:
            return line, row - 1
        return (line - 1, len(self._rows_of(line - 1)) - 1) if line > 0 else (0, 0)


_MIN_HEIGHT = 3
_HINTS = ("j k space b g G scroll", "j k scroll")


class PageRegion:
    """The rows of the page and one below that says where it is.

    size: the terminal's columns and rows. beside: rows that other things take.
    """

    def __init__(self, page: Page, size: Callable[[], tuple[int, int]], beside: Callable[[], int]) -> None:
        self._page = page
        self._size = size
        self._beside = beside
        text = FormattedTextControl(lambda: ANSI("\n".join(page.view(self.height))))
        self.windows: list[AnyContainer] = [
            Window(text, dont_extend_height=True, wrap_lines=False),
            ConditionalContainer(
                Window(FormattedTextControl(self._where), height=1, dont_extend_height=True),
                Condition(lambda: not page.fits(self.height)),
            ),
        ]

    @property
    def height(self) -> int:
        """Rows of the page now."""
        return max(self._size()[1] - self._beside() - 2, _MIN_HEIGHT)

    def bind(self, keys: KeyBindings) -> None:
        """Give the page its keys; none of them is a letter that means an answer."""

        def down(event: KeyPressEvent) -> None:
            self._page.scroll(1, self.height)

        def up(event: KeyPressEvent) -> None:
            self._page.scroll(-1, self.height)

        def page_down(event: KeyPressEvent) -> None:
            self._page.scroll(max(self.height - 1, 1), self.height)

        def page_up(event: KeyPressEvent) -> None:
            self._page.scroll(-max(self.height - 1, 1), self.height)

        def home(event: KeyPressEvent) -> None:
            self._page.home()

        def end(event: KeyPressEvent) -> None:
            self._page.end(self.height)

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

    def _where(self) -> StyleAndTextTuples:
        known, columns = self._page.where(self.height), self._size()[0]
        hints = (f"{known} · {hint}" for hint in _HINTS)
        shown = next((text for text in hints if cells_of(text) + 3 < columns), known)
        return [("class:hint", "  " + crop(shown, columns - 3))]
