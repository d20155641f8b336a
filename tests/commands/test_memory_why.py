"""/memory why: what the last turn got and what was left out, with reasons; /memory off and on."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from clio.commands.command import CommandResult
from clio.commands.registry import run_command
from clio.commands.style_commands import BUILT_IN_SUMMARIES
from clio.memory.store.record import MemoryDraft
from clio.memory.styles.selection import load_built_in_styles
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from clio.text.translation import choose_language, set_catalog
from clio.ui.painter import count_cells
from clio.ui.tables import render_table
from tests.commands.harness import Harness, make_harness, ok
from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text
from tests.support.wording import mentions

PORT = "the staging server listens on port 8443"
ASKED = "which port does staging use?"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path)
    harness.memory.begin(window_tokens=32_000, session=harness.session)
    yield harness
    harness.session.close()


def rows(result: CommandResult) -> list[tuple[str, ...]]:
    assert result.table is not None
    return list(result.table.rows)


def test_each_item_has_source_reason_signals_age_and_tokens(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content=PORT, kind="fact", importance=0.8))
    harness.memory.preferences.add("force pushes", "", 0.5, explicit=True)
    harness.memory.prefix_fragments()
    harness.memory.turn_fragments(ASKED)
    result = ok(harness, "/memory why")
    assert result.text.startswith(f"For `“{ASKED}”`")
    assert "2 memories, about" in result.text
    memory, limit = rows(result)  # what matched the message comes first
    assert (limit[0], limit[2], limit[3]) == ("preference", "force pushes · hard limit: in every prompt", "")
    source, id, what, score, age, tokens = memory
    assert harness.memory.store.get(id).content == PORT and 0.0 < float(score) < 1.0
    assert source == "memory" and age == "now" and int(tokens) > 5
    assert what.startswith(f"{PORT} · matches port, staging; importance 0.8, from today (")
    assert what.count("importance") == 1
    for name in ("evidence", "strength"):
        assert f"{name} " in what
    assert "seed_score" not in what  # it does not affect the order
    data = json.loads(json.dumps(result.data))
    assert {"similarity", "seed_recency", "words", "recency", "tier", "rank"} <= data["items"][1]["signals"].keys()
    assert data["question"] == ASKED
    assert [item["source"] for item in data["items"]] == ["preference", "memory"]
    assert data["items"][1]["signals"]["importance"] == 0.8
    assert data["items"][1]["included"] is True


def test_left_out_items_are_listed_and_not_counted(harness: Harness) -> None:
    for number in range(12):
        filler = " ".join(f"{number}word{place}" for place in range(160))
        harness.memory.store.add(MemoryDraft(content=f"the zebra of keeper{number}abc: {filler}", kind="fact"))
    harness.memory.turn_fragments("tell me about the zebra")
    result = ok(harness, "/memory why")
    sources = [row[0] for row in rows(result)]
    inside, cut = sources.count("memory"), sources.count("memory, cut")
    assert inside and cut == 4
    assert [row[2].split(" ")[0] for row in rows(result)][-1] == str(12 - inside - cut), "the others are counted"
    assert f"{inside} memories, about" in result.text and f"; {12 - inside} left out by limits" in result.text
    assert len(json.loads(json.dumps(result.data))["items"]) == 12


def test_items_already_in_the_request_do_not_count_as_left_out_by_limits(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content=PORT, kind="fact", importance=0.8))
    harness.memory.turn_fragments(f"{ASKED} I know that {PORT}")
    result = ok(harness, "/memory why")
    assert mentions(result.text, "no memories", "1 not repeated: already in the request")
    assert "left out by limits" not in result.text
    assert [row[0] for row in rows(result)] == ["memory, in request"]
    [item] = json.loads(json.dumps(result.data))["items"]
    assert (item["included"], item["is_redundant"]) == (False, True)


def test_a_turn_that_got_nothing_says_so(harness: Harness) -> None:
    harness.memory.turn_fragments("write a poem about rain")
    result = ok(harness, "/memory why")
    assert result.table is None
    assert mentions(result.text, "No memories", "“write a poem about rain”")


def test_hostile_text_stays_in_one_row(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content="staging port\n| a | b |\n\x1b[31mred `code` **bold**", kind="fact"))
    harness.memory.turn_fragments(ASKED)
    [row] = rows(ok(harness, "/memory why"))
    assert "\n" not in row[2]


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_the_account_fits_the_terminal(harness: Harness, columns: int) -> None:
    harness.memory.store.add(MemoryDraft(content=f"{PORT}; 日本語の説明 {'x' * 90}", kind="fact", importance=0.8))
    harness.memory.turn_fragments(ASKED)
    table = ok(harness, "/memory why").table
    assert table is not None
    heading, lines = render_table(table, columns)
    assert all(count_cells(line) <= columns for line in (heading, *lines))


def test_off_refuses_reading_and_writing_until_on(harness: Harness) -> None:
    assert ok(harness, "/memory off").data == {"on": False}
    for line in ("/memory add discovery x", "/memory why", "/memory remember x", "/note set a b", "/prefs"):
        refused = run_command(harness, line)
        assert not refused.ok and "/memory on" in refused.text
    assert harness.memory.turn_fragments(ASKED) == []
    assert ok(harness, "/memory on").data == {"on": True}
    assert ok(harness, "/memory remember x").ok


def test_on_and_off_accept_no_arguments_and_need_a_conversation(harness: Harness, tmp_path: Path) -> None:
    assert not run_command(harness, "/memory off please").ok
    assert not run_command(harness, "/memory on please").ok
    hidden = make_harness(tmp_path / "other", incognito=True)
    assert "incognito" in run_command(hidden, "/memory off").text
    hidden.session.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("columns", [100, 40])
def test_on_and_off_in_a_terminal(tmp_path: Path, columns: int) -> None:
    with ChatServer(models=[{"id": "test-model", "max_model_len": 32_000}]) as server:
        place: Place = make_place(tmp_path, server)
        sessions = SessionStore(place.project / ".clio" / "sessions")
        memory = MemorySystem(
            place.project, sessions, incognito=False, ltm=True, home=place.home / ".clio", clock=time.time
        )
        memory.store.add(MemoryDraft(content=PORT, kind="fact", importance=0.8))
        server.add(text("It is port 8443."), text("I do not know."))
        with place.clio(columns=columns, lines=40) as clio:
            clio.wait_for("test-model · ask")
            clio.line(ASKED)
            clio.wait_for("It is port 8443.")
            clio.line("/memory why")
            shown = set(clio.wait_for(r"evidence\s+\d", regex=True).split())
            assert {"matches", "port,", "staging;", "importance", "0.8,", "from", "today"} <= shown, shown
            assert all(len(line) <= columns for line in clio.lines)
            clio.line("/memory off")
            clio.wait_for("ask · memory off")
            clio.line(ASKED)
            clio.wait_for(r"I do not know\.\s+1 request[^❯]*❯", regex=True)  # else the next text is typed ahead
            clio.line("/memory on")
            clio.wait_gone("ask · memory off")
            clio.line("/exit")
            clio.wait_exit()
    first, second = [
        [message["content"] for message in request.body["messages"] if message["role"] == "user"][-1]
        for request in server.requests
        if "tools" in request.body
    ]
    assert PORT in first and PORT not in second


def test_the_rows_add_up_to_the_reported_total(harness: Harness) -> None:
    for port in range(4):
        harness.memory.store.add(MemoryDraft(content=f"the staging server {port}a listens on port {port}", kind="fact"))
    harness.memory.turn_fragments("which ports do the staging server listens use?")
    usage = SimpleNamespace(parts=())
    harness.window = SimpleNamespace(ratio=3.3, measure_usage=lambda: usage)  # type: ignore[assignment]
    result = ok(harness, "/memory why")
    total = int(result.text.partition(", about ")[2].split(" ")[0])
    assert total == sum(int(row[5]) for row in rows(result) if not row[0].endswith("cut"))


@pytest.mark.parametrize("columns", [80, 100])
def test_many_memories_fit_one_screen(harness: Harness, columns: int) -> None:
    for number in range(30):
        facts = f"the staging server {number}q{number * 3} listens on port {8000 + number} since the move"
        harness.memory.store.add(MemoryDraft(content=facts, kind="fact"))
        module = f"module number {number}x{number * 7} keeps its settings in config/{number}abc.yaml"
        harness.memory.store.add(MemoryDraft(content=module, kind="discovery"))
    harness.memory.prefix_fragments()
    harness.memory.turn_fragments("which port do the staging servers listen on since the move?")
    result = ok(harness, "/memory why")
    assert result.table is not None and result.table.columns[3] == "why"
    _, lines = render_table(result.table, columns)
    assert len(lines) <= 18
    assert "--json" in result.text
    assert any(row[3].startswith("matches port") for row in rows(result))
    total = int(result.text.partition(", about ")[2].split(" ")[0].replace(",", ""))
    assert total == sum(int(row[5] or 0) for row in rows(result) if not row[0].endswith("cut"))


def test_outside_a_conversation_the_tokens_equal_those_in_it(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content=PORT, kind="fact"))
    harness.memory.turn_fragments(ASKED)
    harness.talk(ASKED)
    harness.session.set_token_ratio(3.0)
    harness.window = SimpleNamespace(ratio=3.0, measure_usage=lambda: SimpleNamespace(parts=()))  # type: ignore[assignment]
    inside = ok(harness, "/memory why").text
    harness.start()
    harness.window = None
    assert ok(harness, "/memory why").text == inside


def test_with_many_memories_the_reasons_are_short_and_not_cut(harness: Harness) -> None:
    harness.memory.preferences.add("force pushes", "", 0.5, explicit=True)
    harness.memory.store.add(MemoryDraft(content=PORT, kind="fact"))
    for number in range(8):
        harness.memory.store.add(MemoryDraft(content=f"module {number}x{number} is written in Rust", kind="discovery"))
    harness.memory.prefix_fragments()
    harness.memory.turn_fragments(ASKED)
    reasons = {row[0]: row[3] for row in rows(ok(harness, "/memory why"))}
    assert reasons["preference"] == "hard limit"
    assert reasons["project"].startswith("stated once"), "the confidence is in the column of scores"


@pytest.fixture
def in_german() -> Iterator[None]:
    choose_language({}, "de")
    yield
    set_catalog(None)


@pytest.mark.usefixtures("in_german")
def test_reasons_and_failures_are_told_in_german(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content=PORT, kind="fact", importance=0.8))
    harness.memory.preferences.add("force pushes", "", 0.5, explicit=True)
    ok(harness, "/memory add failure two deploys at once => take the lock")
    harness.memory.prefix_fragments()
    harness.memory.turn_fragments(ASKED)
    shown = ok(harness, "/memory why")
    assert shown.table is not None and not {"from", "score", "age", "tokens"} & set(shown.table.columns)
    assert [row[0] for row in rows(shown)] == ["Gedächtnis", "Vorliebe", "Projekt"]
    told = " ".join(row[2] for row in rows(shown))
    assert "passt zu port" in told and "von heute" in told and "feste Grenze" in told
    assert "matches" not in told and "from today" not in told
    listed = " ".join(cell for row in rows(ok(harness, "/memory list")) for cell in row)
    assert "verhindert durch: take the lock" in listed
    [hit, *_] = harness.memory.retriever.search(PORT).hits
    assert "matches" in hit.reasons[0].words  # programs and the model read English
    assert [failure.line for failure in harness.memory.store.records(("failure",))] == [
        "two deploys at once; prevented by: take the lock"
    ]


@pytest.mark.parametrize(("said", "shown"), [("de", "en"), ("en", "de"), ("de", "de")])
@pytest.mark.parametrize("more", [0, 8])
def test_reasons_are_told_in_the_language_in_which_they_are_shown(
    tmp_path: Path, said: str, shown: str, more: int
) -> None:
    english = ("matches port", "hard limit", "liked", "stated once", "more memories")
    german = ("passt zu port", "feste Grenze", "gemocht", "einmal gesagt")
    try:
        choose_language({}, said)
        harness = make_harness(tmp_path)
        harness.memory.begin(window_tokens=32_000, session=harness.session)
        for number in range(more + 1):
            harness.memory.store.add(MemoryDraft(content=f"{PORT}{number}", kind="fact"))
        harness.memory.preferences.add("force pushes", "", 0.5, explicit=True)
        harness.memory.preferences.add("pytest", "", 9.0)
        ok(harness, "/memory add discovery the staging server is called heron")
        harness.memory.prefix_fragments()
        harness.memory.turn_fragments(ASKED)
        harness.session.close()
        choose_language({}, shown)
        later = make_harness(tmp_path)  # as after a restart: the report is read from its file
        result = ok(later, "/memory why")
        told = " ".join(cell for row in rows(result) for cell in row)
        right, wrong = (english[:4], german) if shown == "en" else (german, english)
        assert all(phrase in told for phrase in right), told
        assert not any(phrase in told for phrase in wrong)
        if shown == "de":
            assert result.table is not None and not {"from", "what", "why", "score"} & set(result.table.columns)
        assert {item["reason"] for item in result.data["items"]} >= {"hard limit: in every prompt"}  # for programs
        later.session.close()
    finally:
        set_catalog(None)


def test_the_summary_of_each_built_in_style_can_be_translated() -> None:
    assert {style.summary for style in load_built_in_styles()} == set(BUILT_IN_SUMMARIES)
