"""/last, Ctrl-O, Ctrl-T and the status line in a real terminal, with a server on loopback."""

import re
import shutil
import sys
import time

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = [(40, 15), (200, 60)]
LIST = [("run_command", {"command": "seq 1 9000"})]
PAGER = f"{sys.executable} -c \"import sys; words = sys.stdin.read().split(); print('PAGED', words[:2], words[-1])\""


@pytest.mark.parametrize(("columns", "lines", "last"), [(80, 24, 3000), (40, 15, 900), (200, 60, 900)])
def test_a_complete_output_is_printed_and_opened(
    place: Place, server: ChatServer, columns: int, lines: int, last: int
) -> None:
    server.add(tool_calls([("run_command", {"command": f"seq 1 {last}"})]), text("Counted."))
    with place.clio("--approve", "all", columns=columns, lines=lines, PAGER=PAGER) as clio:
        clio.wait_for("test-model · all")
        clio.line("count")
        clio.wait_for("Counted.")
        clio.wait_for("2 requests")
        clio.line("/last")
        clio.wait_for(f"\n{last - 1}\n{last}\n")
        assert re.search(rf"seq 1 {last}[\s\S]*\n1\n2\n[\s\S]*\n{last - 1}\n{last}\n", clio.everything)
        clio.send("\x0f")
        clio.wait_for(f"PAGED ['run', 'seq'] {last}")
        clio.line("/last 7")
        clio.wait_for(r"takes\s+a\s+number\s+from\s+1\s+to\s+1", regex=True)


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
def test_the_pager_opens_during_a_turn_which_continues_behind_it(place: Place, server: ChatServer) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    server.add(tool_calls(LIST), text(words, chunk_size=8, pause_s=0.03))
    with place.clio("--approve", "all", PAGER="less -R") as clio:
        clio.wait_for("test-model · all")
        clio.line("count")
        clio.wait_for("word5")
        clio.send("\x0f")
        clio.wait_for("[exit 0")
        assert "word" not in clio.text
        clio.key("ctrl-c")  # a key of less, which the turn ignores
        end = time.monotonic() + clio.timeout_s
        while (
            "(END)" not in clio.text
        ):  # the signal discards keys typed at the same moment: less shows that it accepts keys again
            assert time.monotonic() < end, clio.text
            clio.send("G")
            clio.take_in(0.2)
        clio.send("q")
        clio.wait_for("2 requests")
        screen = clio.everything
    assert "interrupted" not in screen
    assert [screen.split().count(f"word{number}") for number in range(60)] == [1] * 60


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
def test_a_turn_that_ends_behind_the_pager_is_shown_when_the_pager_is_closed(place: Place, server: ChatServer) -> None:
    words = " ".join(f"word{number}" for number in range(30))
    server.add(tool_calls(LIST), text(words, chunk_size=8, pause_s=0.03))
    with place.clio("--approve", "all", PAGER="less -R") as clio:
        clio.wait_for("test-model · all")
        clio.line("count")
        clio.wait_for("word5")
        clio.send("\x0f")
        clio.wait_for("[exit 0")
        wait_until(
            lambda: "word29" in "".join(path.read_text() for path in (place.project / ".clio/sessions").glob("*.jsonl"))
        )
        clio.send("q")
        clio.wait_for("2 requests")
        clio.line("/last list")
        clio.wait_for("run seq 1 9000")


def test_without_a_call_there_is_nothing_to_open(place: Place) -> None:
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("/last")
        clio.wait_for("made no calls")
        clio.send("\x0f")
        clio.wait_for("no tool has been called yet")


def test_the_calls_of_a_turn_are_listed_and_each_can_be_opened(place: Place, server: ChatServer) -> None:
    calls = [("run_command", {"command": "echo first"}), ("run_command", {"command": "echo other; exit 3"})]
    server.add(tool_calls(calls), text("Done."))
    with place.clio("--approve", "all") as clio:
        clio.wait_for("test-model · all")
        clio.line("go")
        clio.wait_for("2 requests")
        clio.line("/last list")
        clio.wait_for(r"1\s+run echo first\s+exit 0", regex=True)
        clio.wait_for(r"2\s+run echo other; exit 3\s+exit 3", regex=True)
        clio.line("/last 1")
        clio.wait_for(r"Call 1 of 2: run echo first[\s\S]*\nfirst\n", regex=True)


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_reasoning_is_collapsed_shown_by_a_key_and_kept(
    place: Place, server: ChatServer, columns: int, lines: int
) -> None:
    thought = "First I look at it. " * 4
    server.add(text("Done.", reasoning=thought + "\n" + thought + "\nand so on", pause_s=0), text("Again."))
    with place.clio(columns=columns, lines=lines) as clio:
        clio.wait_for("test-model · ask")
        clio.line("think")
        clio.wait_for("1 request")
        assert "First I look" not in clio.everything
        clio.line("/last thinking")
        clio.wait_for("and so on")


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_the_status_line_shows_how_full_the_window_is(
    place: Place, server: ChatServer, columns: int, lines: int
) -> None:
    (place.project / ".git").mkdir()
    (place.project / ".git" / "HEAD").write_text("ref: refs/heads/work\n", encoding="utf-8")
    server.add(text("Yes.", usage=(16_000, 500)))
    with place.clio(columns=columns, lines=lines, CLIO_CONTEXT_WINDOW="32768") as clio:
        clio.wait_for("test-model · ask")
        clio.line("go")
        clio.wait_for(r"1 request[\s\S]*\ntest-model · ask · ▰▰▰▱▱ 50 %[^\n]*\Z", regex=True)
        shown = clio.text.splitlines()[-1]
        assert shown.startswith("test-model · ask · ▰▰▰▱▱ 50 %" + (" · work" if columns > 40 else ""))
        assert ("16k tokens" in shown) is (columns > 40)
