"""Changes are viewed, scrolled, partly accepted, edited and denied in a real terminal."""

import re
import sys

import pytest

from tests.entrypoints.repl_support import Place, without_header
from tests.support.chat_server import ChatServer, Script, text, tool_calls
from tests.support.pty_session import PtySession
from tests.support.wording import mentions
from tests.ui.test_screen import golden

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

OLD = 'import os\n\n\ndef greet(name):\n\treturn "hello " + name\n\n\n# 世界 greets 漢字\n' + "".join(
    f"line_{number} = {number}\n" for number in range(40)
)
FIRST = OLD.replace('"hello " + name', 'f"hello {name}"').replace("世界 greets 漢字", "世界 meets 漢字 🎉")
SECOND = OLD.replace("line_20 = 20\n", "line_20 = 21\n")
NEW = FIRST.replace("line_20 = 20\n", "line_20 = 21\n").replace("line_39 = 39\n", "")
SIZES = [(80, 24), (40, 15), (200, 60)]


class Session:
    """A turn that proposes a new text for app.py, up to the question."""

    def __init__(self, place: Place, server: ChatServer, size: tuple[int, int] = (80, 24), **env: str) -> None:
        self.file = place.project / "app.py"
        self.file.write_text(OLD, encoding="utf-8")
        self._server = server
        read = tool_calls([("read_file", {"path": "app.py"})])
        self.replies: list[Script] = [read, tool_calls([("write_file", {"path": "app.py", "content": NEW})])]
        server.add(*self.replies, text("All done."))
        self._prompt = ">" if env.get("TERM") == "dumb" else "test-model"
        self.clio: PtySession = place.clio(columns=size[0], lines=size[1], **env)

    def __enter__(self) -> "Session":
        self.clio.wait_for(self._prompt)
        self.clio.line("edit it")
        self.clio.wait_for(r"by hunks(\s+d show all|)\s*$|h = by hunks", regex=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.clio.close()

    def finish(self) -> str:
        """Wait for the end of the turn; return the call's result for the model."""
        self.clio.wait_for("All done.")
        return str(self._server.requests[-1].body["messages"][-1]["content"])

    @property
    def written(self) -> str:
        return self.file.read_text(encoding="utf-8")


def question(clio: PtySession) -> str:
    """Return the screen from the question on."""
    return clio.text[clio.text.index("? overwrite") :]


@pytest.mark.parametrize("size", SIZES)
def test_a_change_is_scrolled_accepted_by_hunks_and_removed_from_the_screen(
    place: Place, server: ChatServer, size: tuple[int, int]
) -> None:
    with Session(place, server, size) as session:
        clio = session.clio
        golden(f"change_{size[0]}", question(clio))
        scrolls = size != SIZES[2]
        if scrolls:
            clio.send("G")
            clio.wait_for("-line_39")
            assert "of 27" in clio.text and "? overwrite" in clio.text
            clio.send("gj")
            clio.wait_for("def greet")
        clio.send("h")
        clio.wait_for("hunk 1 of 3")
        clio.send("n")
        clio.wait_for("hunk 2 of 3")
        screen = clio.wait_for("q no to all remaining")
        golden(f"change_hunk_{size[0]}", screen[screen.index("no: app.py") :])
        clio.send("q")
        clio.wait_for("why not")  # no hunk is accepted: that is a denial
        clio.line("leave it")
        assert "the user declined: leave it" in session.finish()
        assert session.written == OLD
        assert "-line_39" not in clio.everything
        assert "scroll" not in without_header(clio.everything) and "no to all remaining" not in clio.everything
        assert "? overwrite app.py" not in clio.everything
        # the row of the call shows the result, and nothing else of the question remains
        assert mentions(clio.everything, "overwrite app.py", "declined: leave it")
        assert "why not" not in clio.everything and "failed" not in clio.everything


@pytest.mark.parametrize(
    ("keys", "expected", "result"),
    [
        ("na", SECOND.replace("line_39 = 39\n", ""), "declined 1 of 3 hunks"),
        ("yq", FIRST, "declined 2 of 3 hunks"),
    ],
)
def test_hunks_are_decided_one_by_one(place: Place, server: ChatServer, keys: str, expected: str, result: str) -> None:
    with Session(place, server) as session:
        session.clio.send("h")
        for number, key in enumerate(keys, 1):
            session.clio.wait_for(f"hunk {number} of 3")
            session.clio.send(key)
            session.clio.wait_for(f"{'yes' if key in 'ya' else 'no'}: app.py, hunk {number}")
        assert result in session.finish()
        assert session.written == expected


def test_escape_in_the_hunk_view_changes_nothing_and_stops(place: Place, server: ChatServer) -> None:
    with Session(place, server) as session:
        session.clio.send("h")
        session.clio.wait_for("hunk 1 of 3")
        session.clio.send("y")
        session.clio.wait_for("hunk 2 of 3")
        session.clio.key("escape")
        session.clio.wait_for("… interrupted")
        assert session.written == OLD


def editor(place: Place, script: str) -> str:
    """Return an editor that does this to its file."""
    path = place.home / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_an_edited_proposal_is_shown_again_with_the_question(place: Place, server: ChatServer) -> None:
    with Session(place, server, EDITOR=editor(place, "sed -i s/meets/sees/ $1")) as session:
        session.clio.send("e")
        screen = session.clio.wait_for("this version")
        assert "your version:" in session.clio.everything and "世界 sees 漢字" in session.clio.everything
        assert "this session" not in screen
        session.clio.send("y")
        result = session.finish()
        assert session.written == NEW.replace("meets", "sees")
        assert "The user edited your proposal for app.py" in result and "+# 世界 sees 漢字 🎉" in result
        assert "approved: your version" in session.clio.everything


def test_a_failed_or_unchanged_edit_leaves_the_question(place: Place, server: ChatServer) -> None:
    """The editor fails, leaves the text, then restores the old file: a change without effect can only be denied."""
    (place.home / "old.py").write_text(OLD, encoding="utf-8")
    script = f"cd {place.home}; test -e a || {{ touch a; exit 3; }}; test -e b || {{ touch b; exit 0; }}; cp old.py $1"
    with Session(place, server, EDITOR=editor(place, script)) as session:
        clio = session.clio
        # The path of the editor, which the first remark names, has the word "unchanged", too: each key waits for the
        # whole remark, and for the question below it.
        for remark in (r"exited\s+with\s+code\s+3;[^?]*", r"(?:^|\n)  unchanged\s+"):
            clio.send("e")
            clio.wait_for_screen(rf"{remark}\? overwrite[\s\S]*s yes, for this session[\s\S]*e edit")
        clio.send("e")
        clio.wait_for_screen(r"no longer changes anything\s+\? overwrite[\s\S]*n no, and say why\s+e edit")
        assert "this session" not in clio.text
        clio.send("yn")
        clio.wait_for_screen("why not")
        clio.line("")
        session.finish()
        assert session.written == OLD


def test_ctrl_c_in_the_editor_goes_to_the_editor(place: Place, server: ChatServer) -> None:
    """In vi it is an ordinary key: the turn goes on and the question is still there."""
    script = "trap 'exit 0' INT; echo in the editor; while :; do sleep 0.1; done"
    with Session(place, server, EDITOR=editor(place, script)) as session:
        session.clio.send("e")
        session.clio.wait_for("in the editor")
        session.clio.key("ctrl-c")
        session.clio.wait_for("unchanged")
        session.clio.wait_for("s yes, for this session")
        session.clio.send("y")
        session.finish()
        assert session.written == NEW and "interrupted" not in session.clio.everything


def test_a_file_that_changed_while_the_editor_was_open_is_refused(place: Place, server: ChatServer) -> None:
    meddle = f"sed -i s/meets/sees/ $1; echo mine >> {place.project}/app.py"
    with Session(place, server, EDITOR=editor(place, meddle)) as session:
        session.clio.send("e")
        session.clio.wait_for("this version")
        session.clio.send("y")
        assert "has just changed on disk" in session.finish()
        assert session.written == OLD + "mine\n"


PATCH = """*** Begin Patch
*** Delete File: gone.txt
*** Add File: new.txt
+fresh
*** Update File: old.txt
*** Move to: moved.txt
@@
-one
+ONE
*** End Patch
"""


def test_hunks_of_created_deleted_and_moved_files_are_decided(place: Place, server: ChatServer) -> None:
    (place.project / "gone.txt").write_text("x\n", encoding="utf-8")
    (place.project / "old.txt").write_text("one\n", encoding="utf-8")
    server.add(tool_calls([("apply_patch", {"patch": PATCH})]), text("All done."))
    with place.clio() as clio:
        clio.wait_for("test-model")
        clio.line("patch")
        clio.wait_for("by hunks")
        golden("change_files", clio.text[clio.text.index("? patch") :])
        clio.send("h")
        for name, key in (("delete gone.txt", "n"), ("new file new.txt", "y"), ("move old.txt → moved.txt", "y")):
            clio.wait_for(rf"{re.escape(name)}[\s\S]*q no to all remaining\s*\Z", regex=True)
            clio.send(key)
            clio.wait_for(f"{'yes' if key == 'y' else 'no'}: {name}")
        clio.wait_for("old.txt, hunk 1 of 1")
        clio.send("n")
        clio.wait_for("All done.")
        assert mentions(clio.everything, "approved", "1 hunk left out", "1 file left out")
    assert (place.project / "gone.txt").exists() and not (place.project / "old.txt").exists()
    assert (place.project / "new.txt").read_text(encoding="utf-8") == "fresh\n"
    assert (place.project / "moved.txt").read_text(encoding="utf-8") == "one\n"


def test_a_dumb_terminal_decides_line_by_line(place: Place, server: ChatServer) -> None:
    with Session(place, server, TERM="dumb") as session:
        session.clio.line("h")
        for number, key in enumerate("nyn", 1):
            session.clio.wait_for(rf"hunk {number} of 3[\s\S]*to all\s+remaining:", regex=True)
            session.clio.line(key)
        assert "declined 2 of 3 hunks" in session.finish()
        assert session.written == SECOND
        assert b"\x1b" not in session.clio.raw
