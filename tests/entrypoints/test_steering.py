"""Stopping, steering and queueing in the real shell: a real terminal, a real server, real processes."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place, without_header
from tests.support.chat_server import ChatServer, error, stall, text, tool_calls
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = pytest.mark.parametrize(("columns", "lines"), [(40, 15), (200, 60)])
READY = "test-model · "


def command(line: str, *more: tuple[str, dict[str, Any]]) -> Any:
    """Return an answer that calls a command, and further calls after it."""
    return tool_calls([("run_command", {"command": line}), *more])


def user_texts(server: ChatServer, request: int) -> list[str]:
    """Return the user messages in a request, without added context."""
    messages = server.requests[request].body["messages"]
    return [str(one["content"]).rpartition("\n")[2] for one in messages if one["role"] == "user"]


@SIZES
def test_messages_are_queued_edited_and_sent_in_order(
    place: Place, server: ChatServer, columns: int, lines: int
) -> None:
    server.add(text("A slow answer. " * 8, pause_s=0.2), text("Second."), text("Third."))
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for(READY)
        clio.line("one")
        clio.wait_for("A slow")
        clio.line("two 漢字")
        clio.wait_for("queued 1: two 漢字")
        clio.line("drop this")
        clio.wait_for("queued 2: drop this")
        clio.line("thre")
        clio.wait_for("queued 3: thre")
        clio.key("up")
        clio.wait_for("❯ thre")
        clio.line("e")
        clio.wait_for("queued 3: three")
        clio.key("up")
        clio.key("up")  # only on an empty line the key takes one back
        clio.send("\x15")
        clio.key("up")
        clio.wait_for("❯ drop this")
        clio.send("\x15")
        clio.wait_gone("drop this")
        clio.line("three")
        clio.wait_for("queued 2: three")
        assert all(len(row) <= columns for row in clio.lines)
        clio.wait_for("Third.")
    assert [user_texts(server, number)[-1] for number in range(3)] == ["one", "two 漢字", "three"]


@SIZES
def test_after_escape_the_queue_waits_for_the_user(place: Place, server: ChatServer, columns: int, lines: int) -> None:
    server.add(stall("I begin and wait"), text("Second."), text("Third."))
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for(READY)
        clio.line("one")
        clio.wait_for("I begin and")
        clio.line("two")
        clio.line("three")
        clio.wait_for("queued 2: three")
        clio.send("half a line")
        clio.wait_for("❯ half a line")
        clio.key("escape")
        clio.wait_for("interrupted")
        clio.wait_for(r"queued 1: two\nqueued 2: three\n[^\n]+\n❯ half a line\n", regex=True)
        assert len(server.requests) == 1
        clio.key("ctrl-c")
        clio.key("up")
        clio.wait_for("❯ three")
        clio.send(" and a half")
        clio.key("enter")
        clio.wait_for("Second.")
        assert user_texts(server, 1)[-1] == "three and a half"
        clio.wait_for(r"queued 1: two\n[^\n]+\n❯ Ask[^\n]*\n", regex=True)
        clio.key("enter")
        clio.wait_for("Third.")
        assert user_texts(server, 2)[-1] == "two"
        clio.wait_gone("queued")


@pytest.mark.parametrize("keys", ["use tabs @style.md\r\r", "!use tabs @style.md\r"])
def test_a_steering_message_is_sent_with_the_next_request_of_the_turn(
    place: Place, server: ChatServer, keys: str
) -> None:
    (place.project / "style.md").write_text("four wide\n", encoding="utf-8")
    server.add(command("while [ ! -e go ]; do sleep 0.05; done; echo gone"), text("With tabs, then."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("indent it")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.send(keys.rstrip("\r"))
        clio.wait_for("+ style.md · 1 line\n❯ ")
        clio.send(keys[len(keys.rstrip("\r")) :])
        clio.wait_for("steering: use tabs")
        (place.project / "go").touch()
        clio.wait_for("With tabs, then.")
        assert "❯ use tabs @style.md\n\n+ style.md · 1 line\n" in clio.text
        assert "steering" not in without_header(clio.text)
    roles = [one["role"] for one in server.requests[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert user_texts(server, 1) == ["indent it", "use tabs @style.md"]
    assert '<file source="style.md">\n1|four wide' in server.requests[1].body["messages"][-1]["content"]
    assert len(server.requests) == 2


def test_a_late_steering_message_is_sent_in_the_next_turn(place: Place, server: ChatServer) -> None:
    server.add(text("Nearly done with it all.", pause_s=0.5), text("Tabs it is."), text("Queued one."))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("indent it")
        clio.wait_for("Nearly")
        clio.line("later")
        clio.line("!use tabs")
        clio.wait_for("steering: use tabs")
        clio.wait_for("Queued one.")
    assert [user_texts(server, number)[-1] for number in range(3)] == ["indent it", "use tabs", "later"]


def test_a_late_command_line_is_not_sent_to_the_model(place: Place, server: ChatServer) -> None:
    """Between turns `!` runs a command, so a line typed while a turn ends is put on the prompt unchanged."""
    server.add(text("Nearly done with it all.", pause_s=0.5), text("Second."))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("indent it")
        clio.wait_for("Nearly")
        clio.line("!echo first > entered.txt")
        clio.wait_for("steering: echo first")
        clio.line("!sort -r nothing")
        clio.line("later")
        clio.wait_for("Second.")
        clio.wait_for(r"queued 1: !echo first[^\n]*\n[^\n]+\n❯ !sort -r nothing\n", regex=True)
        clio.key("ctrl-c")
        clio.wait_for(r"❯ Ask[^\n]*\n", regex=True)
        assert not (place.project / "entered.txt").exists()
        clio.key("enter")
        _until(clio, (place.project / "entered.txt").exists)
    assert [user_texts(server, number)[-1] for number in range(len(server.requests))] == ["indent it", "later"]


@pytest.mark.parametrize(
    ("typed", "rest", "shows"),
    [
        ("!echo 漢字 > en", "tered.txt", "Enter to run"),
        ("/memory remember the se", "cond way", ""),
        ("#the se", "cond way", "Enter to save"),
    ],
)
def test_a_prefixed_line_typed_at_the_end_of_a_turn_keeps_its_meaning(
    place: Place, server: ChatServer, typed: str, rest: str, shows: str
) -> None:
    server.add(text("Nearly done with it all.", pause_s=0.3))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("indent it")
        clio.wait_for("Nearly")
        clio.send(typed)
        clio.wait_for(rf"1 request[\s\S]*❯ {re.escape(typed)}[^\n]*\n[\s\S]*{shows}", regex=True)
        clio.line(rest)
        if typed.startswith("!"):
            _until(clio, (place.project / "entered.txt").exists)
        else:
            clio.wait_for(r"memory[^\n]*\n[\s\S]*❯ Ask", regex=True)
    assert len(server.requests) == 1


def test_a_text_to_remember_is_no_steering_message(place: Place, server: ChatServer) -> None:
    server.add(command("while [ ! -e go ]; do sleep 0.05; done"), text("Done with it."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("work")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.line("#we deploy on Fridays")
        clio.key("enter")
        clio.wait_for("queued 1: #we deploy on Fridays")
        (place.project / "go").touch()
        clio.wait_for(r"Done with it[\s\S]*Fridays[\s\S]*❯ Ask", regex=True)
    assert len(server.requests) == 2 and user_texts(server, 1) == ["work"]


def test_a_secret_in_a_steering_message_is_redacted(place: Place, server: ChatServer) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    server.add(command("while [ ! -e go ]; do sleep 0.05; done"), text("Fine."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("work")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.line(f"!the token is {secret}")
        clio.wait_for("steering:")
        (place.project / "go").touch()
        clio.wait_for("Fine.")
    assert secret.encode() not in server.requests[1].raw
    stored = b"".join(path.read_bytes() for path in place.project.rglob("*.json*"))
    assert b"the token is" in stored and secret.encode() not in stored


def test_read_only_commands_run_after_the_step(place: Place, server: ChatServer) -> None:
    server.add(command("while [ ! -e go ]; do sleep 0.05; done"), stall("Looking further and on"))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("work")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.line("/todo")
        clio.wait_for("after this step: /todo")
        clio.line("/session name later")
        clio.wait_for("queued 1: /session name later")
        (place.project / "go").touch()
        clio.wait_for("❯ /todo")
        clio.wait_for("Looking further")
        assert "after this step" not in clio.text
        assert "queued 1: /session name later" in clio.text


def test_a_message_entered_after_escape_is_sent(place: Place, server: ChatServer) -> None:
    """The turn may take a moment to end; earlier queued messages are held."""
    server.add(command("trap '' TERM; echo deaf; echo; while :; do sleep 0.01; done"), text("Here again."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("go")
        clio.wait_for(r"running [\d.]+ s", regex=True)
        clio.line("before")
        clio.wait_for("queued 1: before")
        clio.key("escape")
        clio.wait_for("interrupted")
        clio.line("are you there?")
        clio.wait_for("Here again.")
        clio.wait_for(r"queued 1: before\n[^\n]+\n❯ Ask", regex=True)
    assert user_texts(server, 1)[-1] == "are you there?"


def test_a_failed_turn_holds_the_queue(place: Place, server: ChatServer) -> None:
    server.add(command("while [ ! -e go ]; do sleep 0.05; done"), error(401), text("Again."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("work")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.line("and then this")
        clio.wait_for("queued 1: and then this")
        (place.project / "go").touch()
        clio.wait_for("Enter to send these")
        assert len(server.requests) == 2
        clio.key("enter")
        clio.wait_for("Again.")


def test_a_paste_of_many_lines_is_one_message(place: Place, server: ChatServer) -> None:
    server.add(text("A slow answer. " * 6, pause_s=0.2), text("Read it."))
    long = "\r".join(f"line {number}" for number in range(500))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("one")
        clio.wait_for("A slow")
        clio.send("read: ")
        clio.send(f"\x1b[200~{long}\x1b[201~")
        clio.wait_for("500 lines]")
        clio.key("enter")
        clio.wait_for("queued 1: read: [pasted text 1: 500 lines]")
        clio.wait_for("Read it.")
    assert len(server.requests) == 2
    assert "line 249\nline 250" in server.requests[1].body["messages"][-1]["content"]


def test_the_cursor_is_where_the_next_letter_appears(place: Place, server: ChatServer) -> None:
    server.add(stall("I begin and wait"))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("one")
        clio.wait_for("I begin and")
        clio.send("漢字 abc")
        clio.wait_for("❯ 漢字 abc")
        clio.send("\x1b[D\x1b[D\x1b[D\x1b[D")  # before the blank
        _until(clio, lambda: clio.screen.cursor.x == 6)
        clio.send("!")
        clio.wait_for("❯ 漢字! abc")
        clio.send("\x1b\r")
        clio.wait_for("❯ 漢字!↵ abc")


def test_a_session_killed_with_a_queue_is_complete(place: Place, server: ChatServer) -> None:
    server.add(command("while [ ! -e go ]; do sleep 0.05; done"), stall("Steered I go"), text("Back."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for(READY)
        clio.line("work")
        clio.wait_for(r"while .*\d s", regex=True)
        clio.line("!use tabs")
        clio.wait_for("steering: use tabs")
        clio.line("never sent")
        clio.wait_for("queued 1: never sent")
        (place.project / "go").touch()
        clio.wait_for("Steered I")
        os.kill(clio.pid, signal.SIGKILL)
        clio.wait_exit()
    with place.clio("-c") as clio:
        clio.wait_for("❯ use tabs")  # on disk before it was sent
        clio.line("go on")
        clio.wait_for("Back.")
    assert [one["role"] for one in server.requests[2].body["messages"]][-2:] == ["tool", "user"]
    assert server.requests[2].body["messages"][-1]["content"].startswith("use tabs\n")
    assert user_texts(server, 2) == ["work", "go on"]


DEAF = """import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in range(2):
    if not os.fork():
        os.setpgid(0, 0)
open(f"pid{os.getpid()}", "w").close()
print("deaf", flush=True)
time.sleep(600)  # until somebody ends it
"""


@SIZES
@pytest.mark.parametrize("presses", [1, 2])
def test_escape_stops_a_command_and_its_child_processes(
    place: Place, server: ChatServer, columns: int, lines: int, presses: int
) -> None:
    (place.project / "deaf.py").write_text(DEAF, encoding="utf-8")
    server.add(command(f"{sys.executable} deaf.py | cat & wait"), text("Here again."))
    with place.clio("--approve", "all", columns=columns, lines=lines) as clio:
        clio.wait_for(READY)
        clio.line("go")
        _until(clio, lambda: len(list(place.project.glob("pid*"))) == 4)
        pids = [int(path.name.removeprefix("pid")) for path in place.project.glob("pid*")]
        assert all(_lives(pid) for pid in pids)
        for _ in range(presses):
            clio.key("escape")
            clio.take_in(0.05)
        clio.wait_for("interrupted")
        _until(clio, lambda: not any(_lives(pid) for pid in pids))
        clio.line("are you there?")
        clio.wait_for("Here again.")
        assert clio.everything.count("interrupted") == 2  # the call, and the turn
    roles = [one["role"] for one in server.requests[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_a_second_escape_leaves_vi_in_insert_mode(place: Place, server: ChatServer) -> None:
    (place.home / ".clio" / "config.yaml").write_text("editing: vi\n", encoding="utf-8")
    server.add(stall("I begin and wait"), text("Here again."))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("go")
        clio.wait_for("I begin and")
        clio.key("escape")
        clio.wait_for(r"interrupted[\s\S]*❯", regex=True)
        clio.key("escape")
        clio.take_in(0.2)
        clio.line("ask again")
        clio.wait_for("Here again.")
    assert user_texts(server, 1)[-1] == "ask again"


@pytest.mark.parametrize("status", [429, 500])
def test_escape_ends_the_wait_between_retries(place: Place, server: ChatServer, status: int) -> None:
    server.add(error(status, headers={"Retry-After": "30"}), text("Here again."))
    with place.clio() as clio:
        clio.wait_for(READY)
        clio.line("go")
        clio.wait_for("retrying in")
        clio.key("escape")
        clio.wait_for("interrupted")
        clio.line("now?")
        clio.wait_for(r"Here again\.|Enter to send these", regex=True)
        if "Enter to send these" in clio.text:  # it was typed before the turn had ended
            clio.key("enter")
        clio.wait_for("Here again.")


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(clio: PtySession, condition: Any) -> None:
    for _ in range(200):
        clio.take_in(0.05)
        if condition():
            return
    raise AssertionError(clio.text)
