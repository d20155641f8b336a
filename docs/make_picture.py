"""Draws docs/session.svg: a real clio in a real terminal, working with a scripted model.

    python docs/make_picture.py [FILE.svg]

The model's words are written below; everything else is what the program does: the tools run, the test fails and passes,
the commit is made.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from picture_stage import ROOT, stage

from tests.support.chat_server import text, tool_calls

COLUMNS, LINES = 96, 46
FILES = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    "prices.py": 'def total(prices, discount):\n    """Sum after a discount in percent."""\n'
    "    return sum(prices) - discount\n",
    "test_prices.py": "from prices import total\n\n\ndef test_total():\n    assert total([40, 60], 10) == 90\n\n\n"
    "def test_discount_is_a_share():\n    assert total([100, 100], 10) == 180\n",
}
RUN = ("run_command", {"command": "pytest -q"})
FIX = ("edit_file", {"path": "prices.py", "old_string": "- discount", "new_string": "* (100 - discount) / 100"})
LEARN = ("memory_operations", {"operation": "remember", "content": "discounts are percentages everywhere"})
COMMIT = ("git", {"operation": "commit", "message": "fix: a discount is a percentage", "paths": ["prices.py"]})
ANSWER = (
    "The discount was subtracted as an amount; it is a **percentage**. Fixed in `prices.py:3`, both tests pass, "
    "committed. I noted for later sessions that discounts are percentages everywhere."
)


def main(target: Path) -> None:
    """Play the session and write the picture."""
    replies = [
        tool_calls([("read_file", {"path": "prices.py"}), ("read_file", {"path": "test_prices.py"})]),
        tool_calls([RUN]),
        tool_calls([FIX]),
        tool_calls([RUN, LEARN]),
        tool_calls([COMMIT]),
        text(ANSWER, usage=(6_214, 388, 5_120)),
    ]
    with stage(replies, FILES, columns=COLUMNS, lines=LINES) as on:
        on.terminal.line("test_prices.py fails. Find out why, fix it, and commit.")
        on.answer("pytest -q", "a")
        on.answer("edit prices.py", "y")
        on.answer("git commit", "y")
        on.terminal.wait_for("6 requests")
        on.settle()
        target.write_text(on.picture(), encoding="utf-8")
    sys.stdout.write(f"{target}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "session.svg")
