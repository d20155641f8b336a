"""A line drawn with backspaces looks correct in a terminal."""

import random

import pyte
import pytest

from clio.ui.plain_line import EchoedLine


class Terminal:
    """Interprets the output of an EchoedLine; only text, newlines and backspaces are allowed."""

    def __init__(self, columns: int) -> None:
        self.written = ""
        self.screen = pyte.Screen(columns, 60)
        self._stream = pyte.Stream(self.screen)
        self.line = EchoedLine(self._write, lambda: columns)

    def _write(self, text: str) -> None:
        assert not any(ord(character) < 32 and character not in "\n\b" for character in text)
        self.written += text
        self._stream.feed(text.replace("\n", "\r\n"))

    @property
    def last(self) -> str:
        """Return all text before and after the cursor, without blanks."""
        rows = self.screen.display[max(self.screen.cursor.y - 12, 0) :]
        return "".join(rows).replace(" ", "")


def test_characters_appear_as_typed_and_are_removed_by_backspaces() -> None:
    terminal = Terminal(80)
    for text, cursor in (("a", 1), ("ab", 2), ("a", 1), ("xa", 1), ("xa", 2), ("xa", 0)):
        terminal.line.show("you: ", text, cursor)
    terminal.line.end()
    assert terminal.written == "you: ab\b \b\bxa\ba\b\b\n"


def test_a_replaced_text_is_printed_on_a_new_line() -> None:
    terminal = Terminal(80)
    terminal.line.show("you: ", "git", 3)
    terminal.line.show("you: ", "make test", 9)
    terminal.line.show("you: ", "make test\nmore", 14)
    assert terminal.written == "you: git\nyou: make test\nline 2 of 2: more"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_after_any_edits_the_line_and_the_cursor_are_correct(columns: int) -> None:
    for seed in range(10):
        chance = random.Random(seed)
        terminal = Terminal(columns)
        text, cursor = "", 0
        for _ in range(20):
            match chance.randrange(6):
                case 0 | 1 | 2:
                    come = chance.choice(("a", "b", "aa", "漢", "xyz"))
                    text, cursor = text[:cursor] + come + text[cursor:], cursor + len(come)
                case 3 if cursor:
                    text, cursor = text[: cursor - 1] + text[cursor:], cursor - 1
                case 4:
                    cursor = chance.randint(0, len(text))
                case _:
                    text = chance.choice(("", "status", text[:cursor]))
                    cursor = len(text)
            terminal.line.show("you:", text, cursor)
            behind = terminal.line._unprinted  # pyright: ignore[reportPrivateUsage]
            assert ("you:" + text[: len(text) - len(behind)]) in terminal.last
            if text.isascii():
                assert terminal.screen.cursor.x in ((4 + cursor) % columns, columns)
