"""Amounts that make a whole: one line in which each takes its share, and a line for each that names it. All pure."""

from collections.abc import Sequence

from clio.commands.command import Bar, BarPart
from clio.ui.plain import clean_line

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
