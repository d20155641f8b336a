"""Pastes arrive complete in any pieces, and keys after them as keys."""

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from clio.ui.keyboard import prepare_input
from tests.support.rows import each_row

PASTED = "one\n\x1b[31mtwo\x1b[0m " * 50


@each_row("size", [1, 2, 5, 7, 100, 10_000])
def test_a_paste_in_pieces_is_one_paste(size: int) -> None:
    data = f"a\x1b[200~{PASTED}\x1b[201~b\x1b[200~again\x1b[201~"
    with create_pipe_input() as keyboard:
        prepare_input(keyboard)
        prepare_input(keyboard)
        presses: list[KeyPress] = []
        for at in range(0, len(data), size):
            keyboard.send_text(data[at : at + size])
            presses += keyboard.read_keys()
        assert [(press.key, press.data) for press in presses] == [
            ("a", "a"),
            (Keys.BracketedPaste, PASTED),
            ("b", "b"),
            (Keys.BracketedPaste, "again"),
        ]
