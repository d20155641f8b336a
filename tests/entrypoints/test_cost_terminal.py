"""The cost of a conversation in a real terminal: below the turn, in the status line, and as tables."""

import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SIZES = [(40, 15), (200, 60)]
PRICES = '"*":\n  test-model: {input: 2, cached: 0.2, output: 10, as_of: 2026-11-05}\n'
SUM = r"[\s·]+24k\s+in[\s·]+20k\s+cached[\s·]+500\s+out[\s·]+\$0\.018"
"""Side by side, or one below the other on a narrow terminal."""


def make_priced(folder: Path, server: ChatServer) -> Place:
    place = make_place(folder, server)
    (place.home / ".clio" / "prices.yaml").write_text(PRICES, encoding="utf-8")
    return place


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_costs_of_a_turn_a_session_and_a_day_are_shown(tmp_path: Path, columns: int, lines: int) -> None:
    with (
        ChatServer([text("It adds.", usage=(12_000, 450, 8_000)), text("Yes.", usage=(12_500, 50, 12_000))]) as server,
        make_priced(tmp_path, server).clio(columns=columns, lines=lines) as clio,
    ):
        clio.wait_for("test-model")
        clio.line("what does 計算.py do?")
        clio.wait_for(r"↑12k \(8\.0k cached\) ↓450[\s·]+\$0\.014", regex=True)
        clio.line("sure?")
        clio.wait_for("$0.0039")
        clio.line("/cost")
        clio.wait_for(rf"session \(2 turns\){SUM}", regex=True)
        clio.wait_for(rf"project, today{SUM}", regex=True)
        assert all(len(row) <= columns for row in clio.text.splitlines())
        clio.line("/cost days")
        clio.wait_for(rf"\d{{4}}-\d\d-\d\d{SUM}", regex=True)


def test_the_status_line_shows_the_cost_of_the_session(tmp_path: Path) -> None:
    with (
        ChatServer([text("Hi.", usage=(12_000, 450, 8_000))]) as server,
        make_priced(tmp_path, server).clio(columns=120, lines=24) as clio,
    ):
        clio.wait_for("test-model")
        clio.line("hi")
        clio.wait_for(r"test-model · [^\n]*\$0\.014", regex=True)


def test_a_limit_ends_the_turn_and_not_clio(tmp_path: Path) -> None:
    with (
        ChatServer([text("Hi.", usage=(12_000, 450)), text("never sent")]) as server,
        make_priced(tmp_path, server).clio("--max-cost", "0.03") as clio,
    ):
        clio.wait_for("test-model")
        clio.line("hi")
        clio.wait_for("$0.029")
        clio.line("more")
        clio.wait_for(
            r"stopped by --max-cost \$0\.03[\s\S]*❯ Ask[^\n]*\s+test-model · ask", regex=True
        )  # the prompt is shown again
        clio.line("/cost")
        clio.wait_for("Limit of this run: $0.03")


def test_a_plain_terminal_shows_the_same_text(tmp_path: Path) -> None:
    with (
        ChatServer([text("Hi.", usage=(12_000, 450, 8_000))]) as server,
        make_priced(tmp_path, server).clio(TERM="dumb") as clio,
    ):
        clio.wait_for(">")
        clio.line("hi")
        clio.wait_for("$0.014")
        clio.line("/cost")
        clio.wait_for("$2.00 input, $0.20 cached, $10.00 output")
