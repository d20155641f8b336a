"""Draws docs/session.svg, the animated picture of the README: a real clio in a real shell, with a scripted model.

    python docs/make_picture.py [FILE.svg]

The model's words are written below; everything else is what the programs do: the tools run, the test fails and passes,
the memory is saved, and the second session is told it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from picture_stage import ROOT, Stage, shell_stage, still

from tests.support.chat_server import text, tool_calls
from tests.support.terminal_picture import Frame, animation_of, take_frame

COLUMNS, LINES = 92, 30
FILES = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n.clio/\n",
    "prices.py": 'def total(prices, discount):\n    """Sum after a discount in percent."""\n'
    "    return sum(prices) - discount\n",
    "test_prices.py": "from prices import total\n\n\ndef test_total():\n    assert total([40, 60], 10) == 90\n\n\n"
    "def test_discount_is_a_share():\n    assert total([100, 100], 10) == 180\n",
}
RUN = ("run_command", {"command": "pytest -q"})
FIX = ("edit_file", {"path": "prices.py", "old_string": "- discount", "new_string": "* (100 - discount) / 100"})
LEARN = ("memory_operations", {"operation": "remember", "content": "discounts are percentages everywhere"})
FIXED = (
    "`total` subtracted the discount as an amount; it is a **percentage**. Fixed in `prices.py:3`, both tests pass. "
    "I saved for later sessions that discounts are percentages everywhere."
)
ANSWER = "A percentage: discounts are percentages everywhere in this project, so `voucher=5` means 5 percent off."


class Film:
    """The frames, taken from the terminal at chosen moments."""

    def __init__(self, on: Stage) -> None:
        self.frames: list[Frame] = []
        self._on = on

    def shot(self, seconds: float) -> None:
        """Add the screen as it stands, to be shown that long."""
        self._on.terminal.take_in()
        still(self._on.terminal.screen)
        self.frames.append(take_frame(self._on.terminal.screen, seconds))

    def type(self, line: str) -> None:
        """Type a line word by word, then press Enter."""
        terminal = self._on.terminal
        typed = ""
        for word in line.split(" "):
            terminal.send(word if not typed else f" {word}")
            typed += word if not typed else f" {word}"
            terminal.wait_for(typed.rpartition("\n")[2][-30:])
            self.shot(0.16)
        self.shot(0.5)
        terminal.send("\r")

    def answer(self, question: str, key: str, seconds: float) -> None:
        """Show an approval, then press a key."""
        self._on.wait_question(question)
        self.shot(seconds)
        self._on.terminal.send(key)
        self._on.terminal.wait_gone("n no")


def main(target: Path) -> None:
    """Play both sessions and write the picture."""
    replies = [
        tool_calls([("read_file", {"path": "prices.py"}), ("read_file", {"path": "test_prices.py"})]),
        tool_calls([RUN]),
        tool_calls([FIX]),
        tool_calls([RUN, LEARN]),
        text(FIXED, usage=(6_214, 388, 5_120)),
        text(ANSWER, usage=(5_410, 64, 4_096)),
    ]
    with shell_stage(replies, FILES, columns=COLUMNS, lines=LINES) as on:
        film = Film(on)
        film.shot(0.6)
        film.type("clio")
        on.terminal.wait_for("gpt-5.6 · ")
        on.settle()
        film.shot(1.6)
        film.type("test_prices.py fails. Find out why and fix it.")
        film.answer("pytest -q", "a", 2.2)
        film.answer("edit prices.py", "y", 2.8)
        on.terminal.wait_for("5 requests")
        on.settle()
        film.shot(4.5)
        film.type("/exit")
        on.terminal.wait_for_screen(r"\$\s*\Z")
        film.shot(0.8)
        film.type("clio")
        on.terminal.wait_for("2 memories")
        on.settle()
        film.shot(2.2)
        film.type("Is a voucher an amount or a percentage here?")
        on.terminal.wait_for("1 request")
        on.settle()
        film.shot(6.0)
    target.write_text(animation_of(film.frames, COLUMNS, title="clio — shop"), encoding="utf-8")
    sys.stdout.write(f"{target}: {len(film.frames)} frames, {sum(frame.seconds for frame in film.frames):.0f} s\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "session.svg")
