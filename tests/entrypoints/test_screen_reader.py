"""A real terminal in screen reader mode: a whole conversation, and every byte written for it."""

import re
import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, error, stall, text, tool_calls
from tests.support.pty_session import PtySession
from tests.ui.test_reader_screen import DRAWN
from tests.ui.test_screen import golden

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

PASTES = re.compile(r"\x1b\[\?2004[hl]")
"""The sequence for bracketed paste; it draws nothing."""
ANSWER = """# Result

Two **things** changed. Run `make test` now!

| Name | Count |
|------|-------|
| x    | 2     |

```python
x = 2
```
"""
TODOS = [{"id": 1, "title": "look", "status": "completed"}, {"id": 2, "title": "write", "status": "in_progress"}]


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    place = make_place(tmp_path, server)
    (place.project / "app.py").write_text("import os\nx = 1\n", encoding="utf-8")
    return place


def written(clio: PtySession) -> str:
    """Return every byte without the sequence for pastes; newlines as in Python."""
    return PASTES.sub("", clio.raw.decode()).replace("\r\n", "\n")


def typed(clio: PtySession, line: str) -> None:
    """Type like a user: the line is echoed before Enter."""
    clio.send(line)
    clio.wait_for(f"you: {line}")
    clio.key("enter")


def settled(clio: PtySession, text: str) -> None:
    """Wait for the text, and then for an empty prompt, because text typed before counts as typed ahead."""
    clio.wait_for(rf"{re.escape(text)}[^\n]*\n(.*\n)*you:$", regex=True)


def test_a_conversation_is_plain_lines_each_printed_once(place: Place, server: ChatServer) -> None:
    server.add(
        tool_calls([("read_file", {"path": "app.py"})]),
        tool_calls([("edit_file", {"path": "app.py", "old_string": "x = 1", "new_string": "x = 2\ny = 3"})]),
        tool_calls([("todo_operations", {"operation": "write", "todos": TODOS})]),
        text(ANSWER),
        error(400, {"error": {"message": "no such model"}}),
    )
    with place.clio("--screen-reader") as clio:
        clio.wait_for("you:")
        typed(clio, "edit it")
        clio.wait_for("keys: y yes; s yes")
        clio.send("y")
        settled(clio, "done, 4 requests")
        typed(clio, "/todo")
        settled(clio, "2. in progress: write")
        typed(clio, "and again")
        settled(clio, "failed, 1 request")
        typed(clio, "/undo")
        settled(clio, "/redo restores it")
        clio.key("enter")
        settled(clio, "approval mode ask")
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
        output = written(clio)
    assert not DRAWN.search(output)
    assert "\b" not in output
    output = re.sub(r"127\.0\.0\.1:\d+", "SERVER", re.sub(r"clio -r \w+", "clio -r ID", output))
    output = re.sub(r"(?m)^(done|failed), (\d requests?), .*$", r"\1, \2, ...", output)
    output = re.sub(r"(model test-model, approval mode ask),[^:]* tokens", r"\1, ... tokens", output)
    output = re.sub(r"(?m)^consolidated: .*\n", "", output)
    golden("reader_conversation", output.rstrip("\n"))


def test_typing_ahead_and_escape_work(place: Place, server: ChatServer) -> None:
    server.add(stall("First sentence. Second one. " + "more words " * 30))
    with place.clio(CLIO_SCREEN_READER="1") as clio:
        clio.wait_for("you:")
        typed(clio, "go on")
        clio.wait_for("clio: First sentence.")
        typed(clio, "then test")
        clio.wait_for("queued 1: then test")
        clio.wait_for("Enter again to send now, Up to edit")
        clio.key("enter")
        clio.wait_for("steering: then test")
        clio.key("escape")
        clio.wait_for("interrupted, 1 request")
        clio.wait_for("Enter to send these, Up to edit the last")
        said = written(clio)
    assert not DRAWN.search(said)


def test_a_settings_file_turns_it_on_before_anything_is_drawn(place: Place, server: ChatServer) -> None:
    (place.home / ".clio" / "config.yaml").write_text("screen_reader: true\nediting: vi\n", encoding="utf-8")
    with place.clio("--incognito") as clio:
        clio.wait_for("you:")
        assert not DRAWN.search(written(clio))
        assert "screen reader mode" in clio.text


def test_a_terminal_with_line_input_is_supported_too(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("run_command", {"command": "touch made"})]), text("All **done**."))
    with place.clio("--screen-reader", TERM="dumb") as clio:
        clio.wait_for("you:")
        clio.line("make it")
        clio.wait_for("question 1: run touch made, medium risk")
        clio.wait_for("n = no")
        clio.line("y")
        clio.wait_for("clio: All done.")
        assert not DRAWN.search(written(clio))
    assert (place.project / "made").exists()


def test_ctrl_o_and_long_outputs_open_no_pager(place: Place, server: ChatServer) -> None:
    (place.project / "long.txt").write_text("".join(f"row {n}\n" for n in range(60)), encoding="utf-8")
    server.add(tool_calls([("read_file", {"path": "long.txt"})]), text("Read."))
    with place.clio("--screen-reader", PAGER="false") as clio:
        clio.wait_for("you:")
        typed(clio, "read it")
        settled(clio, "done, 2 requests")
        clio.send("\x0f")
        settled(clio, "row 59")


def test_the_documentation_shows_a_question_as_it_is_asked() -> None:
    root = Path(__file__).parent.parent.parent
    page = (root / "docs" / "accessibility.md").read_text(encoding="utf-8")
    said = (root / "tests" / "golden" / "ui" / "reader_conversation.txt").read_text(encoding="utf-8")
    question = page.partition("```\nquestion 1")[2].partition("\n```")[0]
    assert f"question 1{question}" in said.replace("\nor Escape", " or Escape")
