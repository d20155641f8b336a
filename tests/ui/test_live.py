"""The live rows: what is written for a frame, and what a terminal shows."""

import io

from clio.ui.screen import LiveArea
from tests.support.terminal_picture import render_bytes, screen_lines


class Area:
    """A live area of 40×10, with its output."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.size = (40, 10)
        self.area = LiveArea(self._write, lambda: self.size, reflows=False)

    def _write(self, text: str) -> None:
        self.stream.write(text)

    def show(self, *rows: str, printed: str = "") -> str:
        """Draw rows; return the output of this frame."""
        before = len(self.stream.getvalue())
        self.area.draw(rows, printed)
        return self.stream.getvalue()[before:]

    @property
    def lines(self) -> list[str]:
        return screen_lines(render_bytes(self.stream.getvalue().encode(), *self.size))


def test_a_frame_is_a_synchronized_update_if_supported() -> None:
    frame = Area().show("one", "two")
    assert frame.startswith("\x1b[?2026h") and frame.endswith("\x1b[?2026l")


def test_rows_above_the_first_change_are_not_written_again() -> None:
    area = Area()
    area.show("a table row", "another row", "⠋ 1 s")
    frame = area.show("a table row", "another row", "⠙ 2 s")
    assert "row" not in frame and "2 s" in frame
    assert area.lines[:3] == ["a table row", "another row", "⠙ 2 s"]


def test_rows_below_unchanged_ones_can_appear_and_disappear() -> None:
    area = Area()
    area.show("one", "two")
    area.show("one", "two", "three", "four")
    assert area.lines[:5] == ["one", "two", "three", "four", ""]
    area.show("one", "2")
    assert area.lines[:4] == ["one", "2", "", ""]
    area.show("one")
    assert area.lines[:3] == ["one", "", ""]


def test_printed_text_is_above_and_moves_all_rows_down() -> None:
    area = Area()
    area.show("one", "two")
    area.show("one", "two", printed="for good\n")
    assert area.lines[:3] == ["for good", "one", "two"]


def test_unchanged_rows_write_nothing() -> None:
    area = Area()
    area.show("one")
    assert area.show("one") == ""
