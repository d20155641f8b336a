"""Signs, tables, diffs and Markdown converted to lines for screen readers."""

import random

import pytest

from clio.commands.command import Bar, BarPart, Table
from clio.ui.reader.spoken_text import (
    ExactLine,
    SpokenMarkdown,
    remove_drawn,
    speak_bar,
    speak_diff,
    speak_line,
    speak_seconds,
    speak_table,
    speak_text,
    wrap_line,
)
from tests.support.rows import each_row
from tests.support.wording import mentions
from tests.ui.stage import ANSWER, DIFF


@each_row(
    ("line", "expected"),
    [
        ("❯ /context", "you: /context"),
        ("● read app.py … 31 lines", "read app.py, 31 lines"),
        ("Enter to send these · ↑ to edit the last", "Enter to send these, Up to edit the last"),
        ("move a.py → b.py", "move a.py to b.py"),
        ("done: edit a.py, +2 -1", "done: edit a.py, 2 added, 1 removed"),
        ("  … 12 lines not shown", "12 lines not shown"),
        ("indexing ▰▰▱▱▱ 40 %", "indexing 40 %"),
        ("waiting …", "waiting ..."),
        ("-1 + 2", "-1 + 2"),
    ],
)
def test_signs_become_words(line: str, expected: str) -> None:
    assert speak_line(line) == expected


def test_drawing_characters_become_blanks_and_columns_are_kept() -> None:
    assert remove_drawn("├── src\n│   └── a ⠋ \ue0b0") == "    src\n        a    "
    assert remove_drawn("\x1b[31mred\x1b[0m\u202e") == "red"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "less than a second"), (1, "1 second"), (65, "1 minute 5 seconds"), (7200, "2 hours")],
)
def test_durations_are_written_in_words(seconds: float, expected: str) -> None:
    assert speak_seconds(seconds) == expected


def test_a_table_names_every_cell() -> None:
    rows = (("→", "ask", "1"), ("", "edits", ""))
    assert list(speak_table(Table(columns=("", "mode", "count"), rows=rows))) == [
        "row 1: current; mode: ask; count: 1",
        "row 2: mode: edits",
    ]
    assert list(speak_table(Table(columns=("", ""), rows=(("id", "7"), ("empty", ""))))) == ["id: 7", "empty"]
    numbered = Table(columns=("#", "name"), rows=(("1", "a"), ("2", "b")))
    assert list(speak_table(numbered)) == ["number: 1; name: a", "number: 2; name: b"]


def test_a_bar_is_a_line_for_each_part() -> None:
    parts = (BarPart(name="tools", amount=1500, mark="▓"), BarPart(name="free", amount=500, mark="░"))
    assert list(speak_bar(Bar(title="window · 2k", parts=parts))) == [
        "window, 2k",
        "tools: 1,500, 75.0 percent",
        "free: 500, 25.0 percent",
    ]


def test_a_diff_names_the_change_of_each_line() -> None:
    assert speak_diff(DIFF) == [
        "2 lines added, 1 line removed",
        "line 2 removed: x = 1",
        "line 2 added: x = 2",
        "line 3 added: y = 3",
    ]
    assert mentions(speak_diff(DIFF, names=True)[0], "clio/app.py", "2 lines added", "1 line removed")
    assert speak_diff(DIFF, max_lines=1, hint=", /diff to read all") == [
        "2 lines added, 1 line removed",
        "line 2 removed: x = 1",
        "2 more lines, /diff to read all",
    ]


def test_a_single_hunk_is_counted_and_omitted_lines_are_announced() -> None:
    hunk = "@@ -1,2 +1,3 @@\n-\tx \n+\n+   \n+┃\x1b[8mhidden\n y\n"
    assert speak_diff(hunk, names=False) == [
        "3 lines added, 1 line removed",
        "line 1 removed:     x (then 1 space)",
        "line 1 added: empty",
        "line 2 added: only 3 spaces",
        "line 3 added:  \\x1b[8mhidden",
    ]


def test_markdown_is_converted() -> None:
    assert speak_text(ANSWER) == [
        "heading 1: Result",
        "Two important things in clio/app.py, and a sentence long enough to be wrapped at the edge of every screen "
        "here.",
        "item: first",
        "item: second, with code",
        "item, level 2: nested",
        "1. one",
        "2. two",
        "code, sh, 1 line",
        "make test",
        "end of code",
        "table, 3 columns, 2 rows",
        "row 1: Name: 漢字; 大きさ: a; Count: 1",
        "row 2: Name: b; 大きさ: 全角文字; Count: 22",
        "end of table",
        "code, python, 4 lines",
        "def greet(name: str) -> str:",
        '    """Say',
        '    hello."""',
        '    return f"你好 {name}"  # 世界',
        "end of code",
        "quote: quoted words",
        "Done: <b>not HTML</b> & a link (link: https://example.org/x).",
    ]


def test_a_paragraph_is_split_into_sentences_and_marks_stay_together() -> None:
    text = "One is **here. Still** here! See `a. b` e.g. this one. Last"
    assert speak_text(text) == ["One is here. Still here!", "See a. b e.g. this one.", "Last"]
    stream = SpokenMarkdown()
    assert stream.feed("First one. ") == []
    assert stream.feed("S") == ["First one."]
    assert stream.finish() == ["S"]


def test_long_code_begins_before_its_end_is_known() -> None:
    stream = SpokenMarkdown()
    lines = stream.feed("```py\n" + "x = 1\n" * 150)
    assert lines[0] == "code, py, 100 lines or more"
    assert len(lines) == 151
    assert stream.feed("```\n") == ["end of code, 150 lines"]


@each_row("seed", range(20))
def test_the_pieces_of_the_stream_do_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    text = f"{ANSWER}\n---\nSome. More **text. here** now.\n\n```\n```\n~~old~~ ![p](q.png)\n\n1. a\n   - b\n"
    stream, spoken_lines, at = SpokenMarkdown(), list[str](), 0
    while at < len(text):
        step = chance.randint(1, 30)
        spoken_lines += stream.feed(text[at : at + step])
        at += step
    assert [*spoken_lines, *stream.finish()] == speak_text(text)


def test_lines_are_wrapped_between_words_and_code_is_left_to_the_terminal() -> None:
    assert wrap_line("one two three", 8) == "one two\nthree"
    assert wrap_line("漢字 漢字 x", 6) == "漢字\n漢字 x"
    assert wrap_line("wordwithoutend x", 6) == "wordwithoutend x"
    assert wrap_line(ExactLine("one two three"), 8) == "one two three"
