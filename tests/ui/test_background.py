"""Detection of the terminal's background: answers in any form, without losing typed keys."""

import io
import os
import pty
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.defaults import create_input

from clio.entrypoints.repl.theme import (
    BACKGROUND_QUERY,
    BackgroundQuestion,
    TerminalReplies,
    can_ask_background,
    classify_background,
    detect_background_from_environment,
    parse_terminal_colour,
)
from tests.support.rows import each_row

DARK = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"
LIGHT = "\x1b]11;rgb:ffff/fdfd/f6f6\x07"
FENCE = "\x1b[?64;1;2;22c"
KEYS = [
    "a",
    "ü",
    "漢",
    "\r",
    "\x1b",
    "\x1b[A",
    "\x1b[1;5C",
    "\x1bb",
    "]",
    "[",
    "1",
    ";",
    "?",
    "c",
    "\x1bOP",
    "\x1b[200~x\x1b[201~",
]


@each_row(
    ("text", "paper"),
    [
        ("rgb:0000/0000/0000", "dark"),
        ("rgb:1e/1e/2e", "dark"),
        ("rgb:0/2b/36", "dark"),
        ("rgba:ffff/ffff/ffff/8000", "light"),
        ("rgb:fdfd/f6f6/e3e3", "light"),
        ("#eee", "light"),
        ("#303446", "dark"),
        ("#fffffdfdf6f6", "light"),
        ("rgb:b2b2/b2b2/b2b2", "light"),
        ("?", None),
        ("rgb:gg/00/00", None),
        ("rgb:12345/0/0", None),
        ("", None),
    ],
)
def test_a_colour_is_dark_or_light(text: str, paper: str | None) -> None:
    assert classify_background(text) == paper
    assert (parse_terminal_colour(text) is None) == (paper is None)


@each_row(
    ("value", "paper"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("7;8", "dark"), ("0;7", "light"),
     ("15;default", None), ("", None), ("0;99", None), ("0;²", None)],
)  # fmt: skip
def test_the_environment_can_name_the_background(value: str, paper: str | None) -> None:
    assert detect_background_from_environment({"COLORFGBG": value}) == paper


@each_row(
    ("env", "asked"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x"}, True),
        ({"TERM": "screen", "STY": "x"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "vt100"}, False),
        ({"TERM": "eterm-color", "INSIDE_EMACS": "29"}, False),
        ({}, False),
    ],
)
def test_which_terminals_are_queried(env: dict[str, str], asked: bool) -> None:
    assert can_ask_background(env) is asked


@st.composite
def pieces(draw: st.DrawFn) -> tuple[list[str], str]:
    """Generate input from a keyboard cut anywhere, and the typed part of it."""
    before, between, after = (draw(st.lists(st.sampled_from(KEYS), max_size=4).map("".join)) for _ in range(3))
    answers = draw(st.sampled_from([(DARK, FENCE), (LIGHT, FENCE), ("", FENCE), (DARK, "")]))
    typed = before + between + after
    assume("\x1b]11" not in typed and "\x1b[?" not in typed)  # indistinguishable from an answer that has begun
    stream = before + answers[0] + between + answers[1] + after
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=6)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)], typed


@given(pieces())
def test_answers_and_nothing_else_are_removed(case: tuple[list[str], str]) -> None:
    parts, typed = case
    replies = TerminalReplies()
    got = "".join([*map(replies.feed, parts), *rest(replies)])
    assert got == typed


@given(pieces())
def test_a_pause_anywhere_shows_at_most_a_lone_escape(case: tuple[list[str], str]) -> None:
    parts, typed = case
    replies = TerminalReplies()
    got = "".join(text for part in parts for text in (replies.feed(part), replies.flush()))
    got += "".join(rest(replies))
    assert all(part in typed or part not in got for part in ("11;", "rgb", "64;"))
    left = got
    for key in typed:  # all typed keys are there, in order
        assert key in left
        left = left[left.index(key) + 1 :]
    assert len(got) - len(typed) <= 2 * len("\x1b]")


def rest(replies: TerminalReplies) -> Iterator[str]:
    """Return the input that comes with the next key."""
    yield replies.feed("z").removesuffix("z")


def test_keys_are_not_delayed() -> None:
    replies = TerminalReplies()
    assert (replies.feed("\x1b"), replies.flush(), replies.flush()) == ("", "\x1b", "")
    assert (replies.feed("[A"), replies.flush()) == ("[A", "")
    assert (replies.feed("\x1b["), replies.flush(), replies.feed("x")) == ("", "\x1b[", "x")


def test_after_all_answers_everything_passes() -> None:
    replies = TerminalReplies()
    assert replies.feed(DARK + FENCE) == "" and replies.is_over
    assert replies.feed(DARK + FENCE + "\x1b") == DARK + FENCE + "\x1b"


def test_a_colour_after_the_last_answer_still_counts() -> None:
    replies = TerminalReplies()
    assert replies.feed(FENCE + "a\x1b]11;rgb:ff") == "a"
    assert replies.feed("/ff/ff\x07b") == "b"
    assert replies.colour == "rgb:ff/ff/ff"
    late = TerminalReplies()
    assert late.feed(FENCE + "\x1b[?1;2c") == "\x1b[?1;2c"  # not queried


def test_the_query_on_a_keyboard() -> None:
    typed_keys: list[str] = []
    stream = io.StringIO()
    question = BackgroundQuestion(typed_keys.append)
    with create_pipe_input() as keyboard:
        question.ask(keyboard, stream)
        assert stream.getvalue() == BACKGROUND_QUERY
        keyboard.send_text("a\x1b]11;rgb:00")
        assert [press.data for press in keyboard.read_keys()] == ["a"]
        keyboard.send_text("/00/00\x1b\\\x1b[Ab" + FENCE)
        assert [press.data for press in keyboard.read_keys()] == ["\x1b[A", "b"]
        keyboard.send_text("\x1b")
        assert [press.data for press in [*keyboard.read_keys(), *keyboard.flush_keys()]] == ["\x1b"]
    assert typed_keys == ["dark"]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("answer", [DARK + FENCE, FENCE, ""])
@pytest.mark.parametrize("delay_s", [0.0, 0.3])  # the later one as from a slow connection
def test_no_byte_of_an_answer_is_left_for_the_next_reader(answer: str, delay_s: float) -> None:
    here, there = pty.openpty()
    typed_keys: list[str] = []
    try:
        question = BackgroundQuestion(typed_keys.append)
        with open(there, encoding="utf-8", closefd=False) as stdin:
            keyboard = create_input(stdin)
            with keyboard.raw_mode():
                question.ask(keyboard, io.StringIO())
                replies = threading.Timer(delay_s, os.write, (here, answer.encode()))
                replies.start()
                question.leave(there)
                replies.join()
                os.set_blocking(there, False)
                with pytest.raises(BlockingIOError):
                    os.read(there, 1)
    finally:
        os.close(here)
        os.close(there)
    assert typed_keys == (["dark"] if DARK in answer else [])
