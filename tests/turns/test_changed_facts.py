"""A fact that the user changes, undoes or forgets during a session reaches the model with the next message."""

import asyncio

import pytest

from clio.agent.user_interface import ToolFinished
from clio.commands.registry import run_command
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def last_words(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("old", "new"),
    [("the cache port is 7001", "the cache port is 7002"), ("the cache host is alpha", "the cache host is beta")],
)
def test_a_changed_fact_is_sent_again_and_after_undo_the_first_one(
    make_harness: MakeHarness, old: str, new: str
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        run_command(harness.app, f"/memory remember {old}")
        await harness.turn("what do you know about the cache?")
        assert old in last_words(harness)
        run_command(harness.app, f"/memory remember {new}")
        await harness.turn("and what about the cache now?")
        assert new in last_words(harness) and old not in last_words(harness)
        harness.app.memory.undo()
        await harness.turn("read calc.py")
        assert f"withdrawn: {new}" in last_words(harness)
        assert f"from the user: {old}" in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("command", ["/memory undo", "/memory forget {id}"])
def test_a_fact_withdrawn_by_the_user_is_reported_once(make_harness: MakeHarness, command: str) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("remember that deploys go through wombat")
        [record] = harness.app.memory.store.records()
        run_command(harness.app, command.format(id=record.id))
        await harness.turn("read calc.py")
        assert f"withdrawn: {record.content}" in last_words(harness)
        await harness.turn("read test_calc.py")
        assert "withdrawn" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_fact_removed_by_the_model_is_not_attributed_to_the_user(make_harness: MakeHarness) -> None:
    facts = ("deploys go through wombat", "the cache port is 7001")
    harness = make_harness([])

    async def run() -> None:
        save = ("memory_operations", {"operation": "remember", "kind": "fact", "content": facts[0]})
        harness.server.replies.extend([tool_calls([save]), text("Ok."), text("Ok.")])
        await harness.turn("look how we deploy")
        await harness.turn(f"remember that {facts[1]}")
        by_text = {record.content: record.id for record in harness.app.memory.store.records()}
        forget = ("memory_operations", {"operation": "forget", "id": by_text[facts[0]]})
        harness.server.replies.extend([tool_calls([forget]), text("Ok.")])
        await harness.turn("read calc.py")
        _, finished = harness.seen(ToolFinished)
        assert facts[0] in finished.summary and "/memory undo" in finished.summary
        run_command(harness.app, f"/memory forget {by_text[facts[1]]}")
        harness.server.replies.append(text("Ok."))
        await harness.turn("read test_calc.py")
        by_user, by_model = last_words(harness).split("You have removed")
        assert f"withdrawn: {facts[0]}" in by_model and f"withdrawn: {facts[0]}" not in by_user
        assert "The user has removed" in by_user and f"withdrawn: {facts[1]}" in by_user
        await harness.app.close()

    asyncio.run(run())


def test_a_note_removed_by_the_model_is_not_attributed_to_the_user(make_harness: MakeHarness) -> None:
    store = ("memory_operations", {"operation": "store", "key": "deploy", "content": "run make ship, then tag"})
    forget = ("memory_operations", {"operation": "forget", "id": "deploy"})
    harness = make_harness(
        [tool_calls([store]), text("Ok."), tool_calls([forget]), text("Ok."), text("Ok."), text("Ok.")]
    )

    async def run() -> None:
        for message in ("look how we deploy", "read calc.py", "read test_calc.py"):
            await harness.turn(message)
        assert "The user has removed" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("how", ["no, the queue port is 9477 now", "remember that the queue port is 9477"])
def test_a_found_message_whose_memory_was_replaced_since_says_so(make_harness: MakeHarness, how: str) -> None:
    find = tool_calls([("memory_operations", {"operation": "search_sessions", "query": "queue port"})])
    harness = make_harness([text("Ok."), text("Ok."), find, text("9477.")])

    async def run() -> None:
        await harness.turn("remember that the queue port is 9471")
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn(how)
        assert [one.content for one in harness.app.memory.store.records()] == ["the queue port is 9477"]
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn("which port has the queue?")
        [result] = [one["content"] for one in harness.server.requests[-1].body["messages"] if one["role"] == "tool"]
        assert "9471" in result and "replaced since: the queue port is 9477" in result
        hits = harness.app.memory.retriever.search("queue port", limit=10).hits
        old = [hit for hit in hits if "9471" in hit.text and hit.source == "session"]
        assert all("9477" in hit.label for hit in old)
        await harness.app.close()

    asyncio.run(run())
