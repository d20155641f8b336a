"""A server as a child process: one JSON message a line, over its standard input and output.

The SDK has such a transport too. This one bounds what a line may hold, counts what is no protocol, tells when the
process has ended, and takes a second at most to stop it: leaving clio waits for no server.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from clio.children import started
from clio.mcp.launch import Launch
from clio.mcp.server_log import ServerLog
from clio.mcp.values import ServerDown

if TYPE_CHECKING:
    from mcp.client import Transport

MAX_LINE_BYTES = 64_000_000
MAX_STRAY_LINES = 10_000
"""Lines on standard output that are no messages, before a server is given up."""
_GRACE_S = 0.4
_KILL_S = 0.4


class Ended:
    """Set when a process is gone. why: the end of a sentence. status: of the last HTTP answer that was an error."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.why = ""
        self.status = 0

    def set(self, why: str) -> None:
        """The first reason counts."""
        if not self.event.is_set():
            self.why = why
            self.event.set()


@contextlib.asynccontextmanager
async def pipe(launch: Launch, log: ServerLog, ended: Ended) -> AsyncGenerator[Any]:
    """The two streams the SDK's session is driven with. Raises ServerDown where the process cannot be started."""
    import anyio

    process = await _start(launch)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    assert process.stdout and process.stdin and process.stderr
    tasks = [
        asyncio.create_task(_read(process.stdout, to_session, log, ended)),
        asyncio.create_task(_write(process.stdin, from_session, to_session)),
        asyncio.create_task(_keep_words(process.stderr, log)),
        asyncio.create_task(_watch(process, log, ended, to_session)),
    ]
    try:
        yield from_server, to_server
    finally:
        if tasks[0].done():  # its output has ended: how the process ended says why
            await asyncio.wait({tasks[-1]}, timeout=_GRACE_S)
        ended.set("it was stopped")
        for stream in (from_server, to_server):
            await stream.aclose()
        try:
            await _end(process)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (to_session, from_session):
                await stream.aclose()


def pipe_transport(launch: Launch, log: ServerLog, ended: Ended) -> "Transport":
    """The same under the type the SDK's client takes."""
    return pipe(launch, log, ended)


async def _start(launch: Launch) -> asyncio.subprocess.Process:
    if not launch.cwd.is_dir():
        raise ServerDown(f"its folder {str(launch.cwd)!r} does not exist")
    try:
        starting = asyncio.create_subprocess_exec(
            *launch.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=launch.cwd,
            env=launch.env,
            limit=MAX_LINE_BYTES,
            start_new_session=os.name != "nt",
        )
        return await started(starting, _end)
    except FileNotFoundError:
        raise ServerDown(f"the command {launch.command[0]!r} was not found; install it, or write its path") from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ServerDown(f"the command {launch.command[0]!r} cannot be started: {cause}") from None


async def _read(stdout: asyncio.StreamReader, to_session: Any, log: ServerLog, ended: Ended) -> None:
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    stray = 0
    async with to_session:
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                ended.set(f"it sent a line of more than {MAX_LINE_BYTES // 1_000_000} MB")
                return
            if not line:
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                stray += bool(line.strip())
                log.write("stdout: " + line[:2_000].decode("utf-8", "replace"))
                if stray > MAX_STRAY_LINES:
                    ended.set("it writes to its standard output what is no protocol")
                    return
                await asyncio.sleep(0)  # a flood of lines must not keep everything else waiting
                continue
            try:
                await to_session.send(SessionMessage(message))
            except Exception:  # the session is gone; the types of anyio's errors stay out of here
                return


async def _write(stdin: asyncio.StreamWriter, from_session: Any, to_session: Any) -> None:
    async with from_session:
        async for wrapped in from_session:
            data = wrapped.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
            try:
                stdin.write(data)
                await stdin.drain()
            except OSError:
                await to_session.aclose()  # whoever waits for an answer learns that none will come
                return


async def _keep_words(stderr: asyncio.StreamReader, log: ServerLog) -> None:
    while True:
        try:
            line = await stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        log.write(line[:2_000].decode("utf-8", "replace"))
        await asyncio.sleep(0)


async def _watch(process: asyncio.subprocess.Process, log: ServerLog, ended: Ended, to_session: Any) -> None:
    code = await process.wait()
    await asyncio.sleep(0)
    how = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
    words = log.last_words()
    ended.set(f"{how}: {words}" if words else how)
    await to_session.aclose()


async def _end(process: asyncio.subprocess.Process) -> None:
    """As the protocol wants it: its input is closed, then it is asked to end, then it is ended, with its children."""
    assert process.stdin
    try:
        with contextlib.suppress(OSError):
            process.stdin.close()
        if not await _is_gone(process, _GRACE_S):
            _kill(process, signal.SIGTERM)
            await _is_gone(process, _KILL_S)
    finally:
        _kill(process, signal.SIGKILL if os.name != "nt" else signal.SIGTERM)


async def _is_gone(process: asyncio.subprocess.Process, within_s: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), within_s)
    except TimeoutError:
        return False
    return True


def _kill(process: asyncio.subprocess.Process, number: int) -> None:
    """The process and its children."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)
