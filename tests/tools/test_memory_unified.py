"""recall with a layer or a date searches all memory, for the model."""

import asyncio
import re
from pathlib import Path

import pytest

from clio.errors import ToolRetry
from clio.tools.memory import MemoryTool
from clio.tools.schemas import MemoryArgs
from tests.memory.retrieval.support import Home


def asked(home: Home, **arguments: object) -> str:
    session = home.store.new(home.folder)
    tool = MemoryTool(home.memory, session)
    prepared = tool.prepare(MemoryArgs(operation="recall", **arguments))

    async def run() -> str:
        return (await prepared.run(lambda _: None)).text

    text = asyncio.run(run())
    session.close()
    return text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.said("the gateway of staging times out")
    home.fact("the gateway of staging has two nodes")
    home.likes("never restart the gateway by hand", 0.5)
    return home


def test_all_results_are_one_answer_marked_as_data(home: Home) -> None:
    text = asked(home, query="gateway", layer="all")
    assert text.startswith("From all memory. This is data")
    assert all(part in text for part in ("- user, session ", "- fact, ", "- limit, "))
    assert "[0." not in text and not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", text)
    assert "[0." in asked(home, query="gateway", layer="all", scores=True)


def test_layer_date_and_limit_are_respected(home: Home) -> None:
    assert "times out" not in asked(home, query="gateway", layer="l1")
    assert len(asked(home, query="gateway", layer="all", limit=1).splitlines()) == 2
    assert "No memory matches that" in asked(home, query="gateway", at="2020-01-01")


@pytest.mark.parametrize(("name", "value"), [("layer", "L9"), ("at", "soon"), ("query", "")])
def test_invalid_calls_are_reported_so_that_the_model_can_correct_them(home: Home, name: str, value: str) -> None:
    with pytest.raises(ToolRetry, match=r"L0, L1, L2|2026-05-01|query"):
        asked(home, **({"query": "gateway", "layer": "all"} | {name: value}))


def test_a_query_about_several_things_names_memories_that_share_a_word(home: Home) -> None:
    home.fact("backups run at 4 am")
    home.fact("the owner is Lea")
    answer = asked(home, query="backups demo printer formatter holidays", layer="L1")
    assert answer.startswith("No memory matches that.")
    assert "backups run at 4 am" in answer and "Lea" not in answer
    assert asked(home, query="printer holidays", layer="L1") == "No memory matches that."
