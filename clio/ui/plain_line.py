"""The prompt line for terminals without cursor movement, and the echo of typed text on them."""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import DummyOutput

from clio.text.translation import tr
from clio.ui.keyboard import pop_saved_text, save_early_lines, save_typed_bytes
from clio.ui.line_rules import PastedTexts, find_unfinished_part
from clio.ui.painter import count_cells
from clio.ui.pipe_screen import TerminalOutput

# Bracketed paste: a paste of many lines arrives as one event.
_ENABLE_BRACKETED_PASTE, _DISABLE_BRACKETED_PASTE = "\x1b[?2004h", "\x1b[?2004l"
_BACKSPACE = "\b"


class EchoedLine:
    """Shows a line while it is edited, using printed characters and backspaces only.

    Args:
        write: prints text on the terminal.
        columns: returns the width of the terminal.
    """

    def __init__(self, write: Callable[[str], None], columns: Callable[[], int]) -> None:
        self._write = write
        self._columns = columns
        self._prompt = ""
        self._text = ""
        self._cursor = 0
        self._unprinted = ""
        """The text after the cursor, if it is not printed because backspaces could not return from its row."""
        self.is_open = False

    def show(self, prompt: str, text: str, cursor: int) -> None:
        """Show a new state of the line. prompt: the text before it. cursor: 0 to the text's length.

        Of a text with several lines only the cursor's line is shown, with its number in place of the prompt.
        """
        before = text[:cursor].split("\n")
        rows = text.split("\n")
        if len(rows) > 1:
            prompt = tr("line {count} of {count2}: ", count=len(before), count2=len(rows))
        line, column = rows[len(before) - 1], len(before[-1])
        if not self.is_open or prompt != self._prompt or not self._edit(line, column):
            self._print_line(prompt, line, column)

    def end(self) -> None:
        """End the line; nothing more is typed on it."""
        if self.is_open:
            self.is_open = False
            self._write("\n")

    def _print_line(self, prompt: str, line: str, column: int) -> None:
        self.end()
        self._prompt, self._text, self._unprinted, self.is_open = prompt, line, "", True
        if not self._is_on_one_row(line, column, len(line)):
            self._text, self._unprinted = line[:column], line[column:]
        self._write(prompt + self._text + _BACKSPACE * count_cells(self._text[column:]))
        self._cursor = column

    def _edit(self, line: str, column: int) -> bool:
        """Change the printed line to this one; False if backspaces are not enough."""
        printed = len(line) - len(self._unprinted)
        if not line.endswith(self._unprinted) or column > printed:
            return False
        keys = self._compute_edit(line[:printed], column)
        if keys is None:
            return False
        self._text, self._cursor = line[:printed], column
        if keys:
            self._write(keys)
        return True

    def _compute_edit(self, new: str, column: int) -> str | None:
        """Return what to write to change the line; None if the printed text has to be replaced by other text."""
        old, cursor = self._text, self._cursor
        if new == old:
            return self._move_cursor(old, cursor, column)
        start = min(_count_common_prefix(old, new), cursor, column)
        end = _count_common_prefix(old[start:][::-1], new[start:][::-1])
        removed, inserted = old[start : len(old) - end], new[start : len(new) - end]
        if removed and inserted:
            return None
        move_to_start = self._move_cursor(old, cursor, start)
        move_to_cursor = self._move_cursor(new, len(new), column)
        if (
            move_to_start is None
            or move_to_cursor is None
            or (removed and not self._is_on_one_row(old, start, len(old)))
        ):
            return None
        return (
            move_to_start
            + new[start:]
            + " " * count_cells(removed)
            + _BACKSPACE * count_cells(removed)
            + move_to_cursor
        )

    def _move_cursor(self, text: str, start: int, end: int) -> str | None:
        """Return the characters that move within a text: forward by writing it again, back only on the same row."""
        if end >= start:
            return text[start:end]
        return _BACKSPACE * count_cells(text[end:start]) if self._is_on_one_row(text, end, start) else None

    def _is_on_one_row(self, text: str, first: int, second: int) -> bool:
        """Whether two positions are on one row of the terminal: a backspace cannot move to the row above."""
        columns = max(self._columns(), 1)
        return len({count_cells(self._prompt + text[:position]) // columns for position in (first, second)}) == 1


class EchoOutput(DummyOutput):
    """Discards what prompt_toolkit draws; the line is shown by an `EchoedLine`."""

    def __init__(self, output: TerminalOutput, size: Callable[[], tuple[int, int]]) -> None:
        self._output = output
        self._size = size

    def get_size(self) -> Size:
        """Return the terminal's size."""
        columns, rows = self._size()
        return Size(rows=rows, columns=columns)

    def enable_bracketed_paste(self) -> None:
        """Ask the terminal to mark pastes; prints nothing visible."""
        self._output.write(_ENABLE_BRACKETED_PASTE)

    def disable_bracketed_paste(self) -> None:
        """Ask the terminal to stop marking pastes."""
        self._output.write(_DISABLE_BRACKETED_PASTE)


def _count_common_prefix(first: str, second: str) -> int:
    """Count the characters that two texts have in common at their beginning."""
    max_length = min(len(first), len(second))
    return next((index for index in range(max_length) if first[index] != second[index]), max_length)


_CONTINUATION_PROMPT = "... "


class PlainLine:
    """Reads messages with the terminal's own line editing. Same interface as `PromptLine`."""

    def __init__(self, *, text: str, output: TextIO, fd: int = 0) -> None:
        self.prompt = self._text = text
        self._output = output
        self._fd = fd
        self._buffer = b""
        self._reading: asyncio.Future[str] | None = None
        self.pastes = PastedTexts()

    async def read(
        self,
        *,
        default: str = "",
        on_start: Callable[[], None] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> str:
        """Return the next message. Raises EOFError at the end of input. default: its beginning, already entered."""
        if on_start:
            on_start()
        message = ""
        while not message.strip():
            default += pop_saved_text()
            self._write(self._text + default)
            if on_ready:
                on_ready()
                on_ready = None
            message = default + await self._read_raw_line()
            default = ""
        while unfinished := find_unfinished_part(message):
            self._write(_CONTINUATION_PROMPT)
            message = (
                (message.removesuffix("\\") if unfinished == "\\" else message) + "\n" + await self._read_raw_line()
            )
        return message.rstrip()

    def pop_erased_line(self) -> str:
        """Return "": no line is erased here."""
        return ""

    async def read_line(self, prompt: str) -> str:
        """Return one line, as typed, after a prompt of its own. Raises EOFError at the end of input."""
        self.keep_early_input()  # what was typed before the prompt does not answer it
        self._write(prompt)
        return await self._read_raw_line()

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no; only "y" and "yes" mean yes or, if a word is given, only that word."""
        self.keep_early_input()
        self._write(tr("{question} [type {word}] ", question=question, word=word) if word else f"{question} [y/N] ")
        try:
            answer = (await self._read_raw_line()).strip()
            return answer == word if word else answer.lower() in ("y", "yes")
        except EOFError:
            return False

    def watch_keys(self, on_key: Callable[[], None]) -> None:
        """Do nothing: the terminal passes on no keys before the line is complete."""

    @property
    def is_reading(self) -> bool:
        """Whether a line is being typed."""
        return self._reading is not None

    def bind_key(
        self, key: str, act: Callable[[], None], *, in_menu: bool = True, when: Callable[[], bool] | None = None
    ) -> None:
        """Do nothing, for the same reason as `watch_keys`."""

    async def print_above(self, show: Callable[[], None], *, in_thread: bool = False) -> None:
        """Call `show`, which prints; text being typed stays above the output."""
        show()

    def announce_change(self, text: str) -> None:
        """Do nothing: no key changes a value here."""

    def redraw(self) -> None:
        """Do nothing: no line is drawn here."""

    def prepare_completions(self) -> None:
        """Do nothing: there are no completions here."""

    def stop_reading(self, error: BaseException, *, erase: bool = False) -> str:
        """End the running `read` with this error; does nothing if none runs.

        What was typed stays in the terminal, so "" is returned.
        """
        if self._reading is not None and not self._reading.done():
            self._reading.set_exception(error)
        return ""

    def handle_interrupt(self) -> None:
        """Handle Ctrl-C while a line is read: the terminal has discarded the line; print how to exit."""
        if self._reading is not None:
            self._write(tr("\nCtrl-D to exit\n{text}", text=self._text))

    def keep_early_input(self) -> None:
        """Save text typed so far for the next message, so that it does not answer a question."""
        if os.isatty(self._fd):
            early, self._buffer = self._buffer, b""
            save_typed_bytes(early)
            save_early_lines(self._fd)

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()

    async def _read_raw_line(self) -> str:
        """Return one line without its end; the last line of the input may have no newline."""
        while b"\n" not in self._buffer:
            data = await self._read_bytes()
            if not data:
                if not self._buffer:
                    self._write("\n")
                    raise EOFError
                break
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", errors="replace").rstrip("\r")

    async def _read_bytes(self) -> bytes:
        if sys.platform == "win32":  # Windows' event loop cannot watch a console
            return await asyncio.to_thread(os.read, self._fd, 65536)
        loop = asyncio.get_running_loop()
        self._reading = waiting = loop.create_future()
        loop.add_reader(self._fd, lambda: waiting.done() or waiting.set_result(""))
        try:
            await waiting
        finally:
            loop.remove_reader(self._fd)
            self._reading = None
        return os.read(self._fd, 65536)
