"""The model is told what clio saved of a message, so that it stores the rest of what the user asks to remember."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
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
        await harness.turn("I like static typing.")
        heading, _, listed = saved_part(harness).partition("asks the user")
        assert "static typing" in listed and "static typing" not in heading
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "message",
    [
        "Log that the API key rotates monthly.",
        "Jot it somewhere that port 9000 is taken by grafana.",
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


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("Remember:\n- the queue is RabbitMQ\n- staging is called heron", ["RabbitMQ", "heron"]),
        ("Please remember the following:\n\nthe queue is RabbitMQ\nstaging is called heron", ["RabbitMQ", "heron"]),
        ("Remember these two things: the queue is RabbitMQ, and staging is called heron.", ["RabbitMQ", "heron"]),
        ("Remember: the queue is RabbitMQ; staging is called heron", ["RabbitMQ", "heron"]),
        ("Fix calc.py. And remember these:\n* the queue is RabbitMQ\n  with TLS\n\nThanks!", ["RabbitMQ with TLS"]),
        ("Merk dir bitte Folgendes:\n1. die Queue ist RabbitMQ\n2. Staging heißt heron", ["RabbitMQ", "heron"]),
        ("Merk dir zwei Dinge: die Queue ist RabbitMQ und Staging heißt heron. Danke!", ["RabbitMQ", "heron"]),
        ("Retiens :\n- la file est RabbitMQ\n- la préproduction s'appelle heron", ["RabbitMQ", "heron"]),
        ("Retiens ces deux choses : la file est RabbitMQ et le cache est Redis", ["RabbitMQ", "Redis"]),
        ("Recuerda:\n- la cola es RabbitMQ\n- la caché es Redis", ["RabbitMQ", "Redis"]),
        ("Recuerda estas dos cosas: la cola es RabbitMQ y la caché es Redis", ["RabbitMQ", "Redis"]),
        ("Lembra:\n- a fila é RabbitMQ\n- o cache é Redis", ["RabbitMQ", "Redis"]),
        ("Lembra destas duas coisas: a fila é RabbitMQ e o cache é Redis", ["RabbitMQ", "Redis"]),
        ("记住：\n- 队列是RabbitMQ\n- 缓存是Redis", ["RabbitMQ", "Redis"]),
        ("请记住以下两点：队列是RabbitMQ，缓存是Redis", ["RabbitMQ", "Redis"]),
        ("以下を覚えておいてください。\n・キューはRabbitMQです\n・キャッシュはRedisです", ["RabbitMQ", "Redis"]),
        ("次の2つを覚えておいて：キューはRabbitMQ、キャッシュはRedis", ["RabbitMQ", "Redis"]),
        ("覚えておいてください。倉庫アプリのポートは9205です", ["9205"]),
        ("I remember:\n- the queue was Rabbit\n- the cache was Redis", []),
        ("Remember:\n```\n- the queue is RabbitMQ\n```", []),
    ],
)
def test_each_item_of_a_list_to_remember_is_saved_once(
    make_harness: MakeHarness, message: str, facts: list[str]
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        saved = [one.content for one in harness.app.memory.store.records()]
        assert len(saved) == len(facts)
        for fact in facts:
            assert sum(fact in content for content in saved) == 1
        assert not any(sum(fact in content for fact in facts) > 1 for content in saved)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "message",
    [
        "lembra que a estufa liga às 6h",
        "lembra que o robô fala Modbus",
        "lembra: a caldeira fecha 22h",
        "anota que a chave expira em maio",
        "recuerda: caldera cierra 22h",
        "apunta que la API es REST",
        "retiens que la serre ouvre à 6h",
        "merk dir Release ist Freitag",
        "remember that Müller owns billing",
        "remember that São Paulo is the main office",
        "remember that 张敏 owns billing",
        "remember that die API auf Port 80 lauscht",
    ],
)
def test_a_short_message_is_read_in_the_language_of_its_request(make_harness: MakeHarness, message: str) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        [fact] = harness.app.memory.store.records()
        assert message.endswith(fact.content) and len(fact.content) >= len(message) / 2
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("never push to main", "never push to main"),
        ("remember: no deploys on Friday", "remember: no deploys on Friday"),
        ("always use tabs", "always use tabs"),
        ("I prefer pytest", "I prefer pytest"),
        ("remember that we use npm", "remember that we use npm"),
    ],
)
def test_a_statement_made_again_is_reported_as_confirmed(make_harness: MakeHarness, first: str, again: str) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(first)
        await harness.turn(again)
        saved, confirmed = [notice.text for notice in harness.seen(Notice)]
        [record] = harness.app.memory.store.records()
        assert "Saved to" in saved and record.content in saved
        assert "Confirmed" in confirmed and record.content in confirmed and "Saved" not in confirmed
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "then"), [("always use tabs", "never use tabs"), ("I prefer tabs", "always use tabs")]
)
def test_another_statement_about_the_same_is_reported_as_saved(
    make_harness: MakeHarness, first: str, then: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(first)
        await harness.turn(then)
        assert all("Saved to" in notice.text for notice in harness.seen(Notice))
        await harness.app.close()

    asyncio.run(run())
