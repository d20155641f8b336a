"""Rows and amounts as values, for a screen to draw as a table or a bar, and for JSON and readers to say."""

from msgspec import Struct


class Table(Struct, frozen=True, kw_only=True):
    """Rows of plain text under headings.

    wide: the column that gives way when the terminal is narrow. cut: it is shortened then, instead of wrapped.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: int = 0
    cut: bool = False


class BarPart(Struct, frozen=True, kw_only=True):
    """One amount of a bar, its name, and the character it is drawn with."""

    name: str
    amount: int
    mark: str


class Bar(Struct, frozen=True, kw_only=True):
    """Amounts that make a whole, drawn beside each other and listed below. What is zero or less takes no room."""

    title: str
    parts: tuple[BarPart, ...]
