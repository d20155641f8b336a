"""The small line editor used during a turn: text, cursor, keys, and the one row that shows it."""

from collections.abc import Callable

from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from rich.cells import cell_len

from clio.ui.keyboard import TypedKeys, TypedLine, TypingState, WaitingText, render_typed_row, render_waiting_texts
from clio.ui.line_rules import fit_placeholder
from tests.support.rows import each_row

FAMILY = "👨\u200d👩\u200d👧"


def line(marked: str) -> TypedLine:
    """Return a line with the cursor at the bar."""
    before, _, behind = marked.partition("|")
    made = TypedLine(before + behind)
    made.cursor = len(before)
    return made


def marked(line: TypedLine) -> str:
    return f"{line.text[: line.cursor]}|{line.text[line.cursor :]}"


@each_row(
    ("before", "act", "after"),
    [
        ("ab|", TypedLine.move_left, "a|b"),
        ("|ab", TypedLine.move_left, "|ab"),
        ("a|b", TypedLine.move_right, "ab|"),
        ("ab|", TypedLine.move_right, "ab|"),
        ("漢字|", TypedLine.move_left, "漢|字"),
        ("e\u0301|x", TypedLine.backspace, "|x"),
        ("|e\u0301x", TypedLine.delete, "|x"),
        (f"a{FAMILY}|", TypedLine.move_left, f"a|{FAMILY}"),
        (f"a{FAMILY}|", TypedLine.backspace, "a|"),
        ("one\ntw|o", TypedLine.move_to_line_start, "one\n|two"),
        ("o|ne\ntwo", TypedLine.move_to_line_end, "one|\ntwo"),
        ("one two  |", TypedLine.move_word_left, "one |two  "),
        ("one| two", TypedLine.move_word_right, "one two|"),
        ("fix the test |now", TypedLine.cut_word, "fix the |now"),
        ("|now", TypedLine.cut_word, "|now"),
        ("a\nb|c", TypedLine.cut_to_start, "|c"),
        ("a|b\nc", TypedLine.cut_to_end, "a|\nc"),
        ("|", TypedLine.backspace, "|"),
        ("|", TypedLine.delete, "|"),
    ],
)
def test_text_is_edited(before: str, act: Callable[[TypedLine], None], after: str) -> None:
    edited = line(before)
    act(edited)
    assert marked(edited) == after


def test_inserted_text_is_sanitized() -> None:
    edited = line("a|b")
    edited.insert("\x1b[31mred\x1b[0m\x07\r\nx\ty")
    assert marked(edited) == "ared\nx    y|b"


@each_row("width", [4, 9, 20, 77])
@each_row("text", ["", "short", "a long sentence about nothing much at all, " * 4, "漢字かな交じり文 " * 12])
def test_one_row_shows_the_line_at_any_cursor_position(text: str, width: int) -> None:
    for cursor in range(len(text) + 1):
        typed = line(text[:cursor] + "|" + text[cursor:])
        shown, column = typed.render_row(width)
        assert cell_len(shown) <= width
        assert 0 <= column < width
        if cursor < len(text) and width > 4:
            at_cursor = next(place for place in range(len(shown) + 1) if cell_len(shown[:place]) == column)
            assert shown[at_cursor] in (text[cursor], "…")


def test_line_breaks_are_marked() -> None:
    assert line("one\ntwo|").render_row(40) == ("one↵two", 7)


def press(keys: TypedKeys, *pressed: KeyPress | str) -> None:
    for key in pressed:
        keys.handle_key(key if isinstance(key, KeyPress) else KeyPress(key, key))


def test_keys_edit_the_line() -> None:
    keys = TypedKeys(line("fix it|"))
    press(keys, KeyPress(Keys.ControlLeft, ""), "!", KeyPress(Keys.BracketedPaste, "a\r\nb"), KeyPress(Keys.End, ""))
    keys.handle_key(KeyPress(Keys.ControlM, "\r"), alt=True)
    keys.handle_key(KeyPress("b", "b"), alt=True)
    keys.handle_key(KeyPress("x", "x"), alt=True)
    assert marked(keys.line) == "fix !a\n|bit\n"


def test_enter_and_up_are_explained() -> None:
    hints: list[str] = []
    keys = TypedKeys(on_enter=hints.append, on_up=lambda: hints.append("up"), on_key=lambda: hints.append("key"))
    press(keys, "a", KeyPress(Keys.Up, ""), KeyPress(Keys.ControlM, "\r"), KeyPress(Keys.Up, ""), KeyPress(Keys.F5, ""))
    assert hints == ["key", "a", "up"]
    assert keys.line.text == ""


def test_the_cursor_is_after_the_sign_if_nothing_is_typed() -> None:
    assert render_typed_row(TypingState(line=TypedLine()), "❯ ", 80) == (fit_placeholder(78), 2)
    assert render_typed_row(TypingState(line=TypedLine(), hint="↑ to edit the last"), "❯ ", 40) == (
        "↑ to edit the last",
        2,
    )
    assert render_typed_row(TypingState(line=line("ab|c")), "❯ ", 40) == ("abc", 4)


def test_many_queued_messages_are_counted_and_long_ones_shortened() -> None:
    waiting = [WaitingText(f"queued {number}", f"text {number}\nof two lines") for number in range(1, 8)]
    assert render_waiting_texts(waiting[:2], 40, 24) == [
        "queued 1: text 1 of two lines",
        "queued 2: text 2 of two lines",
    ]
    tall, low = render_waiting_texts(waiting, 16, 24), render_waiting_texts(waiting, 16, 15)
    assert tall == ["… 4 more above", "queued 5: text…", "queued 6: text…", "queued 7: text…"]
    assert low == ["… 6 more above", "queued 7: text…"]
