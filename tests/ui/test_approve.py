"""Questions to the user in the terminal, with keys from prompt_toolkit's pipe input."""

import asyncio
import io
import re
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from clio.errors import ToolFailed
from clio.security.actions import (
    CallServer,
    ChangeFiles,
    FetchUrl,
    FileChange,
    ReadFiles,
    RunCommand,
    TouchOwnState,
)
from clio.security.approval import Answer, ApprovalRequest, Ask
from clio.ui.approval_dialog import TerminalApprover, TerminalAsker
from clio.ui.prompt_io import PromptIO
from clio.ui.safe_text import spell_out
from clio.ui.theme import Terminal
from tests.support.rows import each_row
from tests.support.terminal_picture import render_bytes, screen_lines
from tests.support.waiting import wait_until_async
from tests.ui.test_screen import golden

LIVE = Terminal(live=True, escapes=True, colour=True, reflows=True)
DUMB = Terminal(live=False, escapes=False, colour=False, reflows=False)
ROOT = Path("/project")
EDIT = ChangeFiles(
    changes=(FileChange(path=ROOT / "app.py", kind="update", before="import os\nx = 1\n", after="import os\nx = 2\n"),)
)


@pytest.fixture(autouse=True)
def nothing_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the record of earlier keys, which would count as typing for a while."""
    monkeypatch.setattr("clio.ui.keyboard._saved_at", -1e9)


class RecordedDisplay(io.StringIO):
    """A terminal for prompt_toolkit. questions: the last full screen of each question, without the empty rows."""

    ROWS = 24

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.output = Vt100_Output(self, lambda: Size(rows=self.ROWS, columns=columns), enable_cpr=False)
        self.questions: list[str] = []
        self._columns = columns
        self._is_new = True

    def flush(self) -> None:
        drawn = "\n".join(screen_lines(render_bytes(self.getvalue().encode(), self._columns, self.ROWS))).rstrip()
        if drawn and self._is_new:
            self.questions.append(drawn)
        elif drawn and len(drawn) > len(self.questions[-1]):
            self.questions[-1] = drawn
        self._is_new = not drawn


class TypingUser:
    """A user in a terminal whose keys are scripted; the output of the terminal can be read."""

    def __init__(
        self,
        keys: str,
        terminal: Terminal = LIVE,
        *,
        columns: int = 80,
        typing: bool = False,
        later: tuple[str, ...] = (),
    ) -> None:
        self.keys = keys
        self.terminal = terminal
        self.columns = columns
        self.typing = typing
        self.later = later
        self.stream = io.StringIO()
        self.display = RecordedDisplay(columns)
        self.log: list[str] = []

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        self.log.append("paused")
        yield
        self.log.append("resumed")

    def converse(self, conversation: "Any") -> Any:
        """Run a conversation with a prompt in this user's terminal."""
        with create_pipe_input() as keyboard:
            keyboard.send_text(self.keys)
            prompt_io = PromptIO(
                self.stream,
                self.terminal,
                lambda: (self.columns, 24),
                self.suspended,
                lambda: self.log.append("interrupt"),
                is_typing=lambda: self.typing,
                keyboard=keyboard,
                display=self.display.output,
            )

            async def type_later() -> None:
                for keys in self.later:
                    await asyncio.sleep(0.1)  # a frame is drawn in between, as with keys typed by hand
                    keyboard.send_text(keys)

            async def bounded() -> Any:
                typing = asyncio.ensure_future(type_later())
                async with asyncio.timeout(5):
                    try:
                        return await conversation(prompt_io)
                    finally:
                        await typing

            return asyncio.run(bounded())

    @property
    def questions(self) -> str:
        """The questions as on the screen, which shows them only until they are answered."""
        return "\n\n".join(self.display.questions)

    @property
    def screen(self) -> str:
        lines = 120
        return "\n".join(screen_lines(render_bytes(self.stream.getvalue().encode(), self.columns, lines))).rstrip()


def approve(user: TypingUser, request: ApprovalRequest) -> Answer:
    def conversation(prompt_io: PromptIO) -> Coroutine[Any, Any, Answer]:
        return TerminalApprover(prompt_io, lambda path: str(path.relative_to(ROOT))).ask(request)

    return user.converse(conversation)


def edit_request(rule: str | None = None) -> ApprovalRequest:
    return ApprovalRequest(title="edit app.py", action=EDIT, verdict=Ask("medium", "it changes a file", rule))


def command_request(command: str, rule: str | None = "git log *") -> ApprovalRequest:
    action = RunCommand(command=command, cwd=ROOT)
    return ApprovalRequest(title=f"run {command}", action=action, verdict=Ask("high", "it removes files", rule))


@each_row(
    ("terminal", "keys", "expected"),
    [
        (LIVE, "y", Answer("once")),
        (LIVE, "Y", Answer("once")),
        (LIVE, "xq\ry", Answer("once")),
        (LIVE, "s", Answer("session")),
        (LIVE, "a", Answer("always")),
        (LIVE, "n\r", Answer("no")),
        (LIVE, "nuse the other file\r", Answer("no", "use the other file")),
        (LIVE, "ninterrupted\r", Answer("no", "interrupted")),
        (LIVE, "\x1b", Answer("no", interrupted=True)),
        (LIVE, "\x03", Answer("no", interrupted=True)),
        (LIVE, "n\x03", Answer("no", interrupted=True)),
        (DUMB, "x\n\ny\n", Answer("once")),
        (DUMB, "always\n", Answer("always")),
        (DUMB, "n\nwrong file\n", Answer("no", "wrong file")),
        (DUMB, "n\n\n", Answer("no")),
    ],
)
def test_one_key_decides(terminal: Terminal, keys: str, expected: Answer) -> None:
    user = TypingUser(keys, terminal)
    assert approve(user, edit_request("write app.py")) == expected
    interrupted = ["interrupt"] if expected.interrupted else []
    assert user.log == ["paused", "resumed", *interrupted]


def test_always_is_not_offered_without_a_rule() -> None:
    assert approve(TypingUser("ay"), edit_request()) == Answer("once")


def test_an_arrow_key_is_no_interruption() -> None:
    assert approve(TypingUser("\x1b[A\x1b[By"), edit_request()) == Answer("once")


def test_keys_typed_for_the_prompt_do_not_approve() -> None:
    """Keys typed while the question appears do not count in the first second; Esc always does."""
    assert approve(TypingUser("yyy\x1b", typing=True), edit_request()) == Answer("no", interrupted=True)


def test_the_question_for_an_edit_and_a_command() -> None:
    user = TypingUser("", later=("y",))
    approve(user, edit_request())
    approve(user, command_request("cd src && rm -rf build/ 2>/dev/null | tee log.txt; echo $(whoami)"))
    fetch = ApprovalRequest(
        title="fetch", action=FetchUrl(url="http://10.0.0.1/"), verdict=Ask("medium", "private", None)
    )
    approve(user, fetch)
    golden("approvals", user.questions)


def test_an_approval_fits_twenty_columns() -> None:
    user = TypingUser("", columns=20, later=("y",))
    approve(user, edit_request())
    golden("approval_20", user.questions)


def test_a_long_diff_is_shortened_and_d_shows_all() -> None:
    after = "".join(f"line {number}\n" for number in range(200))
    action = ChangeFiles(changes=(FileChange(path=ROOT / "new.txt", kind="add", after=after),))
    request = ApprovalRequest(title="write new.txt", action=action, verdict=Ask("medium", "new file", None))
    short = TypingUser("", later=("y",))
    approve(short, request)
    assert "line 15" in short.questions and "line 199" not in short.questions
    assert "of 201" in short.questions and short.screen == ""
    full = TypingUser("dy")
    assert approve(full, request) == Answer("once")
    assert "+line 199" in full.screen
    printed = TypingUser("y\n", DUMB)
    approve(printed, request)
    assert "more lines, d to show all" in printed.screen


def test_several_files_are_named() -> None:
    action = ChangeFiles(
        changes=(
            FileChange(path=ROOT / "a", kind="delete", before="x\n"),
            FileChange(path=ROOT / "b", kind="move", before="y\n", after="y\n", moved_to=ROOT / "c"),
        )
    )
    user = TypingUser("", later=("y",))
    approve(user, ApprovalRequest(title="patch", action=action, verdict=Ask("medium", "", None)))
    assert "delete a" in user.questions and "move b → c" in user.questions


def test_control_sequences_in_a_command_are_shown_as_escapes() -> None:
    user = TypingUser("", later=("y",))
    approve(user, command_request("echo hi\x1b]0;rm -rf ~\x07\u202e"))
    assert "⟨U+001B⟩]0;rm -rf ~⟨U+0007⟩⟨U+202E⟩" in user.questions
    assert "\x1b]" not in user.stream.getvalue() + user.display.getvalue()


def ask(user: TypingUser, question: str, options: tuple[str, ...]) -> str:
    return user.converse(lambda prompt_io: TerminalAsker(prompt_io).ask(question, options))


@each_row(
    ("keys", "expected"),
    [("2\n", "2"), ("4\n", "4"), ("3\n", "8"), ("1\n", "2"), ("\n", "")],
)
def test_an_option_that_is_a_number_is_chosen_by_itself(keys: str, expected: str) -> None:
    assert ask(TypingUser(keys, DUMB), "How many spaces?", ("2", "4", "8")) == expected


@each_row(
    ("keys", "expected"),
    [("2\n", "keep it"), ("1.\n", "drop it"), ("9\n", "9"), ("neither of\n", "neither of"), ("\n", "")],
)
def test_a_number_selects_and_text_answers(keys: str, expected: str) -> None:
    user = TypingUser(keys, DUMB)
    assert ask(user, "What about the **old** file?", ("drop it", "keep it")) == expected
    assert user.log == ["paused", "resumed"]
    assert "1 drop it" in user.screen and "2 keep it" in user.screen


@each_row(
    ("keys", "expected"),
    [("2", "keep it"), ("\x1b[B\r", "keep it"), ("\x1b[B\x1b[A\r", "drop it"), ("9\r", "9"), ("no 2\r", "no 2")],
)
def test_a_digit_or_arrows_select_and_text_answers(keys: str, expected: str) -> None:
    user = TypingUser("", later=(keys,))
    assert ask(user, "What about the **old** file?", ("drop it", "keep it")) == expected
    assert user.log == ["paused", "resumed"]
    assert "1 drop it" in user.questions and "2 keep it" in user.questions
    assert "drop it" not in user.screen, "the question disappears with its answer"


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_an_interrupted_question_is_reported(key: str) -> None:
    user = TypingUser(key)
    with pytest.raises(ToolFailed, match="interrupted"):
        ask(user, "Well?", ())
    assert user.log == ["paused", "resumed", "interrupt"]


def test_a_cancelled_question_restores_the_terminal() -> None:
    user = TypingUser("")

    async def conversation(prompt_io: PromptIO) -> None:
        task = asyncio.ensure_future(TerminalApprover(prompt_io).ask(edit_request()))
        await wait_until_async(lambda: "edit app.py" in user.questions)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    user.converse(conversation)
    assert user.log[0] == "paused" and "interrupt" not in user.log


LONG = {
    "many lines": "\n".join(f"echo {number}" for number in range(100)) + "\nrm -rf build",
    "a long line": "echo " + "x" * 9_000 + "; rm -rf build",
    "comments": "true\n" + "# a\n" * 60 + "rm -rf build",
}


@each_row("command", LONG.values(), ids=LONG)
@each_row("key", ["y", "S"])
def test_a_yes_counts_only_after_the_end_was_on_the_screen(command: str, key: str) -> None:
    assert approve(TypingUser(f"{key}{key}\x1b"), command_request(command)) == Answer("no", interrupted=True)
    assert approve(TypingUser(f"{key} {key}\x1b"), command_request(command)).kind == "no"
    assert approve(TypingUser(f"G{key}\x1b"), command_request(command)).kind == "no", "typed before it was drawn"
    assert approve(TypingUser("G", later=(key,)), command_request(command)).kind != "no"
    assert approve(TypingUser(f"d{key}"), command_request(command)).kind != "no"
    assert approve(TypingUser("nwhy\r"), command_request(command)) == Answer("no", "why")


@pytest.mark.parametrize("command", [LONG["many lines"], LONG["comments"]])
def test_a_printing_terminal_accepts_no_yes_before_everything_was_printed(command: str) -> None:
    user = TypingUser("y\ns\nd\ny\n", DUMB)
    assert approve(user, command_request(command)) == Answer("once")
    assert user.stream.getvalue().count("rm -rf build") >= 2
    assert approve(TypingUser("y\nn\n\n", DUMB), command_request(command)) == Answer("no")


def test_arguments_of_a_server_and_urls_must_be_read_to_the_end_too() -> None:
    server = CallServer(name="mcp_x_y", server="x", tool="y", arguments="\n".join(map(str, range(300))))
    for action in (server, FetchUrl(url="http://x/" + "a" * 9_000)):
        request = ApprovalRequest(title="call", action=action, verdict=Ask("medium", "why", None))
        assert approve(TypingUser("ys\x1b"), request).kind == "no"
        assert approve(TypingUser("G", later=("y",)), request) == Answer("once")


FORGED = "A" * 70 + " ? run ls low risk › y yes   n no"
ADDRESS = "http://x/" + "a" * 9_000 + "?end"
FAR = "a/" * 200 + "app.py"
CALL = CallServer(name="mcp_x_y", server="x", tool="y", arguments='{"path": "the end"}')


@pytest.mark.sampled(1)
@pytest.mark.parametrize("columns", [40, 80])
@each_row(
    ("title", "action", "end"),
    [
        (f"x: y {FORGED * 99}", CALL, "the end"),
        (f"fetch {ADDRESS}", FetchUrl(url=ADDRESS), "?end"),
        (f"read {FORGED * 3} the end", ReadFiles(paths=(ROOT / "the end",)), "the end"),
        (f"save {FORGED * 3} the end", TouchOwnState(), "the end"),
        (f"edit {FAR}", ChangeFiles(changes=(structs.replace(EDIT.changes[0], path=ROOT / FAR),)), "app.py +1 −1"),
    ],
)
def test_a_long_title_pushes_nothing_off_the_screen(columns: int, title: str, action: Any, end: str) -> None:
    user = TypingUser("", columns=columns, later=("G", "y"))
    request = ApprovalRequest(title=title, action=action, verdict=Ask("high", "why", None))
    assert approve(user, request) == Answer("once")
    assert user.questions.count("high risk") == 1
    rows = user.questions.splitlines()
    assert rows[1].startswith("? ") and rows[1].endswith("high risk"), rows
    assert not any(row.startswith(("?", "›")) for row in rows[2:-3]), rows
    assert end in re.sub(r"\s*\n\s*", "", user.questions) or end in user.display.getvalue()


def test_a_long_reason_or_rule_pushes_nothing_off_the_screen() -> None:
    verdict = Ask("high", "because " * 500, "x y " * 500)
    user = TypingUser("?", columns=40, later=("y",))
    assert approve(user, ApprovalRequest(title="x: y", action=CALL, verdict=verdict)) == Answer("once")
    assert "Window too small" not in user.questions and "always" not in user.questions
    assert all("the end" in question and "n no" in question for question in user.display.questions)


def test_nothing_can_be_approved_in_a_window_too_small_to_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordedDisplay, "ROWS", 4)
    for request in (command_request("ls; rm -rf build"), edit_request("edits")):
        user = TypingUser("ysa", later=("y", "s", "\r", "\x1b"))
        assert approve(user, request) == Answer("no", interrupted=True)
        assert "enlarge the window" in user.questions


def test_blank_lines_hide_nothing() -> None:
    user = TypingUser("", later=("G", "y"))
    approve(user, command_request("ls" + "\n" * 60 + "rm -rf build"))
    assert "⟨59 blank lines⟩" in user.questions and "rm -rf build" in user.questions
    user = TypingUser("", later=("G", "y"))
    approve(user, command_request("ls" + " " * 300 + "; rm -rf build"))
    assert "⟨300 spaces⟩" in user.questions


HIDDEN = [
    *"\u2800 \u200b \u200c \u200d \u2060 \u202a \u202e \u2066 \u2069 \u061c \u00a0 \u2003 \u3000 \u1680 \u202f".split(
        " "
    ),
    *"\u205f \u115f \u1160 \u3164 \uffa0 \U000e0041 \U000e007f \ufe0f \ufe00 \U000e0100 \u00ad \u034f".split(" "),
    *"\u180e \ue000 \U000f0000 \u0378 \x7f \x9b \x08 \r \x0b \u2028 \u2029 \ufeff \ufff9 \u17b4".split(" "),
    *"\U0001d159 \u0301 \u27e8".split(" "),
]


@each_row("sign", HIDDEN)
def test_invisible_characters_are_shown_as_escapes(sign: str) -> None:
    assert spell_out(f"ls {sign} x") == f"ls ⟨U+{ord(sign):04X}⟩ x"


def test_visible_characters_are_unchanged() -> None:
    for text in (
        "ls -la\n  x",
        "echo 'äöü é ñ 日本語 한국어 עברית العربية हिन्दी ไทย' € ✓ → 🙂 “x”",
        "e\u0301",
        "a\tb".expandtabs(4),
    ):
        assert spell_out(text) == text
    assert spell_out("e" + "\u0301" * 9).count("⟨U+0301⟩") == 7
    assert spell_out("x\r\ny") == "x\ny"


def test_a_program_name_with_lookalike_letters_is_named() -> None:
    user = TypingUser("", later=("y",))
    approve(user, command_request("gi\u0442 status"))
    assert "looks like another name: gi⟨U+0442⟩" in user.questions
