"""All MCP servers of one running clio: what they offer to a session, and the calls to them."""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clio.config.extension_files import find_servers
from clio.config.loaded import FROM_EDITOR, LoadedConfig, McpServer
from clio.mcp.values import (
    Catalog,
    ElicitationQuestion,
    McpReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Progress,
    ServerDown,
    State,
    read_catalogs,
    server_fingerprint,
    store_catalog,
)

if TYPE_CHECKING:
    from clio.mcp.connection import ServerConnection


MAX_CHARS = 64
"""Of a tool's name, at every provider."""
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_MARK_CHARS = 6


def make_tool_names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """A name for each pair of server and tool, in order and all different.

    What a name may not hold becomes "_". Where a name is too long or taken, a mark made of the pair ends it: the same
    pair has the same mark in every session, so that a rule about it goes on to hold.
    """
    taken: set[str] = set()
    names: list[str] = []
    for server, tool in tools:
        name = f"mcp_{_clean(server)}_{_clean(tool)}"
        if len(name) > MAX_CHARS or name in taken:
            mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_MARK_CHARS]
            name = f"{name[: MAX_CHARS - _MARK_CHARS - 1]}_{mark}"
        if name not in taken:
            taken.add(name)
            names.append(name)
        else:
            names.append("")  # the same tool twice
    return names


def _clean(text: str) -> str:
    return _ODD.sub("_", text).strip("_") or "x"


FIRST_WAIT_S = 10.0
"""How long the first turn waits for servers that were never asked before."""
STALE_S = 86_400.0
Ask = Callable[[str, tuple[str, ...]], Coroutine[Any, Any, str]]
"""A question to the person, and what to choose from; "" for no answer."""


class NamedTool(Struct, frozen=True, kw_only=True):
    """A tool with the name the model calls it by. reads: by the user's own word."""

    name: str
    server: str
    tool: OfferedTool
    reads: bool

    @property
    def tokens(self) -> int:
        """About what it takes of the window."""
        return len(self.name + self.tool.description) // 4 + len(bytes(self.tool.schema)) // 3


class ServerStatus(Struct, frozen=True, kw_only=True):
    """How things stand with one server.

    why: of a failure. catalog: None where it was never asked. seconds: its start took. log: what else it writes.
    """

    server: McpServer
    state: State
    why: str
    catalog: Catalog | None
    seconds: float | None
    log: Path | None


class McpServers:
    """Every configured server. problems: sentences about entries that are wrong.

    folder: where catalogs and logs are kept; None keeps nothing. tell: shows one line. ask: reaches the person.
    clean: takes secrets out of what is kept. read_again: gives what is configured by now, for `reload`.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        problems: Sequence[str],
        *,
        project: Path,
        env: Mapping[str, str],
        folder: Path | None,
        tell: Callable[[str], None] = lambda line: None,
        ask: Ask | None = None,
        clean: Callable[[str], str] = str,
        first_wait_s: float = FIRST_WAIT_S,
        read_again: Callable[[], tuple[Sequence[McpServer], Sequence[str]]] | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.all = tuple(servers)
        self._project = project
        self._env = env
        self._folder = folder
        self._tell = tell
        self._ask = ask
        self._clean = clean
        self._first_wait_s = first_wait_s
        self._read_again = read_again
        self._catalogs: dict[str, Catalog] = {}
        self._seconds: dict[str, float] = {}
        self._connections: dict[str, ServerConnection] = {}
        self._offered: tuple[NamedTool, ...] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._keeping: set[asyncio.Future[None]] = set()
        self._told: set[str] = set()
        self._read = False

    @property
    def enabled(self) -> tuple[McpServer, ...]:
        """Those that may be used."""
        return tuple(server for server in self.all if server.enabled)

    @property
    def offered(self) -> tuple[NamedTool, ...]:
        """The tools of this session; none before `settle`."""
        return self._offered or ()

    def warm_up(self) -> None:
        """Import what the first call needs; for a thread, while the person types."""
        if self.enabled:
            from clio.mcp.client import load_sdk

            self._recall()
            load_sdk()

    async def settle(self) -> None:
        """Decide once what this session's tools are. Waits at most `first_wait_s`; never raises for a server."""
        if self._offered is not None:
            return
        for problem in self.problems:
            self._say(problem)
        if self.enabled:
            await asyncio.to_thread(self._recall)
            unknown = [server for server in self.enabled if server.name not in self._catalogs]
            await self._meet(unknown)
            self._refresh()
        self._offered = self._named()

    def begin_session(self) -> None:
        """The next session's tools are what is known by then."""
        self._offered = None

    async def reload(self) -> list[ServerStatus]:
        """Read the files again, start every server and settle anew; how each stands then."""
        await self.close()
        if self._read_again is not None:
            servers, problems = await asyncio.to_thread(self._read_again)
            self.all, self.problems = tuple(servers), tuple(problems)
        self._told.clear()
        self._catalogs.clear()
        self._seconds.clear()
        self._offered, self._read = None, True
        await self.settle()
        return self.list_statuses()

    async def call(self, server: str, tool: str, arguments: dict[str, Any], progress: Progress) -> McpReply:
        """Call a tool. Raises CallFailed or ServerDown."""
        return await self._connection(server).call(tool, arguments, progress)

    async def read(self, server: str, uri: str) -> McpReply:
        """The text of a resource. Raises as `call`."""
        return await self._connection(server).read(uri)

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> McpReply:
        """The text of a prompt. Raises as `call`."""
        return await self._connection(server).prompt(name, arguments)

    async def start(self, server: str) -> ServerStatus:
        """Start one server and ask what it offers. Raises ServerDown."""
        await self._connection(server).start()
        return next(one for one in self.list_statuses() if one.server.name == server)

    def resources(self, server: str | None = None) -> list[tuple[str, OfferedResource]]:
        """What can be named with `@server:uri`, as far as the servers have been asked."""
        self._recall()
        known = [(one.name, self._catalogs[one.name]) for one in self.enabled if one.name in self._catalogs]
        return [(name, one) for name, found in known if server in (None, name) for one in found.resources]

    def prompts(self) -> list[tuple[str, OfferedPrompt]]:
        """What can be called with `/mcp:server:prompt`."""
        self._recall()
        known = [(one.name, self._catalogs[one.name]) for one in self.enabled if one.name in self._catalogs]
        return [(name, one) for name, found in known for one in found.prompts]

    def list_statuses(self) -> list[ServerStatus]:
        """How every server stands, those that are switched off too."""
        self._recall()
        found: list[ServerStatus] = []
        for server in self.all:
            connection = self._connections.get(server.name)
            found.append(
                ServerStatus(
                    server=server,
                    state=connection.state if connection else "not started",
                    why=connection.why if connection else "",
                    catalog=self._catalogs.get(server.name),
                    seconds=self._seconds.get(server.name),
                    log=self._log_path(server),
                )
            )
        return found

    def tokens(self, server: str) -> int:
        """About what a server's tools take of the window, in tokens."""
        return sum(named.tokens for named in self._offered or self._named() if named.server == server)

    def names_of(self, server: str) -> dict[str, str]:
        """By what names the model calls a server's tools."""
        return {one.tool.name: one.name for one in self._offered or self._named() if one.server == server}

    def copy(self) -> "McpServers":
        """The same servers once more, to be tried beside those that run; to be closed."""
        servers, problems = self._read_again() if self._read_again else (self.all, self.problems)
        return McpServers(
            servers,
            problems,
            project=self._project,
            env=self._env,
            folder=self._folder,
            clean=self._clean,
            first_wait_s=self._first_wait_s,
            read_again=self._read_again,
        )

    async def close(self) -> None:
        """End every server; at most some seconds, whatever they do. What they offered is kept by then."""
        for task in self._background:
            task.cancel()
        connections, self._connections = list(self._connections.values()), {}
        await asyncio.gather(*(connection.stop() for connection in connections))
        if self._keeping:
            await asyncio.wait(self._keeping)

    def _connection(self, name: str) -> "ServerConnection":
        if name not in self._connections:
            from clio.mcp.client import ServerLog, make_launch
            from clio.mcp.connection import ServerConnection

            server = next((one for one in self.enabled if one.name == name), None)
            if server is None:
                raise ServerDown("there is no such server; /mcp shows all")
            self._connections[name] = ServerConnection(
                server,
                lambda: make_launch(server, self._project, self._env),
                self._project,
                log=ServerLog(self._log_path(server), self._clean),
                elicit=self._elicit,
                on_catalog=lambda catalog, seconds: self._learn(server, catalog, seconds),
            )
        return self._connections[name]

    async def _meet(self, servers: Sequence[McpServer]) -> None:
        """Start these side by side, and wait a while; each goes on starting after that."""
        if not servers:
            return
        tasks = {self._spawn(self._try(server)): server for server in servers}
        _, late = await asyncio.wait(tasks, timeout=self._first_wait_s)
        if late:
            names = ", ".join(repr(tasks[task].name) for task in tasks if task in late)
            self._say(f"MCP: {names} is still starting; its tools come with /mcp reload or the next session")

    async def _try(self, server: McpServer) -> None:
        try:
            await self._connection(server.name).start()
        except ServerDown as error:
            self._say(f"MCP: {server.name!r} cannot be used: {error}")

    def _refresh(self) -> None:
        """Ask anew, beside the turn, those whose catalog is a day old; what is new counts from the next session."""
        for server in self.enabled:
            catalog = self._catalogs.get(server.name)
            if catalog is not None and time.time() - catalog.listed_at > STALE_S:
                self._spawn(self._try(server))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _learn(self, server: McpServer, catalog: Catalog, seconds: float) -> None:
        self._catalogs[server.name] = catalog
        self._seconds[server.name] = seconds
        path = self._cache_path
        if path is not None:
            keeping = asyncio.get_running_loop().run_in_executor(None, store_catalog, path, server, catalog)
            self._keeping.add(keeping)
            keeping.add_done_callback(self._keeping.discard)

    def _recall(self) -> None:
        """What was kept of earlier sessions, once."""
        if self._read or not self.enabled:
            return
        kept = read_catalogs(self._cache_path)
        for server in self.enabled:
            if (catalog := kept.get(server_fingerprint(server))) is not None:
                self._catalogs.setdefault(server.name, catalog)
        self._read = True

    def _named(self) -> tuple[NamedTool, ...]:
        found: list[tuple[McpServer, OfferedTool]] = []
        for server in sorted(self.enabled, key=lambda server: not server.own):  # the user's own names come first
            catalog = self._catalogs.get(server.name, Catalog())
            found += [(server, tool) for tool in catalog.tools if server.tools is None or tool.name in server.tools]
        names = make_tool_names((server.name, tool.name) for server, tool in found)
        return tuple(
            NamedTool(name=name, server=server.name, tool=tool, reads=tool.name in server.read_only)
            for name, (server, tool) in zip(names, found, strict=True)
            if name
        )

    async def _elicit(
        self, server: str, message: str, questions: Sequence[ElicitationQuestion]
    ) -> dict[str, str] | None:
        if self._ask is None:
            return None
        said: dict[str, str] = {}
        for question in questions:
            hint = f" (Enter: {question.default})" if question.default is not None else ""
            try:
                text = f"The MCP server {server!r} asks: {message}\n{question.text}{hint}"
                answer = await self._ask(text, question.options)
            except Exception:  # nobody is there, or the question could not be put: the server is told so
                return None
            said[question.name] = answer or question.default or ""
        return said if any(said.values()) else None

    @property
    def _cache_path(self) -> Path | None:
        return self._folder / "mcp.json" if self._folder else None

    def _log_path(self, server: McpServer) -> Path | None:
        return self._folder / "mcp" / f"{server.name}.log" if self._folder else None

    def _say(self, line: str) -> None:
        """Once each."""
        if line not in self._told:
            self._told.add(line)
            self._tell(line)


def open_mcp_servers(
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    clean: Callable[[str], str],
    tell: Callable[[str], None] = lambda line: None,
    ask: Ask | None = None,
) -> McpServers:
    """Every configured server, none of them started. See `McpServers`."""
    folder = None if loaded.config.incognito else loaded.main_project / ".clio" / "cache"

    handed = tuple(server for server in loaded.servers if server.where == FROM_EDITOR)

    def read_again() -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
        found = find_servers(loaded.home, loaded.main_project)
        named = {server.name for server in found.servers}
        return (*found.servers, *(server for server in handed if server.name not in named)), found.problems

    return McpServers(
        loaded.servers,
        loaded.server_problems,
        project=loaded.project,
        env=env,
        folder=folder,
        tell=tell,
        ask=ask,
        clean=clean,
        read_again=read_again,
    )
