"""Width of text in columns, and truncation to columns: wide characters take two.

Separate from `safe_text`, because output to a pipe cleans text but never needs `rich`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

if TYPE_CHECKING:  # the prompt appears before this part of rich is needed
    from rich.text import Text

_JOINER = "\u200d"


def count_cells(text: str) -> int:
    """Return the columns of a text on one line."""
    return cell_len(text)


def truncate_to_cells(text: str, cells: int) -> str:
    """Truncate a text to `cells` columns; the last one is an ellipsis if anything is missing."""
    if count_cells(text) <= cells:
        return text
    if cells < 1:
        return ""
    used = 0
    for start, width in _letters(text):
        used += width
        if used > cells - 1:
            return text[:start].rstrip() + "…"
    return text


def split_by_cells(text: "Text", cells: int) -> "list[Text]":
    """Split the text into lines of at most `cells` columns, by characters and not by words."""
    cuts: list[int] = []
    used = 0
    for start, width in _letters(text.plain):
        if used + width > cells and start:
            cuts.append(start)
            used = 0
        used += width
    return list(text.divide(cuts)) if cuts else [text]


def _letters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and columns of each letter; characters tied by a joiner, accent or variation selector are one
    letter.
    """
    start = 0
    for index in range(1, len(text) + 1):
        tied = index < len(text) and (text[index - 1] == _JOINER or not get_character_cell_size(text[index]))
        if not tied:
            yield start, cell_len(text[start:index])
            start = index


def truncate_line(line: "Text", max_chars: int, style: str) -> "Text":
    """Return the line, or its beginning followed by how much is missing, in this style."""
    if len(line) <= max_chars:
        return line
    return line[:max_chars].append(f" … {len(line) - max_chars:,} more characters", style)
