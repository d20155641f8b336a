"""The rows at the bottom of the screen that are drawn again and again, below everything that is printed for good."""

from collections.abc import Callable, Sequence

from clio.ui.painter import Size, row_cells

_CLEAR_BELOW = "\x1b[J"


class LiveArea:
    """Rows that can be replaced. Scrollback is never printed twice: what is printed leaves the area for good.

    At most one row less than the screen has is drawn, the last ones; so the cursor can always go back to the first.
    write: takes text for the terminal, control sequences included. reflows: see `Terminal.reflows`.
    """

    def __init__(self, write: Callable[[str], None], size: Size, *, reflows: bool) -> None:
        self._write = write
        self._size = size
        self._reflows = reflows
        self._drawn: list[str] = []
        self._drawn_size = (0, 0)
        self._column: int | None = None

    def show(self, rows: Sequence[str], printed: str = "", *, column: int | None = None) -> None:
        """Print text for good above the area (whole lines) and draw these rows in it, in one write.

        column: where in the last row the cursor is to stand; at its end without one.
        """
        size = self._size()
        shown = list(rows[-max(size[1] - 1, 1) :])
        if not printed and shown == self._drawn and size == self._drawn_size and column == self._column:
            return
        self._write(self._erase() + printed + "\n".join(shown) + _to_column(column))
        self._drawn, self._drawn_size, self._column = shown, size, column

    def clear(self) -> None:
        """Take the area off the screen."""
        self.show(())

    def _erase(self) -> str:
        """Put the cursor at the area's first cell and clear from there."""
        if not self._drawn:
            return ""
        columns, lines = self._size()
        rows = len(self._drawn)
        if self._reflows and columns < self._drawn_size[0]:
            rows = sum(-(-max(row_cells(row), 1) // columns) for row in self._drawn)
        up = min(rows, lines) - 1
        return "\r" + (f"\x1b[{up}A" if up else "") + _CLEAR_BELOW


def _to_column(column: int | None) -> str:
    if column is None:
        return ""
    return f"\r\x1b[{column}C" if column else "\r"
