"""The model is told what the user withdraws, and what an undo restores."""

import asyncio
from typing import Any

import pytest

from clio.commands.registry import run_command
from tests.support.chat_server import Reply, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def last_words(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][-1]["content"])


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(
    ("fact", "forget"),
    [
        ("we deploy with make ship", "forget that we deploy with make ship"),
        ("the cache lives in Redis", "scratch that"),
        ("the timeout is 30 seconds", "/memory forget"),
    ],
)
def test_a_fact_restored_by_undo_is_sent_as_valid_again(
    make_harness: MakeHarness, fact: str, forget: str, is_told: bool
) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await harness.turn(f"remember that {fact}")
        if forget.startswith("/"):
            assert run_command(harness.app, f"{forget} {harness.app.memory.store.records()[0].id}").ok
        else:
            await harness.turn(forget)
        if is_told:
            await harness.turn("hello")
            assert f"withdrawn: {fact}" in "".join(map(str, harness.server.requests[-1].body["messages"]))
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == [fact]
        await harness.turn("how do we do it?")
        is_known = is_told or not forget.startswith("/")
        assert (f"valid again: {fact}" in last_words(harness)) is is_known
        await harness.turn("go on")
        assert "valid again" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["fact", "discovery"])
def test_a_fact_forgotten_by_the_model_is_valid_again_after_undo(make_harness: MakeHarness, kind: str) -> None:
    ids: list[str] = []

    def forget(_: dict[str, Any]) -> Reply:
        return tool_calls([("memory_operations", {"operation": "forget", "id": ids[0]})])

    harness = make_harness([text("Ok."), forget, *[text("Ok.")] * 3])

    async def run() -> None:
        run_command(harness.app, f"/memory add {kind} we deploy with make ship")
        ids.append(harness.app.memory.store.records()[0].id)
        await harness.turn("how do we deploy?")
        await harness.turn("please clean up your memory")
        assert not contents(harness)
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == ["we deploy with make ship"]
        await harness.turn("how do we deploy?")
        assert "valid again: we deploy with make ship" in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("later", "back"),
    [
        ("scratch that", True),
        ("forget that I prefer short answers", True),
        ("/memory undo", False),
    ],
)
def test_a_withdrawn_preference_is_withdrawn_for_the_model(make_harness: MakeHarness, later: str, back: bool) -> None:
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await harness.turn("I prefer short answers")
        assert "short answers" in last_words(harness).partition("<user_preferences")[2]
        if later.startswith("/"):
            assert run_command(harness.app, later).ok
            await harness.turn("hello")
        else:
            await harness.turn(later)
        assert "withdrawn: " in last_words(harness) and "short answers" in last_words(harness)
        await harness.turn("hello")
        assert "short answers" not in last_words(harness)
        if back:
            assert run_command(harness.app, "/memory undo").ok
            await harness.turn("go on")
            assert "short answers" in last_words(harness).partition("<user_preferences")[2]
        await harness.app.close()

    asyncio.run(run())


def test_only_the_removed_preference_is_withdrawn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await harness.turn("I prefer short answers")
        await harness.turn("I prefer verbose tests")
        await harness.turn("forget that I prefer short answers")
        withdrawn = last_words(harness).partition("<withdrawn_memories")[2].partition("</withdrawn_memories")[0]
        assert "short answers" in withdrawn and "verbose tests" not in withdrawn
        assert "verbose tests" in last_words(harness).partition("<user_preferences")[2]
        await harness.app.close()

    asyncio.run(run())
