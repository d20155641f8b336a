"""The line the user types on where the terminal can only print, and the echo of what is typed."""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import DummyOutput

from clio.ui.keyboard import keep_bytes, keep_early_lines, take_kept_text
from clio.ui.line_rules import open_part
from clio.ui.pipe_screen import TerminalOutput
from clio.ui.text_width import cells_of

_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"  # so that a paste of many lines arrives as one
_BACK = "\b"


class EchoedLine:
    """Shows each state of a line that is told. write: takes text for the terminal. columns: those of the terminal."""

    def __init__(self, write: Callable[[str], None], columns: Callable[[], int]) -> None:
        self._write = write
        self._columns = columns
        self._lead = ""
        self._text = ""
        self._cursor = 0
        self._behind = ""
        """What stands behind the cursor of a line too long to go back in, and is not written."""
        self.is_open = False

    def show(self, lead: str, text: str, cursor: int) -> None:
        """The line is this now. lead: what stands before it. cursor: 0 to the text's length.

        Of a text of several lines the one the cursor is in is shown, and its number in place of the lead.
        """
        before = text[:cursor].split("\n")
        rows = text.split("\n")
        if len(rows) > 1:
            lead = f"line {len(before)} of {len(rows)}: "
        line, column = rows[len(before) - 1], len(before[-1])
        if not self.is_open or lead != self._lead or not self._edit(line, column):
            self._anew(lead, line, column)

    def end(self) -> None:
        """Nothing more is typed on this line."""
        if self.is_open:
            self.is_open = False
            self._write("\n")

    def _anew(self, lead: str, line: str, column: int) -> None:
        self.end()
        self._lead, self._text, self._behind, self.is_open = lead, line, "", True
        if not self._on_one_row(line, column, len(line)):
            self._text, self._behind = line[:column], line[column:]
        self._write(lead + self._text + _BACK * cells_of(self._text[column:]))
        self._cursor = column

    def _edit(self, line: str, column: int) -> bool:
        """Bring the line on the terminal to this; False where backspaces cannot."""
        shown = len(line) - len(self._behind)
        if not line.endswith(self._behind) or column > shown:
            return False
        keys = self._keys(line[:shown], column)
        if keys is None:
            return False
        self._text, self._cursor = line[:shown], column
        if keys:
            self._write(keys)
        return True

    def _keys(self, new: str, column: int) -> str | None:
        """What to write so that the line is this one; None where something else stands there in part."""
        old, here = self._text, self._cursor
        if new == old:
            return self._move(old, here, column)
        start = min(_common(old, new), here, column)
        end = _common(old[start:][::-1], new[start:][::-1])
        gone, come = old[start : len(old) - end], new[start : len(new) - end]
        if gone and come:
            return None
        there = self._move(old, here, start)
        back = self._move(new, len(new), column)
        if there is None or back is None or (gone and not self._on_one_row(old, start, len(old))):
            return None
        return there + new[start:] + " " * cells_of(gone) + _BACK * cells_of(gone) + back

    def _move(self, text: str, here: int, there: int) -> str | None:
        """From one place of a text to another: forward by writing what stands there, back on the same row only."""
        if there >= here:
            return text[here:there]
        return _BACK * cells_of(text[there:here]) if self._on_one_row(text, there, here) else None

    def _on_one_row(self, text: str, one: int, other: int) -> bool:
        """Whether two places stand on one row of the terminal: no backspace leads to the row above."""
        columns = max(self._columns(), 1)
        return len({cells_of(self._lead + text[:place]) // columns for place in (one, other)}) == 1


class EchoOutput(DummyOutput):
    """For prompt_toolkit: it may draw what it wants, and nothing comes of it. The line is shown by an `EchoedLine`."""

    def __init__(self, output: TerminalOutput, size: Callable[[], tuple[int, int]]) -> None:
        self._output = output
        self._size = size

    def get_size(self) -> Size:
        """The terminal's own."""
        columns, rows = self._size()
        return Size(rows=rows, columns=columns)

    def enable_bracketed_paste(self) -> None:
        """Ask the terminal to mark pastes; nothing is seen of that."""
        self._output.write(_PASTES_ON)

    def disable_bracketed_paste(self) -> None:
        """No longer."""
        self._output.write(_PASTES_OFF)


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    length = min(len(one), len(other))
    return next((place for place in range(length) if one[place] != other[place]), length)


_MORE = "... "


class PlainLine:
    """Reads one message after another in the terminal's own line mode. Same use as `PromptLine`."""

    def __init__(self, *, text: str, output: TextIO, file: int = 0) -> None:
        self.prompt = self._text = text
        self._output = output
        self._file = file
        self._buffer = b""
        self._reading: asyncio.Future[str] | None = None

    async def read(
        self,
        *,
        default: str = "",
        on_start: Callable[[], None] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> str:
        """The next message. Raises EOFError at the end of input. default: how it begins already."""
        if on_start:
            on_start()
        message = ""
        while not message.strip():
            default += take_kept_text()
            self._write(self._text + default)
            if on_ready:
                on_ready()
                on_ready = None
            message = default + await self._line()
            default = ""
        while lacking := open_part(message):
            self._write(_MORE)
            message = (message.removesuffix("\\") if lacking == "\\" else message) + "\n" + await self._line()
        return message.rstrip()

    async def answer(self, prompt: str) -> str:
        """One line, as it is typed, after a prompt of its own. Raises EOFError at the end of input."""
        self._write(prompt)
        return await self._line()

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no; everything but "y" and "yes" is no, and where a word is named, everything but that."""
        self.keep_early_input()
        self._write(f"{question} [type {word}] " if word else f"{question} [y/N] ")
        try:
            answer = (await self._line()).strip()
            return answer == word if word else answer.lower() in ("y", "yes")
        except EOFError:
            return False

    def watch_keys(self, on_key: Callable[[], None]) -> None:
        """Nothing: the terminal keeps the keys until the line is whole."""

    @property
    def is_reading(self) -> bool:
        """Whether a line is being typed."""
        return self._reading is not None

    def bind(self, key: str, act: Callable[[], None], *, in_menu: bool = True) -> None:
        """Nothing, for the same reason."""

    async def print_above(self, show: Callable[[], None], *, in_thread: bool = False) -> None:
        """Let `show` print; what was being typed stands above it then."""
        show()

    def changed(self, words: str) -> None:
        """Nothing: no key changes anything here."""

    def redraw(self) -> None:
        """Nothing is drawn here."""

    def warm_up(self) -> None:
        """Nothing is offered here."""

    def stop(self, error: BaseException) -> None:
        """End the running `read` with this error; nothing where none runs."""
        if self._reading is not None and not self._reading.done():
            self._reading.set_exception(error)

    def interrupt(self) -> None:
        """Ctrl-C while a line is read: the terminal has thrown it away, and says how to leave."""
        if self._reading is not None:
            self._write(f"\nCtrl-D leaves\n{self._text}")

    def keep_early_input(self) -> None:
        """Let what was typed so far answer no question: the next message begins with it."""
        if os.isatty(self._file):
            early, self._buffer = self._buffer, b""
            keep_bytes(early)
            keep_early_lines(self._file)

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()

    async def _line(self) -> str:
        """One line without its end; the last may lack it."""
        while b"\n" not in self._buffer:
            data = await self._more()
            if not data:
                if not self._buffer:
                    self._write("\n")
                    raise EOFError
                break
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", errors="replace").rstrip("\r")

    async def _more(self) -> bytes:
        if sys.platform == "win32":  # its event loop cannot watch a console
            return await asyncio.to_thread(os.read, self._file, 65536)
        loop = asyncio.get_running_loop()
        self._reading = waiting = loop.create_future()
        loop.add_reader(self._file, lambda: waiting.done() or waiting.set_result(""))
        try:
            await waiting
        finally:
            loop.remove_reader(self._file)
            self._reading = None
        return os.read(self._file, 65536)
