"""Renders parts into rows of coloured text at the terminal's present width."""

import io
import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from zlib import crc32

from msgspec import Struct

from clio.text.translation import tr
from clio.ui.palettes import Palette
from clio.ui.theme import Theme, make_rich_styles

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

# rich takes 40 ms to import. The first prompt needs none of it, so it is imported by the functions below, on first use.

_ZERO_WIDTH_JOINER = "\u200d"


def count_cells(text: str) -> int:
    """Return the columns of a text on one line."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def assemble_text(*parts: "str | Text | tuple[str, str]", style: str = "", **options: Any) -> "Text":
    """Return the parts as one styled text. options: those of `rich.text.Text.assemble`, such as no_wrap."""
    from rich.text import Text

    return Text.assemble(*parts, style=style, **options)


def truncate_to_cells(text: str, cells: int) -> str:
    """Truncate a text to `cells` columns; the last one is an ellipsis if anything is missing."""
    if count_cells(text) <= cells:
        return text
    if cells < 1:
        return ""
    used = 0
    for start, width in split_letters(text):
        used += width
        if used > cells - 1:
            return text[:start].rstrip() + "…"
    return text


def split_by_cells(text: "Text", cells: int) -> "list[Text]":
    """Split the text into lines of at most `cells` columns, by characters and not by words."""
    cuts: list[int] = []
    used = 0
    for start, width in split_letters(text.plain):
        if used + width > cells and start:
            cuts.append(start)
            used = 0
        used += width
    return list(text.divide(cuts)) if cuts else [text]


def split_letters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and columns of each letter.

    Characters connected by a zero-width joiner, an accent or a variation selector count as one letter.
    """
    from rich.cells import cell_len, get_character_cell_size

    start = 0
    for index in range(1, len(text) + 1):
        is_joined = index < len(text) and (
            text[index - 1] == _ZERO_WIDTH_JOINER or not get_character_cell_size(text[index])
        )
        if not is_joined:
            yield start, cell_len(text[start:index])
            start = index


def truncate_line(line: "Text", max_chars: int, style: str) -> "Text":
    """Return the line, or its beginning followed by how much is missing, in this style."""
    if len(line) <= max_chars:
        return line
    return line[:max_chars].append(tr(" … {count:,} more characters", count=len(line) - max_chars), style)


TerminalSize = Callable[[], tuple[int, int]]
"""Returns the terminal's columns and lines at the time of the call."""

_LINK_ID = re.compile(r"\x1b\]8;id=[^;\x1b]*;([^\x1b]+)")
FILL = "\x1b[K"  # gives the rest of the row the background in force
_CODE = r"\x1b(?:\[[0-9;]*[mK]|\]8;[^\x1b]*\x1b\\)"  # a style, a fill, or the beginning or end of a link
_TRAILING_BLANKS = re.compile(rf" +((?:{_CODE})*)$")
_RESET = "\x1b[0m"
_BACKGROUND_CODES = frozenset(map(str, (*range(40, 49), *range(100, 108))))
_LAST_STYLE = re.compile(r"\x1b\[([0-9;]+)m[^\x1b]*\x1b\[0m$")
_ONLY_CODES = re.compile(rf"^(?:{_CODE})+$")
_CODES = re.compile(_CODE)


class Part(Struct, frozen=True, kw_only=True):
    """Something to display.

    Attributes:
        wraps: wrap the text at the screen's width; False leaves it one logical line, which the terminal may break.
            `HangingText` is always wrapped.
        gap: print a blank line before it.
        margin: columns left free before each row.
        sign: stands in the margin of the first row, in the style "accent".
    """

    body: "RenderableType"
    wraps: bool = True
    gap: bool = False
    margin: int = 0
    sign: str = ""


class Painter:
    """Renders parts for a terminal of the given size. Writes nothing itself."""

    def __init__(self, theme: Theme, size: TerminalSize) -> None:
        self.theme = theme
        self.size = size
        self._applied_palette: Palette | None = None

    @cached_property
    def _console(self) -> "Console":
        from rich.console import Console

        return Console(
            file=io.StringIO(),
            force_terminal=self.theme.escapes,
            color_system=self.theme.depth if self.theme.escapes else None,
            no_color=not self.theme.colour,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            width=80,
            height=25,
        )

    @property
    def width(self) -> int:
        """Columns that may be used: the last one stays free, because terminals disagree about what happens there."""
        return max(self.size()[0] - 1, 1)

    def render_lines(self, part: Part) -> str:
        """Render for the scrollback: every line ends with a newline.

        A part that does not wrap becomes one line of any length.
        """
        gap = "\n" if part.gap else ""
        return gap + "".join(row + "\n" for row in self._paint_part(part, wraps=part.wraps))

    def render_rows(self, part: Part) -> list[str]:
        """Render for an area that is redrawn: rows no wider than `width`."""
        from rich.text import Text

        body = part.body
        if not part.wraps and isinstance(body, Text) and not hasattr(body, "split_rows"):
            rows = [row for line in split_by_cells(body, self.width) for row in self._paint(line, wraps=False)]
        else:
            rows = self._paint_part(part, wraps=True)
        return ["", *rows] if part.gap else rows

    def _paint_part(self, part: Part, *, wraps: bool) -> list[str]:
        rows = self._paint(part.body, wraps=wraps, margin=part.margin)
        if not part.margin:
            return rows
        blank = " " * part.margin
        if not part.sign:
            return [blank + row if row else row for row in rows]
        sign = self._paint(assemble_text((part.sign, self.theme.accent)), wraps=False)[0]
        first = sign + " " * (part.margin - count_cells(part.sign)) + rows[0]
        return [first, *(blank + row if row else row for row in rows[1:])]

    def _apply_palette(self) -> "Console":
        """Return the console with the current palette; `/theme` may change it at any time."""
        from rich.theme import Theme as RichTheme

        palette = self.theme.current.palette
        if palette is not self._applied_palette:
            if self._applied_palette is not None:
                self._console.pop_theme()
            self._console.push_theme(RichTheme(make_rich_styles(palette, links=self.theme.links)))
            self._applied_palette = palette
        return self._console

    def _paint(self, body: "RenderableType", *, wraps: bool, margin: int = 0) -> list[str]:
        from rich.console import ConsoleDimensions

        console, width = self._apply_palette(), max(self.width - margin, 1)
        console.size = ConsoleDimensions(width, 25)  # at each call, because the window may have been resized
        split_rows: Callable[[int], Iterator[Text]] | None = getattr(body, "split_rows", None)
        if split_rows is not None:  # a `HangingText`, which this module must not import: it imports rich
            return self._paint_rows(split_rows(width), width)
        with console.capture() as capture:
            console.print(body, soft_wrap=not wraps)
        rows = [_strip_right(row, width) for row in capture.get().removesuffix("\n").split("\n")]
        return _strip_blank_rows(rows) if wraps else rows

    def _paint_rows(self, rows: "Iterator[Text]", width: int) -> list[str]:
        """Paint rows that fit; one whose own style has a background gets it over the whole width."""
        with self._console.capture() as capture:
            for row in rows:
                if row.style and self._console.get_style(row.style, default="none").bgcolor is not None:
                    row.pad_right(width + 1 - row.cell_len)  # one more, which becomes the fill of a full row
                self._console.print(row, soft_wrap=True)
        return [_strip_right(row, width) for row in capture.get().removesuffix("\n").split("\n")]


def count_row_cells(row: str) -> int:
    """Return the width of a rendered row in columns."""
    return count_cells(_CODES.sub("", row))


def expand_fill(row: str, width: int) -> str:
    """Replace the fill at the end of a row by blanks, for a display that knows no fill."""
    return row.replace(FILL, " " * (width - count_row_cells(row)))


def _strip_right(row: str, width: int) -> str:
    """Remove trailing blanks, which would wrap when the window becomes narrower.

    Blanks with a background that reach the edge become a fill of the row.
    """
    last = _LAST_STYLE.search(row)
    if last is not None and _has_background(last[1]) and count_row_cells(row) >= width:
        return row[: -len(_RESET)].rstrip(" ") + FILL + _RESET
    if "\x1b]8;" in row:
        # rich numbers the links of a process, so that a row drawn again would look changed
        row = _LINK_ID.sub(lambda link: f"\x1b]8;id={crc32(link[1].encode())};{link[1]}", row)
    row = _TRAILING_BLANKS.sub(r"\1", row)
    return "" if _ONLY_CODES.match(row) else row


@cache
def _has_background(codes: str) -> bool:
    """Whether a style sets a background; in 38;5;44 the 44 is the number of a colour of the text."""
    rest = codes.split(";")
    while rest:
        code = rest.pop(0)
        if code == "38" and rest:
            del rest[: 4 if rest[0] == "2" else 2]
        elif code in _BACKGROUND_CODES:
            return True
    return False


def _strip_blank_rows(rows: list[str]) -> list[str]:
    """Remove blank rows at both ends, which rich adds to lists and tables."""
    filled = [number for number, row in enumerate(rows) if row]
    return rows[filled[0] : filled[-1] + 1] if filled else [""]
