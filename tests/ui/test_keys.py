"""Keys during a turn, in a real pseudo-terminal."""

import asyncio
import os
import termios
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TextIO

import pytest
from prompt_toolkit.input.vt100_parser import Vt100Parser

from clio.ui import keyboard
from clio.ui.keyboard import ESCAPE_WAIT_S, KeyWatch, TypedKeys
from tests.support.rows import each_row
from tests.support.waiting import wait_until_async

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")


@contextmanager
def pty() -> Generator[tuple[int, TextIO]]:
    """Yield both ends: the one a user types at, and the one a program reads."""
    terminal_fd, program = os.openpty()
    with os.fdopen(program, "r", encoding="utf-8") as stdin:
        try:
            yield terminal_fd, stdin
        finally:
            os.close(terminal_fd)


def mode(stdin: TextIO) -> list[object]:
    return termios.tcgetattr(stdin.fileno())


class Watched:
    """A running key watcher and the keys it has received."""

    def __init__(self, terminal_fd: int, stdin: TextIO) -> None:
        self.terminal_fd = terminal_fd
        self.stdin = stdin
        self.interrupts = 0
        self.shown = ""
        self.folds = 0
        self.written: list[str] = []
        self.typed = TypedKeys()
        self.watch = KeyWatch(
            self.interrupt,
            typed=self.typed,
            on_change=self.show,
            hotkeys={"c-t": self.fold},
            write=self.written.append,
            stdin=stdin,
        )

    def interrupt(self) -> None:
        self.interrupts += 1

    def fold(self) -> None:
        self.folds += 1

    def show(self) -> None:
        self.shown = self.typed.line.text

    def press(self, keys: str) -> None:
        os.write(self.terminal_fd, keys.encode())


def run(play: Callable[[Watched], Awaitable[None]]) -> Watched:
    """Run a function with a watcher; the terminal must be restored afterwards."""
    with pty() as (terminal_fd, stdin):
        watched = Watched(terminal_fd, stdin)
        before = mode(stdin)

        async def go() -> None:
            async with watched.watch:
                assert mode(stdin) != before
                await play(watched)

        asyncio.run(go())
        assert mode(stdin) == before
        return watched


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_interrupt(key: str) -> None:
    async def play(watched: Watched) -> None:
        watched.press(key)
        await wait_until_async(lambda: watched.interrupts == 1)

    run(play)


@each_row(
    ("keys", "typed"),
    [
        ("\x1b[A\x1b[D", ""),
        ("\x1bOP", ""),
        ("\x1b[200~a\x1b[201~", "a"),
        ("\x1bx", ""),
        ("a\x1b\r", "a\n"),
        ("\x1b[3~", ""),
        ("\x1b[9;4R", ""),
    ],
)
def test_other_keys_that_begin_with_escape_do_not_interrupt(keys: str, typed: str) -> None:
    async def play(watched: Watched) -> None:
        watched.press(keys + "z")
        await wait_until_async(lambda: watched.typed.line.text.endswith("z"))
        await asyncio.sleep(2 * ESCAPE_WAIT_S)  # the timer of a delayed escape would fire before this one

    watched = run(play)
    assert (watched.interrupts, watched.typed.line.text) == (0, f"{typed}z")


def test_a_paste_of_a_megabyte_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pasted = "".join(f"line {number}: some words of a log\n" for number in range(33_000))
    looked_at: list[int] = []
    feed = Vt100Parser.feed

    def counting(parser: Vt100Parser, data: str) -> None:
        looked_at.append(len(getattr(parser, "_paste_buffer", "")) + len(data))
        feed(parser, data)

    monkeypatch.setattr(Vt100Parser, "feed", counting)

    async def play(watched: Watched) -> None:
        await asyncio.to_thread(_write_all, watched.terminal_fd, f"a\x1b[200~{pasted}\x1b[201~b".encode())
        await wait_until_async(lambda: watched.typed.line.text.endswith("b"))

    watched = run(play)
    assert len(pasted) > 1_000_000
    assert watched.typed.line.text == f"a{pasted}b"
    assert sum(looked_at) < 3 * len(pasted)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def test_an_arrow_key_in_pieces_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyboard, "ESCAPE_WAIT_S", 60.0)  # long enough for the rest to arrive on any machine
    pieces: list[str] = []
    feed = Vt100Parser.feed

    def note(parser: Vt100Parser, data: str) -> None:
        feed(parser, data)
        pieces.append(data)

    monkeypatch.setattr(Vt100Parser, "feed", note)

    async def play(watched: Watched) -> None:
        watched.press("\x1b")
        await wait_until_async(lambda: pieces == ["\x1b"])
        watched.press("[A!")
        await wait_until_async(lambda: watched.typed.line.text == "!")

    assert run(play).interrupts == 0


def test_typed_text_is_kept_and_can_be_edited() -> None:
    async def play(watched: Watched) -> None:
        watched.press("alsx")
        await wait_until_async(lambda: watched.shown == "alsx")
        watched.press("\x7fo 漢字\r\x1b[200~pasted\r\nlines\x1b[201~")
        await wait_until_async(lambda: watched.shown.endswith("lines"))

    watched = run(play)
    assert watched.watch.pop_text() == "also 漢字\npasted\nlines"
    assert watched.watch.pop_text() == ""


def test_a_hotkey_is_executed_and_not_typed() -> None:
    async def play(watched: Watched) -> None:
        watched.press("a\x14b")
        await wait_until_async(lambda: watched.shown == "ab")

    assert run(play).folds == 1


def test_suspending_releases_the_keyboard_and_takes_it_back() -> None:
    async def play(watched: Watched) -> None:
        raw = mode(watched.stdin)
        async with watched.watch.suspended():
            assert mode(watched.stdin) != raw
            watched.press("for somebody else\n")
            assert os.read(watched.stdin.fileno(), 100) == b"for somebody else\n"
        assert mode(watched.stdin) == raw
        assert watched.written == ["\x1b[?2004h", "\x1b[?2004l", "\x1b[?2004h"]  # bracketed paste is only on meanwhile
        watched.press("seen")
        await wait_until_async(lambda: watched.typed.line.text == "seen")
        assert watched.watch.has_typed_within(60)

    run(play)


def test_the_terminal_is_restored_after_an_error_and_a_cancellation() -> None:
    for error in (RuntimeError("boom"), asyncio.CancelledError()):
        with pty() as (terminal_fd, stdin):
            before = mode(stdin)

            async def go(terminal_fd: int = terminal_fd, stdin: TextIO = stdin, error: BaseException = error) -> None:
                async with Watched(terminal_fd, stdin).watch:
                    raise error

            with pytest.raises(type(error)):
                asyncio.run(go())
            assert mode(stdin) == before


def test_without_a_terminal_it_does_nothing() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "r", encoding="utf-8") as stdin:

        async def go() -> None:
            async with KeyWatch(lambda: None, stdin=stdin) as watch, watch.suspended():
                os.write(writer, b"untouched\n")

        asyncio.run(go())
        os.close(writer)
        assert stdin.read() == "untouched\n"
