"""A custom command in a real terminal is completed, approved and sent."""

import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import make_place
from tests.support.chat_server import ChatServer, text
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def test_a_custom_command_is_completed_approved_and_sent(tmp_path: Path) -> None:
    with ChatServer() as server:
        place = make_place(tmp_path, server)
        (place.project / "calc.py").write_text("one\ntwo\n", encoding="utf-8")
        folder = place.home / ".clio" / "commands"
        folder.mkdir()
        (folder / "revise.md").write_text(
            "---\ndescription: look at it\n---\nReview @$1.\n!`touch made.txt`", encoding="utf-8"
        )
        server.add(text("Looks fine."))
        with place.clio() as clio:
            clio.wait_for("test-model")
            clio.send("/revis")
            clio.wait_for("look at it")
            clio.send("e @cal")
            clio.wait_for("calc.py")
            clio.key("tab")
            clio.wait_for("+ calc.py · 2 lines")
            clio.key("enter")
            clio.wait_for("y yes")
            clio.send("n")
            clio.wait_for("why not")
            clio.key("enter")
            clio.wait_for("Looks fine.")
            assert mentions(clio.text, "/revise", "2 lines", "~/.clio/commands/revise.md")
        sent = str(server.requests[-1].body["messages"][-1]["content"])
        assert '<file source="calc.py">\n1|one\n2|two\n</file>' in sent
        assert mentions(sent, "not run", "touch made.txt", "declined")
        assert sent.endswith("/revise @calc.py")
        assert not (place.project / "made.txt").exists()
