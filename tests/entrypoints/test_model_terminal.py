"""Choosing model and effort in a real terminal: as a list, filtered by typing, for screen readers, printed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

MODELS = [
    {"id": "gpt-5.1", "max_model_len": 272_000},
    {"id": "gpt-4o", "max_model_len": 128_000},
    {"id": "claude-sonnet-5-5"},
    *({"id": f"small-{number:02}", "max_model_len": 8_192} for number in range(30)),
]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ChatServer([text("hello"), text("hello again")], models=MODELS) as server:
        yield make_place(tmp_path, server)


def test_a_model_is_chosen_from_the_list_and_then_an_effort(place: Place) -> None:
    assert place.server is not None
    with place.clio(columns=100, lines=30, CLIO_MODEL="gpt-5.1") as clio:
        clio.wait_for("gpt-5.1 · ask")
        clio.line("/model")
        clio.wait_for("› →  gpt-5.1")
        clio.wait_for("1-15 of 33")
        assert "272k" in clio.text and "effort none–high" in clio.text and "$ cached" in clio.text
        clio.send("4o")
        clio.wait_for("filter: 4o")
        clio.wait_gone("small-00")
        clio.key("enter")
        clio.wait_for("gpt-4o at")
        clio.wait_gone("filter: 4o")
        clio.line("/model gpt-5.1")
        clio.wait_for("gpt-5.1 at")
        clio.line("/effort")
        clio.wait_for("Effort of gpt-5.1")
        clio.key("up")  # nothing is above the first row
        for _ in range(4):
            clio.key("down")
        clio.wait_for("›    high")
        clio.key("enter")
        clio.wait_for("gpt-5.1 high · ask")
        clio.line("hi")
        clio.wait_for("hello")
    assert place.server.requests[-1].body["reasoning_effort"] == "high"
    assert place.server.requests[-1].body["model"] == "gpt-5.1"


def test_escape_chooses_nothing_and_keeps_the_line(place: Place) -> None:
    with place.clio(columns=60, lines=16, CLIO_MODEL="gpt-5.1") as clio:
        clio.wait_for("gpt-5.1 · ask")
        clio.line("/model")
        clio.wait_for("› →  gpt-5.1")
        clio.send("no such model")
        clio.wait_for("no matches")
        clio.key("enter")  # there is nothing to choose
        for _ in range(20):
            clio.key("backspace")
        clio.wait_gone("filter:")
        clio.key("escape")
        clio.wait_gone("enter to choose")
        clio.line("hi")
        clio.wait_for("hello")
    assert place.server is not None and place.server.requests[-1].body["model"] == "gpt-5.1"


@pytest.mark.parametrize(("columns", "lines"), [(24, 8), (40, 10), (200, 50)])
def test_the_list_fits_every_terminal(place: Place, columns: int, lines: int) -> None:
    with place.clio(columns=columns, lines=lines, CLIO_MODEL="gpt-5.1") as clio:
        clio.wait_for("gpt-5.1")
        clio.line("/model")
        clio.wait_for("→ +gpt-5.1", regex=True)
        assert columns < 40 or "esc to cancel" in clio.text
        clio.key("escape")
        clio.key("ctrl-d")
        clio.wait_exit()


def test_for_a_screen_reader_the_list_is_printed_and_the_command_sets_it(place: Place) -> None:
    with place.clio("--screen-reader", CLIO_MODEL="gpt-5.1") as clio:
        clio.wait_for("you:")
        for line, printed in (
            ("/effort", "row 5: effort: high; for hard problems"),
            ("/effort low", "Effort low for"),
        ):
            clio.send(line)
            clio.wait_for(f"you: {line}")
            clio.key("enter")
            clio.wait_for(printed)
        clio.key("ctrl-d")
        clio.wait_exit()


def test_without_a_live_terminal_the_table_is_printed(place: Place) -> None:
    with place.clio(CLIO_MODEL="gpt-5.1", TERM="dumb") as clio:
        clio.line("/effort")
        clio.wait_for("medium")
        clio.line("/effort medium")
        clio.wait_for("Effort medium")
        clio.key("ctrl-d")
        clio.wait_exit()
