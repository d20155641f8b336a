"""A unified diff as it is shown: one row a line, line numbers where there is room, the words that differ marked."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import overload

from rich.cells import get_character_cell_size
from rich.text import Text

from clio.ui.diffs.parse import DiffRow, parse_diff
from clio.ui.diffs.word_diff import Span, changed_words, pair_lines
from clio.ui.theme import Theme
from clio.ui.width import cut

NUMBERS_FROM = 60
"""Columns from which on lines are numbered."""

_TAB = 4
_MAX_CHARS = 20_000
"""Tabs of a longer line are spread out without regard to wide characters."""

_MARKS = {"added": "+", "removed": "-", "context": " "}


class DiffRows(Sequence[Text]):
    """The rows of a diff. Each is made when it is asked for, so a diff of any length is there at once.

    width: columns there are. names: whether files are named; None names them where there are several.
    max_chars: of a row no more is shown, and how much is missing.
    """

    def __init__(
        self, diff: str, theme: Theme, width: int, *, names: bool | None = None, max_chars: int | None = None
    ) -> None:
        self._parsed = parse_diff(diff)
        self._theme = theme
        self._max_chars = max_chars
        self._versions: dict[int, dict[int, int]] = {}
        shown = len(self._parsed.counts) > 1 if names is None else names
        rows = self._parsed.rows
        self._places = [place for place, row in enumerate(rows) if shown or row.kind != "file"]
        last = max((row.number for row in rows), default=0)
        self._gutter = len(str(last)) + 1 if last and width >= NUMBERS_FROM else 0

    def bounded(self, max_chars: int) -> "DiffRows":
        """The same rows, of each no more than so many characters."""
        other = copy(self)
        other._max_chars = max_chars
        return other

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> list[Text]: ...
    def __getitem__(self, index: int | slice) -> Text | list[Text]:
        if isinstance(index, slice):
            return [self._row(place) for place in self._places[index]]
        return self._row(self._places[index])

    def _row(self, place: int) -> Text:
        row, theme = self._parsed.rows[place], self._theme
        match row.kind:
            case "file":
                added, removed = self._parsed.counts[place]
                counts = [(f" +{added}", theme.added)] if added else []
                counts += [(f" -{removed}", theme.removed)] if removed else []
                return Text.assemble(("  " + row.text, theme.strong), *counts)
            case "hunk":
                return Text("  " + row.text, theme.hunk)
            case "note":
                return self._cut(Text("  " + " " * self._gutter + row.text.expandtabs(_TAB), theme.faint))
            case _:
                return self._line(place, row)

    def _line(self, place: int, row: DiffRow) -> Text:
        theme = self._theme
        style = {"added": theme.added, "removed": theme.removed}.get(row.kind, theme.faint)
        number = f"{row.number:>{self._gutter - 1}} " if self._gutter else ""
        head = Text.assemble(("  " + number, theme.faint), (_MARKS[row.kind], style))
        limit = len(row.text) if self._max_chars is None else self._max_chars
        text, spans = _laid_out(row.text[:limit], self._changed(place, row), marked=row.kind != "context")
        body = Text(text, style)
        for start, end in spans:
            body.stylize(theme.added_word if row.kind == "added" else theme.removed_word, start, end)
        if limit < len(row.text):
            body.append(f" … {len(row.text) - limit:,} more characters", theme.faint)
        return head.append_text(body)

    def _changed(self, place: int, row: DiffRow) -> list[Span]:
        """The words of a row that its other version does not have."""
        if row.block < 0 or not self._theme.escapes:
            return []
        if row.block not in self._versions:
            self._versions[row.block] = self._pair(row.block)
        other = self._versions[row.block].get(place)
        if other is None:
            return []
        rows = self._parsed.rows
        if row.kind == "removed":
            return changed_words(row.text, rows[other].text)[0]
        return changed_words(rows[other].text, row.text)[1]

    def _pair(self, number: int) -> dict[int, int]:
        """Which row of a block is the other version of which, both ways."""
        block, rows = self._parsed.blocks[number], self._parsed.rows
        if not block.removed or not block.added:
            return {}
        texts = [[rows[place].text for place in side] for side in (block.removed, block.added)]
        pairs = [(block.removed[old], block.added[new]) for old, new in pair_lines(*texts)]
        return dict(pairs) | {new: old for old, new in pairs}

    def _cut(self, row: Text) -> Text:
        return row if self._max_chars is None else cut(row, self._max_chars, self._theme.faint)


def diff_lines(diff_text: str, theme: Theme, width: int, max_rows: int, hint: str = "") -> Iterator[Text]:
    """A unified diff in at most so many rows; the last then says how many are missing. hint: how to see them."""
    rows = DiffRows(diff_text, theme, width, max_chars=max(width, 20) * 5 if max_rows < len(diff_text) else None)
    shown = len(rows) if len(rows) <= max_rows else max(max_rows - 1, 0)
    for place in range(shown):
        yield rows[place]
    if shown < len(rows):
        missing = len(rows) - shown
        yield Text(f"  … {missing:,} more line{'' if missing == 1 else 's'}{hint}", theme.faint)


def _laid_out(text: str, spans: list[Span], *, marked: bool) -> tuple[str, list[Span]]:
    """The text with its tabs spread out and, where `marked`, blanks at its end made visible; the spans moved along."""
    kept = len(text.rstrip(" \t")) if marked else len(text)
    if "\t" not in text:
        return text[:kept] + "·" * (len(text) - kept), spans
    if len(text) > _MAX_CHARS:
        return text.expandtabs(_TAB), []
    pieces: list[str] = []
    starts: list[int] = []
    column = length = 0
    for place, char in enumerate(text):
        starts.append(length)
        piece = char
        if char == "\t":
            piece = ("→" if place >= kept else " ") + " " * (_TAB - column % _TAB - 1)
        elif place >= kept:
            piece = "·"
        pieces.append(piece)
        length += len(piece)
        column += get_character_cell_size(char) if char != "\t" else len(piece)
    starts.append(length)
    end = len(text)
    return "".join(pieces), [(starts[min(start, end)], starts[min(stop, end)]) for start, stop in spans]
