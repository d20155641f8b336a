"""Keyboard input while a turn runs: text typed ahead, keys that steer the turn, and input saved for later."""

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Protocol, TextIO, TypeVar, cast
from weakref import WeakSet

from msgspec import Struct
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys

from clio.config.schema import KEY_ACTIONS
from clio.text.translation import tr
from clio.ui.line_rules import fit_placeholder
from clio.ui.painter import count_cells, truncate_to_cells
from clio.ui.safe_text import clean, clean_line

T = TypeVar("T")
_FOCUS_IN, _FOCUS_OUT = "\x1b[I", "\x1b[O"
"""What a terminal sends when its window comes to the front or leaves it, if it was asked to report that."""
_ENABLE_FOCUS_REPORTS, _DISABLE_FOCUS_REPORTS = "\x1b[?1004h", "\x1b[?1004l"
# Otherwise prompt_toolkit takes them for Esc and two letters.
ANSI_SEQUENCES.update({_FOCUS_IN: Keys.Ignore, _FOCUS_OUT: Keys.Ignore})
_WORD_AFTER = re.compile(r"\s*\S+")
NEWLINE_MARK = "↵"


class TypedLine:
    """The edited text and the cursor position in it, 0 to its length. A character and its accents count as one.

    It never contains control characters except newlines.
    """

    def __init__(self, text: str = "") -> None:
        self.text = _remove_controls(text)
        self.cursor = len(self.text)

    def replace(self, text: str) -> None:
        """Replace the text and put the cursor at its end."""
        self.text = _remove_controls(text)
        self.cursor = len(self.text)

    def pop_text(self) -> str:
        """Return the text and clear the line."""
        text = self.text
        self.replace("")
        return text

    def insert(self, text: str) -> None:
        """Insert text at the cursor."""
        text = _remove_controls(text)
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def move_left(self) -> None:
        """Move one character to the left."""
        self.cursor = self._find_previous_position()

    def move_right(self) -> None:
        """Move one character to the right."""
        self.cursor = self._find_next_position()

    def move_to_line_start(self) -> None:
        """Move to the beginning of the cursor's line."""
        self.cursor = self.text.rfind("\n", 0, self.cursor) + 1

    def move_to_line_end(self) -> None:
        """Move to the end of the cursor's line."""
        found = self.text.find("\n", self.cursor)
        self.cursor = len(self.text) if found < 0 else found

    def move_word_left(self) -> None:
        """Move to the beginning of the word before the cursor."""
        self.cursor = self._find_word_start()

    def move_word_right(self) -> None:
        """Move behind the word at or after the cursor."""
        found = _WORD_AFTER.match(self.text, self.cursor)
        self.cursor = found.end() if found else len(self.text)

    def backspace(self) -> None:
        """Delete the character before the cursor."""
        self._cut(self._find_previous_position(), self.cursor)

    def delete(self) -> None:
        """Delete the character at the cursor."""
        self._cut(self.cursor, self._find_next_position())

    def cut_word(self) -> None:
        """Delete the word before the cursor."""
        self._cut(self._find_word_start(), self.cursor)

    def cut_to_start(self) -> None:
        """Delete everything before the cursor."""
        self._cut(0, self.cursor)

    def cut_to_end(self) -> None:
        """Delete from the cursor to the end of its line."""
        start = self.cursor
        self.move_to_line_end()
        self._cut(start, self.cursor)

    def render_row(self, cells: int) -> tuple[str, int]:
        """Return the text as one row of at most `cells` columns, and the cursor's column in it.

        Line breaks are shown as marks. Text that does not fit is replaced by an ellipsis at either end.
        """
        cells = max(cells, 4)
        before, after = (_mark_newlines(part) for part in (self.text[: self.cursor], self.text[self.cursor :]))
        if count_cells(before) + count_cells(after) < cells:
            return before + after, count_cells(before)
        visible_before = before
        if count_cells(before) > cells - 2:
            start = len(before)
            used = 0
            while start and (used := used + count_cells(before[start - 1])) < max(2 * cells // 3, 2):
                start -= 1
            while start < len(before) and not count_cells(before[start]):
                start += 1  # do not begin with an accent whose letter was cut off
            visible_before = "…" + before[start:]
        room = cells - count_cells(visible_before) - 1
        end = used = 0
        while end < len(after) and (used := used + count_cells(after[end])) < room:
            end += 1
        return visible_before + after[:end] + ("…" if end < len(after) else ""), count_cells(visible_before)

    def _find_previous_position(self) -> int:
        position = self.cursor - 1
        while position > 0 and _is_combining(self.text[position], self.text[position - 1]):
            position -= 1
        return max(position, 0)

    def _find_next_position(self) -> int:
        position = min(self.cursor + 1, len(self.text))
        while position < len(self.text) and _is_combining(self.text[position], self.text[position - 1]):
            position += 1
        return position

    def _find_word_start(self) -> int:
        before = self.text[: self.cursor].rstrip()
        return len(before) - len(before.rsplit(maxsplit=1)[-1]) if before else 0

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start


def _is_combining(character: str, before: str) -> bool:
    """Whether a character is displayed together with the one before it: accents, and emoji sequences."""
    return before != "\n" and character != "\n" and (not count_cells(character) or before == "\u200d")


def _remove_controls(text: str) -> str:
    return clean(text).replace("\t", "    ")


def _mark_newlines(text: str) -> str:
    return text.replace("\n", NEWLINE_MARK)


LineEdit = Callable[[TypedLine], None]
_KEY_EDITS: Mapping[str, LineEdit] = {
    Keys.Left: TypedLine.move_left,
    Keys.ControlB: TypedLine.move_left,
    Keys.Right: TypedLine.move_right,
    Keys.ControlF: TypedLine.move_right,
    Keys.Home: TypedLine.move_to_line_start,
    Keys.ControlA: TypedLine.move_to_line_start,
    Keys.End: TypedLine.move_to_line_end,
    Keys.ControlE: TypedLine.move_to_line_end,
    Keys.ControlLeft: TypedLine.move_word_left,
    Keys.ControlRight: TypedLine.move_word_right,
    Keys.ControlH: TypedLine.backspace,
    Keys.Delete: TypedLine.delete,
    Keys.ControlD: TypedLine.delete,
    Keys.ControlW: TypedLine.cut_word,
    Keys.ControlU: TypedLine.cut_to_start,
    Keys.ControlK: TypedLine.cut_to_end,
}
_ALT_KEY_EDITS: Mapping[str, LineEdit] = {
    "b": TypedLine.move_word_left,
    "f": TypedLine.move_word_right,
    Keys.ControlH: TypedLine.cut_word,
    Keys.ControlM: lambda line: line.insert("\n"),
}


class TypedKeys:
    """A line and its editing keys. Without callbacks all text stays on the line and Enter inserts a newline.

    Args:
        on_enter: called with the whole line, which is cleared first.
        on_up: called when Up is pressed on an empty line.
        on_key: called for every other key that edits the line.
        paste: returns the text to insert for pasted text.
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

    def handle_key(self, press: KeyPress, *, alt: bool = False) -> None:
        """Carry out a key press. alt: Alt was held, or Esc was pressed just before it."""
        if alt:
            self._apply_edit(_ALT_KEY_EDITS.get(press.key))
        elif press.key in (Keys.ControlM, Keys.ControlJ):
            self._handle_enter()
        elif press.key == Keys.Up and not self.line.text:
            if self._on_up is not None:
                self._on_up()
        else:
            self._handle_editing_key(press)

    def _handle_enter(self) -> None:
        if self._on_enter is None:
            self.line.insert("\n")
        else:
            self._on_enter(self.line.pop_text())

    def _handle_editing_key(self, press: KeyPress) -> None:
        if press.key == Keys.BracketedPaste:
            self._apply_edit(lambda line: line.insert(self._paste(press.data)))
        elif not isinstance(press.key, Keys) and press.key.isprintable():
            self._apply_edit(lambda line: line.insert(press.key))
        else:
            self._apply_edit(_KEY_EDITS.get(press.key))  # other keys and terminal reports do nothing

    def _apply_edit(self, move: LineEdit | None) -> None:
        if move is None:
            return
        if self._on_key is not None:
            self._on_key()
        move(self.line)


class WaitingText(Struct, frozen=True):
    """A text that the user entered and that is not sent yet. label: why it waits, such as "queued 1"."""

    label: str
    text: str


class TypingState(Struct, frozen=True, kw_only=True):
    """What the user is typing, and the texts that the user entered before and that are not sent yet.

    hint: what keys can do now, shown while the line is empty. mention_labels: labels of files named with "@".
    """

    line: "TypedLine"
    waiting: tuple[WaitingText, ...] = ()
    hint: str = ""
    mention_labels: tuple[str, ...] = ()


class HeldTexts(Protocol):
    """Texts entered during a stopped turn, which are sent only when the user asks for it."""

    def list_waiting(self) -> Sequence[WaitingText]:
        """The texts, oldest first."""
        ...

    def pop_newest(self) -> str:
        """Remove and return the newest text, for editing; "" if there is none."""
        ...

    def has_just_stopped(self) -> bool:
        """Whether a turn was stopped a moment ago, so that another Esc was probably meant for it too."""
        ...

    def release_all(self) -> bool:
        """Release all texts; False if there are none."""
        ...


_MAX_WAITING_ROWS = 4  # waiting texts displayed
_MAX_WAITING_ROWS_ON_LOW_SCREEN = 2  # the same on a screen of at most _LOW_SCREEN_LINES lines
_LOW_SCREEN_LINES = 16


def render_waiting_texts(waiting: Sequence[WaitingText], width: int, lines: int) -> list[str]:
    """Return one line of at most `width` columns for each waiting text.

    On a screen with few `lines` only the newest texts are shown; the first line then counts the others.
    """
    max_rows = _MAX_WAITING_ROWS if lines > _LOW_SCREEN_LINES else _MAX_WAITING_ROWS_ON_LOW_SCREEN
    visible = waiting if len(waiting) <= max_rows else waiting[1 - max_rows :]
    hidden = len(waiting) - len(visible)
    first = [truncate_to_cells(tr("… {hidden} more above", hidden=hidden), width)] if hidden else []
    return [*first, *(truncate_to_cells(f"{text.label}: {clean_line(text.text)}", width) for text in visible)]


def render_typed_row(typing: TypingState, prompt: str, width: int) -> tuple[str, int]:
    """Return what is after the prompt in a row of `width` columns, and the cursor's column in that row.

    An empty line shows a hint.
    """
    if not typing.line.text:
        room = width - len(prompt)
        return truncate_to_cells(typing.hint, room) if typing.hint else fit_placeholder(room), len(prompt)
    row, column = typing.line.render_row(width - len(prompt))
    return row, len(prompt) + column


# Module level: a process has one terminal.
_saved_line = TypedLine()
_saved_at = -1e9  # when a key was last saved, in seconds of the monotonic clock


def pop_saved_text() -> str:
    """Return and forget the saved text, without a final Enter: the user must see it before it is sent."""
    return _saved_line.pop_text().rstrip("\n")


def save_early_keys(keyboard: Input) -> None:
    """Save keys typed before a question appears, so that they do not answer it; see `pop_saved_text`."""
    if os.isatty(keyboard.fileno()):
        with keyboard.raw_mode():
            save_key_presses([*get_typeahead(keyboard), *keyboard.read_keys(), *keyboard.flush_keys()])


def save_early_lines(file: int = 0) -> None:
    """Save text typed before a question, as `save_early_keys` does, on a terminal that edits the line itself."""
    if sys.platform == "win32" or not os.isatty(file):
        return
    import termios

    try:
        original = termios.tcgetattr(file)
        unbuffered = termios.tcgetattr(file)
        unbuffered[3] &= ~(termios.ICANON | termios.ECHO)
        unbuffered[6][termios.VMIN] = unbuffered[6][termios.VTIME] = 0
        termios.tcsetattr(file, termios.TCSANOW, unbuffered)
    except termios.error:  # the terminal was closed: reading the answer will report it
        return
    pieces: list[bytes] = []
    try:
        while piece := os.read(file, 4096):
            pieces.append(piece)
    except OSError:  # the terminal was closed, as above
        return
    finally:
        termios.tcsetattr(file, termios.TCSANOW, original)
    save_typed_bytes(b"".join(pieces))


def save_typed_bytes(typed: bytes) -> None:
    """Save bytes read from a terminal, as the text they would have become on a line."""
    if not typed:
        return
    presses: list[KeyPress] = []
    parser = Vt100Parser(presses.append)
    parser.feed(typed.decode("utf-8", errors="replace"))
    parser.flush()
    save_key_presses(presses)


def save_key_presses(presses: Iterable[KeyPress]) -> None:
    """Save what these key presses would have typed on a line; a key after Esc counts as Alt and that key."""
    global _saved_at
    typed = TypedKeys(_saved_line)
    after_escape = False
    for press in presses:
        _saved_at = time.monotonic()
        if press.key != Keys.Escape:
            typed.handle_key(press, alt=after_escape)
        after_escape = press.key == Keys.Escape


_SETTLE_S = 0.35
"""Time in which a key behind an answer shows that both began the next message; typing is faster than that."""


class OneKeyAnswer:
    """Ends a question by one key, unless another one follows at once: then they are saved as the next message.

    refused: the result in that case.
    """

    def __init__(self, refused: str | None) -> None:
        self._refused = refused
        self._result = refused
        self._pressed: list[KeyPress] = []

    def choose(self, event: KeyPressEvent, result: str | None) -> None:
        """Answer with this result if no other key follows."""
        if self._pressed:
            self.type_on(event)
            return
        self._pressed, self._result = list(event.key_sequence), result
        asyncio.get_running_loop().call_later(_SETTLE_S, self.finish, event.app)

    def type_on(self, event: KeyPressEvent) -> None:
        """Refuse, and save this key and the one before it for the next line."""
        save_key_presses((*self._pressed, *event.key_sequence))
        self._result = self._refused
        self.finish(event.app)

    def finish(self, app: Application[Any]) -> None:
        """End the question now."""
        if app.is_running and app.future is not None and not app.future.done():
            app.exit(result=self._result)


_GUARD_S = 1.0  # a user who was typing when a question appeared has probably not read it yet
_PAUSE_S = 0.4  # a pause this long ends the typing; two keys of one word are closer together
_EDITING_KEYS = frozenset(
    (Keys.ControlM, Keys.ControlJ, Keys.ControlH, Keys.ControlW, Keys.ControlU, Keys.ControlK, Keys.BracketedPaste)
)
_REPORTS = frozenset((Keys.CPRResponse, Keys.Vt100MouseEvent, Keys.WindowsMouseEvent, Keys.Ignore))
"""Keys by which prompt_toolkit passes on what the terminal sends by itself."""


class QuestionInput(Input):
    """The keyboard while a question is asked. Saves the keys that cannot be meant as its answer for the next line.

    These are all keys typed before the question was drawn; and, if the user was typing then, text until a pause.

    guarded: whether the user was typing just now. Make it after `save_early_keys`.
    """

    def __init__(self, keyboard: Input, *, guarded: bool = False) -> None:
        self._keyboard = keyboard
        self._is_drawn = not os.isatty(keyboard.fileno())  # only a terminal has keys that were typed before
        self._open_from = time.monotonic() + _GUARD_S if guarded else _saved_at + _PAUSE_S

    def note_drawn(self) -> list[KeyPress]:
        """Save the keys typed before the question is drawn; return the terminal's reports among them.

        Call just before each drawing is written; does nothing but for the first one.
        """
        if self._is_drawn:
            return []
        reports = self.read_keys()
        self._is_drawn = True
        return reports

    def read_keys(self) -> list[KeyPress]:
        """Return the keys for the question."""
        return self._filter_keys(self._keyboard.read_keys())

    def flush_keys(self) -> list[KeyPress]:
        """Return keys whose sequence was not completed."""
        return self._filter_keys(self._keyboard.flush_keys())

    def _filter_keys(self, presses: list[KeyPress]) -> list[KeyPress]:
        presses = [press for press in presses if press.key != Keys.Ignore]  # no answer to "press any key"
        now = time.monotonic()
        if self._is_drawn and now >= self._open_from:
            return presses
        saved: list[KeyPress] = []
        passed: list[KeyPress] = []
        for press in presses:
            is_typed = not isinstance(press.key, Keys) or press.key in _EDITING_KEYS
            is_saved = is_typed if self._is_drawn else press.key not in _REPORTS
            (saved if is_saved else passed).append(press)
            if is_typed:
                pause_s = _PAUSE_S if self._is_drawn else _GUARD_S
                self._open_from = max(self._open_from, now + pause_s)
        save_key_presses(saved)
        return passed

    def fileno(self) -> int:
        """See `Input`; so for all below."""
        return self._keyboard.fileno()

    def typeahead_hash(self) -> str:
        return self._keyboard.typeahead_hash()

    def flush(self) -> None:
        self._keyboard.flush()

    @property
    def closed(self) -> bool:
        return self._keyboard.closed

    def raw_mode(self) -> AbstractContextManager[None]:
        return self._keyboard.raw_mode()

    def cooked_mode(self) -> AbstractContextManager[None]:
        return self._keyboard.cooked_mode()

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        return self._keyboard.attach(input_ready_callback)

    def detach(self) -> AbstractContextManager[None]:
        return self._keyboard.detach()

    def close(self) -> None:
        self._keyboard.close()


async def run_question(
    app: Application[Any],
    ask: Callable[[], Awaitable[T]],
    *,
    guarded: bool = False,
    print_question: Callable[[], None] | None = None,
) -> T:
    """Run a question in an application; keys typed before it is drawn are saved.

    Keys typed right behind its answer are left to what reads next: a prompt or a running turn takes them as they were
    typed, another question saves them.

    Args:
        ask: runs the application.
        guarded: whether the user was typing just now, see `QuestionInput`.
        print_question: called once the keyboard is read, if the application itself draws nothing.
    """
    keyboard, output = app.input, app.output
    save_early_keys(keyboard)
    app.input = held = QuestionInput(keyboard, guarded=guarded)
    flush = output.flush
    is_rendering = is_printed = False
    reports: list[KeyPress] = []

    def note_rendering(_: object) -> None:
        nonlocal is_rendering
        is_rendering = True

    def flush_drawing() -> None:
        """Read the keys just before the drawing is written: a moment later the user may be answering."""
        if is_rendering:
            reports.extend(held.note_drawn())
        flush()

    def handle_drawn(_: object) -> None:
        nonlocal is_printed
        if print_question is not None and not is_printed:
            print_question()
        is_printed = True
        if reports:
            app.key_processor.feed_multiple(reports)
            reports.clear()
            app.key_processor.process_keys()

    app.before_render += note_rendering
    app.after_render += handle_drawn
    output.flush = flush_drawing
    try:
        return await ask()
    finally:
        app.input, output.flush = keyboard, flush


READ_BYTES = 65_536  # prompt_toolkit reads 1,024 bytes at a time, which makes large pastes slow
_PASTE_END = "\x1b[201~"
# inputs already patched; another wrapper may be between the input and the parser, so the parser cannot tell
_PATCHED_INPUTS: WeakSet[object] = WeakSet()


_key_map: Mapping[str, Keys] = {}


def change_keys(keys: Mapping[str, str]) -> None:
    """Let other keys do what the usual ones do, in every input that is prepared from now on.

    keys: as the setting `keys`. A usual key that no action has any more does nothing.
    """
    global _key_map
    changed: dict[str, Keys] = {KEY_ACTIONS[action]: Keys.Ignore for action in keys}
    changed |= {key: Keys(KEY_ACTIONS[action]) for action, key in keys.items()}
    _key_map = changed


def _translate_key(press: KeyPress) -> KeyPress:
    key = _key_map.get(press.key)
    return press if key is None else KeyPress(key, "" if key == Keys.Ignore else press.data)


def _make_translator(handle: Callable[[KeyPress], None]) -> Callable[[KeyPress], None]:
    return lambda press: handle(_translate_key(press))


def prepare_input(keyboard: Input) -> None:
    """Apply `change_keys` to an input; let it read more at once and scan each piece of a paste only once.

    Does nothing for other inputs than those of a terminal.
    """
    parser: Any = getattr(keyboard, "vt100_parser", None)
    reader: Any = getattr(keyboard, "stdin_reader", None)
    if parser is None or reader is None or parser in _PATCHED_INPUTS:
        return
    _PATCHED_INPUTS.add(parser)
    if _key_map:
        handle = cast("Callable[[KeyPress], None]", parser.feed_key_callback)
        parser.feed_key_callback = _make_translator(handle)
    parser.feed = _PasteCollector(parser).feed
    read = cast("Callable[[int], str]", reader.read)
    reader.read = lambda count=READ_BYTES: read(max(count, READ_BYTES))


class _PasteCollector:
    """Collects the pieces of a paste until its end has arrived."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._feed = cast("Callable[[str], None]", parser.feed)
        self._pieces: list[str] = []
        self._overlap = ""

    def feed(self, data: str) -> None:
        """Replace the parser's own `feed`."""
        if not getattr(self._parser, "_in_bracketed_paste", False):
            self._feed(data)
            return
        self._pieces.append(data)
        if _PASTE_END not in self._overlap + data:
            self._overlap = (self._overlap + data)[1 - len(_PASTE_END) :]
            return
        whole, self._pieces, self._overlap = "".join(self._pieces), [], ""
        self._feed(whole)


# A terminal sends an arrow key as ESC [ A in one write, so an ESC alone for this long was the Esc key.
ESCAPE_WAIT_S = 0.025
# Bracketed paste: a paste of many lines arrives as one event instead of pressing Enter once per line.
_ENABLE_BRACKETED_PASTE, _DISABLE_BRACKETED_PASTE = "\x1b[?2004h", "\x1b[?2004l"


class KeyWatch:
    """An async context that puts the terminal into raw mode and reads its keys.

    Without a terminal (`stdin` is not a tty) it does nothing. The terminal's mode is restored on every exit path.

    Args:
        on_interrupt: called each time Esc or Ctrl-C is pressed.
        typed: receives all other keys.
        on_change: called after keys that may have changed the line.
        hotkeys: actions of further keys by prompt_toolkit's names, such as "c-t"; these keys are not typed.
        write: takes control sequences for the terminal; without it, each line of a paste ends with Enter.
        on_focus: called with whether the terminal's window is in front, when the terminal reports a change.
    """

    def __init__(
        self,
        on_interrupt: Callable[[], None],
        *,
        typed: TypedKeys | None = None,
        on_change: Callable[[], None] | None = None,
        hotkeys: Mapping[str, Callable[[], None]] | None = None,
        write: Callable[[str], None] | None = None,
        on_focus: Callable[[bool], None] | None = None,
        stdin: TextIO | None = None,
    ) -> None:
        self._on_focus = on_focus
        self._on_interrupt = on_interrupt
        self._typed = typed or TypedKeys()
        self._on_change = on_change
        self._write = write
        self._hotkeys = hotkeys or {}
        self._keyboard = _open_tty_input(stdin)
        self._attached: ExitStack | None = None
        self._flush: asyncio.TimerHandle | None = None
        self._typed_at = -1e9

    def has_typed_within(self, seconds: float) -> bool:
        """Whether a key was pressed that recently; a question that appears now could catch keys not meant for it."""
        return time.monotonic() - self._typed_at < seconds

    def pop_text(self) -> str:
        """Remove and return the text of the line, for the next prompt."""
        return self._typed.line.pop_text()

    async def __aenter__(self) -> "KeyWatch":
        self._start_reading()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_reading()

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """A context in which another reader has the keyboard, in the mode it had before."""
        was_attached = self._attached is not None
        self._stop_reading()
        try:
            yield
        finally:
            if was_attached:
                self._start_reading()

    def _start_reading(self) -> None:
        if self._keyboard is None or self._attached is not None:
            return
        prepare_input(self._keyboard)
        with ExitStack() as stack:
            stack.enter_context(self._keyboard.raw_mode())
            stack.enter_context(self._keyboard.attach(self._read_keys))
            self._attached = stack.pop_all()
        if self._write is not None:
            self._write(_ENABLE_BRACKETED_PASTE + (_ENABLE_FOCUS_REPORTS if self._on_focus else ""))
        if early := pop_saved_text():
            self._typed.line.insert(early)
            if self._on_change is not None:
                self._on_change()
        self._handle_keys(get_typeahead(self._keyboard))  # read together with the end of the line before

    def _stop_reading(self) -> None:
        if self._attached is None or self._keyboard is None:
            return
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        attached, self._attached = self._attached, None
        attached.close()
        if self._write is not None:
            self._write(_DISABLE_BRACKETED_PASTE + (_DISABLE_FOCUS_REPORTS if self._on_focus else ""))
        self._handle_keys(self._keyboard.flush_keys())

    def _read_keys(self) -> None:
        keyboard = self._keyboard
        if keyboard is None:
            return
        self._handle_keys(keyboard.read_keys())
        if self._flush is not None:
            self._flush.cancel()
        if keyboard.closed:
            self._stop_reading()
        elif self._attached is not None:
            self._flush = asyncio.get_running_loop().call_later(ESCAPE_WAIT_S, self._flush_keys)

    def _flush_keys(self) -> None:
        self._flush = None
        if self._keyboard is not None:
            self._handle_keys(self._keyboard.flush_keys())

    def _handle_keys(self, presses: Iterable[KeyPress]) -> None:
        """Handle key presses. Esc directly followed by another key in one read is Alt with that key, no interrupt."""
        keys = list(presses)
        typed = False
        for index, press in enumerate(keys):
            follower = keys[index + 1].key if index + 1 < len(keys) else Keys.Escape
            after_escape = index > 0 and keys[index - 1].key == Keys.Escape
            if press.key == Keys.ControlC or (press.key == Keys.Escape and follower == Keys.Escape):
                self._on_interrupt()
            elif isinstance(press.key, Keys) and (act := self._hotkeys.get(press.key.value)) is not None:
                act()
            elif press.key == Keys.Ignore:
                if self._on_focus is not None and press.data in (_FOCUS_IN, _FOCUS_OUT):
                    self._on_focus(press.data == _FOCUS_IN)
            elif press.key not in (Keys.Escape, Keys.CPRResponse):
                typed = True
                self._typed_at = time.monotonic()
                self._typed.handle_key(press, alt=after_escape)
        if typed and self._on_change is not None:
            self._on_change()


def _open_tty_input(stdin: TextIO | None) -> Input | None:
    stream = stdin if stdin is not None else sys.stdin
    if stream is None or not stream.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return None
    # The prompt line reads the process's own input too, so a half-received key sequence is continued there.
    return get_app_session().input if stdin is None else create_input(stream)
