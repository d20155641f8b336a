"""The model is told what clio saved of a message, so that it stores the rest of what the user asks to remember."""

import asyncio

import pytest

from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def context_of_last_message(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][-1]["content"]).partition("</context>")[0]


def saved_part(harness: Harness) -> str:
    return context_of_last_message(harness).partition("<saved_memories")[2].partition("</saved_memories")[0]


def test_a_saved_fact_is_listed_once_and_only_with_its_message(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("remember that the queue is RabbitMQ. Which tests are slow?")
        assert "- the queue is RabbitMQ" in saved_part(harness)
        assert context_of_last_message(harness).count("the queue is RabbitMQ") == 1
        await harness.turn("which queue do we use?")
        assert not saved_part(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_statement_that_clio_asks_about_is_listed_as_such(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn("I like short answers.")
        heading, _, listed = saved_part(harness).partition("asks the user")
        assert "short answers" in listed and "short answers" not in heading
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "message",
    [
        "Log that the API key rotates monthly.",
        "Write down that port 9000 is taken by grafana.",
        "Zapamiętaj, że port 9000 jest zajęty przez grafana.",
    ],
)
def test_what_the_user_asks_to_remember_in_another_wording_is_stored_by_the_model(
    make_harness: MakeHarness, message: str
) -> None:
    said = message.partition(" ")[2].rstrip(".")
    save = ("memory_operations", {"operation": "remember", "content": said})
    harness = make_harness([tool_calls([save]), text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        first = harness.server.requests[0].body["messages"]
        is_saved = "<saved_memories" in first[-1]["content"]
        assert "<context> lists it" in first[0]["content"] and not is_saved
        [record] = harness.app.memory.store.records()
        assert record.content == said and record.provenance is not None
        assert record.provenance.asserted_by == "user"
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("记住李雷负责结算模块", "记住结算模块的负责人是李雷"),
        ("検索サーバーのポートは9205だと覚えておいて", "検索サーバーは9205番ポートだと覚えておいて"),
        ("remember that test runs take 4 minutes", "remember that a test run is about 4 minutes"),
        ("remember: never edit the seed files", "remember that the seed files must never be edited"),
        ("remember that the seed files must never be edited", "remember: never edit the seed files"),
        ("remember never commit to the gh-pages branch", "remember that you must not commit to gh-pages, ever"),
        ("remember that i like diffs with 5 lines of context", "remember that I prefer 5 lines of context in diffs"),
    ],
)
def test_what_is_told_again_in_other_words_is_kept_once(make_harness: MakeHarness, first: str, again: str) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(first)
        await harness.turn(again)
        assert len(harness.app.memory.store.records()) == 1
        await harness.app.close()

    asyncio.run(run())
