"""Draws docs/session.svg: a real clio in a real terminal, working with a scripted model.

    python docs/make_picture.py [FILE.svg]

The model's words are written below; everything else is what the program does: the tools run, the test fails and passes,
the commit is made.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.chat_server import ChatServer, text, tool_calls  # noqa: E402 the path must be set first
from tests.support.desk import make_repository  # noqa: E402
from tests.support.pty_session import PtySession  # noqa: E402
from tests.support.terminal_picture import svg_of  # noqa: E402

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
LEARN = ("memory_operations", {"operation": "add_discovery", "fact": "discounts are percentages everywhere"})
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
    with tempfile.TemporaryDirectory() as folder, ChatServer(replies) as server:
        project = Path(folder) / "shop"
        make_repository(project, FILES)
        with PtySession(
            [sys.executable, "-m", "clio"], cwd=project, env=environment(folder, server), columns=COLUMNS, lines=LINES
        ) as terminal:
            settle(terminal)
            terminal.line("test_prices.py fails. Find out why, fix it, and commit.")
            answer(terminal, "pytest -q", "a")
            answer(terminal, "edit prices.py", "y")
            answer(terminal, "git commit", "y")
            terminal.wait_for("6 steps")
            settle(terminal)
            target.write_text(svg_of(terminal.screen, title="clio — shop"), encoding="utf-8")
    sys.stdout.write(f"{target}\n")


def answer(terminal: PtySession, question: str, key: str) -> None:
    """Press one key when the approval of this call is asked."""
    terminal.wait_for(rf"\? (?:run |)?{question}[\s\S]*n no", regex=True)
    settle(terminal)
    terminal.send(key)
    terminal.wait_gone("n no")


def settle(terminal: PtySession) -> None:
    """Wait until nothing more is drawn; what is typed in the first second of a question does not count."""
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        terminal.take_in(0.1)


def environment(folder: str, server: ChatServer) -> dict[str, str]:
    """A home of its own, so that the picture is the same for everybody."""
    return {
        "HOME": folder,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": server.url,
        "CLIO_MODEL": "gpt-5.6",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "session.svg")
