"""The line typed on while a turn runs: its text, its keys, how it and waiting texts are drawn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from rich.text import Text

from clio.text.lazy_regex import LazyRegex
from clio.ui.painter import Part
from clio.ui.safe_text import clean, clean_line
from clio.ui.theme import Theme
from clio.ui.width import cells_of, crop

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


Move = Callable[[TypedLine], None]
_MOVES: Mapping[str, Move] = {
    Keys.Left: TypedLine.left,
    Keys.ControlB: TypedLine.left,
    Keys.Right: TypedLine.right,
    Keys.ControlF: TypedLine.right,
    Keys.Home: TypedLine.home,
    Keys.ControlA: TypedLine.home,
    Keys.End: TypedLine.end,
    Keys.ControlE: TypedLine.end,
    Keys.ControlLeft: TypedLine.word_left,
    Keys.ControlRight: TypedLine.word_right,
    Keys.ControlH: TypedLine.backspace,
    Keys.Delete: TypedLine.delete,
    Keys.ControlD: TypedLine.delete,
    Keys.ControlW: TypedLine.cut_word,
    Keys.ControlU: TypedLine.cut_to_start,
    Keys.ControlK: TypedLine.cut_to_end,
}
_ALT_MOVES: Mapping[str, Move] = {
    "b": TypedLine.word_left,
    "f": TypedLine.word_right,
    Keys.ControlH: TypedLine.cut_word,
    Keys.ControlM: lambda line: line.insert("\n"),
}


class TypedKeys:
    """A line, and the keys for it. Without callbacks everything typed stays on the line, Enter as a new line.

    on_enter: gets the whole line, which is empty then. on_up: Up was pressed on an empty line. on_key: any key was
    pressed but these. paste: what to put on the line for pasted text.
    """

    def __init__(
        self,
        line: TypedLine | None = None,
        *,
        on_enter: Callable[[str], None] | None = None,
        on_up: Callable[[], None] | None = None,
        on_key: Callable[[], None] | None = None,
        paste: Callable[[str], str] = str,
    ) -> None:
        self.line = line if line is not None else TypedLine()
        self._on_enter = on_enter
        self._on_up = on_up
        self._on_key = on_key
        self._paste = paste

    def press(self, press: KeyPress, *, alt: bool = False) -> None:
        """Do what a key means. alt: Alt was held, or Esc came with it."""
        if alt:
            self._move(_ALT_MOVES.get(press.key))
        elif press.key in (Keys.ControlM, Keys.ControlJ):
            self._enter()
        elif press.key == Keys.Up and not self.line.text:
            if self._on_up is not None:
                self._on_up()
        else:
            self._edit(press)

    def _enter(self) -> None:
        if self._on_enter is None:
            self.line.insert("\n")
        else:
            self._on_enter(self.line.take())

    def _edit(self, press: KeyPress) -> None:
        if press.key == Keys.BracketedPaste:
            self._move(lambda line: line.insert(self._paste(press.data)))
        elif not isinstance(press.key, Keys) and press.key.isprintable():
            self._move(lambda line: line.insert(press.key))
        else:
            self._move(_MOVES.get(press.key))  # other keys and reports of the terminal mean nothing here

    def _move(self, move: Move | None) -> None:
        if move is None:
            return
        if self._on_key is not None:
            self._on_key()
        move(self.line)


class Waiting(Struct, frozen=True):
    """A text that waits, and what it waits for, such as "queued 1"."""

    label: str
    text: str


class Typing(Struct, frozen=True, kw_only=True):
    """What a person is doing at the keyboard: the line, and what they have entered before.

    hint: what keys can do now, shown where the line is empty. chips: what the line names with "@".
    """

    line: "TypedLine"
    waiting: tuple[Waiting, ...] = ()
    hint: str = ""
    chips: tuple[str, ...] = ()


class Held(Protocol):
    """What was typed during a turn and goes nowhere without the person."""

    def waiting(self) -> Sequence[Waiting]:
        """The texts, oldest first."""
        ...

    def take_back(self) -> str:
        """The newest one, to be edited; "" where none waits."""
        ...

    def just_stopped(self) -> bool:
        """Whether a turn was stopped a moment ago, so that another Esc was meant for it too."""
        ...

    def release(self) -> bool:
        """Let all of it go on; False where nothing waits."""
        ...


_SHOWN = 4
_SHOWN_WHERE_LOW = 2
_LOW_LINES = 16


def waiting_lines(waiting: Sequence[Waiting], width: int, lines: int) -> list[str]:
    """One line for each text that waits, none wider than `width`; on a screen of few `lines` the last ones only."""
    most = _SHOWN if lines > _LOW_LINES else _SHOWN_WHERE_LOW
    shown = waiting if len(waiting) <= most else waiting[1 - most :]
    more = len(waiting) - len(shown)
    first = [crop(f"… {more} more above", width)] if more else []
    return [*first, *(crop(f"{one.label}: {clean_line(one.text)}", width) for one in shown)]


_MARK = "› "


def typed_row(typing: Typing, width: int) -> tuple[str, int | None]:
    """The line on one row of at most `width` columns, and the cursor's column; "" where there is nothing to show."""
    if not typing.line.text:
        hint = crop(typing.hint, width - len(_MARK))
        return (_MARK + hint, len(_MARK)) if hint else ("", None)
    shown, column = typing.line.shown(width - len(_MARK))
    return _MARK + shown, len(_MARK) + column


def said_parts(text: str, theme: Theme) -> Iterator[Part]:
    """A person's words as they stand in the scrollback."""
    for number, line in enumerate(clean(text).strip().split("\n")):
        yield Part(body=Text.assemble((_MARK if number == 0 else "  ", theme.accent), line))
