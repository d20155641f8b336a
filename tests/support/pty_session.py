"""A program in a pseudo-terminal: type into it, read its screen, wait for text on it."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

from tests.support.terminal_picture import PictureScreen, screen_lines

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "alt-enter": "\x1b\r",
    "ctrl-c": "\x03",
    "ctrl-d": "\x04",
    "ctrl-r": "\x12",
    "shift-tab": "\x1b[Z",
}


class PtySession:
    """One running program and its terminal.

    The terminal answers cursor-position queries, so prompt_toolkit behaves as in a real one. Output is read only while
    one of the waiting or reading methods runs. Use it as a context manager, which ends the program.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        lines: int = 24,
        timeout_s: float = 20.0,
        forked: bool = False,
        setup: str = "",
    ) -> None:
        """forked: `argv` are the arguments of a clio in tests/support/forked_clio.py; `setup` is code for it."""
        self.timeout_s = timeout_s
        self.cwd = cwd
        self.raw: bytearray = bytearray()
        self.screen = PictureScreen(columns, lines, reply=self.send)
        self._stream = pyte.ByteStream(self.screen)
        whole_env = {"TERM": "xterm-256color", **env}
        if forked:
            from tests.support.forked_clio import ForkedTerminal

            size = {"lines": lines, "columns": columns}
            self._child = ForkedTerminal(argv, cwd, whole_env, **size, timeout_s=timeout_s, setup=setup)
        else:
            self._child = pexpect.spawn(
                argv[0],
                list(argv[1:]),
                cwd=str(cwd),
                env=whole_env,  # pyright: ignore[reportArgumentType]
                dimensions=(lines, columns),
                timeout=timeout_s,
                echo=True,
            )
        self._child.delaybeforesend = None

    def __enter__(self) -> "PtySession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._child.pid

    def send(self, text: str) -> None:
        """Type this text as it is; "\\r" is Enter."""
        self._child.send(text)

    def key(self, name: str) -> None:
        """Press one key of KEYS."""
        self.send(KEYS[name])

    def line(self, text: str) -> None:
        """Type this text and press Enter."""
        self.send(text + "\r")

    def take_in(self, seconds: float = 0.0) -> bool:
        """Read the available output, waiting at most `seconds` for the first byte. False if the program has ended."""
        try:
            data = self._child.read_nonblocking(65536, seconds)
            while True:
                self.raw += data
                self._stream.feed(data)
                data = self._child.read_nonblocking(65536, 0)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False

    def take_raw(self, seconds: float = 0.0) -> None:
        """Read once into `raw`, without drawing or answering queries until `draw`. For measurements."""
        with suppress(pexpect.TIMEOUT):
            data: bytes = self._child.read_nonblocking(65536, seconds)
            self.raw += data

    def draw(self, data: bytes) -> None:
        """Draw what `take_raw` has read."""
        self._stream.feed(data)

    @property
    def lines(self) -> list[str]:
        """The rows of the screen, without trailing blanks."""
        self.take_in()
        return screen_lines(self.screen)

    @property
    def text(self) -> str:
        """The screen as one text, without blank rows at its end."""
        return "\n".join(self.lines).rstrip()

    @property
    def everything(self) -> str:
        """Scrollback and screen as one text."""
        self.take_in()
        return "\n".join([*self.screen.scrollback(), *screen_lines(self.screen)]).rstrip()

    def wait_for(self, pattern: str, timeout_s: float | None = None, *, regex: bool = False) -> str:
        """Wait until scrollback or screen holds the text; returns the screen. Raises AssertionError showing it."""
        return self._wait(pattern, timeout_s, regex, there=True)

    def wait_for_screen(self, pattern: str, timeout_s: float | None = None) -> str:
        """Wait until the screen (scrollback left out) matches the regular expression; returns the screen."""
        return self._wait(pattern, timeout_s, True, there=True, in_scrollback=False)

    def wait_gone(self, pattern: str, timeout_s: float | None = None, *, regex: bool = False) -> str:
        """Wait until the screen (scrollback left out) no longer holds the text; returns the screen."""
        return self._wait(pattern, timeout_s, regex, there=False, in_scrollback=False)

    def _wait(
        self, pattern: str, timeout_s: float | None, regex: bool, *, there: bool, in_scrollback: bool = True
    ) -> str:
        needle = re.compile(pattern if regex else re.escape(pattern))
        end = time.monotonic() + (timeout_s or self.timeout_s)
        alive, read = True, -1
        while True:
            self.take_in()
            if read != len(self.raw) and bool(needle.search(self.everything if in_scrollback else self.text)) is there:
                return self.text
            read = len(self.raw)
            if not alive or time.monotonic() > end:
                ended = "" if alive else " (the program has ended)"
                raise AssertionError(f"waited for {pattern!r}, there={there}{ended}; the screen:\n{self.everything}")
            alive = self.take_in(0.05)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size; the program gets SIGWINCH."""
        self.take_in()
        self.screen.resize(lines, columns)
        self._child.setwinsize(lines, columns)

    def wait_exit(self, timeout_s: float | None = None) -> int:
        """Wait until the program ends; return its exit code, or minus the signal that killed it."""
        end = time.monotonic() + (timeout_s or self.timeout_s)
        while self.take_in(0.05):
            if time.monotonic() > end:
                raise AssertionError(f"the program still runs; the screen:\n{self.everything}")
        self._child.wait()
        if self._child.exitstatus is not None:
            return self._child.exitstatus
        return -(self._child.signalstatus or 0)

    def close(self) -> None:
        """End the program, by SIGKILL if necessary."""
        self._child.close(force=True)
