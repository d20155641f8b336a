"""The rows at the bottom of the screen that are drawn again and again, below everything that is printed for good."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from clio.ui.painter import Size, row_cells

_CLEAR_BELOW = "\x1b[J"
# A terminal that knows them (DEC mode 2026) shows all that stands between at once; the others take no notice.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


class LiveArea:
    """Rows that can be replaced. Scrollback is never printed twice: what is printed leaves the area for good.

    At most one row less than the screen has is drawn, the last ones; so the cursor can always go back to the first.
    Rows above the first that has changed are left alone. Each drawing is one write, which the terminal shows at once.
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
        kept = 0 if printed or size != self._drawn_size else _same_rows(self._drawn, shown)
        text = self._erase(kept) + printed + "\n".join(shown[kept:]) + _to_column(column)
        self._write(f"{_BEGIN}{text}{_END}" if text else "")
        self._drawn, self._drawn_size, self._column = shown, size, column

    def clear(self) -> None:
        """Take the area off the screen."""
        self.show(())

    def _erase(self, kept: int) -> str:
        """Put the cursor at the first cell of the area, or of the first row that is not kept, and clear from there."""
        if not self._drawn:
            return ""
        columns, lines = self._size()
        rows = len(self._drawn) - kept
        if self._reflows and columns < self._drawn_size[0]:
            rows = sum(-(-max(row_cells(row), 1) // columns) for row in self._drawn)
        up = min(rows, lines) - 1
        return "\r" + (f"\x1b[{up}A" if up else "") + _CLEAR_BELOW


def _same_rows(drawn: Sequence[str], shown: Sequence[str]) -> int:
    """How many rows from the first on may stay: all that are the same, but the last one is always drawn."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(drawn, shown, strict=False)))
    return min(same, len(drawn) - 1, len(shown) - 1) if drawn and shown else 0


def _to_column(column: int | None) -> str:
    if column is None:
        return ""
    return f"\r\x1b[{column}C" if column else "\r"
