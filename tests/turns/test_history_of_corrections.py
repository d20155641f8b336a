"""What a correction replaced is a former version of the new memory, however it was found."""

import asyncio

import pytest

from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.versions import list_changes
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def list_actions(harness: Harness) -> list[tuple[str, str, str]]:
    """Return the memory changes, oldest first: action, text and text before."""
    changes = list_changes(harness.app.memory.store.versions())
    return [(one.because or one.what, one.text, one.before) for one in reversed(changes)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("old", "correction", "new"),
    [
        ("we release on Tuesdays", "Thursdays, not Tuesdays", "we release on Thursdays"),
        ("we ship on Tuesdays", "Thursdays, not Tuesdays", "we ship on Thursdays"),
        ("we freeze on Mondays", "no, on Fridays", "we freeze on Fridays"),
        ("standup is on Tuesdays", "Thursdays, not Tuesdays", "standup is on Thursdays"),
        ("the proxy port is 3128", "actually, it's 3129", "the proxy port is 3129"),
        ("we log to loki", "the logs were moved from loki to kibana", "we log to kibana"),
    ],
)
def test_a_correction_links_both_versions(make_harness: MakeHarness, old: str, correction: str, new: str) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn(f"remember that {old}")
        await harness.turn(correction)
        store = harness.app.memory.store
        [record] = store.records()
        assert list_actions(harness) == [("learned", old, ""), ("superseded", record.content, old)]
        assert [version.record.content for version in store.history(record.id)] == [old, record.content]
        assert [one.content for one in store.archived()] == [old]
        assert run_command(harness.app, "/memory undo").ok
        assert [one.content for one in store.records()] == [old]
        await harness.app.close()

    asyncio.run(run())


def test_a_withdrawn_correction_is_listed(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("remember that we release on Tuesdays")
        await harness.turn("Thursdays, not Tuesdays")
        await harness.turn("scratch that")
        assert sorted(list_actions(harness)) == [
            ("forgotten", "we release on Thursdays", ""),
            ("learned", "we release on Tuesdays", ""),
            ("restored", "we release on Tuesdays", ""),
            ("superseded", "we release on Thursdays", "we release on Tuesdays"),
        ]
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert [one.content for one in harness.app.memory.store.records()] == ["we release on Tuesdays"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["fact", "discovery", "preference"])
def test_an_undone_forget_is_listed(make_harness: MakeHarness, kind: str) -> None:
    harness = make_harness([])
    run_command(harness.app, f"/memory add {kind} we deploy with make ship")
    [record] = harness.app.memory.store.records()
    assert run_command(harness.app, f"/memory forget {record.id}").ok
    assert run_command(harness.app, "/memory undo").ok
    rows = run_command(harness.app, "/memory changes").table
    assert rows is not None
    assert sorted(row[1] for row in rows.rows) == ["forgotten", "learned", "restored"]
    only = run_command(harness.app, "/memory changes --kind forgotten").table
    assert only is not None and [row[1] for row in only.rows] == ["forgotten"]
    back = run_command(harness.app, "/memory changes --kind restored").table
    assert back is not None and [row[1] for row in back.rows] == ["restored"]
