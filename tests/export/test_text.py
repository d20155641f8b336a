"""Invisible or misleading characters are removed or shown as escapes."""

import json

from clio.export.export_session import escape_invisible, remove_terminal_sequences, spell_out_invisible
from tests.support.rows import each_row


@each_row(
    ("raw", "clean"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://x.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext", "\x1b]0;never ended\nnext"),
        ("one\r\ntwo\rthree", "one\ntwo\rthree"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("plain naïve 漢字", "plain naïve 漢字"),
    ],
)
def test_terminal_sequences_are_removed(raw: str, clean: str) -> None:
    assert remove_terminal_sequences(raw) == clean


@each_row(
    ("raw", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("a\x1bb", "a␛b"),
        ("a\rb", "a␍b"),
        ("a\x7fb", "a␡b"),
        ("a\x85b", "a⟨U+0085⟩b"),
        ("a\u202eb\u2069", "a⟨U+202E⟩b⟨U+2069⟩"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    assert spell_out_invisible(raw) == shown
    assert spell_out_invisible(shown) == shown


def test_direction_marks_in_json_become_escapes_with_the_same_value() -> None:
    value = {"a\u202e": "b\u2066\\u202e", "c": "\\"}
    text = escape_invisible(json.dumps(value, ensure_ascii=False))
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert json.loads(text) == value
