"""The line a person types on while a turn runs: a text, a cursor, and what keys do to them. Draws and reads nothing."""

from clio.text.lazy_regex import LazyRegex
from clio.ui.plain import clean
from clio.ui.width import cells_of

_WORD_AFTER = LazyRegex(r"\s*\S+")
NEWLINE_MARK = "↵"


class TypedLine:
    """The text and where the cursor stands in it, 0 to its length. A character with its accents counts as one.

    No control character but the newline gets into it.
    """

    def __init__(self, text: str = "") -> None:
        self.text = _without_controls(text)
        self.cursor = len(self.text)

    def replace(self, text: str) -> None:
        """Put another text in its place, the cursor at its end."""
        self.text = _without_controls(text)
        self.cursor = len(self.text)

    def take(self) -> str:
        """The text, which is no longer here then."""
        text = self.text
        self.replace("")
        return text

    def insert(self, text: str) -> None:
        """Put text at the cursor."""
        text = _without_controls(text)
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def left(self) -> None:
        """One character to the left."""
        self.cursor = self._before()

    def right(self) -> None:
        """One character to the right."""
        self.cursor = self._after()

    def home(self) -> None:
        """To the beginning of the line the cursor is in."""
        self.cursor = self.text.rfind("\n", 0, self.cursor) + 1

    def end(self) -> None:
        """To the end of the line the cursor is in."""
        found = self.text.find("\n", self.cursor)
        self.cursor = len(self.text) if found < 0 else found

    def word_left(self) -> None:
        """To the beginning of the word before the cursor."""
        self.cursor = self._word_start()

    def word_right(self) -> None:
        """Behind the word at the cursor or after it."""
        found = _WORD_AFTER.match(self.text, self.cursor)
        self.cursor = found.end() if found else len(self.text)

    def backspace(self) -> None:
        """Take the character before the cursor away."""
        self._cut(self._before(), self.cursor)

    def delete(self) -> None:
        """Take the character at the cursor away."""
        self._cut(self.cursor, self._after())

    def cut_word(self) -> None:
        """Take the word before the cursor away."""
        self._cut(self._word_start(), self.cursor)

    def cut_to_start(self) -> None:
        """Take everything before the cursor away."""
        self._cut(0, self.cursor)

    def cut_to_end(self) -> None:
        """Take everything from the cursor to the end of its line away."""
        start = self.cursor
        self.end()
        self._cut(start, self.cursor)

    def shown(self, cells: int) -> tuple[str, int]:
        """The line on one row of at most so many columns, and the column the cursor stands at.

        Line breaks are marked. What does not fit is left out at both ends, and an ellipsis stands there.
        """
        cells = max(cells, 4)
        before, behind = (_on_one_row(part) for part in (self.text[: self.cursor], self.text[self.cursor :]))
        if cells_of(before) + cells_of(behind) < cells:
            return before + behind, cells_of(before)
        kept = before
        if cells_of(before) > cells - 2:
            start = len(before)
            used = 0
            while start and (used := used + cells_of(before[start - 1])) < max(2 * cells // 3, 2):
                start -= 1
            while start < len(before) and not cells_of(before[start]):
                start += 1  # an accent without its letter
            kept = "…" + before[start:]
        room = cells - cells_of(kept) - 1
        end = used = 0
        while end < len(behind) and (used := used + cells_of(behind[end])) < room:
            end += 1
        return kept + behind[:end] + ("…" if end < len(behind) else ""), cells_of(kept)

    def _before(self) -> int:
        place = self.cursor - 1
        while place > 0 and _joins(self.text[place], self.text[place - 1]):
            place -= 1
        return max(place, 0)

    def _after(self) -> int:
        place = min(self.cursor + 1, len(self.text))
        while place < len(self.text) and _joins(self.text[place], self.text[place - 1]):
            place += 1
        return place

    def _word_start(self) -> int:
        before = self.text[: self.cursor].rstrip()
        return len(before) - len(before.rsplit(maxsplit=1)[-1]) if before else 0

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start


def _joins(character: str, before: str) -> bool:
    """Whether a character and the one before it are seen as one: accents, and emoji made of several."""
    return before != "\n" and character != "\n" and (not cells_of(character) or before == "\u200d")


def _without_controls(text: str) -> str:
    return clean(text).replace("\t", "    ")


def _on_one_row(text: str) -> str:
    return text.replace("\n", NEWLINE_MARK)
