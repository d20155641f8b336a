"""The connection to one MCP server: started on first use, restarted after a failure, with increasing delays."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from clio.config.loaded import McpServer
from clio.errors import ClioError
from clio.mcp.client import Elicit, EndSignal, Launch, McpClient, ServerLog, connect_server, load_sdk
from clio.mcp.values import CallFailed, Catalog, McpReply, Progress, ServerDown, State

START_S = 60.0
"""Time limit for process, handshake and lists: `npx` and `uvx` may have to download the server first."""
BACK_OFF_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
_STEADY_S = 60.0
"""After running this long, a server's earlier failures no longer count."""
_PATIENCE_S = 2.0
_MOST_SILENT = 2
T = TypeVar("T")


class ServerConnection:
    """The connection to one server.

    Args:
        make_launch: returns how to start or reach it; may raise ConfigError.
        on_catalog: called after every start with what the server offers, and the seconds the start took.
        start_s: time limit of a start.
    """

    def __init__(
        self,
        server: McpServer,
        make_launch: Callable[[], Launch],
        project: Path,
        *,
        log: ServerLog,
        elicit: Elicit,
        on_catalog: Callable[[Catalog, float], None],
        start_s: float = START_S,
    ) -> None:
        self.server = server
        self.log = log
        self.why = ""
        self._make_launch = make_launch
        self._project = project
        self._elicit = elicit
        self._on_catalog = on_catalog
        self._start_s = start_s
        self._wire: McpClient | None = None
        self._ended: EndSignal | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[str] | None = None
        self._failures = 0
        self._silent = 0
        self._retry_at = 0.0
        self._legacy = False

    @property
    def state(self) -> State:
        """The current state; `why` describes a failure."""
        if self._wire is not None:
            return "running"
        if self._task is not None and not self._task.done():
            return "starting"
        return "failed" if self.why else "not started"

    async def start(self) -> McpClient:
        """Return the open connection; open one if there is none. Raises ServerDown, also during a restart delay."""
        if self._is_ending and self._task is not None:
            await asyncio.wait({self._task})
        if self._wire is None and (self._task is None or self._task.done()):
            await self._rest()
        if self._wire is None and (self._task is None or self._task.done()):
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run_connection(self._ready))
        if self._wire is None and self._ready is not None:
            await asyncio.shield(self._ready)
        if self._wire is None:
            raise ServerDown(self.why or "it was stopped")
        return self._wire

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> McpReply:
        """Call a tool. Each progress notification restarts the timeout. Raises ServerDown or CallFailed."""

        async def ask(wire: McpClient, heard: Callable[[], None]) -> McpReply:
            def tell(line: str) -> None:
                heard()
                progress(line)

            return await wire.call(tool, arguments, tell)

        return await self._within(ask)

    async def read(self, uri: str) -> McpReply:
        """Return the text of a resource. Raises as `call`."""
        return await self._within(lambda wire, heard: wire.read(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpReply:
        """Return the text of a prompt. Raises as `call`."""
        return await self._within(lambda wire, heard: wire.prompt(name, arguments))

    async def stop(self) -> None:
        """End the process or connection. The next use starts it again, without delay."""
        self._failures, self._retry_at, self.why = 0, 0.0, ""
        task, self._task = self._task, None
        if task is not None and not task.done():
            if self._wire is not None and self._ended is not None:
                self._ended.set("it was stopped")
            else:
                task.cancel()
            done, _ = await asyncio.wait({task}, timeout=3.0)
            if not done:
                task.cancel()
                await asyncio.wait({task}, timeout=1.0)
        self.why = ""

    async def _within(self, ask: Callable[[McpClient, Callable[[], None]], Awaitable[T]]) -> T:
        wire = await self.start()
        ended, loop = self._ended, asyncio.get_running_loop()
        assert ended is not None
        try:
            async with asyncio.timeout(self.server.timeout_s) as patience:
                answer = await ask(wire, lambda: patience.reschedule(loop.time() + self.server.timeout_s))
        except TimeoutError:
            self._silent += 1
            if self._silent >= _MOST_SILENT:
                ended.set("it stopped answering")
            raise CallFailed(f"no answer within {self.server.timeout_s:g} s, so the call was cancelled") from None
        except CallFailed:
            self._silent = 0
            raise
        except Exception as error:  # from the transport: the connection is unusable
            await _soon(ended.event)
            ended.set(describe_failure(error, status=ended.status))
            raise ServerDown(f"{ended.why}; it is unknown whether the call was executed") from None
        self._silent = 0
        return answer

    @property
    def _is_ending(self) -> bool:
        """Whether an open connection is being closed."""
        return bool(self._ended and self._ended.event.is_set() and self._ready and self._ready.done())

    async def _rest(self) -> None:
        left = self._retry_at - time.monotonic()
        if left > _PATIENCE_S:
            raise ServerDown(f"{self.why}; it can be started again in {math.ceil(left)} s")
        if left > 0:
            await asyncio.sleep(left)

    async def _run_connection(self, ready: "asyncio.Future[str]") -> None:
        """Run one process or connection from its start to its end."""
        started = time.monotonic()
        why = ""
        try:
            await asyncio.to_thread(load_sdk)
            launch = self._make_launch()
            try:
                why = await self._once(launch, ready)
            except Exception as error:
                if ready.done() or self._legacy or self._ended is None or not self._ended.event.is_set():
                    raise
                self.log.write(f"clio: {describe_failure(error)}; trying again with the older handshake")
                self._legacy = True
                why = await self._once(launch, ready)
        except ClioError as error:
            why = str(error)
        except Exception as error:
            reason = self._ended.why if self._ended is not None and self._ended.event.is_set() else ""
            why = reason or describe_failure(error, self._start_s, self._ended.status if self._ended else 0)
        finally:
            self._wire = None
            self._fell(why or "it was stopped", ran_s=time.monotonic() - started)
            if not ready.done():
                ready.set_result(self.why)

    async def _once(self, launch: Launch, ready: "asyncio.Future[str]") -> str:
        """Connect and wait for the end; return its reason. Raises the exceptions of `connect_server`."""
        self._ended = ended = EndSignal()
        self.log.clear()
        started = time.monotonic()
        async with asyncio.timeout(self._start_s) as patience:
            async with connect_server(
                self.server,
                launch,
                self._project,
                log=self.log,
                ended=ended,
                elicit=self._elicit,
                legacy=self._legacy,
            ) as wire:
                catalog = await wire.catalog()
                patience.reschedule(None)
                self._wire, self.why = wire, ""
                self._on_catalog(catalog, time.monotonic() - started)
                if not ready.done():
                    ready.set_result("")
                await ended.event.wait()
                self._wire = None
        return ended.why

    def _fell(self, why: str, *, ran_s: float) -> None:
        self.why = why
        self._failures = 1 if ran_s > _STEADY_S else self._failures + 1
        self._retry_at = time.monotonic() + BACK_OFF_S[min(self._failures, len(BACK_OFF_S)) - 1]


def describe_failure(error: BaseException, start_s: float = START_S, status: int = 0) -> str:
    """Return why a server cannot be used, as the end of a sentence, from an exception of `connect_server`.

    start_s: the time limit of the start. status: HTTP status of the last error; 0 if none.
    """
    while members := _members(error):
        error = members[0]
    if isinstance(error, TimeoutError):
        return f"it was not ready within {start_s:g} s"
    name, text = type(error).__name__, " ".join(str(error).split())[:300]
    if status in (401, 403):
        return f"{status}: login required; set the server's headers"
    if name in ("ConnectError", "ConnectTimeout"):
        return f"can't connect ({text or name}). Is the server running?"
    return f"{text or name} (HTTP {status})" if status else text or name


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """Return the members of an exception group; () for any other exception."""
    return getattr(error, "exceptions", ())


async def _soon(event: asyncio.Event) -> None:
    """Wait up to 0.5 s for the event: an ending process closes its output before its exit code is known."""
    try:
        await asyncio.wait_for(event.wait(), 0.5)
    except TimeoutError:
        return
