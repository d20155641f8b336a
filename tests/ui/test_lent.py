"""Ctrl-C pressed in a pager or an editor reaches clio as a signal, perhaps late, but does not interrupt clio."""

import asyncio
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from clio.ui.terminal_handoff import hand_over_terminal, is_terminal_handed_over
from tests.support.waiting import run_loop_once, wait_until_async

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="event loops there have no signal handlers")


def test_a_signal_received_after_the_program_ended_belongs_to_the_program() -> None:
    """The end of the program is in the loop's queue before the signal, as on a busy machine."""

    async def run_program() -> list[bool]:
        signals: list[bool] = []
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: signals.append(is_terminal_handed_over()))
        program = ThreadPoolExecutor(1)

        def stall() -> None:
            program.shutdown()
            signal.raise_signal(signal.SIGINT)

        async with hand_over_terminal():
            ended = asyncio.wrap_future(program.submit(int))
            asyncio.get_running_loop().call_soon(stall)
            await ended
        await wait_until_async(lambda: signals)
        return signals

    assert asyncio.run(run_program()) == [True]
    assert not is_terminal_handed_over()


def test_the_terminal_is_returned_however_the_program_was_waited_for() -> None:
    async def run_program() -> None:
        async def wait() -> None:
            async with hand_over_terminal():
                await asyncio.Event().wait()  # for ever

        waiting = asyncio.create_task(wait())
        await run_loop_once()
        assert is_terminal_handed_over()
        for _ in range(3):  # repeatedly, like an impatient user
            waiting.cancel()
            await run_loop_once()
        await asyncio.wait({waiting})
        assert waiting.cancelled() and not is_terminal_handed_over()

    asyncio.run(run_program())
