"""The input line for screen readers, controlled by keys through a pipe: the output is all there is."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input

from clio.ui.completer import LineCompleter
from clio.ui.keyboard import WaitingText
from clio.ui.reader.prompt import ReaderLine
from tests.support.waiting import wait_until_async

FILES = ["clio/app.py", "clio/apply.py", "docs/index.md"]
PASTE = "\x1b[200~{}\x1b[201~"


class Held:
    """One queued message since a turn was stopped."""

    def __init__(self) -> None:
        self.texts = ["then test"]

    def list_waiting(self) -> Sequence[WaitingText]:
        return [WaitingText("queued 1", text) for text in self.texts]

    def pop_newest(self) -> str:
        return self.texts.pop()

    def has_just_stopped(self) -> bool:
        return False

    def release_all(self) -> bool:
        released = bool(self.texts)
        self.texts.clear()
        return released


class Talk:
    """A line and its keyboard. `see` waits until text was written."""

    def __init__(self, keys: PipeInput, *, vi: bool = False, held: Held | None = None) -> None:
        self.keys = keys
        self.stream = io.StringIO()
        self.line = ReaderLine(
            self.stream,
            lambda: (80, 24),
            history=InMemoryHistory(["git status", "make test", "git push"]),
            completer=LineCompleter(lambda: None, lambda: FILES),
            status=lambda: ("model m", "approval mode ask"),
            input=keys,
            vi=vi,
            held=held,
        )

    async def see(self, text: str) -> None:
        await wait_until_async(lambda: text in self.written)

    async def type(self, keys: str, seen: str) -> None:
        self.keys.send_text(keys)
        await self.see(seen)

    @property
    def written(self) -> str:
        """All output; the switch for pastes draws nothing."""
        return self.stream.getvalue().replace("\x1b[?2004h", "").replace("\x1b[?2004l", "")


def talk(drive: Callable[[Talk], Awaitable[None]], **options: object) -> tuple[str, str]:
    """Return what `read` gave and the output. drive: types while the line is read."""

    async def run() -> tuple[str, str]:
        with create_pipe_input() as keys:
            user = Talk(keys, **options)  # pyright: ignore[reportArgumentType]
            driving = asyncio.create_task(drive(user))  # pyright: ignore[reportArgumentType]
            read = await user.line.read()
            await driving
            return read, user.written

    return asyncio.run(asyncio.wait_for(run(), 10))


def test_a_line_is_echoed_and_nothing_else_is_written() -> None:
    async def drive(user: Talk) -> None:
        await user.type("abx", "you: abx")
        await user.type("\x7f", "\b \b")
        await user.type("c", " \bc")
        user.keys.send_text("\r")

    assert talk(drive) == ("abc", "you: abx\b \bc\n")


def test_earlier_lines_are_printed_on_their_own_line() -> None:
    async def drive(user: Talk) -> None:
        await user.see("you: ")
        await user.type("\x1b[A", "you: git push")
        await user.type("\x1b[A", "you: make test")
        user.keys.send_text("\r")

    assert talk(drive) == ("make test", "you: git push\nyou: make test\n")


def test_tab_completes_the_unique_part_and_prints_the_rest() -> None:
    async def drive(user: Talk) -> None:
        await user.type("see clio/a", "clio/a")
        await user.type("\t", "2 completions: clio/app.py, clio/apply.py")
        await user.type("l\t", "you: see clio/apply.py")
        await user.type(" zzz\t", "no completions")
        user.keys.send_text("\r")

    read, written = talk(drive)
    assert read == "see clio/apply.py zzz"
    assert "you: see clio/app" in written


def test_ctrl_r_cycles_through_matching_lines_and_escape_leaves() -> None:
    async def drive(user: Talk) -> None:
        await user.type("git", "you: git")
        await user.type("\x12", "history 1 of 2, Escape to cancel\nyou: git ")
        await user.type("\x12", "history 2 of 2, Escape to cancel\nyou: git ")
        await user.type("\x07!", "!")
        user.keys.send_text("\r")

    read, written = talk(drive)
    assert read == "git!"
    assert {"you: git push", "you: git status"} <= {line.partition("\b")[0] for line in written.splitlines()}


def test_no_matching_earlier_line_is_reported() -> None:
    async def drive(user: Talk) -> None:
        await user.type("qqq", "you: qqq")
        await user.type("\x12", "no match in the history\nyou: qqq")
        user.keys.send_text("\r")

    assert talk(drive)[0] == "qqq"


def test_enter_on_an_empty_line_prints_the_status() -> None:
    async def drive(user: Talk) -> None:
        await user.see("you: ")
        await user.type("\r", "model m, approval mode ask\nyou: ")
        user.keys.send_text("x\r")

    assert talk(drive) == ("x", "you: \nmodel m, approval mode ask\nyou: x\n")


def test_queued_messages_are_printed_before_the_line_and_enter_sends_them() -> None:
    async def drive(user: Talk) -> None:
        await user.see("you: ")
        user.keys.send_text("\r")

    written = "queued 1: then test\nEnter to send these, Up to edit the last\nyou: \n"
    assert talk(drive, held=Held()) == ("", written)


def test_the_vi_mode_is_printed_before_the_line() -> None:
    async def drive(user: Talk) -> None:
        await user.type("abc", "you: abc")
        await user.type("\x1b", "vi normal: abc")
        await user.type("0x", "bc")
        await user.type("A!", "you: bc!")
        user.keys.send_text("\r")

    assert talk(drive, vi=True)[0] == "bc!"


def test_an_open_bracket_continues_in_a_numbered_line() -> None:
    async def drive(user: Talk) -> None:
        await user.type("f(", "you: f(")
        await user.type("\r", "open (, Enter on an empty line to send\nline 2 of 2: ")
        user.keys.send_text("x)\r")

    assert talk(drive)[0] == "f(\nx)"


def test_a_paste_is_one_line_and_ctrl_c_empties_it() -> None:
    async def drive(user: Talk) -> None:
        await user.type(PASTE.format("a\nb"), "line 2 of 2: b")
        await user.type("\x03", "you: ")
        await user.type("\x03", "Ctrl-D to exit")
        user.keys.send_text("x\r")

    assert talk(drive)[0] == "x"


def test_output_is_printed_between_the_line_and_its_repetition() -> None:
    async def drive(user: Talk) -> None:
        await user.type("ab", "you: ab")
        await user.line.print_above(lambda: print("news", file=user.stream))
        await user.see("news\nyou: ab")
        user.line.announce_change("approval mode edits")
        await user.see("approval mode edits\nyou: ab")
        user.keys.send_text("c\r")

    assert talk(drive) == ("abc", "you: ab\nnews\nyou: ab\napproval mode edits\nyou: abc\n")


@pytest.mark.parametrize(("keys", "word", "agreed"), [("y", "", True), ("n", "", False), ("wipe\r", "wipe", True)])
def test_a_yes_is_a_key_or_a_word(keys: str, word: str, agreed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.ui.keyboard._saved_at", -1e9)  # otherwise what the test before typed may seem to go on

    async def run() -> bool:
        with create_pipe_input() as pipe:
            user = Talk(pipe)
            asked = asyncio.create_task(user.line.confirm("Forget it?", word))
            await user.see("Forget it?")  # what was typed before it is part of the next message
            pipe.send_text(keys)
            return await asked

    assert asyncio.run(asyncio.wait_for(run(), 10)) is agreed


def test_ctrl_d_on_an_empty_line_ends_the_input() -> None:
    async def drive(user: Talk) -> None:
        await user.type("", "you: ")
        user.keys.send_text("\x04")

    with pytest.raises(EOFError):
        talk(drive)
