"""Plan mode in a real terminal: proposed, edited, approved, declined, and the mode changed by a key."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, without_header
from tests.support.chat_server import ChatServer, Pause, Reply, chunk, text, tool_calls
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = pytest.mark.parametrize(("columns", "lines"), [(40, 15), (200, 60)])
GOLDEN = Path(__file__).parent.parent / "golden" / "ui"
ITEMS = [
    "read how add is used, and by whom",
    "fix add in calc.py: it subtracts",
    "加法のテストを書く: negative numbers, zero, and 数 of any size, as a table of cases",
    "run the whole test suite",
]
BILL = (1_000, 50)
ASKS = "yes, approval mode"


def plan(*titles: str) -> Reply:
    """Return a call of the model that writes this list."""
    return tool_calls(
        [("todo_operations", {"operation": "write", "todos": [{"title": title} for title in titles]})], usage=BILL
    )


def update(**statuses: str) -> Reply:
    """Return a call of the model that changes items: `update(_1="completed")`."""
    items = [{"id": int(name[1:]), "status": status} for name, status in statuses.items()]
    return tool_calls([("todo_operations", {"operation": "update", "todos": items})], usage=BILL)


def editor(place: Place, shell: str) -> str:
    """Return an editor that does this to the file `$1`."""
    path = place.home / "editor.sh"
    path.write_text(f"#!/bin/sh\n{shell}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def picture(clio: PtySession) -> str:
    """Return scrollback and screen without what differs between runs."""
    clio.take_in(0.3)
    return re.sub(r"· [\d.]+ s\b", "· N s", without_header(clio.everything)) + "\n"


def check(name: str, shown: str) -> None:
    """Compare with the golden screen; a missing one is written, to be inspected."""
    path = GOLDEN / name
    if not path.exists():
        path.write_text(shown, encoding="utf-8")
        pytest.fail(f"{path} was missing; look at it and run again")
    assert shown == path.read_text(encoding="utf-8")


def last_user_text(server: ChatServer, request: int = -1) -> str:
    """Return the last user message of a request with its context."""
    return [one for one in server.requests[request].body["messages"] if one["role"] == "user"][-1]["content"]


@SIZES
def test_a_plan_is_shown_and_executed(place: Place, server: ChatServer, columns: int, lines: int) -> None:
    server.add(
        plan(*ITEMS),
        text("The bug is in `calc.py`. Nothing else uses it.", usage=BILL),
        update(_1="completed", _2="in_progress"),
        text("One is done.", usage=BILL),
    )
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        # How much of the conversation it hides depends on what clio knows of the screen above.
        check(f"plan_review_{columns}.txt", "? plan" + picture(clio).partition("? plan")[2])
        clio.send("y")
        clio.wait_for("One is done.")
        assert re.search(r"✓ plan of 4 items approved", clio.everything) and "? plan" not in clio.everything
        clio.wait_for(r"❯ Ask[^\n]*\n+test-model · ask · [^\n]*\Z", regex=True)
        assert "Carry out the plan." in last_user_text(server) and "<plan_approved " in last_user_text(server)
        clio.line("/todo")
        clio.wait_for("1 of 4 done\n  ☑ 1")
        clio.wait_for(r"suite\n+❯ Ask[^\n]*\n+test-model · ask · [^\n]*\Z", regex=True)
        check(f"todo_{columns}.txt", picture(clio))
        assert all(len(line) <= columns for line in clio.lines)


def test_the_current_item_is_in_the_status_line(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Well.", usage=BILL), update(_1="completed", _2="in_progress"))
    server.add(text("Working. " * 30, pause_s=0.1, usage=BILL))
    with place.clio(columns=100) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        clio.send("a")
        clio.wait_for(r"writing [\s\S]*test-model · edits · [^\n]*2/4 fix add in…", regex=True)
        clio.key("escape")
        clio.wait_for(r"❯ Ask[^\n]*\n+test-model · edits · [^\n]*2/4 fix add in…", regex=True)


@SIZES
def test_a_declined_plan_is_revised_for_the_given_reason(
    place: Place, server: ChatServer, columns: int, lines: int
) -> None:
    server.add(plan(*ITEMS), text("Four steps."), plan(ITEMS[1]), text("Only the fix."))
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        clio.send("n")
        clio.wait_for("what should change")
        clio.line("only the fix")
        clio.wait_for(rf"\? plan · 1 item\n[\s\S]*{ASKS}", regex=True)
        clio.key("escape")
        clio.wait_for(r"plan of 1 item kept for later; /plan\s+shows", regex=True)
        clio.wait_for(r"test-model · plan\b[^\n]*\Z", regex=True)
        assert last_user_text(server).endswith("only the fix") and "<plan_mode " in last_user_text(server)
        clio.line("/plan off")
        clio.wait_for("Plan mode is off")
        clio.wait_for(r"test-model · ask\b[^\n]*\Z", regex=True)


def test_a_plan_is_edited_before_it_is_approved(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps."), text("Begun."))
    change = "sed -i -e '/by whom/d' -e 's/the whole test suite/make check/' \"$1\"; echo '- [ ] say it' >> \"$1\""
    with place.clio(EDITOR=editor(place, change)) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        clio.send("e")
        clio.wait_for(rf"☐ 5  say it[\s\S]*{ASKS}", regex=True)
        clio.send("y")
        clio.wait_for("Begun.")
        sent = last_user_text(server)
        assert "[ ] 4. run make check\n[ ] 5. say it" in sent
        assert "by whom" not in sent


def test_a_failed_editor_leaves_the_plan(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps."))
    with place.clio(EDITOR=editor(place, "exit 3")) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        clio.send("e")
        clio.wait_for("code 3; nothing was changed")
        clio.wait_for(r"code 3[\s\S]*run the whole test suite[\s\S]*yes, approval mode", regex=True)


@SIZES
def test_a_key_cycles_through_the_modes(place: Place, server: ChatServer, columns: int, lines: int) -> None:
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for("test-model · ask")
        for mode in ("edits", "plan", "ask"):
            clio.key("shift-tab")
            clio.wait_for(rf"test-model · {mode}\b[^\n]*\Z", regex=True)


def test_the_key_applies_to_the_next_call_of_a_running_turn(place: Place, server: ChatServer) -> None:
    write = tool_calls([("write_file", {"path": "a.txt", "content": "a\n"})])
    slow = Reply(lambda request: [chunk({"content": "Thinking aloud."}), Pause(1.5), *write.render(request)])
    server.add(slow, text("Refused."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("write a file")
        clio.wait_for("Thinking")
        clio.key("shift-tab")
        clio.wait_for("approval mode edits from the next call on")
        clio.key("shift-tab")
        clio.wait_for(r"esc to interrupt[\s\S]*test-model · plan", regex=True)
        clio.wait_for("Refused.")
        assert "plan mode only reads" in clio.everything
        assert not (place.project / "a.txt").exists()


def test_the_key_still_selects_the_previous_item_in_an_open_menu(place: Place, server: ChatServer) -> None:
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.send("/pl")
        clio.wait_for("read-only until you approve")
        clio.key("shift-tab")
        clio.wait_for("❯ /plan")
        assert "test-model · ask" in clio.text


def test_queued_messages_are_sent_before_the_question(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps. " * 10, pause_s=0.2), text("Another thing."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for("Four steps.")
        clio.line("one more thing")
        clio.wait_for("Another thing.")
        assert ASKS not in clio.everything
        clio.wait_for(r"test-model · plan\b[^\n]*\Z", regex=True)
        clio.line("/plan")
        clio.wait_for(ASKS)


def test_a_plan_is_proposed_again_after_a_kill(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps."), text("Begun."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        os.kill(clio.pid, signal.SIGKILL)
        clio.wait_exit()
    with place.clio("-c") as clio:
        clio.wait_for("? plan · 4 items")
        clio.wait_for(ASKS)
        clio.key("escape")
        clio.wait_for(r"test-model · plan\b[^\n]*\Z", regex=True)
        clio.line("/plan go")
        clio.wait_for("Begun.")
        clio.wait_for(r"test-model · ask\b[^\n]*\Z", regex=True)
        assert "<plan_approved " in last_user_text(server)


def test_a_dumb_terminal_asks_with_lines(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps."), text("Begun."))
    with place.clio(TERM="dumb") as clio:
        clio.wait_for(">")
        clio.line("/plan fix add")
        clio.wait_for("n = no")
        clio.line("y")
        clio.wait_for("Begun.")
        clio.line("/todo")
        clio.wait_for("0 of 4 done\n1. read how add is used")
        assert b"\x1b" not in clio.raw


def test_without_colour_the_signs_show_the_status(place: Place, server: ChatServer) -> None:
    server.add(plan(*ITEMS), text("Four steps."), update(_1="completed", _2="in_progress"), text("One is done."))
    with place.clio(NO_COLOR="1") as clio:
        clio.wait_for("test-model · ask")
        clio.line("/plan fix add")
        clio.wait_for(ASKS)
        clio.send("y")
        clio.wait_for("One is done.")
        clio.line("/todo")
        clio.wait_for("  ▸ 2  fix add")
        assert not re.search(rb"\x1b\[(?:\d+;)*3[0-7]m", bytes(clio.raw))
