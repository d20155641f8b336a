"""The layout of an answer: sign, headings, code blocks, tasks, rules and tables."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clio.ui.markdown import StreamingMarkdown, render_markdown
from clio.ui.painter import Painter, Part, count_row_cells
from clio.ui.palettes import get_builtin_palette
from clio.ui.theme import CurrentPalette, Theme
from tests.support.terminal_picture import PictureScreen, render_bytes, screen_lines

DARK = Theme(depth="truecolor", current=CurrentPalette(palette=get_builtin_palette("dark")))
PLAIN = Theme(colour=False, current=CurrentPalette(palette=get_builtin_palette("none")))
CODE = "d0d0d0", "262626"
TABLE = """| case | what the server says | waits |
|------|:---------------------|------:|
| busy | 503 Service Unavailable, with a header | 2 s |
| configuration_missing | nothing | 0 s |
"""


def show(parts: list[Part], columns: int, theme: Theme = DARK) -> PictureScreen:
    painter = Painter(theme, lambda: (columns, 60))
    return render_bytes("".join(map(painter.render_lines, parts)).encode(), columns, 60)


def show_text(text: str, columns: int, theme: Theme = DARK) -> list[str]:
    return "\n".join(screen_lines(show(render_markdown(text, theme), columns, theme))).rstrip("\n").split("\n")


def test_an_answer_is_one_block_after_its_sign() -> None:
    stream = StreamingMarkdown(DARK, sign="◆")
    parts = [*stream.feed("one two three four five\n\n- six\n\n```\nx = 1\n```\n"), *stream.finish()]
    rows = [row for row in screen_lines(show(parts, 20)) if row]
    assert rows[0] == "◆ one two three"
    assert rows[1:] == ["  four five", "   • six", "    x = 1"]


def test_each_answer_has_one_sign_even_while_it_streams() -> None:
    stream = StreamingMarkdown(DARK, sign="◆")
    stream.feed("first")
    tail = stream.get_tail()
    assert tail is not None and tail.sign == "◆"
    assert [part.sign for part in stream.feed("\n\nsecond\n\n")] == ["◆", ""]
    stream.finish()
    assert [part.sign for part in stream.feed("another\n\n")] == ["◆"]


def test_headings_differ_by_level() -> None:
    screen = show(render_markdown("# one\n\n## two\n\n### three\n\n#### four\n\ntext\n", DARK), 40)
    first = [screen.buffer[row][0] for row in range(0, 9, 2)]
    looks = [(cell.fg, cell.bold, cell.italics, cell.underscore) for cell in first]
    assert len(set(looks)) == len(looks)


def test_headings_differ_without_colour_too() -> None:
    screen = show(render_markdown("# one\n\n## two\n\n### three\n\ntext\n", PLAIN), 40, PLAIN)
    first = [screen.buffer[row][0] for row in range(0, 7, 2)]
    looks = [(cell.bold, cell.italics, cell.underscore) for cell in first]
    assert len(set(looks)) == len(looks)


def test_code_has_a_background_over_the_full_width_and_names_its_language() -> None:
    screen = show(render_markdown("```python\nx = 1\n\ny = 2\n```\n", DARK), 40)
    assert screen_lines(screen)[:5] == ["  python", "  x = 1", "", "  y = 2", ""]
    for row in range(4):
        assert {screen.buffer[row][column].bg for column in range(40)} == {CODE[1]}
    assert screen.buffer[4][0].bg == "default"


def test_code_in_a_list_has_a_background_to_the_edge_too() -> None:
    screen = show(render_markdown("1. run\n   ```sh\n   make\n   ```\n", DARK), 40)
    assert [row.strip() for row in screen_lines(screen)[:3]] == ["1. run", "sh", "make"]
    assert {screen.buffer[2][column].bg for column in range(4, 40)} == {CODE[1]}


def test_code_without_a_language_has_no_label() -> None:
    assert show_text("```\nx\n```\n", 40) == show_text("```text\nx\n```\n", 40) == ["  x"]


def test_code_without_colour_has_no_background() -> None:
    screen = show(render_markdown("```python\nx = 1\n```\n", PLAIN), 40, PLAIN)
    assert {screen.buffer[row][column].bg for row in range(2) for column in range(40)} == {"default"}


def test_the_rows_of_a_long_line_of_code_are_indented_below_it() -> None:
    rows = show_text("```\nif x:\n    call(first, second, third, fourth)\n```\n", 30)
    assert rows == ["  if x:", "      call(first, second,", "        third, fourth)"]


def test_the_language_is_shown_before_the_first_line_is_finished() -> None:
    stream = StreamingMarkdown(DARK)
    assert stream.feed("```python\nx = ") == []
    tail = stream.get_tail()
    assert tail is not None
    assert [row for row in screen_lines(show([tail], 40)) if row] == ["  python", "  x ="]


def test_tasks_have_boxes() -> None:
    rows = show_text("- [ ] open\n- [x] done\n- [link](https://a.example)\n- [] none\n\n1. [X] numbered\n", 40)
    assert rows[:2] == [" ☐ open", " ☑ done"]
    assert rows[2].startswith(" • link") and rows[3] == " • [] none"
    assert rows[-1] == " 1. ☑ numbered"


def test_a_rule_has_the_full_width() -> None:
    assert show_text("---\n", 40) == ["─" * 39]


def test_a_table_that_fits_is_drawn_as_a_table() -> None:
    rows = show_text(TABLE, 100)
    assert rows[0].split() == ["case", "what", "the", "server", "says", "waits"]
    assert len(rows) == 4


def test_a_table_that_is_too_narrow_becomes_a_list() -> None:
    rows = show_text(TABLE, 36)
    assert rows == [
        " • case: busy",
        "   what the server says: 503",
        "     Service Unavailable, with a",
        "     header",
        "   waits: 2 s",
        " • case: configuration_missing",
        "   what the server says: nothing",
        "   waits: 0 s",
    ]


@pytest.mark.parametrize("columns", [40, 80, 100, 140])
def test_no_table_breaks_a_word(columns: int) -> None:
    words = set(re.findall(r"[\w,]+", TABLE.replace("-", "")))
    assert words <= set(re.findall(r"[\w,]+", " ".join(show_text(TABLE, columns))))


CELL = st.text(alphabet="abc ", min_size=1, max_size=30).filter(str.strip)


@settings(max_examples=60)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=4), st.integers(32, 90))
def test_every_table_fits_and_keeps_its_text(table: list[tuple[str, str, str]], columns: int) -> None:
    lines = [" | ".join(row) for row in table]
    painter = Painter(PLAIN, lambda: (columns, 60))
    parts = render_markdown("\n".join(f"| {line} |" for line in (lines[0], "---|---|---", *lines[1:])), PLAIN)
    rows = [row for part in parts for row in painter.render_rows(part)]
    assert all(count_row_cells(row) < columns for row in rows)
    shown = set(re.findall(r"[abc]+", re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(rows))))
    assert {word for row in table[1:] for cell in row for word in cell.split()} <= shown
