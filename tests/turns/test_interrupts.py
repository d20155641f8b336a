"""Stopping a turn at any point leaves a session the next request can be built from."""

import asyncio
import sys
import time

import pytest

from clio.agent.user_interface import Event, TextDelta, ToolStarted, TurnFinished
from clio.messages import AssistantMessage, ToolMessage
from tests.support.chat_server import slow, stall, text, tool_calls
from tests.support.desk import Desk
from tests.support.processes import is_alive
from tests.support.waiting import has_text, wait_until, wait_until_async
from tests.turns.conftest import MakeDesk


async def interrupt_at(desk: Desk, words: str, kind: type[Event]) -> float:
    """Run a turn, cancel it at the first event of a kind, and say how long that took in seconds."""
    task = asyncio.create_task(desk.app.run_turn(words))
    await wait_until_async(lambda: desk.seen(kind))
    started = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.perf_counter() - started


def test_while_the_answer_streams(make_desk: MakeDesk) -> None:
    desk = make_desk([stall("I was about to say"), text("Go on then.")])

    async def story() -> None:
        await interrupt_at(desk, "tell me", TextDelta)
        assert desk.seen(TurnFinished)[-1].status == "interrupted"
        assert desk.server.disconnected.wait(5)
        finished = await desk.turn("go on")
        assert finished.text == "Go on then."

    asyncio.run(story())
    kept = [message for message in desk.app.session.messages if isinstance(message, AssistantMessage)]
    assert (kept[0].content, kept[0].finish_reason) == ("I was about to say", "interrupted")


def test_while_a_command_runs(make_desk: MakeDesk) -> None:
    script = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    call = ("run_command", {"command": f'{sys.executable} -c "{script}"'})
    desk = make_desk([tool_calls([call, ("read_file", {"path": "calc.py"})]), text("Stopped.")], approve="all")

    async def story() -> None:
        task = asyncio.create_task(desk.app.run_turn("run it"))
        pid_file = desk.project / "pid"
        await wait_until_async(lambda: has_text(pid_file))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        pid = int(pid_file.read_text(encoding="utf-8"))
        await wait_until_async(lambda: not is_alive(pid))
        await desk.turn("what happened?")

    asyncio.run(story())
    sent = desk.server.requests[1].body["messages"]
    assert [message["content"] for message in sent if message["role"] == "tool"] == ["interrupted", "interrupted"]


def test_before_the_first_byte(make_desk: MakeDesk) -> None:
    desk = make_desk([slow(30, text("late")), text("in time")])

    async def story() -> None:
        task = asyncio.create_task(desk.app.run_turn("hello"))
        await asyncio.to_thread(_wait_for_request, desk)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await desk.turn("again")).text == "in time"

    asyncio.run(story())


def _wait_for_request(desk: Desk) -> None:
    wait_until(lambda: desk.server.requests)


def test_results_that_came_before_are_kept(make_desk: MakeDesk) -> None:
    calls = [("write_file", {"path": "a.txt", "content": "a\n"}), ("run_command", {"command": "sleep 60"})]
    desk = make_desk([tool_calls(calls), text("ok")], approve="all")

    async def story() -> None:
        task = asyncio.create_task(desk.app.run_turn("both"))
        await wait_until_async(lambda: len(desk.seen(ToolStarted)) >= 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    results = [message for message in desk.app.session.messages if isinstance(message, ToolMessage)]
    assert [result.ok for result in results] == [True, False]
    assert results[1].content == "interrupted"
