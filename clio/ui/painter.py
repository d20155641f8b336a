"""Renders parts into rows of coloured text at the terminal's present width."""

import io
import re
from collections.abc import Callable

from msgspec import Struct
from rich.console import Console, ConsoleDimensions, RenderableType
from rich.text import Text
from rich.theme import Theme as RichTheme

from clio.ui.palettes import Palette
from clio.ui.text_width import count_cells, split_by_cells
from clio.ui.theme import Theme, make_rich_styles

TerminalSize = Callable[[], tuple[int, int]]
"""Returns the terminal's columns and lines at the time of the call."""

_CODE = r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)"  # a style, or the beginning or end of a link
_RIGHT_BLANKS = re.compile(rf" +((?:{_CODE})*)$")
_ONLY_CODES = re.compile(rf"^(?:{_CODE})+$")
_CODES = re.compile(_CODE)


class Part(Struct, frozen=True, kw_only=True):
    """Something to display. `wraps` False: one logical line, which the terminal may break; `gap`: a blank line
    before.
    """

    body: RenderableType
    wraps: bool = True
    gap: bool = False


class Painter:
    """Renders parts for a terminal of the given size. Writes nothing itself."""

    def __init__(self, theme: Theme, size: TerminalSize) -> None:
        self.theme = theme
        self.size = size
        self._console = Console(
            file=io.StringIO(),
            force_terminal=theme.escapes,
            color_system=theme.depth if theme.escapes else None,
            no_color=not theme.colour,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            width=80,
            height=25,
        )
        self._worn: Palette | None = None

    @property
    def width(self) -> int:
        """Columns that may be used: the last one stays free, because terminals disagree about what happens there."""
        return max(self.size()[0] - 1, 1)

    def render_lines(self, part: Part) -> str:
        """Render for the scrollback: every line ends with a newline. A part that does not wrap is one line of any
        length.
        """
        gap = "\n" if part.gap else ""
        return gap + "".join(row + "\n" for row in self._paint(part.body, wraps=part.wraps))

    def render_rows(self, part: Part) -> list[str]:
        """Render for an area that is redrawn: rows no wider than `width`."""
        body = part.body
        if not part.wraps and isinstance(body, Text):
            rows = [row for line in split_by_cells(body, self.width) for row in self._paint(line, wraps=False)]
        else:
            rows = self._paint(body, wraps=True)
        return ["", *rows] if part.gap else rows

    def _apply_palette(self) -> Console:
        """Return the console with the palette in force."""
        palette = self.theme.current.palette
        if palette is not self._worn:
            if self._worn is not None:
                self._console.pop_theme()
            self._console.push_theme(RichTheme(make_rich_styles(palette, links=self.theme.links)))
            self._worn = palette
        return self._console

    def _paint(self, body: RenderableType, *, wraps: bool) -> list[str]:
        console = self._apply_palette()
        console.size = ConsoleDimensions(self.width, 25)
        with console.capture() as capture:
            console.print(body, soft_wrap=not wraps)
        rows = [_strip_right(row) for row in capture.get().removesuffix("\n").split("\n")]
        return _without_blank_ends(rows) if wraps else rows


def row_cells(row: str) -> int:
    """Return the width of a rendered row in columns."""
    return count_cells(_CODES.sub("", row))


def _strip_right(row: str) -> str:
    """Remove trailing blanks, which would wrap when the window becomes narrower."""
    row = _RIGHT_BLANKS.sub(r"\1", row)
    return "" if _ONLY_CODES.match(row) else row


def _without_blank_ends(rows: list[str]) -> list[str]:
    """Remove blank rows at both ends, which rich adds to lists and tables."""
    filled = [number for number, row in enumerate(rows) if row]
    return rows[filled[0] : filled[-1] + 1] if filled else [""]
