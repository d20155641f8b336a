"""The keyboard while a turn runs: text typed ahead, keys that steer the turn, and input kept for later."""

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Protocol, TextIO, cast
from weakref import WeakSet

from msgspec import Struct
from prompt_toolkit.application import get_app_session
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from rich.text import Text

from clio.ui.painter import Part
from clio.ui.safe_text import clean, clean_line
from clio.ui.text_width import cells_of, crop
from clio.ui.theme import Theme

_WORD_AFTER = re.compile(r"\s*\S+")
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


_kept = TypedLine()  # a process has one terminal


def take_kept_text() -> str:
    """The text kept so far, without Enter at its end: the user must see it before it is sent. Forgets it."""
    return _kept.take().rstrip("\n")


def keep_early_keys(keyboard: Input) -> None:
    """Let a question, about to be shown, be answered only by keys that are still to come."""
    if os.isatty(keyboard.fileno()):
        with keyboard.raw_mode():
            keep_presses([*get_typeahead(keyboard), *keyboard.read_keys(), *keyboard.flush_keys()])


def keep_early_lines(file: int = 0) -> None:
    """The same for a question to be answered by a line the terminal itself edits."""
    if sys.platform == "win32" or not os.isatty(file):
        return
    import termios

    try:
        before = termios.tcgetattr(file)
        at_once = termios.tcgetattr(file)
        at_once[3] &= ~(termios.ICANON | termios.ECHO)
        at_once[6][termios.VMIN] = at_once[6][termios.VTIME] = 0
        termios.tcsetattr(file, termios.TCSANOW, at_once)
    except termios.error:  # the terminal is gone: reading the answer will say so
        return
    pieces: list[bytes] = []
    try:
        while piece := os.read(file, 4096):
            pieces.append(piece)
    except OSError:  # the same
        return
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)
    keep_bytes(b"".join(pieces))


def keep_bytes(typed: bytes) -> None:
    """Keep what a terminal sent, as the text it would have become on a line."""
    if not typed:
        return
    presses: list[KeyPress] = []
    parser = Vt100Parser(presses.append)
    parser.feed(typed.decode("utf-8", errors="replace"))
    parser.flush()
    keep_presses(presses)


def keep_presses(presses: Iterable[KeyPress]) -> None:
    """Keep what these keys would have typed on a line; a key after Esc is Alt and that key."""
    typed = TypedKeys(_kept)
    after_escape = False
    for press in presses:
        if press.key != Keys.Escape:
            typed.press(press, alt=after_escape)
        after_escape = press.key == Keys.Escape


READ_BYTES = 65_536
_END = "\x1b[201~"
_QUICK: WeakSet[object] = WeakSet()  # others may stand between the input and the parser too


def quicken(keyboard: Input) -> None:
    """Let an input read more at once, and its parser look at each piece of a paste once. Harmless for other inputs."""
    parser: Any = getattr(keyboard, "vt100_parser", None)
    reader: Any = getattr(keyboard, "stdin_reader", None)
    if parser is None or reader is None or parser in _QUICK:
        return
    _QUICK.add(parser)
    parser.feed = _Paste(parser).feed
    read = cast("Callable[[int], str]", reader.read)
    reader.read = lambda count=READ_BYTES: read(max(count, READ_BYTES))


class _Paste:
    """Holds the pieces of a paste back until its end has come."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._feed = cast("Callable[[str], None]", parser.feed)
        self._pieces: list[str] = []
        self._seam = ""

    def feed(self, data: str) -> None:
        """In place of the parser's own."""
        if not getattr(self._parser, "_in_bracketed_paste", False):
            self._feed(data)
            return
        self._pieces.append(data)
        if _END not in self._seam + data:
            self._seam = (self._seam + data)[1 - len(_END) :]
            return
        whole, self._pieces, self._seam = "".join(self._pieces), [], ""
        self._feed(whole)


# An arrow key arrives as ESC [ A in one go; an ESC that stays alone this long was the Esc key.
FLUSH_S = 0.025
# So that a paste of many lines arrives as one, and not as that many times Enter.
_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"


class KeyWatch:
    """An async context: inside, the terminal is in raw mode and its keys are read.

    on_interrupt: called for Esc and Ctrl-C, each time. typed: what all other keys mean. on_change: called after some of
    those. hotkeys: what further keys do, by prompt_toolkit's names, such as "c-t"; they are not typed.
    write: takes control sequences for the terminal; without it, each line of a paste ends with Enter.
    Without a terminal (`stdin` is not a tty and no `keyboard` is given) it does nothing.
    The terminal's mode is restored on leaving, whatever happens inside.
    """

    def __init__(
        self,
        on_interrupt: Callable[[], None],
        *,
        typed: TypedKeys | None = None,
        on_change: Callable[[], None] | None = None,
        hotkeys: Mapping[str, Callable[[], None]] | None = None,
        write: Callable[[str], None] | None = None,
        stdin: TextIO | None = None,
        keyboard: Input | None = None,
    ) -> None:
        self._on_interrupt = on_interrupt
        self._typed = typed or TypedKeys()
        self._on_change = on_change
        self._write = write
        self._hotkeys = hotkeys or {}
        self._keyboard = keyboard or _tty_input(stdin)
        self._attached: ExitStack | None = None
        self._flush: asyncio.TimerHandle | None = None
        self._typed_at = -1e9

    def typed_within(self, seconds: float) -> bool:
        """Whether a key was pressed that recently: a question that pops up now could catch keys not meant for it."""
        return time.monotonic() - self._typed_at < seconds

    def take_text(self) -> str:
        """What stands on the line, for the next prompt; it is then forgotten here."""
        return self._typed.line.take()

    async def __aenter__(self) -> "KeyWatch":
        self._attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._detach()

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """Give the keyboard to somebody else for a while, in the mode it had before."""
        was_attached = self._attached is not None
        self._detach()
        try:
            yield
        finally:
            if was_attached:
                self._attach()

    def _attach(self) -> None:
        if self._keyboard is None or self._attached is not None:
            return
        quicken(self._keyboard)
        with ExitStack() as stack:
            stack.enter_context(self._keyboard.raw_mode())
            stack.enter_context(self._keyboard.attach(self._read))
            self._attached = stack.pop_all()
        if self._write is not None:
            self._write(_PASTES_ON)
        if early := take_kept_text():
            self._typed.line.insert(early)
            if self._on_change is not None:
                self._on_change()

    def _detach(self) -> None:
        if self._attached is None or self._keyboard is None:
            return
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        attached, self._attached = self._attached, None
        attached.close()
        if self._write is not None:
            self._write(_PASTES_OFF)
        self._take(self._keyboard.flush_keys())

    def _read(self) -> None:
        keyboard = self._keyboard
        if keyboard is None:
            return
        self._take(keyboard.read_keys())
        if self._flush is not None:
            self._flush.cancel()
        if keyboard.closed:
            self._detach()
        elif self._attached is not None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self._flush_now)

    def _flush_now(self) -> None:
        self._flush = None
        if self._keyboard is not None:
            self._take(self._keyboard.flush_keys())

    def _take(self, presses: Iterable[KeyPress]) -> None:
        """Act on keys. Esc directly followed by another key in one reading is Alt and that key: not an interrupt."""
        keys = list(presses)
        typed = False
        for index, press in enumerate(keys):
            follower = keys[index + 1].key if index + 1 < len(keys) else Keys.Escape
            after_escape = index > 0 and keys[index - 1].key == Keys.Escape
            if press.key == Keys.ControlC or (press.key == Keys.Escape and follower == Keys.Escape):
                self._on_interrupt()
            elif isinstance(press.key, Keys) and (act := self._hotkeys.get(press.key.value)) is not None:
                act()
            elif press.key != Keys.Escape:
                typed = True
                self._typed_at = time.monotonic()
                self._typed.press(press, alt=after_escape)
        if typed and self._on_change is not None:
            self._on_change()


def _tty_input(stdin: TextIO | None) -> Input | None:
    stream = stdin if stdin is not None else sys.stdin
    if stream is None or not stream.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return None
    # The process's own is the one the prompt line reads: what has arrived by half goes on where it began.
    return get_app_session().input if stdin is None else create_input(stream)
