"""Columns that text takes on a screen: wide characters take two."""

from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

if TYPE_CHECKING:  # the prompt stands before it is needed
    from rich.text import Text


def cells_of(text: str) -> int:
    """Columns of a text on one line."""
    return cell_len(text)


def crop(text: str, cells: int) -> str:
    """The beginning of a text in at most so many columns, its last one an ellipsis if something is missing."""
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    used = 0
    for index, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > cells - 1:
            return text[:index].rstrip() + "…"
    return text


def chop(text: "Text", cells: int) -> "list[Text]":
    """The text cut into lines of at most so many columns, by characters and not by words."""
    cuts: list[int] = []
    used = 0
    for index, character in enumerate(text.plain):
        width = get_character_cell_size(character)
        if used + width > cells and index:
            cuts.append(index)
            used = 0
        used += width
    return list(text.divide(cuts)) if cuts else [text]


def cut(line: "Text", max_chars: int, style: str) -> "Text":
    """The line, or its beginning and, in this style, how much is missing."""
    if len(line) <= max_chars:
        return line
    return line[:max_chars].append(f" … {len(line) - max_chars:,} more characters", style)
