"""Display of a diff: every changed line is shown with its number, and nothing in it can mislead."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.tools.files.diff import diff_texts
from clio.ui.diff_view import DiffRows, list_command_facts, parse_diff, render_diff
from clio.ui.painter import Painter, Part
from clio.ui.palettes import get_builtin_palette
from clio.ui.theme import CurrentPalette, Theme
from tests.support.rows import each_row
from tests.support.terminal_picture import PictureScreen, render_bytes, screen_lines

THEME = Theme()
TEXTS = st.lists(st.sampled_from(["a\n", "-- a\n", "++ b\n", "@@ -1 +1 @@\n", "\n", "\\ x\n"]), max_size=25).map(
    "".join
)


def shown(before: str, after: str, width: int = 20, name: str = "f") -> list[str]:
    return [row.plain for row in DiffRows(diff_texts(before, after, name, name).text, THEME, width)]


def test_a_removed_sql_comment_is_no_file_name() -> None:
    rows = shown("-- drop nothing\nselect 1\n", "++ x\nselect 1\n")
    assert "  --- drop nothing" in rows and "  +++ x" in rows


@given(TEXTS, TEXTS)
def test_every_added_and_removed_line_is_shown(before: str, after: str) -> None:
    diff = diff_texts(before, after, "f", "f")
    rows = parse_diff(diff.text).rows
    assert sum(row.kind == "added" for row in rows) == diff.added
    assert sum(row.kind == "removed" for row in rows) == diff.removed
    new, old = after.split("\n"), before.split("\n")
    for row in rows:
        if row.kind in ("added", "context"):
            assert new[row.number - 1] == row.text
        elif row.kind == "removed":
            assert old[row.number - 1] == row.text


def test_lines_are_numbered_if_there_is_space() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 200))
    after = before.replace("line 150\n", "LINE 150\nmore\n")
    assert "  151  line 150" not in shown(before, after, 60)
    assert {"  150 -line 150", "  150 +LINE 150", "  151 +more", "  152  line 151"} <= set(shown(before, after, 60))
    assert "  150 +LINE 150" in shown(before, after, 59)  # as much as a terminal of 60 columns has space for
    assert "  150 +LINE 150" in shown(before, after, 39)
    assert "  -line 150" in shown(before, after, 20)


@each_row(
    ("before", "after", "row"),
    [
        ("x\n", "\tif x:\n", "  +    if x:"),
        ("x\n", "漢\tx\n", "  +漢  x"),
        ("x\n", "x \t\n", "  +x·→ "),
        ("x\n", "x\r\n", "  +x␍"),
        ("x\n", "x", "  \\ No newline at end of file"),
        ("x\n", "a\x1b[8mhidden\n", "  +a\\x1b[8mhidden"),
        ("x\n", "a\u202eb\n", "  +a\\u202eb"),
        ("x\n", "a\u2028-b\n", "  +a\\u2028-b"),
        ("x\n", "a\x0cb\n", "  +a\\x0cb"),
    ],
)
def test_invisible_characters_are_made_visible(before: str, after: str, row: str) -> None:
    assert row in shown(before, after)


def test_a_line_that_differs_only_at_its_end_is_marked_there() -> None:
    rows = DiffRows(diff_texts("value = 1\n", "value = 1 \n", "f", "f").text, THEME, 20)
    (added,) = [row for row in rows if row.plain.startswith("  +")]
    assert [added.plain[span.start : span.end] for span in added.spans if str(span.style) == "added_word"] == ["·"]


def test_files_are_listed_with_their_kind_of_change() -> None:
    diff = (
        diff_texts("a\n", "b\n", "x.py", "x.py").text
        + diff_texts("", "new\n", "/dev/null", "y.py").text
        + diff_texts("old\n", "", "z.py", "/dev/null").text
        + diff_texts("m\n", "m\n", "from.py", "to.py").text
        + diff_texts("a\n", "b\n", "a/git.py", "b/git.py").text
        + "Binary file logo.png: 3 kB → 4 kB\n"
    )
    rows = [row.plain for row in DiffRows(diff, THEME, 80)]
    named = {"  x.py +1 −1", "  new y.py +1", "  delete z.py −1", "  move from.py → to.py", "  git.py +1 −1"}
    assert named <= set(rows)
    assert rows[-1].strip() == "Binary file logo.png: 3 kB → 4 kB"


def test_a_hunk_shortened_by_redaction_does_not_swallow_the_next_file() -> None:
    diff = "--- a\n+++ a\n@@ -1,3 +1,9 @@\n one\n+[secret]\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"
    assert [row.plain for row in DiffRows(diff, THEME, 40) if row.plain.startswith(("  a", "  b"))] == [
        "  a +1",
        "  b +1 −1",
    ]


def test_a_shortened_diff_names_how_much_is_missing() -> None:
    diff = diff_texts("", "".join(f"{number}\n" for number in range(100)), "/dev/null", "f").text
    rows = [row.plain for row in render_diff(diff, THEME, 80, 20, " (/last)")]
    assert len(rows) == 20 and rows[-1] == "  … 82 more lines (/last)"


def test_a_line_of_a_megabyte_is_cut_in_a_shortened_diff_and_complete_otherwise() -> None:
    diff = diff_texts("", "x" * 1_000_000 + "\n", "/dev/null", "f").text
    assert "more characters" in [row.plain for row in render_diff(diff, THEME, 80, 20)][-1]
    assert len(DiffRows(diff, THEME, 80)[-1].plain) > 1_000_000


def test_without_colours_no_words_are_marked() -> None:
    rows = DiffRows(diff_texts("a b c\n", "a x c\n", "f", "f").text, Theme(escapes=False, colour=False), 40)
    assert not any("_word" in str(span.style) for row in rows for span in row.spans)


PYTHON = diff_texts(
    "def f(a):\n    return 1\n", "def f(a):\n    return a + 1  # changed\n", "a/src/f.py", "b/src/f.py"
).text


def draw(diff: str, columns: int, palette: str = "dark") -> PictureScreen:
    theme = Theme(depth="truecolor", current=CurrentPalette(palette=get_builtin_palette(palette)))
    painter = Painter(theme, lambda: (columns, 40))
    rows = [painter.render_lines(Part(body=row, wraps=False)) for row in DiffRows(diff, theme, painter.width)]
    return render_bytes("".join(rows).encode(), columns, 40)


def find_row(screen: PictureScreen, text: str) -> int:
    return next(number for number, row in enumerate(screen_lines(screen)) if text in row)


@pytest.mark.parametrize(("palette", "added", "removed"), [("dark", "143a20", "4a2222"), ("light", "d7f0d7", "fbdfdf")])
@pytest.mark.parametrize("columns", [40, 80, 140])
def test_changed_rows_have_a_background_to_the_edge(palette: str, added: str, removed: str, columns: int) -> None:
    screen = draw(PYTHON, columns, palette)
    old, new = screen.buffer[find_row(screen, "-    return")], screen.buffer[find_row(screen, "+    return")]
    assert {old[column].bg for column in (0, columns - 1)} == {removed}
    assert {new[column].bg for column in (0, columns - 1)} == {added}
    assert screen.buffer[find_row(screen, "def f")][columns - 1].bg == "default"


def test_code_in_a_diff_has_the_colours_of_code_and_changed_words_are_marked() -> None:
    screen = draw(PYTHON, 80)
    row = screen.buffer[number := find_row(screen, "+    return")]
    text = screen_lines(screen)[number]
    look = {word: row[text.index(word)] for word in ("return", "a +", "# changed")}
    assert look["return"].fg == "d7afff" and look["return"].bg == "143a20"
    assert look["a +"].bg == "1c7a2c" and look["a +"].bold
    assert screen.buffer[find_row(screen, "def f")][text.index("+") + 1].fg == "d7afff"


def test_hunk_headers_are_faint() -> None:
    screen = draw(PYTHON, 80)
    assert screen.buffer[find_row(screen, "@@")][2].fg == get_builtin_palette("dark").styles["faint"].foreground[1:]


def test_the_rows_of_a_long_line_are_indented_below_its_text() -> None:
    screen = draw(diff_texts("", "x = call(first, second, third, fourth, fifth)\n", "/dev/null", "f.py").text, 40)
    number = find_row(screen, "x = call")
    first, second = screen_lines(screen)[number : number + 2]
    assert second.index(second.strip()) > first.index("x")
    assert screen.buffer[number + 1][39].bg == "143a20"


def test_without_backgrounds_added_text_keeps_its_colour() -> None:
    screen = draw(PYTHON, 80, "sixteen")
    row = screen.buffer[number := find_row(screen, "+    return")]
    assert row[screen_lines(screen)[number].index("return")].fg == "green"
    assert {row[column].bg for column in (0, 79)} == {"default"}


def test_only_the_displayed_part_of_a_huge_diff_is_highlighted() -> None:
    theme = Theme(depth="truecolor", current=CurrentPalette(palette=get_builtin_palette("dark")))
    diff = diff_texts("", "def f(): return 1\n" * 50_000, "/dev/null", "f.py").text
    started = time.process_time()
    rows = DiffRows(diff, theme, 80)
    opened = time.process_time() - started
    started = time.process_time()
    assert "code_keyword" in {str(span.style) for span in rows[49_000].spans}
    assert time.process_time() - started < max(opened, 0.1)


def test_a_file_of_an_unknown_type_is_not_highlighted() -> None:
    screen = draw(diff_texts("def\n", "return\n", "x.unknown", "x.unknown").text, 40)
    assert screen.buffer[find_row(screen, "+return")][6].fg == "e4e4e4"


def test_a_hunk_without_a_file_name_is_highlighted_like_its_file() -> None:
    hunk = "@@ -1,2 +1,2 @@\n def total(a):\n-    return a - 1\n+    return a + 1\n"
    theme = Theme(depth="truecolor", current=CurrentPalette(palette=get_builtin_palette("dark")))
    plain, coloured = (DiffRows(hunk, theme, 60, names=False, file_name=name) for name in ("", "prices.py"))
    assert all(len(coloured[place].spans) > len(plain[place].spans) for place in (1, 2, 3))


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("rm -rf build && git push --force origin 'main'", False),
        ("for file in $(git ls-files '*.py'); do wc \"$file\"; done", False),
        ("r\\m -rf build; true", True),
        ("$'\\x72m' -rf build; true", True),
    ],
)
def test_programs_are_listed_if_the_command_does_not_name_them_as_they_run(command: str, programs: bool) -> None:
    briefly = [text for kind, text in list_command_facts(command, ".", brief=True) if kind == "runs"]
    assert bool(briefly) is programs
    assert any(kind == "runs" for kind, _ in list_command_facts(command, "."))
