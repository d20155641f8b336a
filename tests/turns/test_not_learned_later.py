"""What the user excluded from memory or removed is not saved when sessions are consolidated."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from clio.messages import UserMessage
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


def consolidate_later(harness: Harness) -> list[str]:
    """Return the memories after the session ended and the start of the next one consolidated it."""

    async def restart() -> None:
        await harness.app.close()
        harness.app = harness.build()

    asyncio.run(restart())
    run_consolidation(harness.app.memory.consolidation)
    return contents(harness)


def test_a_turn_while_memory_is_off_is_never_consolidated(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Yes."), text("Good."), text("Fine.")])
    asyncio.run(harness.turn("remember that we deploy with make ship"))
    run_command(harness.app, "/memory off")
    asyncio.run(harness.turn("remember that the vault code is 4711"))
    run_command(harness.app, "/memory on")
    asyncio.run(harness.turn("remember that staging runs in Frankfurt"))
    learned = consolidate_later(harness)
    assert not [content for content in learned if "4711" in content]
    assert [content for content in learned if "make ship" in content]
    assert [content for content in learned if "Frankfurt" in content]
    stored = harness.app.store.open(harness.app.store.latest() or "").messages
    flags = [message.memory_off for message in stored if isinstance(message, UserMessage)]
    assert flags == [False, True, False]


def test_an_undone_memory_is_not_saved_again(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Yes.")])
    asyncio.run(harness.turn("remember that we use tabs"))
    assert [content for content in contents(harness) if "tabs" in content]
    while contents(harness):
        harness.app.memory.undo()
    assert consolidate_later(harness) == []


def test_an_undone_correction_corrects_nothing_later(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Yes."), text("Yes.")])
    asyncio.run(harness.turn("remember: the staging database is on db2"))
    before = contents(harness)
    asyncio.run(harness.turn("actually the staging database has moved to db3.internal"))
    assert contents(harness) != before
    harness.app.memory.undo()
    assert contents(harness) == before
    assert consolidate_later(harness) == before


@pytest.mark.parametrize(
    "statement",
    [
        "Remember: the release branch is called rel/4.18, and nobody else may push to it.",
        "never push to main",
        "I prefer short commit messages.",
    ],
)
def test_an_undone_memory_is_not_saved_again_in_other_words(make_harness: MakeHarness, statement: str) -> None:
    harness = make_harness([text("Yes."), text("Yes.")])
    asyncio.run(harness.turn(statement))
    assert contents(harness)
    while contents(harness):
        harness.app.memory.undo()
    assert consolidate_later(harness) == []


def test_a_forgotten_memory_is_not_saved_again_until_it_is_stated_again(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Yes."), text("Yes.")])
    asyncio.run(harness.turn("remember: the staging database is on db2"))
    run_command(harness.app, f"/memory forget {harness.app.memory.store.records()[0].id}")
    assert consolidate_later(harness) == []
    asyncio.run(harness.turn("remember: the staging database is on db2"))
    assert contents(harness) == ["the staging database is on db2"]
    assert consolidate_later(harness) == ["the staging database is on db2"]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("remembers", ["on", "off"])
@pytest.mark.parametrize(
    ("texts", "learned"),
    [
        (["we use ruff", "no, black"], ["we use black"]),
        (["we use ruff", "no, black", "no, flake8"], ["we use flake8"]),
        (["the API listens on port 8080", "sorry, 8081"], ["the API listens on port 8081"]),
        (["the API listens on port 8080", "forget that the API listens on port 8080"], []),
        (["the API listens on port 8080", "hello", "forget what I said about the API"], []),
        (["the queue is RabbitMQ", "scratch that"], []),
        (["the queue is RabbitMQ", "scratch that", "we use npm"], ["we use npm"]),
        (["the queue is RabbitMQ", "Never mind.", "the queue is RabbitMQ"], ["the queue is RabbitMQ"]),
        (["we use npm", "the queue is RabbitMQ", "forget that"], ["we use npm"]),
        (["the queue is RabbitMQ", "hello", "scratch that"], ["the queue is RabbitMQ"]),
        (["die API läuft auf Port 8080", "vergiss das"], []),
        (["we never push on Fridays", "you may push on Fridays again"], []),
        (["the API listens on port 8080", "forget the rule about tabs"], ["the API listens on port 8080"]),
    ],
)
def test_statements_corrected_or_withdrawn_in_the_session_are_not_saved(
    make_harness: MakeHarness, texts: list[str], learned: list[str], remembers: str
) -> None:
    harness = make_harness([text("Yes.")] * len(texts), notice=remembers)

    async def run() -> None:
        for message in texts:
            await harness.turn(message)

    asyncio.run(run())
    assert consolidate_later(harness) == learned


@pytest.mark.parametrize(
    "said",
    [
        "remember that the vault code is 4711",
        "never push to main",
        "I prefer short answers",
        "merke dir, dass wir freitags deployen",
    ],
)
def test_the_user_is_told_once_that_nothing_is_saved_while_memory_is_off(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Yes.")] * 6)

    def is_told() -> list[str]:
        return [notice.text for notice in harness.seen(Notice) if "memory is off" in notice.text]

    async def run() -> None:
        run_command(harness.app, "/memory off")
        await harness.turn("read calc.py")
        assert not is_told()
        await harness.turn(said)
        assert len(is_told()) == 1 and "/memory on" in is_told()[0]
        await harness.turn("never use tabs")
        assert len(is_told()) == 1
        run_command(harness.app, "/memory on")
        await harness.turn("hello")
        run_command(harness.app, "/memory off")
        await harness.turn(said)
        assert len(is_told()) == 2
        run_command(harness.app, "/memory on")
        assert not contents(harness)
        await harness.app.close()

    asyncio.run(run())
