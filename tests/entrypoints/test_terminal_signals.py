"""Title and notifications in a real terminal that reports when its window loses focus."""

import re
import sys

import pytest

from tests.entrypoints.repl_support import Place, at_prompt
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
_TITLE = re.compile(rb"\x1b\]2;([^\a]*)\a")
_SEQUENCE = re.compile(rb"\x1b\][^\a]*\a")
FRONT, BEHIND = "\x1b[I", "\x1b[O"


class Window:
    """The bells and titles sent to a session's terminal."""

    def __init__(self, session: PtySession) -> None:
        self._session = session

    @property
    def bells(self) -> int:
        return _SEQUENCE.sub(b"", bytes(self._session.raw)).count(b"\a")

    @property
    def titles(self) -> list[str]:
        return [title.decode() for title in _TITLE.findall(bytes(self._session.raw))]


def test_the_title_shows_the_activity_and_an_unfocused_window_is_notified(place: Place, server: ChatServer) -> None:
    server.add(
        tool_calls([("run_command", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]),
        tool_calls([("write_file", {"path": "a.txt", "content": "x"})]),
        text("Written."),
        text("In front."),
    )
    with place.clio("--approve", "ask") as session:
        window = Window(session)
        at_prompt(session)
        session.send(FRONT + BEHIND + FRONT)  # not requested, and no text
        session.line("work")
        session.wait_for(r"while .*\d s", regex=True)
        session.send(BEHIND)
        session.take_in(0.3)
        assert window.bells == 0
        (place.project / "go").touch()
        session.wait_for("a.txt")
        session.wait_for("y yes")
        session.send(BEHIND + "y")
        session.wait_for("Written.")
        at_prompt(session)
        assert window.bells == 2  # the question and the end
        session.line("again")
        session.wait_for("In front.")
        at_prompt(session)
        assert window.bells == 3
        name = f"clio · {place.project.name}"
        assert window.titles[:3] == [name, f"⋯ {name}", f"? {name}"]
        session.key("ctrl-d")
        assert session.wait_exit() == 0
    assert server.requests[0].body["messages"][-1]["content"].endswith("\nwork")


def test_the_title_can_be_switched_off(place: Place, server: ChatServer) -> None:
    (place.home / ".clio" / "config.yaml").write_text("terminal_title: false\n", encoding="utf-8")
    server.add(text("Answered."))
    with place.clio() as session:
        window = Window(session)
        at_prompt(session)
        session.line("work")
        session.wait_for("Answered.")
    assert window.titles == []


def test_the_title_still_changes_after_the_project_was_trusted(place: Place, server: ChatServer) -> None:
    (place.project / ".clio").mkdir()
    (place.project / ".clio" / "config.yaml").write_text("approve: edits\n", encoding="utf-8")
    server.add(text("Answered."))
    with place.clio() as session:
        window = Window(session)
        session.wait_for("Trust it? [y/N]")
        session.line("n")
        at_prompt(session)
        session.line("/trust")
        session.wait_for(r"instructions:[\s\S]*Trust it\? \[y/N\]", regex=True)
        session.send("y")
        session.wait_for("trusted; the project's settings apply")
        at_prompt(session)
        before = len(window.titles)
        session.line("work")
        session.wait_for("Answered.")
        at_prompt(session)
        name = f"clio · {place.project.name}"
        assert window.titles[before : before + 2] == [f"⋯ {name}", name]
        session.key("ctrl-d")
        assert session.wait_exit() == 0
        raw = bytes(session.raw)
        assert raw.count(b"\x1b[22;2t") == raw.count(b"\x1b[23;2t")  # each saved title was restored
