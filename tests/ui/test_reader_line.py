"""The line, read aloud, driven by keys through a pipe: what is written is all there is."""

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
    """One text that waits since a turn was stopped."""

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
    """A line and its keyboard. `see` waits until something was written."""

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
        """All of it; the switch for pastes draws nothing."""
        return self.stream.getvalue().replace("\x1b[?2004h", "").replace("\x1b[?2004l", "")


def talk(drive: Callable[[Talk], Awaitable[None]], **options: object) -> tuple[str, str]:
    """What `read` gave, and what was written. drive: types; the line is being read meanwhile."""

    async def run() -> tuple[str, str]:
        with create_pipe_input() as keys:
            person = Talk(keys, **options)  # pyright: ignore[reportArgumentType]
            driving = asyncio.create_task(drive(person))  # pyright: ignore[reportArgumentType]
            read = await person.line.read()
            await driving
            return read, person.written

    return asyncio.run(asyncio.wait_for(run(), 10))


def test_a_line_is_echoed_and_nothing_else_is_written() -> None:
    async def drive(person: Talk) -> None:
        await person.type("abx", "you: abx")
        await person.type("\x7f", "\b \b")
        await person.type("c", " \bc")
        person.keys.send_text("\r")

    assert talk(drive) == ("abc", "you: abx\b \bc\n")


def test_earlier_lines_are_reported_on_a_line_of_their_own() -> None:
    async def drive(person: Talk) -> None:
        await person.see("you: ")
        await person.type("\x1b[A", "you: git push")
        await person.type("\x1b[A", "you: make test")
        person.keys.send_text("\r")

    assert talk(drive) == ("make test", "you: git push\nyou: make test\n")


def test_tab_completes_what_is_sure_and_says_the_rest() -> None:
    async def drive(person: Talk) -> None:
        await person.type("see clio/a", "clio/a")
        await person.type("\t", "2 completions: clio/app.py, clio/apply.py")
        await person.type("l\t", "you: see clio/apply.py")
        await person.type(" zzz\t", "no completions")
        person.keys.send_text("\r")

    read, written = talk(drive)
    assert read == "see clio/apply.py zzz"
    assert "you: see clio/app" in written


def test_ctrl_r_goes_through_the_lines_that_fit_and_escape_leaves() -> None:
    async def drive(person: Talk) -> None:
        await person.type("git", "you: git")
        await person.type("\x12", "history 1 of 2, Escape to cancel\nyou: git ")
        await person.type("\x12", "history 2 of 2, Escape to cancel\nyou: git ")
        await person.type("\x07!", "!")
        person.keys.send_text("\r")

    read, written = talk(drive)
    assert read == "git!"
    assert {"you: git push", "you: git status"} <= {line.partition("\b")[0] for line in written.splitlines()}


def test_no_earlier_line_fits() -> None:
    async def drive(person: Talk) -> None:
        await person.type("qqq", "you: qqq")
        await person.type("\x12", "no match in the history\nyou: qqq")
        person.keys.send_text("\r")

    assert talk(drive)[0] == "qqq"


def test_enter_on_an_empty_line_says_how_things_are() -> None:
    async def drive(person: Talk) -> None:
        await person.see("you: ")
        await person.type("\r", "model m, approval mode ask\nyou: ")
        person.keys.send_text("x\r")

    assert talk(drive) == ("x", "you: \nmodel m, approval mode ask\nyou: x\n")


def test_what_waits_is_reported_before_the_line_and_enter_sends_it() -> None:
    async def drive(person: Talk) -> None:
        await person.see("you: ")
        person.keys.send_text("\r")

    written = "queued 1: then test\nEnter to send these, Up to edit the last\nyou: \n"
    assert talk(drive, held=Held()) == ("", written)


def test_the_mode_of_vi_is_before_the_line() -> None:
    async def drive(person: Talk) -> None:
        await person.type("abc", "you: abc")
        await person.type("\x1b", "vi normal: abc")
        await person.type("0x", "bc")
        await person.type("A!", "you: bc!")
        person.keys.send_text("\r")

    assert talk(drive, vi=True)[0] == "bc!"


def test_an_open_bracket_goes_on_in_a_numbered_line() -> None:
    async def drive(person: Talk) -> None:
        await person.type("f(", "you: f(")
        await person.type("\r", "open (, Enter on an empty line to send\nline 2 of 2: ")
        person.keys.send_text("x)\r")

    assert talk(drive)[0] == "f(\nx)"


def test_a_paste_is_one_line_and_ctrl_c_empties_it() -> None:
    async def drive(person: Talk) -> None:
        await person.type(PASTE.format("a\nb"), "line 2 of 2: b")
        await person.type("\x03", "you: ")
        await person.type("\x03", "Ctrl-D to exit")
        person.keys.send_text("x\r")

    assert talk(drive)[0] == "x"


def test_what_is_printed_meanwhile_is_between_the_line_and_the_line_again() -> None:
    async def drive(person: Talk) -> None:
        await person.type("ab", "you: ab")
        await person.line.print_above(lambda: print("news", file=person.stream))
        await person.see("news\nyou: ab")
        person.line.announce_change("approval mode edits")
        await person.see("approval mode edits\nyou: ab")
        person.keys.send_text("c\r")

    assert talk(drive) == ("abc", "you: ab\nnews\nyou: ab\napproval mode edits\nyou: abc\n")


@pytest.mark.parametrize(("keys", "word", "agreed"), [("y", "", True), ("n", "", False), ("wipe\r", "wipe", True)])
def test_a_yes_is_a_key_or_a_word(keys: str, word: str, agreed: bool) -> None:
    async def run() -> tuple[bool, str]:
        with create_pipe_input() as pipe:
            person = Talk(pipe)
            pipe.send_text(keys)
            return await person.line.confirm("Forget it?", word), person.written

    assert asyncio.run(asyncio.wait_for(run(), 10))[0] is agreed


def test_ctrl_d_on_an_empty_line_is_the_end() -> None:
    async def drive(person: Talk) -> None:
        await person.type("", "you: ")
        person.keys.send_text("\x04")

    with pytest.raises(EOFError):
        talk(drive)
