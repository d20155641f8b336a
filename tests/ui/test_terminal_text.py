"""Output outside a conversation: wrapped between words on a terminal, unchanged in a pipe."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.commands.command import Table
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from clio.ui.terminal_text import WordWrapper, wrap_for_stream, wrap_text
from tests.entrypoints.repl_support import make_place
from tests.support.chat_server import ChatServer, text
from tests.support.forked_clio import run_clio
from tests.support.rows import each_row

TEXT = st.text(alphabet="abc défg漢字-/  ·[]|\n", max_size=200)


@given(TEXT, st.integers(12, 100), st.integers(0, 4))
def test_only_a_single_long_word_is_wider_than_the_terminal(text: str, width: int, hang: int) -> None:
    for line in wrap_text(text, width, hanging_indent=hang).split("\n"):
        assert count_cells(line) <= width or len(line.split()) == 1 or "[" in line
    assert "".join(wrap_text(text, width, hanging_indent=hang).split()) == "".join(text.split())


def test_the_last_column_is_wrapped_with_its_indentation() -> None:
    line = "  README.md        what is in this folder"
    assert wrap_text(line, 45) == "  README.md        what is in this folder"
    assert wrap_text(f"{line}, in every detail", 45) == f"{line}, in\n{' ' * 19}every detail"
    assert wrap_text(line, 24) == "  README.md  what is in\n    this folder"


def test_a_path_and_an_argument_are_not_broken() -> None:
    assert wrap_text("read /a/very/long/path/to/a/file.yaml now", 20) == "read\n/a/very/long/path/to/a/file.yaml\nnow"
    assert wrap_text("clio memory add [--example PATH]", 26) == "clio memory add\n[--example PATH]"


MARKDOWN = st.text(alphabet="ab é漢-|`1.  \n\n", max_size=200)


def wrap_stream(deltas: list[str], width: int) -> str:
    wrapper = WordWrapper(lambda: width)
    return "".join(map(wrapper.feed, deltas)) + wrapper.finish()


@given(st.lists(MARKDOWN, max_size=8), st.integers(12, 60))
def test_an_answer_is_wrapped_between_words_in_any_pieces(deltas: list[str], width: int) -> None:
    whole = "".join(deltas)
    shown = wrap_stream(deltas, width)
    assert shown == wrap_stream([whole], width) == wrap_stream(list(whole), width)
    assert shown.split() == whole.split()
    in_code = False
    for line in shown.split("\n"):
        first = line.strip(" ")
        in_code ^= first.startswith("```")
        is_kept = in_code or first.startswith(("|", "```")) or line.startswith("    ")
        assert is_kept or count_cells(line.rstrip()) <= width or len(line.split()) <= 2, shown


def test_code_tables_and_paths_of_an_answer_are_not_wrapped() -> None:
    kept = "```sh\n" + "word " * 9 + "\n```\n| a | b |\n|---|---|\n| long long | long long |\n"
    assert wrap_stream([kept], 12) == kept
    assert wrap_stream(["- one two three\n   2. four five six"], 12) == (
        "- one two\n  three\n   2. four\n      five\n      six"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_one_shot_answer_is_wrapped_on_a_terminal_and_byte_exact_in_a_pipe(tmp_path: Path) -> None:
    answer = "**An** answer that is   long enough to be wrapped on a screen of forty columns.  \nAnd `more` of it 漢字."
    with ChatServer([text(answer), text(answer)]) as server:
        place = make_place(tmp_path, server)
        with place.clio("-p", "what?", columns=40) as clio:
            assert clio.wait_exit() == 0
            rows = clio.everything.splitlines()
            assert not clio.screen.broken_rows
        assert run_clio(["-p", "what?"], place.project, place.env()).stdout == f"{answer}\n"
    assert rows[:2] == ["An answer that is   long enough to be", "wrapped on a screen of forty columns."]


def test_a_stream_that_is_no_terminal_gets_the_unchanged_text() -> None:
    assert wrap_for_stream("word " * 80, io.StringIO()) == "word " * 80


@each_row(
    "arguments",
    [
        ("--provider", "nope"),
        ("--nope",),
        ("-r", "nope"),
        ("memory", "nope"),
        ("memory", "--help"),
        ("sessions", "--help"),
        ("sessions", "show", "nope"),
        ("note", "list"),
        ("config", "show"),
        ("config", "nope"),
        ("init", "--dry-run"),
        ("completions",),
        ("doctor", "--help"),
        ("acp", "--help"),
        ("--help",),
    ],
)
def test_one_shot_output_is_wrapped_between_words(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    place = make_place(tmp_path / "_".join(arguments))
    with place.clio(*arguments, columns=40, lines=200) as wrapped:
        wrapped.wait_exit()
        narrow = [line.rstrip() for line in wrapped.everything.split("\n")]
    with place.clio(*arguments, columns=240, lines=200) as unwrapped:
        unwrapped.wait_exit()
        words = {word for line in unwrapped.everything.split("\n") for word in line.split()}
    parts = {
        part for word in words for part in (word, *(f"{piece}|" for piece in word.split("|")), word.split("|")[-1])
    }
    pieces = [word for line in narrow for word in line.split()]
    broken = [word for word in pieces if word not in parts and "|" not in word and "/" not in word]
    assert not broken


def test_a_long_usage_line_has_its_own_row() -> None:
    rows = (
        ("/memory", "what is saved"),
        ("/memory remember TEXT [--type T] [--scope S]", "save a fact, an event, a note or a preference"),
    )
    table = Table(columns=("command", "what it does"), rows=rows, wide_column=1, has_forms=True)
    assert render_table(table, 120)[1][1] == f"{rows[1][0]}  {rows[1][1]}"
    assert render_table(table, 80)[1][1:] == [rows[1][0], " " * 28 + rows[1][1]]
    assert render_table(table, 40) == (
        "",
        [
            "/memory",
            "    what is saved",
            "/memory remember TEXT [--type T]",
            "        [--scope S]",
            "    save a fact, an event, a note or a",
            "    preference",
        ],
    )
