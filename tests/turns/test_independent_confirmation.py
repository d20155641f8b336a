"""Only independent statements confirm a memory, and the model replaces nothing that the user stated."""

import asyncio
from typing import Any

import msgspec
import pytest

from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.record import MemoryRecord
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

FACT = "the staging server listens on port 8080"


def call(operation: str, content: str, **more: Any) -> Any:
    return tool_calls([("memory_operations", {"operation": operation, "content": content, **more})])


def live(harness: Harness) -> list[MemoryRecord]:
    return [one for one in harness.app.memory.store.records() if one.is_live and not one.is_variant]


async def restart(harness: Harness) -> None:
    await harness.app.close()
    harness.app = harness.build()


def test_a_model_that_repeats_a_memory_does_not_confirm_it(make_harness: MakeHarness) -> None:
    replies = [call("remember", FACT, type="fact"), text("Ok."), call("remember", f"{FACT}.", type="fact"), text("Ok.")]
    harness = make_harness([*replies, text("Ok.")])

    async def run() -> None:
        await harness.turn("where does the staging server listen? Look it up")
        await restart(harness)
        await harness.turn("where does the staging server listen?")
        [record] = live(harness)
        assert not record.is_corroborated
        assert not record.confirmations
        await restart(harness)
        await harness.turn(f"remember that {FACT}")
        [record] = live(harness)
        assert record.is_corroborated
        await harness.app.close()

    asyncio.run(run())


def test_a_copy_of_a_session_does_not_confirm_its_statements(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Noted."), text("Yes."), text("Yes.")])

    async def run() -> None:
        await harness.turn(f"remember that {FACT}")
        await harness.turn("are you sure?")
        copy = harness.app.store.fork(harness.app.session.id)
        await restart(harness)
        harness.app.open_session(copy)
        await harness.turn("and now?")
        await restart(harness)
        run_consolidation(harness.app.memory.consolidation)
        [record] = live(harness)
        assert not record.is_corroborated
        await harness.app.close()

    asyncio.run(run())


def test_a_discovery_the_model_repeats_stays_unverified(make_harness: MakeHarness) -> None:
    discovery = call("add_discovery", "the build needs make")
    harness = make_harness([discovery, text("Ok."), discovery, text("Ok.")])

    async def run() -> None:
        await harness.turn("look around")
        await restart(harness)
        await harness.turn("look around again")
        [entry] = harness.app.memory.store.records(("discovery",))
        assert not entry.is_corroborated
        shown = run_command(harness.app, f"/memory show {entry.id}")
        assert "unverified" in f"{shown.text}{shown.table}"
        await harness.app.close()

    asyncio.run(run())


def test_the_model_cannot_replace_a_statement_of_the_user_however_old(make_harness: MakeHarness) -> None:
    other = call("remember", "the staging server listens on port 9999", type="fact", importance=1.0)
    harness = make_harness([text("Ok."), other, text("Ok.")])

    async def run() -> None:
        await harness.turn(f"remember that {FACT}")
        [record] = live(harness)
        harness.app.memory.store.project.put("aged", (_aged(record),))
        await restart(harness)
        await harness.turn("look at the config")
        [record] = live(harness)
        assert record.content == FACT
        [variant] = harness.app.memory.store.variants(record.id)
        assert "9999" in variant.content
        assert "variant" in str(harness.server.requests[-1].body["messages"][-1]["content"])
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("operation", ["add_discovery", "remember"])
def test_the_model_contradicts_a_discovery_of_the_user_only_with_a_variant(
    make_harness: MakeHarness, operation: str
) -> None:
    more = {"type": "fact"} if operation == "remember" else {}
    other = call(operation, "the staging server listens on port 9999", **more)
    harness = make_harness([other, text("Ok."), text("Ok.")])

    async def run() -> None:
        assert run_command(harness.app, f"/memory add discovery {FACT}").ok
        await harness.turn("look at the config")
        assert "variant" in str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert [record.content for record in live(harness)] == [FACT]
        await restart(harness)
        await harness.turn("where does the staging server listen?")
        request = str(harness.server.requests[-1].body["messages"])
        assert FACT in request and "9999" not in request
        await harness.app.close()

    asyncio.run(run())


def _aged(record: MemoryRecord) -> MemoryRecord:
    return msgspec.structs.replace(record, accessed=record.accessed - 400 * 86_400, confidence=0.8)


def test_the_model_cannot_edit_a_project_fact_that_the_user_added(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    async def run() -> None:
        run_command(harness.app, "/memory add discovery We deploy with make ship")
        [entry] = harness.app.memory.store.records(("discovery",))
        harness.server.add(call("update", "We deploy with make boat", id=entry.id), text("Ok."))
        await harness.turn("how do we deploy?")
        [entry] = harness.app.memory.store.records(("discovery",))
        assert entry.content == "We deploy with make ship"
        await harness.app.close()

    asyncio.run(run())
