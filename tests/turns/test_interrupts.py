"""Stopping a turn at any point leaves a session from which the next request can be built."""

import asyncio
import sys
import time

import pytest

from clio.agent.user_interface import Event, TextDelta, ToolStarted, TurnFinished
from clio.messages import AssistantMessage, ToolMessage
from tests.support.chat_server import slow, stall, text, tool_calls
from tests.support.harness import Harness
from tests.support.processes import is_alive
from tests.support.waiting import has_text, wait_until, wait_until_async
from tests.turns.conftest import MakeHarness


async def interrupt_at(harness: Harness, words: str, kind: type[Event]) -> float:
    """Run a turn, cancel it at the first event of a kind, and return the time this took in seconds."""
    task = asyncio.create_task(harness.app.run_turn(words))
    await wait_until_async(lambda: harness.seen(kind))
    started = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.perf_counter() - started


def test_an_interrupt_while_the_answer_streams(make_harness: MakeHarness) -> None:
    harness = make_harness([stall("I was about to say"), text("Go on then.")])

    async def run_turns() -> None:
        await interrupt_at(harness, "tell me", TextDelta)
        assert harness.seen(TurnFinished)[-1].status == "interrupted"
        assert harness.server.disconnected.wait(5)
        finished = await harness.turn("go on")
        assert finished.text == "Go on then."

    asyncio.run(run_turns())
    kept = [message for message in harness.app.session.messages if isinstance(message, AssistantMessage)]
    assert (kept[0].content, kept[0].finish_reason) == ("I was about to say", "interrupted")


def test_an_interrupt_while_a_command_runs(make_harness: MakeHarness) -> None:
    script = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    call = ("run_command", {"command": f'{sys.executable} -c "{script}"'})
    harness = make_harness([tool_calls([call, ("read_file", {"path": "calc.py"})]), text("Stopped.")], approve="all")

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("run it"))
        pid_file = harness.project / "pid"
        await wait_until_async(lambda: has_text(pid_file))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        pid = int(pid_file.read_text(encoding="utf-8"))
        await wait_until_async(lambda: not is_alive(pid))
        await harness.turn("what happened?")

    asyncio.run(run_turns())
    sent = harness.server.requests[1].body["messages"]
    assert [message["content"] for message in sent if message["role"] == "tool"] == ["interrupted", "interrupted"]


def test_an_interrupt_before_the_first_byte(make_harness: MakeHarness) -> None:
    harness = make_harness([slow(30, text("late")), text("in time")])

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("hello"))
        await asyncio.to_thread(_wait_for_request, harness)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await harness.turn("again")).text == "in time"

    asyncio.run(run_turns())


def _wait_for_request(harness: Harness) -> None:
    wait_until(lambda: harness.server.requests)


def test_earlier_results_are_kept(make_harness: MakeHarness) -> None:
    calls = [("write_file", {"path": "a.txt", "content": "a\n"}), ("run_command", {"command": "sleep 60"})]
    harness = make_harness([tool_calls(calls), text("ok")], approve="all")

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("both"))
        await wait_until_async(lambda: len(harness.seen(ToolStarted)) >= 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run_turns())
    results = [message for message in harness.app.session.messages if isinstance(message, ToolMessage)]
    assert [result.ok for result in results] == [True, False]
    assert results[1].content == "interrupted"
