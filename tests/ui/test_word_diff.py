"""Which words of a changed line are marked, and which lines count as versions of each other."""

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.diff_view import find_changed_words, pair_lines
from tests.support.rows import each_row

LINES = st.text(alphabet="ab =.(漢字\t", max_size=60)


def marked(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


@each_row(
    ("old", "new", "gone", "come"),
    [
        ("return a - b", "return a + b", ["-"], ["+"]),
        ("port = 8080", "port = 8081", ["8080"], ["8081"]),
        ("x = compute(a, b)", "x = compute(a, b, c)", [], [", c"]),
        ("keep this", "keep this ", [], [" "]),
        ("    return x", "\treturn x", ["    "], ["\t"]),
        ("# 世界 の 漢字", "# 世界 の 漢語", ["字"], ["語"]),
        ("one two three four", "one 2 3 four", ["two three"], ["2 3"]),
        ("import os", "class Shape(Base):", [], []),
        ("", "x", [], []),
    ],
)
def test_the_words_that_differ_are_marked(old: str, new: str, gone: list[str], come: list[str]) -> None:
    before, after = find_changed_words(old, new)
    assert (marked(old, before), marked(new, after)) == (gone, come)


@given(LINES, LINES)
def test_unmarked_text_is_the_same_on_both_sides(old: str, new: str) -> None:
    """Except for single blanks between two marked words, which are marked too."""
    before, after = find_changed_words(old, new)
    if before or after:
        rest = ["".join(c for at, c in enumerate(text) if not any(s <= at < e for s, e in spans) and not c.isspace())
                for text, spans in ((old, before), (new, after))]  # fmt: skip
        assert rest[0] == rest[1]
    for text, spans in ((old, before), (new, after)):
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)


def test_a_very_long_line_is_marked_from_its_first_difference_to_its_last() -> None:
    old = "x" * 500_000 + " a b " + "y" * 500_000
    before, after = find_changed_words(old, old.replace(" a b ", " c "))
    assert marked(old, before) == ["a b"] and len(after) == 1


def test_lines_are_paired_by_similarity_and_in_order() -> None:
    old = ["alpha = first(1)", "beta = second(2)"]
    new = ["# about both", "alpha = first(10)", "gamma()", "beta = second(20)"]
    assert pair_lines(old, new) == [(0, 1), (1, 3)]
    assert pair_lines(["import os"], ["class A: pass"]) == []


def test_many_lines_are_paired_in_order_or_not_at_all() -> None:
    assert pair_lines(["a"] * 1000, ["b"] * 1000)[:2] == [(0, 0), (1, 1)]
    assert pair_lines(["a"] * 1000, ["b"] * 999) == []
