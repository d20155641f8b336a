"""The line a person types on where the terminal can only print: no editing but its own, no escapes."""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TextIO

from clio.ui.early_input import keep_bytes, keep_early_lines, take_kept_text
from clio.ui.line.rules import open_part

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
