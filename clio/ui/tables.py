"""A command's tables and bars as lines that fit the terminal, whatever its width."""

import textwrap
from collections.abc import Sequence

from clio.commands.command import Bar, BarPart, Table
from clio.text.lazy_regex import LazyRegex
from clio.ui.safe_text import clean_line
from clio.ui.width import cells_of, crop

Row = list[tuple[str, str]]
"""Pieces of one line, each with the name of its look."""
_STYLES = ("bar_1", "bar_2", "bar_3", "bar_4", "bar_5")  # then faint, for what is only kept free
_WIDEST = 72


def bar_rows(bar: Bar, width: int, faint: str = "") -> list[Row]:
    """Bar and legend, no line wider than `width` (at least 24). The marks alone tell the parts apart, too."""
    width = max(width, 24)
    cells = share_cells([part.amount for part in bar.parts], min(width, _WIDEST))
    styles = [_STYLES[number] if number < len(_STYLES) else faint for number in range(len(bar.parts))]
    line = [(part.mark * count, style) for part, count, style in zip(bar.parts, cells, styles, strict=True)]
    legend = legend_rows(bar.parts, width - 2)
    named = [[(part.mark, style), (f" {row}", "")] for part, style, row in zip(bar.parts, styles, legend, strict=True)]
    return [line, *named]


def share_cells(amounts: Sequence[int], width: int) -> list[int]:
    """How many of `width` cells each amount gets: in proportion, at least one where there is anything at all.

    They add up to `width`, unless all amounts are zero or less, or there are more of them than half the cells.
    """
    whole = sum(amount for amount in amounts if amount > 0)
    if not whole:
        return [0] * len(amounts)
    cells = [max(1, amount * width // whole) if amount > 0 else 0 for amount in amounts]
    largest = max(range(len(amounts)), key=lambda number: amounts[number])
    cells[largest] = max(cells[largest] + width - sum(cells), 1)
    return cells


def legend_rows(parts: Sequence[BarPart], width: int) -> list[str]:
    """Name, amount and share of each part in columns; long names are cut."""
    whole = sum(part.amount for part in parts if part.amount > 0)
    amounts = [f"{part.amount:,}" for part in parts]
    shares = [f"{100 * max(part.amount, 0) / whole:.1f} %" if whole else "" for part in parts]
    amount_size, share_size = max(map(len, amounts)), max(map(len, shares))
    names = [clean_line(part.name) for part in parts]
    name_size = min(max(map(len, names)), max(width - amount_size - share_size - 4, 1))
    return [
        f"{name[:name_size]:<{name_size}}  {amount:>{amount_size}}  {share:>{share_size}}"
        for name, amount, share in zip(names, amounts, shares, strict=True)
    ]


_GAP = "  "
_GLUE = "\N{NO-BREAK SPACE}"
_BLANKS = LazyRegex(rf"[^\S{_GLUE}]+")
_NARROWEST = 16  # cells the wide column must keep, else the rows are stacked


def table_lines(table: Table, width: int) -> tuple[str, list[str]]:
    """The heading and the rows, no line wider than `width` (at least 8); the heading is "" where there is no room.

    The wide column is wrapped, or cut where the table says so. Where even that leaves too little, each row becomes a
    short paragraph of its own.
    """
    width = max(width, 8)
    rows = [tuple(map(clean_line, row)) for row in table.rows]
    widths = [max(map(cells_of, column)) for column in zip(table.columns, *rows, strict=True)]
    others = sum(size for index, size in enumerate(widths) if index != table.wide) + len(_GAP) * (len(widths) - 1)
    room = width - others
    if room < min(widths[table.wide], _NARROWEST):
        return "", [line for row in rows for line in _stacked(table.columns, row, width)]
    widths[table.wide] = min(widths[table.wide], room)
    lines = [line for row in rows for line in _row(row, widths, table)]
    heading = _row(table.columns, widths, table)[0] if any(table.columns) else ""
    return heading, lines


def _row(cells: Sequence[str], widths: Sequence[int], table: Table) -> list[str]:
    """One row: a line for each line of the wide cell."""
    size = widths[table.wide]
    wide = cells[table.wide]
    parts = [crop(wide, size)] if table.cut else wrap_cells(wide, size)
    lines: list[str] = []
    for number, part in enumerate(parts):
        shown = [part if index == table.wide else "" if number else cell for index, cell in enumerate(cells)]
        padded = [cell + " " * (size - cells_of(cell)) for cell, size in zip(shown, widths, strict=True)]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _stacked(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """A row as a paragraph whose later lines are set in. Counts bring along what is counted: no heading says it."""
    cells = [_counted(column, cell) for column, cell in zip(columns, row, strict=True) if cell.strip()]
    first, *rest = wrap_cells(" · ".join(cells), width - 2)
    return [first, *(f"  {line}" for line in rest)]


def _counted(column: str, cell: str) -> str:
    """A number below a heading such as "messages", with that noun."""
    if not (column.isalpha() and column.endswith("s") and cell.replace(",", "").isdecimal()):
        return cell
    return f"{cell} {column[:-1] if cell == '1' else column}"


def wrap_cells(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells; words longer than a line are broken. No line begins with a "·"."""
    return [line.replace(_GLUE, " ") for line in _wrapped(text.replace(" · ", f"{_GLUE}· "), width)]


def _wrapped(text: str, width: int) -> list[str]:
    if cells_of(text) == len(text):
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines: list[str] = []
    line = ""
    for word in filter(None, _BLANKS.split(text)):
        while cells_of(joined := f"{line} {word}".lstrip()) > width:
            if line:
                lines.append(line)
                line = ""
                continue
            head = _head(word, width)
            lines.append(head)
            word = word[len(head) :]  # what is left of the word goes on the next line
        line = joined
    return [*lines, line] if line or not lines else lines


def _head(word: str, width: int) -> str:
    """As many characters of a word as fit, at least one."""
    end = 1
    while end < len(word) and cells_of(word[: end + 1]) <= width:
        end += 1
    return word[:end]
