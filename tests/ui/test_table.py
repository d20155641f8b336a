"""Tables that fit the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from clio.commands.command import Table
from clio.commands.registry import make_command_table
from clio.ui.painter import count_cells
from clio.ui.tables import TableRows, render_table, wrap_cells

WORDS = st.text(alphabet="abc défg漢字 -/", max_size=40)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5), st.integers(8, 100), st.integers(0, 2), st.booleans())
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int, wide: int, cut: bool) -> None:
    heading, lines = render_table(
        Table(columns=("#", "name", "x"), rows=tuple(rows), wide_column=wide, is_truncated=cut), width
    )
    assert all(count_cells(line) <= width for line in [heading, *lines])
    if not cut:
        kept = "".join(lines).replace(" ", "").replace("·", "")
        assert sorted(kept) == sorted("".join("".join(row) for row in rows).replace(" ", ""))


def test_a_heading_cannot_control_the_terminal() -> None:
    table = Table(columns=("m\x1b]0;x\x07\u202e1", "fact\x07"), rows=(("text", "x"),))
    for heading in (render_table(table, 80)[0], TableRows(table, 80).heading):
        assert heading.split() == ["m1", "fact"]


def test_columns_are_aligned_with_their_headings() -> None:
    table = Table(columns=("#", "session", "id"), rows=(("1", "漢字 words", "ab"), ("12", "x", "cd")), wide_column=1)
    assert render_table(table, 80) == ("#   session     id", ["1   漢字 words  ab", "12  x           cd"])


def test_the_wide_column_is_cut_or_wrapped() -> None:
    rows = (("1", "a rather long title of a session", "ab"),)
    assert render_table(Table(columns=("#", "t", "id"), rows=rows, wide_column=1, is_truncated=True), 24)[1] == [
        "1  a rather long ti…  ab"
    ]
    assert render_table(Table(columns=("#", "t", "id"), rows=rows, wide_column=1), 24)[1] == [
        "1  a rather long      ab",
        "   title of a",
        "   session",
    ]


def test_no_word_of_a_table_is_broken() -> None:
    table = Table(columns=("#", "path", "id"), rows=(("1", "see tests/entrypoints/test_repl.py", "ab"),), wide_column=1)
    for width in range(36, 60):
        assert "tests/entrypoints/test_repl.py" in " ".join(render_table(table, width)[1])


def test_help_is_readable_on_twenty_columns() -> None:
    heading, lines = render_table(make_command_table(), 20)
    assert heading == ""
    assert lines[:2] == ["/help", "  [COMMAND|keys] ·"]


def test_a_stacked_row_names_its_numbers() -> None:
    columns = ("#", "session", "last used", "messages", "id")
    rows = (("1", "the retry policy", "2 h ago", "1", "01a2031b"), ("2", "a name", "this one", "1,200", "01a2031c"))
    assert render_table(Table(columns=columns, rows=rows, wide_column=1), 40) == (
        "",
        [
            "1 · the retry policy · 2 h ago ·",
            "  1 message · 01a2031b",
            "2 · a name · this one ·",
            "  1,200 messages · 01a2031c",
        ],
    )


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5), st.integers(8, 100), st.integers(0, 2))
def test_rows_rendered_one_by_one_equal_those_of_the_table(
    rows: list[tuple[str, str, str]], width: int, wide: int
) -> None:
    table = Table(columns=("#", "name", "x"), rows=tuple(rows), wide_column=wide, is_truncated=True)
    one_by_one = TableRows(table, width)
    lines = [one_by_one[number] for number in range(len(rows))]
    assert all(count_cells(line) <= width for line in [one_by_one.heading, *lines])
    heading, whole = render_table(table, width)
    if heading and one_by_one.heading.endswith(" x"):  # no column had to be left out
        assert [line.split() for line in (one_by_one.heading, *lines)] == [line.split() for line in (heading, *whole)]


def test_numbers_are_right_aligned_and_empty_columns_left_out() -> None:
    table = Table(
        columns=("turn", "", "window", "cost"),
        rows=(("1 begin", "5.4k in", "", "$0.0044"), ("session", "11k in", "", "$0.31")),
    )
    assert render_table(table, 60) == (
        f"turn{'cost':>21}",
        ["1 begin  5.4k in  $0.0044", "session   11k in    $0.31"],
    )
    assert TableRows(table, 60)[1] == "session   11k in    $0.31"


def test_short_parts_of_a_list_are_not_broken() -> None:
    assert wrap_cells("8 count money in whole cents · 11k in · 8.2k cached · 192 out", 36) == [
        "8 count money in whole cents ·",
        "11k in · 8.2k cached · 192 out",
    ]


def test_a_long_text_is_truncated_in_a_paragraph_too() -> None:
    table = Table(
        columns=("id", "what", "age"), rows=(("a1b2c3d4", "word " * 50, "12 d"),), wide_column=1, is_truncated=True
    )
    heading, rows = render_table(table, 24)
    assert heading == "" and len(rows) <= 4 and "…" in " ".join(rows) and rows[-1].endswith("12 d")


def test_a_list_with_one_named_column_has_no_heading() -> None:
    rows = (("→", "dark", "for dark backgrounds"), ("", "light", "for light ones"))
    assert TableRows(Table(columns=("", "theme", ""), rows=rows, wide_column=2), 60).heading == ""
    assert TableRows(Table(columns=("", "theme", "what"), rows=rows, wide_column=2), 60).heading


def test_commands_in_a_narrow_help_are_not_broken() -> None:
    assert wrap_cells("/docs documents · /recall search all · /feedback + or -", 26) == [
        "/docs documents ·",
        "/recall search all ·",
        "/feedback + or -",
    ]


def test_an_id_of_digits_is_no_number() -> None:
    table = Table(
        columns=("id", "what", "size"), rows=(("19034426", "x", "1,204"), ("55012377", "y", "7")), wide_column=1
    )
    assert render_table(table, 40)[0] == "id        what   size"
