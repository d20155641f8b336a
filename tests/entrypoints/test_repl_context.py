"""/context in a real terminal: before the first turn, after some, on a narrow screen, on a dumb one."""

import re
import sys
from collections.abc import Iterator

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import ChatServer, text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
WORDS = "An answer of some length, so that there is something to trim. " * 200


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(models=[{"id": "test-model", "max_model_len": 32_000}]) as server:
        yield server


def test_the_window_is_inspected_trimmed_expanded_and_restored(place: Place, server: ChatServer) -> None:
    server.add(*[text(f"{WORDS}End {number}.", usage=(9_000, 10)) for number in range(3)])
    with place.clio(columns=80, lines=60) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/context")  # there was no request yet, so the server is asked for the window first
        clio.wait_for("test-model: window 32,000 tokens (from server)")
        clio.wait_for("trims         none so far")
        for number in range(3):
            clio.line(f"explain part {number} of the parser")
            clio.wait_for(rf"End {number}\.\s+1 request[^\n]*\n\n❯ Ask[^\n]*\n", regex=True)
        clio.line("/session trim")
        clio.wait_for(r"Moved \d+ messages to the archive \(t1\)", regex=True)
        clio.line("/context")
        clio.wait_for("trims         1 so far; t1 is the newest")
        assert "billed 9,000:" in clio.text
        assert re.search(r"█+▒+≡+■+░+·+\n", clio.text)
        clio.line("/context expand t1")
        clio.wait_for("t1 2 continues")
        assert "explain part 0 of the parser" in clio.everything
        clio.line("/context undo")
        clio.wait_for("t1 is undone")


def test_forty_columns(place: Place) -> None:
    with place.clio(columns=40, lines=40) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/context")
        clio.wait_for("none so far")
        lines = clio.text.splitlines()
    bar = next(line for line in lines if "░" in line and "·" in line)
    assert len(bar) == 39
    assert any(re.fullmatch(r"▒ tools +[\d,]+ +[\d.]+ %", line) for line in lines)


def test_a_plain_terminal_in_ascii(place: Place) -> None:
    with place.clio(
        columns=80, lines=40, TERM="dumb", LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    ) as clio:
        clio.wait_for(">")
        clio.line("/context")
        clio.wait_for("none so far")
        shown = clio.text
    assert re.search(r"#+\++:+-+\n", shown)
    assert "?" not in shown.partition("/context")[2]
    assert re.search(r"# system prompt +[\d,]+ +[\d.]+ %", shown)
