"""A request that reached no server counts neither as a request nor as use of the window."""

import json
import re
import sys

import pytest

from tests.entrypoints.repl_support import Place, clio
from tests.support.chat_server import ChatServer, text

NO_SERVER = "http://127.0.0.1:9/v1"


def test_a_run_without_a_server_counts_no_request(place: Place) -> None:
    done = clio(place, "-p", "hello", "--output", "json", OPENAI_BASE_URL=NO_SERVER)
    report = json.loads(done.stdout)
    assert (done.returncode, report["status"], report["steps"]) == (1, "failed", 0)


def test_a_refused_request_was_sent_and_counts(place: Place) -> None:
    assert json.loads(clio(place, "-p", "hello", "--output", "json").stdout)["steps"] == 1  # the script is empty: 400


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_the_status_line_shows_the_last_request_that_was_sent(place: Place, server: ChatServer) -> None:
    server.add(text("Yes.", usage=(16_000, 500)))
    with place.clio(CLIO_CONTEXT_WINDOW="32768") as session:
        session.wait_for("test-model · ask")
        session.line("go")
        session.wait_for(r"1 request[\s\S]*\ntest-model · ask · ▰▰▰▱▱ 50 %", regex=True)
    server.stop()
    with place.clio(CLIO_CONTEXT_WINDOW="32768") as session:
        session.wait_for("test-model · ask")
        session.line("go")
        session.wait_for("nothing sent")
        session.wait_for(r"nothing sent[\s\S]*❯ Ask[^\n]*\n+test-model · ask[^\n]*\Z", regex=True)
        assert not re.search(r"\d+ request", session.everything)
        assert "%" not in session.text.splitlines()[-1]
