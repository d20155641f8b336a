"""The setting `keys` in a real terminal: at the prompt, during a turn, and in the help."""

import sys

import pytest

from tests.entrypoints.repl_support import Place, at_prompt, clio
from tests.support.chat_server import ChatServer, text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
F2 = "\x1bOQ"


def test_another_key_replaces_the_default_one(place: Place, server: ChatServer) -> None:
    (place.home / ".clio" / "config.yaml").write_text("keys: {mode: f2, editor: c-y}\n", encoding="utf-8")
    server.add(text("Answered."))
    editor = place.home / "editor"
    editor.write_text("#!/bin/sh\nprintf 'from the editor' > \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    with place.clio(EDITOR=str(editor)) as session:
        at_prompt(session)
        session.send(F2)
        session.wait_for("test-model · edits")
        session.send("\x1b[Z")  # Shift-Tab has no effect now
        session.send("\x07x")  # nor has Ctrl-G
        session.wait_for("❯ x")
        session.take_in(0.3)
        assert "test-model · edits" in session.text
        session.send("\x19")  # Ctrl-Y
        session.wait_for("❯ from the editor")
        session.key("enter")
        session.wait_for("Answered.")
        at_prompt(session)
        session.line("/help keys")
        session.wait_for("Ctrl-Y")
        assert "F2" in session.everything and "Shift-Tab" not in session.everything


def test_the_line_is_edited_with_ctrl_g(place: Place) -> None:
    editor = place.home / "editor"
    editor.write_text("#!/bin/sh\nprintf ' and more' >> \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    with place.clio(EDITOR=str(editor)) as session:
        at_prompt(session)
        session.send("this\x07")
        session.wait_for("❯ this and more")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{reasning: f2}", "did you mean 'reasoning'"),
        ("{reasoning: c-c}", "not 'c-c'"),
        ("{reasoning: x}", "not 'x'"),
        ("{reasoning: c-o}", "c-o is already bound to output"),
        ("[f2]", "a mapping from an action to a key"),
    ],
)
def test_an_invalid_key_is_refused_with_its_line(place: Place, keys: str, message: str) -> None:
    (place.home / ".clio" / "config.yaml").write_text(f"keys: {keys}\n", encoding="utf-8")
    done = clio(place, "-p", "hello")
    assert done.returncode == 2
    assert "config.yaml:1" in done.stderr and message in done.stderr


@pytest.mark.parametrize(
    ("own", "projects", "message"),
    [
        ("{reasoning: f2}", "{output: f2}", "keys.output: f2 is already bound to reasoning (~/.clio/config.yaml:1)"),
        ("{reasoning: f2}", "{output: c-t}", ""),  # the default key of reasoning is free
        ("{reasoning: f2}", "{editor: c-o}", "c-o is already bound to output"),
    ],
)
def test_a_key_of_two_actions_is_refused_across_files(place: Place, own: str, projects: str, message: str) -> None:
    (place.home / ".clio" / "config.yaml").write_text(f"keys: {own}\n", encoding="utf-8")
    (place.project / ".clio").mkdir(exist_ok=True)
    (place.project / ".clio" / "config.yaml").write_text(f"keys: {projects}\n", encoding="utf-8")
    clio(place, "config", "trust")
    done = clio(place, "config", "show")
    assert done.returncode == (2 if message else 0), done.stderr
    assert message in done.stderr
    if message:
        assert ".clio/config.yaml:1: keys." in done.stderr
