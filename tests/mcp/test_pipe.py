"""A server's process that is stopped before clio knows that it runs."""

import asyncio
import os
from pathlib import Path

import pytest

from clio.mcp.client import EndSignal, Launch, ServerLog, open_pipe
from clio.tools.shell.processes import list_session_members
from tests.support.waiting import run_loop_once, wait_until_async


def test_a_server_stopped_while_it_starts_ends_with_its_child_processes(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    line = "trap '' TERM; sleep 600 & echo $$ > started; wait"
    launch = Launch(command=("sh", "-c", line), env=dict(os.environ), cwd=tmp_path)

    async def opened() -> None:
        async with open_pipe(launch, ServerLog(tmp_path / "log"), EndSignal()):
            pytest.fail("nobody was to know of it")

    async def scenario() -> None:
        task = asyncio.create_task(opened())
        await run_loop_once(2)  # until it has just started
        leader = int(started.read_text(encoding="utf-8"))  # in the loop's own thread, so nothing else runs meanwhile
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until_async(lambda: not list_session_members(leader))

    asyncio.run(scenario())
