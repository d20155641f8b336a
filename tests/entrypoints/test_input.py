"""Input other than messages, in a real terminal of three sizes with a real server."""

import base64
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = [(40, 15), (200, 60)]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    place = make_place(tmp_path, server)
    (place.project / "clio").mkdir()
    (place.project / "clio" / "prompt_line.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (place.project / "README.md").write_text("words\n", encoding="utf-8")
    return place


def begun(clio: PtySession) -> PtySession:
    clio.wait_for("test-model")
    return clio


def last_user_text(server: ChatServer) -> Any:
    return [row["content"] for row in server.requests[-1].body["messages"] if row["role"] == "user"][-1]


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_a_mention_is_completed_and_shown_and_sent(place: Place, server: ChatServer, columns: int, lines: int) -> None:
    server.add(text("I see three lines."))
    with place.clio(columns=columns, lines=lines) as clio:
        begun(clio).send("why @plin")
        clio.wait_for("clio/prompt_line.py")
        clio.key("enter")
        clio.wait_for("+ clio/prompt_line.py · 3 lines")
        assert all(len(line) <= columns for line in clio.lines)
        clio.key("enter")
        clio.wait_for("I see three lines.")
        assert last_user_text(server).endswith("why @clio/prompt_line.py")
        assert '<file source="clio/prompt_line.py">\n1|one\n2|two\n3|three\n</file>' in last_user_text(server)
        assert last_user_text(server).count("@clio/prompt_line.py") == 1
        clio.wait_for(r"[❯>] Ask", regex=True)
        assert "+ clio" not in clio.text.rpartition("❯")[2]


def test_tab_completes_a_mention_too(place: Place, server: ChatServer) -> None:
    server.add(text("ok"))
    with place.clio() as clio:
        begun(clio).send("see @READ")
        clio.wait_for(r"README\.md\s", regex=True)
        clio.send("\t please\r")
        clio.wait_for("ok")
    assert last_user_text(server).endswith("see @README.md please")


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_a_command_is_run_shown_and_offered_to_the_model_once(
    place: Place, server: ChatServer, columns: int, lines: int
) -> None:
    server.add(text("It says hello."), text("Nothing new."))
    with place.clio(columns=columns, lines=lines) as clio:
        begun(clio).send("!echo hel''lo")
        clio.wait_for("Enter to run")
        clio.key("enter")
        clio.wait_for(r"\n *hello", regex=True)
        clio.wait_for("included in")
        clio.line("what does it say?")
        clio.wait_for("It says hello.")
        assert "$ echo hel''lo\n[exit 0" in last_user_text(server)
        assert "]\nhello\n</command_output>" in last_user_text(server)
        clio.line("and now?")
        clio.wait_for("Nothing new.")
        assert "command_output" not in last_user_text(server)


def test_two_signs_offer_nothing_and_a_failure_is_reported(place: Place, server: ChatServer) -> None:
    server.add(text("ok"))
    with place.clio() as clio:
        begun(clio).line("!!echo quiet; exit 3")
        clio.wait_for(r"\n *exit 3\b", regex=True)
        assert "included in your next message" not in clio.everything
        clio.line("hi")
        clio.wait_for("ok")
    assert "quiet" not in last_user_text(server)


def test_output_of_a_typed_command_in_pieces_is_printed_as_one(place: Place) -> None:
    with place.clio() as clio:
        begun(clio).line("!for n in 1 2 3; do printf 'piece '; sleep 0.2; echo $n; sleep 0.2; done; printf end")
        clio.wait_for("exit 0")
        assert "\npiece 1\npiece 2\npiece 3\nend\nexit 0" in clio.everything


def test_escape_stops_a_typed_command_and_its_child_processes(place: Place) -> None:
    with place.clio() as clio:
        begun(clio).line("!echo begun; sh -c 'echo $$ > child.pid; sleep 1000'")
        clio.wait_for(r"\n *begun", regex=True)
        while not (place.project / "child.pid").exists():
            clio.wait_for("begun")
        clio.key("escape")
        clio.wait_for("stopped by the user")
        child = int((place.project / "child.pid").read_text(encoding="utf-8"))
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
        clio.send("still here")
        clio.wait_for("still here")


def test_a_dumb_terminal_runs_commands_too(place: Place) -> None:
    with place.clio(TERM="dumb") as clio:
        clio.wait_for(">")
        clio.line("!echo plain")
        clio.wait_for(r"\nplain", regex=True)
        clio.wait_for(r"exit 0[^>]*\n> *\Z", regex=True)
        clio.line("!echo begun; sleep 1000")
        clio.wait_for(r"\nbegun", regex=True)
        clio.key("ctrl-c")
        clio.wait_for("stopped by the user")
        clio.line("/exit")
        assert clio.wait_exit() == 0


def test_a_memory_is_saved_and_can_be_undone(place: Place) -> None:
    with place.clio() as clio:
        begun(clio).send("#we deploy on --fridays only")
        clio.wait_for("Enter to save to memory")
        clio.key("enter")
        clio.wait_for("we deploy on --fridays only", regex=False)
        clio.wait_for("Saved to project memory")
        clio.line("/memory undo")
        clio.wait_for("Undone: remembered")


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_earlier_lines_of_all_projects_are_searched(place: Place, columns: int, lines: int) -> None:
    entries = [
        f"# 2026-01-01 10:00:00 {place.project}\n+run the parser tests\n",
        "# 2026-01-02 10:00:00 /elsewhere/shop\n+run the payment tests\n",
        "# 2026-01-03 10:00:00\n+nothing like it\n",
    ]
    (place.home / ".clio" / "history").write_text("\n" + "\n".join(entries), encoding="utf-8")
    with place.clio(columns=columns, lines=lines) as clio:
        begun(clio).key("ctrl-r")
        clio.wait_for("Enter to use")
        clio.send("rtests")
        clio.wait_for(r"run the parser tests[\s\S]*run the payment tests +shop", regex=True)
        clio.key("escape")
        clio.key("ctrl-r")
        clio.send("rpaym")
        clio.wait_for("run the payment tests")
        clio.key("enter")
        clio.wait_for(r"[❯>] run the payment tests", regex=True)


def test_vi_mode_is_shown_and_works(place: Place, server: ChatServer) -> None:
    server.add(text("ok"))
    (place.home / ".clio" / "config.yaml").write_text("editing: vi\n", encoding="utf-8")
    with place.clio() as clio:
        begun(clio)
        clio.wait_for("vi insert")
        clio.send("one two three")
        clio.key("escape")
        clio.wait_for("vi normal")
        clio.send("biand \r")
        clio.wait_for("ok")
    assert last_user_text(server).endswith("one two and three")


def test_the_line_is_edited_in_the_users_editor(place: Place, server: ChatServer, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/rough/polished/" "$1"\n', encoding="utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    server.add(text("ok"))
    with place.clio(EDITOR=str(editor)) as clio:
        begun(clio).send("a rough line\x18\x05")
        clio.wait_for("a polished line")
        clio.key("enter")
        clio.wait_for("ok")
    assert last_user_text(server).endswith("a polished line")


def test_a_pasted_megabyte_is_a_chip_and_shortened(place: Place, server: ChatServer) -> None:
    server.add(text("noted"))
    log = "".join(f"line {number} of the log\n" for number in range(45_000))
    with place.clio(CLIO_CONTEXT_WINDOW="32000") as clio:
        begun(clio).send(f"\x1b[200~{log}\x1b[201~ what broke?")
        clio.wait_for("[pasted text 1: 45,000 lines] what broke?")
        clio.key("enter")
        clio.wait_for("noted")
        assert "line 44000" not in clio.everything
    assert "characters of this message left out" in last_user_text(server)
    assert last_user_text(server).endswith("what broke?")


def test_a_dropped_picture_becomes_a_mention(place: Place, server: ChatServer, tmp_path: Path) -> None:
    server.add(text("a cat"))
    picture = place.project / "my shot.png"
    picture.write_bytes(PNG)
    dropped = str(picture).replace(" ", "\\ ")
    with place.clio(CLIO_MODEL="gpt-4o") as clio:
        clio.wait_for("gpt-4o")
        clio.send(f"what is \x1b[200~{dropped}\x1b[201~?")
        clio.wait_for('what is @"my shot.png"')
        clio.key("enter")
        clio.wait_for("a cat")
    assert last_user_text(server)[1]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PNG).decode(
        "ascii"
    )


def test_a_picture_is_pasted_from_the_clipboard_or_the_failure_explained(
    place: Place, server: ChatServer, tmp_path: Path
) -> None:
    server.add(text("a cat"))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "shot.png").write_bytes(PNG)
    (tools / "xclip").write_text(f'#!/bin/sh\ncat "{tools}/shot.png"\n', encoding="utf-8")
    (tools / "xclip").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    with place.clio(CLIO_MODEL="gpt-4o", PATH=path) as clio:
        clio.wait_for("gpt-4o")
        clio.send("see \x16")
        clio.wait_for("see @clipboard:1")
        (tools / "shot.png").write_bytes(b"words")
        clio.send("\x16")
        clio.wait_for("no image on the clipboard")
        clio.key("enter")
        clio.wait_for("a cat")
    assert re.match(r"data:image/png;base64,", last_user_text(server)[1]["image_url"]["url"])


def test_models_of_the_server_are_completed(tmp_path: Path) -> None:
    with ChatServer(models=[{"id": "small-one"}, {"id": "large-one"}]) as server:
        place = make_place(tmp_path, server)
        with place.clio(CLIO_CONTEXT_WINDOW="32000") as clio:
            begun(clio).send("/model la")
            clio.wait_for("large-one")
            clio.send("\t\r")
            clio.wait_for("large-one at")


def test_a_paste_in_an_earlier_line_is_marked_when_a_later_run_sends_it_again(place: Place, server: ChatServer) -> None:
    server.add(text("first answer"), text("second answer"), text("third answer"))
    with place.clio() as clio:
        begun(clio).send("what is wrong here? \x1b[200~never push to main\nsecond line\x1b[201~\r")
        clio.wait_for("first answer")
    marked = last_user_text(server)
    assert marked.endswith("what is wrong here? <pasted_text>\nnever push to main\nsecond line\n</pasted_text>")
    for keys, answer in (("\r", "second answer"), (" please\r", "third answer")):
        with place.clio() as clio:
            begun(clio).key("up")
            clio.wait_for("second line")
            assert "pasted_text" not in clio.text
            clio.send(keys)
            clio.wait_for(answer)
        assert "<pasted_text>\nnever push to main\nsecond line\n</pasted_text>" in last_user_text(server)
