"""A test editor built on the client of the ACP SDK: it starts a real `clio acp` and records all updates it receives.

The connection runs in a thread of its own, so that one process serves many tests. `call` runs a coroutine there.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from acp import RequestError, spawn_agent_process, text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    InitializeResponse,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

T = TypeVar("T")
Answer = Callable[[Any, list[Any]], str]
"""Chooses the option to select by its id; "" cancels the request."""


async def _at_once() -> None:
    """Answer permission requests without waiting."""


class Editor:
    """The client's side of the protocol.

    Attributes:
        buffers: the unsaved text of open files, by path.
        answer: chooses the answer to permission requests.
        before_answer: is awaited before each answer.
    """

    def __init__(self, process_args: tuple[str, ...], env: Mapping[str, str], cwd: Path, *, files: bool) -> None:
        self.buffers: dict[str, str] = {}
        self.saved: list[str] = []
        self.updates: dict[str, list[Any]] = {}
        self.questions: list[Any] = []
        self.answer: Answer = lambda call, options: "once"
        self.before_answer: Callable[[], Awaitable[None]] = _at_once
        self.hello: InitializeResponse | None = None
        self.errors = cwd / "errors.txt"
        self._args, self._env, self._cwd, self._files = process_args, dict(env), cwd, files
        self._watchers: list[tuple[Callable[[str, Any], bool], asyncio.Future[Any]]] = []
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._end: asyncio.Event | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="editor", daemon=True)
        self.agent: Any = None
        self.process: Any = None

    def call(self, work: Coroutine[Any, Any, T], timeout_s: float = 60.0) -> T:
        """Run a coroutine in the connection's event loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def new(self, folder: Path) -> str:
        """Create a session; return its id when its commands are known."""
        return self.call(self.open(folder))

    async def open(self, folder: Path) -> str:
        """Do the work of `new`, inside the connection's event loop."""
        answer = await self.agent.new_session(cwd=str(folder), mcp_servers=[])
        session: str = answer.session_id
        await self.until(lambda id, update: id == session and kind(update) == "available_commands_update")
        return session

    def prompt(self, session: str, *blocks: Any) -> str:
        """Send text, or content blocks, and wait; return the stop reason."""
        return self.call(self.say(session, *blocks))

    async def say(self, session: str, *blocks: Any) -> str:
        """Do the work of `prompt`, inside the connection's event loop."""
        made = [text_block(block) if isinstance(block, str) else block for block in blocks]
        return (await self.agent.prompt(session_id=session, prompt=made)).stop_reason

    async def until(self, wanted: Callable[[str, Any], bool]) -> Any:
        """Wait for the first update that `wanted` accepts, including those received already."""
        for session, noted in self.updates.items():
            for update in noted:
                if wanted(session, update):
                    return update
        future: asyncio.Future[Any] = self._loop.create_future()
        self._watchers.append((wanted, future))
        return await future

    def forget(self) -> None:
        """Discard all updates and permission requests, and restore the default answer."""
        self.before_answer = _at_once
        self.updates.clear()
        self.questions.clear()
        self.buffers.clear()
        self.saved.clear()
        self.answer = lambda call, options: "once"

    def joined_text(self, session: str, voice: str = "agent_message_chunk") -> str:
        """Return all text of one kind of message in a session."""
        return "".join(one.content.text for one in self.updates.get(session, []) if kind(one) == voice)

    def of_kind(self, session: str, *kinds: str) -> list[Any]:
        """Return the updates of these kinds, in order."""
        return [one for one in self.updates.get(session, []) if kind(one) in kinds]

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.setdefault(session_id, []).append(update)
        for watcher in [one for one in self._watchers if one[0](session_id, update)]:
            self._watchers.remove(watcher)
            if not watcher[1].done():
                watcher[1].set_result(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **more: Any
    ) -> RequestPermissionResponse:
        self.questions.append(tool_call)
        await self.before_answer()
        chosen = self.answer(tool_call, options)
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **more: Any) -> ReadTextFileResponse:
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        try:
            return ReadTextFileResponse(content=Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise RequestError.resource_not_found(path) from None

    async def write_text_file(self, session_id: str, path: str, content: str, **more: Any) -> WriteTextFileResponse:
        self.saved.append(path)
        self.buffers.pop(path, None)
        Path(path).write_text(content, encoding="utf-8")
        return WriteTextFileResponse()

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except BaseException as error:
            self._failed = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        can = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=self._files, write_text_file=self._files))
        with self.errors.open("ab") as errors:
            started = spawn_agent_process(
                self,
                sys.executable,
                *self._args,
                env=self._env,
                cwd=self._cwd,
                transport_kwargs={"stderr": errors},
                use_unstable_protocol=True,
            )
            async with started as (agent, process):
                self.agent, self.process = agent, process
                self.hello = await agent.initialize(protocol_version=1, client_capabilities=can)
                self._ready.set()
                await self._end.wait()

    def _open(self) -> None:
        self._thread.start()
        assert self._ready.wait(60)
        if self._failed is not None:
            raise self._failed

    def _close(self) -> None:
        if self._end is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)


@contextmanager
def editor(env: Mapping[str, str], cwd: Path, *flags: str, files: bool = False) -> Iterator[Editor]:
    """Yield an editor with its own agent process, which ends with the block."""
    one = Editor(("-m", "clio", "acp", *flags), env, cwd, files=files)
    one._open()  # pyright: ignore[reportPrivateUsage]
    try:
        yield one
    finally:
        one._close()  # pyright: ignore[reportPrivateUsage]


def kind(update: Any) -> str:
    """Return the protocol's name for an update."""
    return str(update.session_update)


async def both(*work: Awaitable[T]) -> list[T]:
    """Run these at the same time; return their results."""
    return list(await asyncio.gather(*work))
