"""Details of memory_operations and of its results: authors, aliases, keys, sources, outdated pages."""

import asyncio
import re
from typing import Any

from clio.commands.registry import run_command
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def call(**arguments: Any) -> Any:
    return tool_calls([("memory_operations", arguments)])


async def answer(harness: Harness, **arguments: Any) -> str:
    harness.server.add(call(**arguments), text("Ok."))
    await harness.turn("go on with it")
    return str(harness.server.requests[-1].body["messages"][-1]["content"])


def test_a_preference_that_only_the_model_stated_is_always_labelled_so(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    sign = "noted by the assistant, unverified"

    async def run() -> None:
        saved = await answer(harness, operation="remember", content="the user prefers haiku", kind="preference")
        assert "marked as noted by you" in saved
        assert sign in await answer(harness, operation="recall", query="haiku")
        assert sign in await answer(harness, operation="recall")
        harness.server.add(text("Ok."))
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn("hello")
        words = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert f"the user prefers haiku [{sign}]" in words
        harness.server.add(text("Ok."), text("Ok."))
        await harness.turn("I prefer tabs")
        await harness.turn("hello")
        words = str(harness.server.requests[-1].body["messages"][1:])
        assert "tabs (9.0)" in words
        await harness.app.close()

    asyncio.run(run())


def test_former_names_of_operations_and_keys_of_notes_are_accepted(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    async def run() -> None:
        assert "0 memories" in await answer(harness, operation="get_ltm_stats")
        await answer(harness, operation="store", key="hosts", content="a and b")
        assert "a and b" in await answer(harness, operation="history", key="hosts")
        assert "there is no memory" in await answer(harness, operation="history", key="nobody")
        await answer(harness, operation="remember", content="the build needs make", kind="discovery")
        assert "the build needs make" in await answer(
            harness, operation="recall", query="build needs", type="discovery"
        )
        await harness.app.close()

    asyncio.run(run())


def test_limits_name_their_file(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok."), text("Ok.")])

    async def run() -> None:
        await harness.turn("never edit setup.py")
        words = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert str(harness.project / ".clio" / "memories.json") in words.partition("<hard_limits")[2].partition(">")[0]
        await harness.turn("never use sudo")
        words = str(harness.server.requests[-1].body["messages"][-1]["content"])
        source = words.partition("<hard_limits")[2].partition(">")[0]
        assert str(harness.project / ".clio") not in source
        await harness.app.close()

    asyncio.run(run())


def test_the_state_of_an_earlier_trim_is_no_search_result(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    async def run() -> None:
        harness.app.memory.write_progress("# Progress\n\nTask: mend the walrus parser")
        run_command(harness.app, "/note set walrus the walrus has a parser")
        found = await answer(harness, operation="recall", query="walrus parser")
        assert "the walrus has a parser" in found
        assert "mend the walrus" not in found
        everything = await answer(harness, operation="recall")
        assert re.search(r"session_progress.*\[the state of the work at the last trim", everything)
        await harness.app.close()

    asyncio.run(run())
