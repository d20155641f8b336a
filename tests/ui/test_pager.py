"""A page is always full, stays within the text, and can reach every row."""

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.scroll_page import ScrollPage


def page_of(heights: list[int]) -> tuple[ScrollPage, list[str]]:
    lines = [[f"{line}.{row}" for row in range(height)] for line, height in enumerate(heights)]
    return ScrollPage(len(lines), lambda line: lines[line]), [row for line in lines for row in line]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=20), st.integers(1, 12), st.lists(st.integers(-30, 30)))
def test_a_page_shows_a_full_part_of_the_text(heights: list[int], height: int, moves: list[int]) -> None:
    page, rows = page_of(heights)
    at = 0
    lowest = max(len(rows) - height, 0)
    for move in moves:
        page.scroll(move, height)
        at = min(max(at + move, 0), lowest)
        assert page.get_visible_rows(height) == rows[at : at + height]


@given(st.lists(st.integers(1, 7), min_size=1, max_size=20), st.integers(1, 12))
def test_home_and_end_go_to_the_first_and_last_row(heights: list[int], height: int) -> None:
    page, rows = page_of(heights)
    page.scroll_to_end(height)
    assert page.get_visible_rows(height) == rows[-height:]
    assert page.describe_position(height).endswith(f"-{len(heights)} of {len(heights)}")
    page.scroll_to_start()
    assert page.get_visible_rows(height) == rows[:height]
    assert page.fits_in_height(height) is (len(rows) <= height)


def test_only_visible_rows_are_rendered() -> None:
    made: list[int] = []

    def rows_of(line: int) -> list[str]:
        made.append(line)
        return [str(line)]

    page = ScrollPage(1_000_000, rows_of)
    page.get_visible_rows(20)
    page.scroll_to_end(20)
    page.get_visible_rows(20)
    assert len(set(made)) <= 60
