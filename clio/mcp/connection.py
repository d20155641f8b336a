"""The connection to one MCP server: started on first use, restarted after a failure, with increasing delays."""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from clio.config.loaded import McpServer
from clio.errors import ClioError
from clio.mcp.answers import AnswerReader
from clio.mcp.client import EndSignal, Launch, McpClient, ServerLog, connect_server, load_sdk
from clio.mcp.oauth import LoginStore
from clio.mcp.server_requests import ServerRequests
from clio.mcp.values import CallFailed, Catalog, McpReply, ServerDown, ServerState, ShowProgress
from clio.text.translation import tr

START_TIMEOUT_S = 60.0
"""Time limit for process, handshake and lists: `npx` and `uvx` may have to download the server first."""
RESTART_DELAYS_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
_STABLE_RUN_S = 60.0
"""After running this long, a server's earlier failures no longer count."""
_MAX_RESTART_WAIT_S = 2.0
"""A call waits this long for a restart; with more time left it fails, so that the model can do something else."""
_MAX_UNANSWERED = 2
"""Calls in a row without an answer, after which the server is restarted."""
MAX_CALL_S = 3_600.0
"""Time limit of a call that keeps sending progress, unless the server's `timeout_s` is longer."""
CHANGE_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Pauses before changed lists are asked for again; they grow while a server keeps announcing changes."""
T = TypeVar("T")


class ServerConnection:
    """The connection to one server.

    Args:
        make_launch: returns how to start or reach it; may raise ConfigError.
        on_catalog: called after every start with what the server offers, and the seconds the start took; None for
            the seconds if the server has changed its lists since.
        logins: the stored logins; None uses none.
    """

    def __init__(
        self,
        server: McpServer,
        make_launch: Callable[[], Launch],
        project: Path,
        *,
        log: ServerLog,
        requests: ServerRequests,
        answers: AnswerReader,
        on_catalog: Callable[[Catalog, float | None], None],
        logins: LoginStore | None = None,
    ) -> None:
        self.server = server
        self.log = log
        self.why = ""
        self._make_launch = make_launch
        self._project = project
        self._requests = requests
        self._answers = answers
        self._logins = logins
        self._on_catalog = on_catalog
        self._client: McpClient | None = None
        self._ended: EndSignal | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[str] | None = None
        self._failures = 0
        self._unanswered = 0
        self._retry_at = 0.0
        self._use_old_handshake = False
        self._timeouts: set[asyncio.Timeout] = set()

    @property
    def state(self) -> ServerState:
        """The current state; `why` describes a failure."""
        if self._client is not None:
            return "running"
        if self._task is not None and not self._task.done():
            return "starting"
        return "failed" if self.why else "not started"

    async def start(self) -> McpClient:
        """Return the open connection; open one if there is none. Raises ServerDown, also during a restart delay."""
        if self._is_ending and self._task is not None:
            await asyncio.wait({self._task})
        if self._client is None and (self._task is None or self._task.done()):
            await self._wait_for_restart()
        if self._client is None and (self._task is None or self._task.done()):
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run_connection(self._ready))
        if self._client is None and self._ready is not None:
            await asyncio.shield(self._ready)  # cancelling one caller must not cancel the start for the others
        if self._client is None:
            raise ServerDown(self.why or tr("it was stopped"))
        return self._client

    async def call(self, tool: str, arguments: dict[str, Any], progress: ShowProgress) -> McpReply:
        """Call a tool. Each progress notification restarts the timeout. Raises ServerDown or CallFailed."""

        async def send(client: McpClient, restart_timeout: Callable[[], None]) -> McpReply:
            def report_progress(line: str) -> None:
                restart_timeout()
                progress(line)

            return await client.call(tool, arguments, report_progress)

        return await self._request(send)

    async def read(self, uri: str) -> McpReply:
        """Return the text of a resource. Raises as `call`."""
        return await self._request(lambda client, _restart_timeout: client.read(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpReply:
        """Return the text of a prompt. Raises as `call`."""
        return await self._request(lambda client, _restart_timeout: client.prompt(name, arguments))

    async def stop(self) -> None:
        """End the process or connection. The next use starts it again, without delay."""
        self._failures, self._retry_at, self.why = 0, 0.0, ""
        task, self._task = self._task, None
        if task is not None and not task.done():
            if self._client is not None and self._ended is not None:
                self._ended.set(tr("it was stopped"))
            else:
                task.cancel()
            done, _ = await asyncio.wait({task}, timeout=3.0)
            if not done:
                task.cancel()
                await asyncio.wait({task}, timeout=1.0)
        self.why = ""

    @contextlib.contextmanager
    def waiting_for_user(self) -> Generator[None]:
        """Stop the time limits of the running calls while the server's question waits for the user."""
        loop = asyncio.get_running_loop()
        for timeout in self._timeouts:
            timeout.reschedule(None)
        try:
            yield
        finally:
            for timeout in self._timeouts:
                timeout.reschedule(loop.time() + self.server.timeout_s)

    async def _request(
        self, send: Callable[[McpClient, Callable[[], None]], Awaitable[T]], *, is_again: bool = False
    ) -> T:
        client = await self.start()
        end_signal, loop = self._ended, asyncio.get_running_loop()
        assert end_signal is not None
        end_signal.clear_status()
        latest = loop.time() + max(MAX_CALL_S, self.server.timeout_s)
        try:
            async with asyncio.timeout(self.server.timeout_s) as timeout:
                self._timeouts.add(timeout)
                try:
                    answer = await send(
                        client, lambda: timeout.reschedule(min(loop.time() + self.server.timeout_s, latest))
                    )
                finally:
                    self._timeouts.discard(timeout)
        except TimeoutError:
            self._unanswered += 1
            if self._unanswered >= _MAX_UNANSWERED:
                end_signal.set(tr("it stopped answering"))
            raise CallFailed(
                tr("no answer within {timeout_s:g} s, so the call was cancelled", timeout_s=self.server.timeout_s)
            ) from None
        except CallFailed as error:
            self._unanswered = 0
            if end_signal.status == 404 and str(error) == "Session terminated":
                # The server has forgotten the session, as after a restart; it did not execute the call.
                end_signal.set(tr("it ended the session"))
                if not is_again:
                    return await self._request(send, is_again=True)
            if end_signal.status in (401, 403):
                raise CallFailed(describe_failure(error, status=end_signal.status, server=self.server)) from None
            raise
        except Exception as error:  # from the transport: the connection is unusable
            await _wait_briefly(end_signal.event)
            end_signal.set(describe_failure(error, status=end_signal.status, server=self.server))
            raise ServerDown(tr("{why}; it is unknown whether the call was executed", why=end_signal.why)) from None
        self._unanswered = 0
        return answer

    @property
    def _is_ending(self) -> bool:
        """Whether an open connection is being closed."""
        return bool(self._ended and self._ended.event.is_set() and self._ready and self._ready.done())

    async def _wait_for_restart(self) -> None:
        left_s = self._retry_at - time.monotonic()
        if left_s > _MAX_RESTART_WAIT_S:
            raise ServerDown(
                tr("{why}; it can be started again in {seconds} s", why=self.why, seconds=math.ceil(left_s))
            )
        if left_s > 0:
            await asyncio.sleep(left_s)

    async def _run_connection(self, ready: "asyncio.Future[str]") -> None:
        """Run one process or connection from its start to its end."""
        started = time.monotonic()
        why = ""
        try:
            # The import takes 0.6 s; the event loop must stay responsive.
            await asyncio.to_thread(load_sdk)
            launch = self._make_launch()
            try:
                why = await self._connect_and_wait(launch, ready)
            except Exception as error:
                # Some servers exit at the newer handshake's first request; they are started again with the older one.
                if ready.done() or self._use_old_handshake or self._ended is None or not self._ended.event.is_set():
                    raise
                self.log.write(f"clio: {describe_failure(error)}; trying again with the older handshake")
                self._use_old_handshake = True
                why = await self._connect_and_wait(launch, ready)
        except ClioError as error:
            why = str(error)
        except Exception as error:
            reason = self._ended.why if self._ended is not None and self._ended.event.is_set() else ""
            status = self._ended.status if self._ended else 0
            why = reason or describe_failure(error, status, self.server)
        finally:
            self._client = None
            self._record_end(why or tr("it was stopped"), ran_s=time.monotonic() - started)
            if not ready.done():
                ready.set_result(self.why)

    async def _connect_and_wait(self, launch: Launch, ready: "asyncio.Future[str]") -> str:
        """Connect and wait for the end; return its reason. Raises the exceptions of `connect_server`."""
        self._ended = end_signal = EndSignal()
        self.log.clear()
        started = time.monotonic()
        changed = asyncio.Event()
        async with asyncio.timeout(START_TIMEOUT_S) as timeout:
            async with connect_server(
                self.server,
                launch,
                self._project,
                log=self.log,
                end_signal=end_signal,
                requests=self._requests,
                answers=self._answers,
                make_note_change=changed.set,
                waiting_for_user=self.waiting_for_user,
                logins=self._logins,
                legacy=self._use_old_handshake,
            ) as client:
                catalog = await client.catalog()
                timeout.reschedule(None)
                self._client, self.why = client, ""
                self._on_catalog(catalog, time.monotonic() - started)
                if not ready.done():
                    ready.set_result("")
                followers = [
                    asyncio.create_task(client.follow_changes(changed.set)),
                    asyncio.create_task(self._refresh_catalog(client, changed)),
                ]
                try:
                    await end_signal.event.wait()
                finally:
                    for follower in followers:
                        follower.cancel()
                    await asyncio.gather(*followers, return_exceptions=True)
                self._client = None
        return end_signal.why

    async def _refresh_catalog(self, client: McpClient, changed: asyncio.Event) -> None:
        """Ask for the lists again whenever they changed, until cancelled."""
        count, last = 0, 0.0
        while True:
            await changed.wait()
            if time.monotonic() - last > 2 * CHANGE_PAUSES_S[-1]:
                count = 0
            await asyncio.sleep(CHANGE_PAUSES_S[min(count, len(CHANGE_PAUSES_S) - 1)])
            changed.clear()
            count, last = count + 1, time.monotonic()
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    self._on_catalog(await client.catalog(), None)
            except (CallFailed, ConnectionError, TimeoutError) as error:
                self.log.write(f"clio: the changed lists could not be read: {error or 'no answer'}")

    def _record_end(self, why: str, *, ran_s: float) -> None:
        self.why = why
        # A server that ran for a while and then failed is restarted at once.
        self._failures = 1 if ran_s > _STABLE_RUN_S else self._failures + 1
        self._retry_at = time.monotonic() + RESTART_DELAYS_S[min(self._failures, len(RESTART_DELAYS_S)) - 1]


def describe_failure(error: BaseException, status: int = 0, server: McpServer | None = None) -> str:
    """Return why a server cannot be used, as the end of a sentence, from an exception of `connect_server`.

    status: HTTP status of the last error; 0 if none.
    """
    while members := _members(error):
        error = members[0]
    if isinstance(error, TimeoutError):
        return tr("it was not ready within {start_s:g} s", start_s=START_TIMEOUT_S)
    name, text = type(error).__name__, " ".join(str(error).split())[:300]
    if isinstance(error, ClioError):
        return text
    if name in ("ConnectError", "ConnectTimeout"):
        asked = getattr(error, "_request", None)  # of the HTTP client, whose property raises without one
        if server is not None and asked is not None and server.oauth is not None and not server.oauth.needs_user:
            where = f"{asked.url.scheme}://{asked.url.netloc.decode()}"
            return tr("can't connect to {where} ({text}). Is it running?", where=where, text=text or name)
        return tr("can't connect ({text}). Is the server running?", text=text or name)
    if status in (401, 403) and server is not None:
        if server.oauth is not None and not server.oauth.needs_user:
            return tr(
                "it does not let client {client_id!r} do this (HTTP {status}); check its rights at the authorization "
                "server, and oauth.scope in {where}",
                client_id=server.oauth.client_id,
                status=status,
                where=server.where,
            )
        if any(name.lower() == "authorization" for name in server.headers):
            return tr("it rejects the Authorization header of its entry (HTTP {status})", status=status)
        if status == 401:
            return tr(
                "login required (HTTP 401); log in with clio mcp login {name}, or set its headers", name=server.name
            )
        return tr("this login does not allow it (HTTP 403); for more rights: clio mcp login {name}", name=server.name)
    return f"{text or name} (HTTP {status})" if status else text or name


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """Return the members of an exception group; () for any other exception."""
    return getattr(error, "exceptions", ())


async def _wait_briefly(event: asyncio.Event) -> None:
    """Wait up to 0.5 s for the event: an ending process closes its output before its exit code is known."""
    try:
        await asyncio.wait_for(event.wait(), 0.5)
    except TimeoutError:
        return
