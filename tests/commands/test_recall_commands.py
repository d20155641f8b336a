"""/recall and `clio recall`: results, options, errors, and JSON for programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from clio.commands.command import CommandResult
from clio.commands.registry import complete_command_line, run_command
from clio.memory.store.record import MemoryDraft
from clio.messages import AssistantMessage, ToolCall, ToolMessage
from clio.ui.tables import render_table
from tests.commands.harness import Harness, make_harness
from tests.entrypoints.repl_support import make_place
from tests.entrypoints.test_subcommand import printed, refused


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    harness = make_harness(tmp_path)
    harness.talk("the gateway of staging times out after a minute")
    harness.start()
    harness.memory.store.add(MemoryDraft(content="the gateway of staging has two nodes", kind="fact"))
    harness.memory.store.add(MemoryDraft(key="gateway rota", content="who looks after the gateway: Ines in May"))
    harness.memory.preferences.add("never restart the gateway by hand", score=0.5)
    return harness


def recall(harness: Harness, argument: str) -> CommandResult:
    return run_command(harness, f"/recall {argument}")


def data(harness: Harness, argument: str) -> Any:
    return json.loads(json.dumps(recall(harness, argument).data))


def test_all_results_are_in_one_table_with_their_source(harness: Harness) -> None:
    result = recall(harness, "gateway")
    assert result.ok and result.table is not None
    assert {row[0] for row in result.table.rows} == {"you said", "fact", "note", "hard limit"}
    assert result.text.startswith("First result: ") and " Open it: `" in result.text


def test_the_table_fits_a_terminal_of_80_columns(harness: Harness) -> None:
    table = recall(harness, "gateway --why").table
    assert table is not None
    heading, lines = render_table(table, 80)
    assert heading.split() == ["from", "what", "age", "id"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("layer", "kinds"), [("L0", {"session"}), ("knowledge", {"memory", "note"}), ("L2,L1", None)])
def test_layers_are_selected_by_number_or_name(harness: Harness, layer: str, kinds: set[str] | None) -> None:
    found = {hit["source"] for hit in data(harness, f"gateway --layer {layer}")["hits"]}
    assert found == (kinds or {"memory", "note", "preference"})


def test_json_has_every_number(harness: Harness) -> None:
    answer = data(harness, "gateway nodes --limit 1")
    (hit,) = answer["hits"]
    assert (hit["layer"], hit["source"], hit["kind"]) == ("L1", "memory", "fact")
    assert {reason["name"] for reason in hit["reasons"]} == {"words", "recency", "tier", "strength"}
    assert hit["open"] == f"/memory show {hit['id'][-8:]}"
    assert set(answer["ms"]) == {"L0", "L1", "L2"} and answer["at"] is None


@pytest.mark.parametrize("query", ["gateway", "gateway --at 2100-01-01"])
def test_the_listed_command_opens_a_result(harness: Harness, query: str) -> None:
    found = data(harness, query)["hits"]
    assert found
    for hit in found:
        if hit["source"] != "session":
            opened = run_command(harness, hit["open"])
            shown = f"{opened.text} {opened.verbatim} {opened.table}"
            assert opened.ok and "gateway" in shown, hit
        else:
            assert run_command(harness, hit["open"]).ok


def test_failed_lookups_and_hits_far_weaker_than_the_best_are_left_out(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    harness.talk("what is the codename?")
    searched = ToolCall(id="c1", name="search_text", arguments='{"pattern": "codename"}')
    harness.session.append(AssistantMessage(content="", tool_calls=(searched,)))
    harness.session.append(ToolMessage(tool_call_id="c1", content="no matches", summary="no matches"))
    harness.start()
    harness.talk("the printer of the office is upstairs")
    harness.start()
    harness.memory.store.add(MemoryDraft(content="the codename of the office project is Heron", kind="fact"))
    found = data(harness, "codename office project")
    texts = [hit["text"] for hit in found["hits"]]
    assert texts[0] == "the codename of the office project is Heron"
    assert not any("searched" in text for text in texts)
    everything = data(harness, "codename office project --all")
    assert len(everything["hits"]) > len(texts)
    assert f"{len(everything['hits']) - len(texts)} weak hit" in found["left_out"][0] and not everything["left_out"]


def test_as_of_a_day_before_any_memory_nothing_is_found(harness: Harness) -> None:
    assert "No memories match" in recall(harness, "fact --at 2020-01-01 nodes").text
    assert data(harness, "gateway nodes --at 2020-01-01")["at"] > 0


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("", "Recall what?"),
        ("gateway --layer L7", "There is no layer 'L7'"),
        ("gateway --fusion both", "--fusion is convex or rrf"),
        ("gateway --limit none", "--limit takes a whole number"),
        ("gateway --at soon", "2026-05-01"),
        ("gateway --lair L1", "--layer"),
    ],
)
def test_an_invalid_request_gives_a_helpful_error(harness: Harness, argument: str, sentence: str) -> None:
    result = recall(harness, argument)
    assert not result.ok and sentence in result.text


def test_incognito_reads_nothing(tmp_path: Path) -> None:
    result = recall(make_harness(tmp_path, incognito=True), "gateway")
    assert not result.ok and "incognito" in result.text


def test_options_and_their_values_are_completed(harness: Harness) -> None:
    def offered(text: str) -> list[str]:
        return [suggestion.text for suggestion, _ in complete_command_line(harness, text)]

    assert offered("/recall gateway --l") == ["--layer", "--limit"]
    assert offered("/recall gateway --layer ") == ["L0", "L1", "L2"]
    assert offered("/recall gateway --fusion r") == ["rrf"]


def test_it_is_a_subcommand_of_the_shell_too(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    printed(place, "memory", "remember", "the gateway has two nodes", "--type", "fact")
    assert "the gateway has two nodes" in printed(place, "recall", "gateway", "nodes")
    answer = json.loads(printed(place, "recall", "gateway nodes", "--layer", "L1", "--json"))
    assert [hit["text"] for hit in answer["hits"]] == ["the gateway has two nodes"]
    assert "clio recall" in refused(place, "recall")
    assert printed(place, "recall", "quantum").startswith("No memories match quantum.")


def test_a_misspelt_option_saves_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert "--type" in refused(place, "memory", "remember", "the gateway has two nodes", "--tpye", "fact")
    assert "--scope" in refused(place, "memory", "remember", "the gateway has two nodes", "--scoep=user")
    assert json.loads(printed(place, "memory", "count", "--json"))["total"] == 0
    printed(place, "memory", "remember", "--", "--verbose prints the plan")
    assert json.loads(printed(place, "memory", "count", "--json"))["total"] == 1


def test_tool_calls_are_left_out_after_a_memory_with_all_words(harness: Harness) -> None:
    harness.memory.store.add(MemoryDraft(content="staging listens on port 9090", kind="fact"))
    call = ToolCall(id="c1", name="run_command", arguments='{"command": "grep staging port"}')
    harness.session.append(AssistantMessage(tool_calls=(call,)))
    harness.session.append(ToolMessage(tool_call_id="c1", name="run_command", content="nothing of use"))
    harness.session.append(AssistantMessage(content="Done."))
    harness.start()
    found = [hit["text"] for hit in data(harness, "staging port")["hits"]]
    assert found[0] == "staging listens on port 9090"
    assert not any(text.startswith("ran ") for text in found)
    assert any(hit["text"].startswith("ran ") for hit in data(harness, "staging port --all")["hits"])
