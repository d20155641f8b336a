"""The screen for screen readers: each line once, in order, and only text."""

import io
import re

import pytest

from clio.agent.user_interface import Event, Notice, ReasoningDelta, Steered, StreamRestarted, TextDelta, ToolStarted
from clio.commands.command import CommandResult, Table
from clio.config.schema import Notify, ShowReasoning
from clio.sessions.state import Todo
from clio.ui.keyboard import TypedLine, TypingState, WaitingText
from clio.ui.reader.screen import ReaderScreen
from clio.ui.terminal_signals import TerminalSignals
from tests.ui.stage import ANSWER, deltas, end, finished, start, whole_turn
from tests.ui.test_screen import HOSTILE, golden

DRAWN = re.compile("[\x00-\x07\x09\x0b-\x1f\x7f-\x9f\u2500-\u25ff\u2800-\u28ff\ue000-\uf8ff]")
"""Control characters except newline and backspace, boxes, blocks, shapes, braille, private use."""


class Listener:
    """A screen with its output, and a clock that tests move."""

    def __init__(self, reasoning: ShowReasoning = "fold", notify: Notify = "off") -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.screen = ReaderScreen(
            self.stream,
            lambda: (80, 24),
            reasoning=reasoning,
            signals=TerminalSignals(self._write, notify=notify),
            clock=lambda: self.now,
        )

    def _write(self, text: str) -> None:
        self.stream.write(text)

    def play(self, *events: Event) -> None:
        for event in events:
            self.now += 0.1
            self.screen.handle(event)

    def wait(self, seconds: float) -> None:
        """Let time pass, with a tick each quarter of a second."""
        for _ in range(int(seconds * 4)):
            self.now += 0.25
            self.screen.tick()

    @property
    def output(self) -> str:
        return self.stream.getvalue()

    def since(self, mark: int) -> str:
        return self.output[mark:]


def typing(text: str, *waiting: WaitingText, hint: str = "") -> TypingState:
    return TypingState(line=TypedLine(text), waiting=waiting, hint=hint)


def test_a_whole_turn_is_printed() -> None:
    listener = Listener("show")
    listener.play(*whole_turn())
    assert not DRAWN.search(listener.output)
    assert "\b" not in listener.output
    golden("reader_turn", listener.output.rstrip("\n"))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_answer_is_printed_once_in_any_pieces(size: int) -> None:
    whole, cut = Listener(), Listener()
    whole.play(*start(), TextDelta(text=ANSWER), end())
    cut.play(*start(), *deltas(ANSWER, size), end())
    assert cut.output == whole.output


def test_hostile_text_has_no_effect() -> None:
    listener = Listener("show")
    listener.play(
        *start(),
        ReasoningDelta(text=HOSTILE + "\n"),
        *deltas(HOSTILE + "\n\n", 3),
        ToolStarted(call_id="1", name="x", title=f"run {HOSTILE}"),
    )
    listener.wait(12)
    listener.play(
        finished("1", f"run {HOSTILE}", HOSTILE, ok=False, preview=HOSTILE, diff=f"+{HOSTILE}\n"),
        Steered(text=HOSTILE, step=2),
        Notice(text=HOSTILE),
        end("failed", HOSTILE),
    )
    listener.screen.show_result(CommandResult(text=HOSTILE, verbatim=HOSTILE, diff=f"+{HOSTILE}\n"))
    listener.screen.show_result(CommandResult(table=Table(columns=(HOSTILE,), rows=((HOSTILE,),))))
    assert not DRAWN.search(listener.output)
    assert "\u202e" not in listener.output


def test_long_calls_are_reported_at_the_start_every_ten_seconds_and_at_the_end() -> None:
    listener = Listener()
    listener.play(*start(), ToolStarted(call_id="1", name="x", title="run pytest"))
    listener.wait(0.5)
    assert listener.output == ""
    listener.wait(25)
    listener.play(finished("1", "run pytest", "12 passed"), end())
    assert listener.output.splitlines() == [
        "started: run pytest",
        "still running: run pytest, 11 seconds",
        "still running: run pytest, 21 seconds",
        "done: run pytest, 12 passed",
        "done, 2 requests, 12k in (8.0k cached), 432 out, 12 seconds",
    ]


def test_a_slow_model_is_reported() -> None:
    listener = Listener()
    listener.play(*start())
    listener.wait(10.5)
    assert listener.output == "still waiting for the model, 10 seconds\n"


def test_reasoning_is_shortened_to_its_duration_or_printed() -> None:
    listener = Listener("fold")
    listener.play(*start(), ReasoningDelta(text="first\nsecond"))
    listener.now += 4
    listener.play(TextDelta(text="Yes."), end())
    assert listener.output.splitlines()[:2] == ["thought for 4 seconds", "clio: Yes."]
    listener = Listener("fold")
    listener.play(*start(), ReasoningDelta(text="first\nsecond"))
    listener.screen.toggle_reasoning()
    listener.play(TextDelta(text="Yes."))
    assert listener.output.splitlines() == [
        "the model's thinking is now read out",
        "thinking: first",
        "second",
    ]


def test_a_restarted_answer_is_announced() -> None:
    listener = Listener()
    listener.play(*start(), TextDelta(text="Half. Of it"), StreamRestarted(), TextDelta(text="Whole."), end())
    assert listener.output.splitlines()[:3] == [
        "clio: Half.",
        "connection lost; the answer starts over",
        "clio: Whole.",
    ]


def test_while_a_line_is_typed_nothing_is_printed_between_its_characters() -> None:
    listener = Listener()
    listener.play(*start())
    listener.screen.set_typed(typing("he"))
    listener.play(TextDelta(text="One. Two. Three"))
    listener.screen.set_typed(typing("hey"))
    assert listener.output == "you: hey"
    listener.screen.set_typed(typing("", WaitingText("queued 1", "hey"), hint="↑ to edit the last"))
    assert listener.output == "you: hey\nqueued 1: hey\nUp to edit the last\nclio: One.\nTwo.\n"


def test_after_typing_pauses_waiting_output_is_printed_and_then_the_line() -> None:
    listener = Listener()
    listener.play(*start())
    listener.screen.set_typed(typing("he"))
    listener.play(TextDelta(text="One. Two"))
    listener.wait(6)
    assert listener.output == "you: he\nclio: One.\n"
    listener.screen.set_typed(typing("hey"))
    assert listener.output == "you: he\nclio: One.\nyou: hey"


def test_a_line_continued_at_once_loses_nothing() -> None:
    listener = Listener()
    listener.play(*start())
    listener.screen.set_typed(typing("next", WaitingText("queued 1", "first")))
    assert listener.output == "queued 1: first\nyou: next"


def test_text_typed_after_the_end_is_left_for_the_prompt() -> None:
    listener = Listener()
    listener.play(*start(), end())
    mark = len(listener.output)
    listener.screen.set_typed(typing("next"))
    listener.screen.print_note("news")
    assert listener.since(mark) == "news\n"


def test_events_during_a_question_are_printed_afterwards() -> None:
    listener = Listener()
    listener.play(*start(), TextDelta(text="Before. And"))
    with listener.screen.suspended():
        mark = len(listener.output)
        listener.play(Notice(text="meanwhile"))
        listener.wait(12)
        assert listener.since(mark) == ""
    assert listener.since(mark) == "And\nmeanwhile\n"


def test_the_end_of_a_turn_names_what_was_stopped_and_why() -> None:
    listener = Listener()
    listener.play(*start(), ToolStarted(call_id="1", name="x", title="run make"), end("interrupted", "interrupted"))
    listener.play(*start(), end("failed", "the server\nrefused"))
    assert listener.output.splitlines() == [
        "interrupted: run make",
        "interrupted, 2 requests, 12k in (8.0k cached), 432 out, 12 seconds",
        "error: the server refused",
        "failed, 2 requests, 12k in (8.0k cached), 432 out, 12 seconds",
    ]


def test_a_bell_is_rung_if_configured() -> None:
    listener = Listener(notify="bell")
    listener.play(*start(), end())
    assert listener.output.endswith("seconds\n\a")


def test_results_of_commands_are_printed() -> None:
    listener = Listener()
    todos = (Todo(id=1, title="look", status="completed"), Todo(id=2, title="write → it", status="in_progress"))
    listener.screen.show_result(CommandResult(text="All `here`:", table=Table(columns=("a", "b"), rows=(("1", "2"),))))
    listener.screen.show_result(CommandResult(text="no\nway", ok=False))
    listener.screen.show_result(CommandResult(todos=todos))
    listener.screen.show_result(CommandResult(verbatim="  kept\tas it is │\n"))
    assert listener.output.splitlines() == [
        "All here:",
        "a: 1; b: 2",
        "error: no way",
        "1 of 2 done",
        "1. done: look",
        "2. in progress: write to it",
        "  kept  as it is",
    ]
