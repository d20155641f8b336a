"""Text rows with their own indentation, and the user's message in the conversation."""

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.hanging_text import HangingText, render_user_message
from clio.ui.painter import Painter, count_row_cells
from clio.ui.palettes import get_builtin_palette
from clio.ui.theme import CurrentPalette, Theme
from tests.support.terminal_picture import PictureScreen, render_bytes, screen_lines


def show_message(text: str, columns: int, palette: str = "dark") -> PictureScreen:
    current = CurrentPalette(palette=get_builtin_palette(palette))
    theme = Theme(colour=palette != "none", depth="truecolor", current=current)
    painter = Painter(theme, lambda: (columns, 24))
    parts = render_user_message(text, theme)
    return render_bytes("".join(map(painter.render_lines, parts)).encode(), columns, 24)


def test_the_users_turn_has_a_background_over_the_full_width() -> None:
    screen = show_message("why?\n\nsecond line", 40)
    assert screen_lines(screen)[:4] == ["❯ why?", "", "  second line", ""]
    for row in range(3):
        assert {screen.buffer[row][column].bg for column in range(40)} == {"3a3a3a"}
    assert screen.buffer[3][0].bg == "default"


def test_without_colour_the_users_turn_has_no_background() -> None:
    screen = show_message("why?", 40, "none")
    assert screen_lines(screen)[0] == "❯ why?"
    assert {screen.buffer[0][column].bg for column in range(40)} == {"default"}


def test_wrapped_rows_of_the_users_turn_are_aligned_with_its_text() -> None:
    rows = [row for row in screen_lines(show_message("one two three four five six seven eight", 20)) if row]
    assert rows == ["❯ one two three", "  four five six", "  seven eight"]


def test_control_sequences_of_a_message_are_removed() -> None:
    assert screen_lines(show_message("a\x1b[2Jb\x1b]0;title\x07c", 40))[0] == "❯ abc"


@given(st.text(alphabet="ab 漢🎉\u0301-", max_size=80), st.integers(1, 30), st.integers(0, 10))
def test_rows_fit_and_lose_only_blanks(text: str, width: int, hang: int) -> None:
    rows = list(HangingText(text, hang=hang).split_rows(width))
    assert "".join(row.plain for row in rows).replace(" ", "") == text.replace(" ", "")
    assert all(row.cell_len <= max(width, 2) for row in rows)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=9), min_size=1, max_size=20), st.integers(24, 60))
def test_words_that_fit_are_not_broken(words: list[str], width: int) -> None:
    rows = HangingText(" ".join(words), hang=2).split_rows(width)
    assert [word for row in rows for word in row.plain.split()] == words


def test_a_filled_row_counts_the_columns_of_its_text() -> None:
    theme = Theme(depth="truecolor", current=CurrentPalette(palette=get_builtin_palette("dark")))
    rows = [Painter(theme, lambda: (40, 9)).render_rows(part) for part in render_user_message("abc", theme)]
    assert [count_row_cells(row) for part in rows for row in part] == [len("❯ abc")]


def split(text: str, width: int) -> list[str]:
    return [row.plain for row in HangingText(text, hang=2).split_rows(width)]


def test_a_url_after_a_few_words_moves_to_the_next_row_as_a_whole() -> None:
    rows = split("can't connect to http://127.0.0.1:34327 (connection refused)", 38)
    assert rows == ["can't connect to", "  http://127.0.0.1:34327 (connection", "  refused)"]
    assert split("› " + "x" * 37, 38) == ["› " + "x" * 36, "  x"]  # after a sign it is broken


def test_a_line_of_parts_is_wrapped_between_them() -> None:
    assert split("rate limited (error 429) · retrying in 6 s (1 of 4)", 48) == [
        "rate limited (error 429) ·",
        "  retrying in 6 s (1 of 4)",
    ]
