"""/recall and `clio recall`: what they show, take, refuse, and hand to a program."""

import json
from pathlib import Path
from typing import Any

import pytest

from clio.commands.command import CommandResult
from clio.commands.registry import complete, run_command
from clio.ui.tables import table_lines
from tests.commands.desk import Desk, make_desk
from tests.entrypoints.repl_support import make_place
from tests.entrypoints.test_subcommand import printed, refused


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = make_desk(tmp_path)
    desk.talk("the gateway of staging times out after a minute")
    desk.start()
    desk.memory.memories.remember("the gateway of staging has two nodes", "fact")
    desk.memory.store_note("gateway rota", "who looks after the gateway: Ines in May")
    desk.memory.preferences.add("never restart the gateway by hand", score=0.5)
    return desk


def recall(desk: Desk, argument: str) -> CommandResult:
    return run_command(desk, f"/recall {argument}")


def data(desk: Desk, argument: str) -> Any:
    return json.loads(json.dumps(recall(desk, argument).data))


def test_everything_is_in_one_table_with_where_it_is_from(desk: Desk) -> None:
    result = recall(desk, "gateway")
    assert result.ok and result.table is not None
    assert {row[0] for row in result.table.rows} == {"you said", "fact", "note", "hard limit"}
    assert result.text.startswith("Best first; the first one ") and " Open it: `" in result.text


def test_the_table_fits_a_terminal_of_80_columns(desk: Desk) -> None:
    table = recall(desk, "gateway --why").table
    assert table is not None
    heading, lines = table_lines(table, 80)
    assert heading.split() == ["from", "what", "age", "id"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("layer", "kinds"), [("L0", {"session"}), ("knowledge", {"memory", "note"}), ("L2,L1", None)])
def test_layers_are_named_by_number_or_by_what_is_in_them(desk: Desk, layer: str, kinds: set[str] | None) -> None:
    found = {hit["source"] for hit in data(desk, f"gateway --layer {layer}")["hits"]}
    assert found == (kinds or {"memory", "note", "preference"})


def test_a_program_gets_every_number(desk: Desk) -> None:
    answer = data(desk, "gateway nodes --limit 1")
    (hit,) = answer["hits"]
    assert (hit["layer"], hit["source"], hit["kind"]) == ("L1", "memory", "fact")
    assert {reason["name"] for reason in hit["reasons"]} == {"words", "recency", "tier", "strength"}
    assert hit["open"] == f"/memory history {hit['id'][-8:]}"
    assert set(answer["ms"]) == {"L0", "L1", "L2"} and answer["at"] is None


def test_the_command_that_opens_an_answer_opens_it(desk: Desk) -> None:
    for hit in data(desk, "gateway")["hits"]:
        if hit["source"] != "session":
            opened = run_command(desk, hit["open"])
            shown = f"{opened.text} {opened.verbatim} {opened.table}"
            assert opened.ok and "gateway" in shown, hit
        else:
            assert run_command(desk, hit["open"]).ok


def test_as_of_a_day_before_anything_was_said_nothing_is_known(desk: Desk) -> None:
    assert "Nothing that is remembered says" in recall(desk, "fact --at 2020-01-01 nodes").text
    assert data(desk, "gateway nodes --at 2020-01-01")["at"] > 0


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
def test_what_cannot_be_is_refused_in_a_sentence_that_helps(desk: Desk, argument: str, sentence: str) -> None:
    result = recall(desk, argument)
    assert not result.ok and sentence in result.text


def test_an_incognito_clio_reads_nothing(tmp_path: Path) -> None:
    result = recall(make_desk(tmp_path, incognito=True), "gateway")
    assert not result.ok and "incognito" in result.text


def test_options_and_their_values_are_completed(desk: Desk) -> None:
    def offered(text: str) -> list[str]:
        return [suggestion.text for suggestion, _ in complete(desk, text)]

    assert offered("/recall gateway --l") == ["--layer", "--limit"]
    assert offered("/recall gateway --layer ") == ["L0", "L1", "L2"]
    assert offered("/recall gateway --fusion r") == ["rrf"]


def test_it_is_a_command_of_the_shell_too(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    printed(place, "memory", "remember", "the gateway has two nodes", "--type", "fact")
    assert "the gateway has two nodes" in printed(place, "recall", "gateway", "nodes")
    answer = json.loads(printed(place, "recall", "gateway nodes", "--layer", "L1", "--json"))
    assert [hit["text"] for hit in answer["hits"]] == ["the gateway has two nodes"]
    assert "clio recall" in refused(place, "recall")
    assert printed(place, "recall", "quantum").startswith("Nothing that is remembered says quantum.")


def test_a_misspelt_option_stores_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert "--type" in refused(place, "memory", "remember", "the gateway has two nodes", "--tpye", "fact")
    assert "--scope" in refused(place, "memory", "remember", "the gateway has two nodes", "--scoep=user")
    assert json.loads(printed(place, "memory", "count", "--json"))["total"] == 0
    printed(place, "memory", "remember", "--", "--verbose prints the plan")
    assert json.loads(printed(place, "memory", "count", "--json"))["total"] == 1
