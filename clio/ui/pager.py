"""A page of a long text that is moved over it line by line, in a few rows of the screen."""

from collections.abc import Callable

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
