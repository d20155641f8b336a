"""When Enter sends a line, and what fits below the line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from clio.ui.line_rules import find_unfinished_part, fit_parts, fit_parts_counted, parse_memory_line
from tests.support.rows import each_row


@each_row(
    "text",
    [
        "where is the retry policy?",
        "call f(x) and g[1]",
        "a) first b) second",
        "sad :-( and :( and ;[ ",
        "use `dict(` here",
        "```\ncode(\n```",
        "f(1,\n2\n",  # an empty line sends
        "```\ncode\n\n",  # two empty lines send an open fence
        "/todo add f(",
        "(" * 30_000,
        "",
    ],
)
def test_enter_sends_a_complete_line(text: str) -> None:
    assert find_unfinished_part(text) == ""


@each_row(
    ("text", "part"),
    [
        ("f(1,", "("),
        ("{'a': [1", "["),
        ("sum([1, 2]", "("),
        ("look:\n```python", "```"),
        ("```\ncode\n", "```"),
        ("one \\", "\\"),
    ],
)
def test_enter_continues_an_incomplete_line(text: str, part: str) -> None:
    assert find_unfinished_part(text) == part


@given(st.text(alphabet="([{}])`\\ \na:-/", max_size=60))
def test_three_empty_lines_always_send(text: str) -> None:
    assert find_unfinished_part(text + "\n\n\n") == ""


# The width of half a flag differs between terminals.
LETTERS = st.characters(codec="utf-8").filter(lambda letter: not "\U0001f1e6" <= letter <= "\U0001f1ff")


@given(st.lists(st.text(LETTERS, max_size=12), max_size=4), st.integers(0, 40))
def test_fitted_text_fits(parts: list[str], width: int) -> None:
    assert get_cwidth(fit_parts(parts, width)) <= max(width, 1)


def test_the_least_important_part_is_dropped_first() -> None:
    parts = ("gpt-5", "ask", "a long session name")
    assert fit_parts(parts, 80) == "gpt-5 · ask · a long session name"
    assert fit_parts(parts, 15) == "gpt-5 · ask"
    assert fit_parts(parts, 5) == "gpt-5"
    assert fit_parts(parts, 4) == "gpt…"


def test_dropped_items_are_counted() -> None:
    chips = ["+ a.py · 3 lines", "+ 価格表/", "+ b.md"]
    shown = [fit_parts_counted(chips, width) for width in (36, 30, 26, 24, 8)]
    assert shown == [
        "+ a.py · 3 lines  + 価格表/  + b.md",
        "+ a.py · 3 lines  + 2 more",
        "+ a.py · 3 lines  + 2 more",
        "+ a.py · 3 lines",
        "+ a.py …",
    ]
    assert fit_parts_counted([], 8) == ""


@pytest.mark.parametrize(
    "line",
    [
        "#file:a.py why?",
        "#folder:src",
        "#codebase: where is the parser?",
        "#File:a.py why?",
        "#FOLDER:src",
        "#codebase",
        "#codebase where is it?",
    ],
)
def test_a_mention_of_a_file_is_no_memory_line(line: str) -> None:
    assert parse_memory_line(line) == ""


@pytest.mark.parametrize(
    "line",
    ["#ff8800 is the brand colour, use it in the css", "#include <stdio.h>", '#include "a.h"', "#define MAX 3",
     "#pragma once", "#ifndef A_H", "#endif", "#endregion", "#[derive(Debug)]"],
)  # fmt: skip
def test_a_colour_or_a_line_of_code_is_no_memory_line(line: str) -> None:
    assert parse_memory_line(line) == ""


@pytest.mark.parametrize(
    "line", ["e2e tests run at night", "decade is a table", "include the tests in each PR", "define terms in docs/a.md"]
)
def test_a_statement_that_begins_with_the_sign_is_a_memory_line(line: str) -> None:
    assert parse_memory_line(f"#{line}") == line


@each_row(
    ("line", "kept"),
    [
        ("#note we deploy on Fridays", "we deploy on Fridays"),
        ("#note: we deploy on Fridays", "we deploy on Fridays"),
        ("#remember that we deploy", "we deploy"),
        ("#notes are in docs", "notes are in docs"),
        ("#note", "note"),
    ],
)
def test_a_word_that_announces_a_memory_is_removed(line: str, kept: str) -> None:
    assert parse_memory_line(line) == kept
