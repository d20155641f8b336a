""" "Scratch that" after a correction undoes the correction: the replaced memory is valid again."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


def notices(harness: Harness) -> list[str]:
    return [notice.text for notice in harness.seen(Notice)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("said", "correction", "withdrawal"),
    [
        ("remember that standup is on Tuesdays", "Thursdays, not Tuesdays", "scratch that"),
        ("remember that the proxy port is 3128", "actually, it's 3129", "Forget that."),
        ("remember that the proxy port is 3128", "actually the proxy port is 3129", "I take that back"),
        ("remember that the proxy port is 3128", "remember that the proxy port is 3129", "never mind"),
        ("remember that we use npm", "we switched to pnpm", "no, scratch that"),
        ("I prefer tabs", "I prefer spaces now, not tabs", "scratch that"),
        ("merk dir: das Backup läuft um 3:00", "nein, um 4:00", "vergiss das"),
        ("retiens que la réunion est le mardi", "jeudi, pas mardi", "oublie ça"),
        ("recuerda que la reunión es el martes", "el jueves, no el martes", "olvida eso"),
        ("スタンドアップは火曜日だと覚えておいて", "火曜日ではなく木曜日です", "忘れて"),
    ],
)
def test_the_former_value_is_valid_again(
    make_harness: MakeHarness, said: str, correction: str, withdrawal: str
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        before = contents(harness)
        await harness.turn(correction)
        corrected = contents(harness)
        assert corrected != before and len(corrected) == 1
        await harness.turn(withdrawal)
        assert contents(harness) == before
        assert "valid again: " in notices(harness)[-1] and notices(harness)[-1].endswith("/memory undo")
        request = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert before[0] in request and "valid again" in request
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == corrected
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == before
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("said", ["remember that standup is on Tuesdays", "standup is on Tuesdays"])
def test_consolidation_does_not_repeat_the_correction(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        await harness.turn("Thursdays, not Tuesdays")
        await harness.turn("scratch that")
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert "standup is on Thursdays" not in contents(harness)
        assert len(contents(harness)) == said.startswith("remember") or contents(harness) == ["standup is on Tuesdays"]
        await harness.app.close()

    asyncio.run(run())


def test_only_the_last_message_is_withdrawn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await harness.turn("remember that standup is on Tuesdays")
        await harness.turn("Thursdays, not Tuesdays")
        await harness.turn("look at calc.py")
        await harness.turn("scratch that")
        assert contents(harness) == ["standup is on Thursdays"]
        await harness.app.close()

    asyncio.run(run())


def test_after_an_undo_there_is_nothing_to_withdraw(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("remember that standup is on Tuesdays")
        await harness.turn("Thursdays, not Tuesdays")
        assert run_command(harness.app, "/memory undo").ok
        await harness.turn("scratch that")
        assert contents(harness) == ["standup is on Tuesdays"]
        await harness.app.close()

    asyncio.run(run())
