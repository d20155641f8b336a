"""`+` and `-` on an empty line after an answer, in a real terminal: what is a rating, and what is a message."""

import json
import sys
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.chat_server import ChatServer, text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def ratings(place: Place) -> list[dict[str, Any]]:
    """Return the ratings in the file."""
    path = place.project / ".clio" / "trajectories.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [line for line in lines if line["type"] == "rating"]


def asked(server: ChatServer) -> list[str]:
    """Return the user's text in the last request, without added context."""
    messages = server.requests[-1].body["messages"]
    return [message["content"].rsplit("\n", 1)[-1] for message in messages if message["role"] == "user"]


def test_a_key_rates_the_last_answer_and_a_second_one_changes_the_rating(place: Place, server: ChatServer) -> None:
    server.add(text("A very long answer."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("/style on")
        clio.wait_for("Styles are on")
        clio.line("/style use detailed")
        clio.wait_for("Every answer uses detailed")
        clio.line("why does the build fail?")
        clio.wait_for("A very long answer.")
        clio.wait_for(r"test-model · ask · .*· detailed", regex=True)

        clio.send("-")
        clio.wait_for("Enter: the last answer was not good · keep typing for a message")
        clio.send(" too long")
        clio.wait_for("Enter: the last answer was too verbose · keep typing for a message")
        clio.key("enter")
        clio.wait_for("Noted: − too_verbose")
        clio.wait_for("0↑ 1↓")

        clio.line("+")
        clio.wait_for("Noted: +, instead of −")
        clio.wait_for("1↑ 0↓")

        clio.line("/feedback")
        clio.wait_for("1 rating, the newest first.")
    assert [(one["reward"], one.get("reason")) for one in ratings(place)] == [(-1, "too_verbose"), (1, None)]
    assert len(server.requests) == 1


def test_longer_lines_that_begin_with_a_sign_are_messages(place: Place, server: ChatServer) -> None:
    server.add(text("First."), text("Second."), text("Third."), text("Fourth."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("- add a flag")
        clio.wait_for("First.")
        clio.line("- rename the flag")
        clio.wait_for("Second.")
        clio.send("-")
        clio.wait_for("Enter: the last answer")
        clio.send(" too long")
        clio.key("alt-enter")
        clio.send("- too short")
        clio.wait_for(r"too short\s+test-model · ask", regex=True)
        clio.key("enter")
        clio.wait_for("Third.")
        clio.line("+ 3 more lines")
        clio.wait_for("Fourth.")
    assert asked(server)[-2:] == ["- too short", "+ 3 more lines"]
    assert len(server.requests) == 4
    assert ratings(place) == []


def test_before_the_first_answer_a_sign_is_a_message(place: Place, server: ChatServer) -> None:
    server.add(text("What shall I add?"))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("+")
        clio.wait_for("What shall I add?")
    assert asked(server) == ["+"]


def test_a_rating_is_not_in_the_line_history(place: Place, server: ChatServer) -> None:
    server.add(text("Answered."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("explain it")
        clio.wait_for("Answered.")
        clio.line("+")
        clio.wait_for("Saved: +")
        clio.wait_for(r"/style\s+on", regex=True)
        clio.key("up")
        clio.wait_for(r"❯ explain it\s+test-model", regex=True)
    kept = (place.home / ".clio" / "history").read_text(encoding="utf-8").splitlines()
    assert [line for line in kept if line.startswith("+")] == ["+explain it"]


def test_a_dumb_terminal_can_rate_too(place: Place, server: ChatServer) -> None:
    server.add(text("Answered."))
    with place.clio(TERM="dumb") as clio:
        clio.wait_for(">")
        clio.line("explain it")
        clio.wait_for("Answered.")
        clio.line("-")
        clio.wait_for("Saved: −")
    assert [one["reward"] for one in ratings(place)] == [-1]


def test_a_rating_typed_during_a_turn_rates_its_answer(place: Place, server: ChatServer) -> None:
    server.add(text(" ".join(f"word{number}" for number in range(40)), pause_s=0.1))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("explain it")
        clio.wait_for("word3 ")
        clio.line("+")
        clio.wait_for("Saved: + for")
    assert [one["reward"] for one in ratings(place)] == [1]
    assert len(server.requests) == 1
