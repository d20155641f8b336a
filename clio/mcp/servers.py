"""All MCP servers of a process: the tools, resources and prompts they offer to a session, and the calls to them."""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from clio.config.layers import find_all_servers
from clio.config.loaded import FROM_EDITOR, LoadedConfig, McpServer
from clio.mcp.values import (
    Ask,
    Catalog,
    McpReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    ServerDown,
    ServerState,
    ShowProgress,
    hash_server_config,
    read_catalogs,
    store_catalog,
)
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.mcp.connection import ServerConnection
    from clio.mcp.oauth import ShowPage
    from clio.mcp.server_requests import Sampler, ServerRequests


MAX_TOOL_NAME_CHARS = 64
"""Maximum length of a tool's name, accepted by all providers."""
_INVALID_CHARS = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_CHARS = 6


def make_tool_names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """Return a name for each pair of server and tool, in order; "" for a repeated pair.

    Invalid characters are replaced by "_". A name that is too long or already used ends in a hash of the pair, which
    is the same in every session, so that approval rules with that name stay valid.
    """
    used: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    names: list[str] = []
    for server, tool in tools:
        if (server, tool) in pairs:
            names.append("")
            continue
        pairs.add((server, tool))
        name = f"mcp_{_clean(server)}_{_clean(tool)}"
        if len(name) > MAX_TOOL_NAME_CHARS or name in used:
            digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_HASH_CHARS]
            name = f"{name[: MAX_TOOL_NAME_CHARS - _HASH_CHARS - 1]}_{digest}"
        if name not in used:
            used.add(name)
            names.append(name)
        else:
            names.append("")  # two pairs with one hash
    return names


def _clean(text: str) -> str:
    return _INVALID_CHARS.sub("_", text).strip("_") or "x"


WatchCall = Callable[[str, str], AbstractContextManager[object]]
FIRST_WAIT_S = 10.0
"""Time the first turn waits for servers without a stored catalog."""
MAX_CATALOG_AGE_S = 86_400.0


class NamedTool(Struct, frozen=True, kw_only=True):
    """A tool with its name for the model. reads: whether the user's configuration says that it changes nothing."""

    name: str
    server: str
    tool: OfferedTool
    reads: bool

    @property
    def tokens(self) -> int:
        """Estimated size of its definition in tokens."""
        return len(self.name + self.tool.description) // 4 + len(bytes(self.tool.schema)) // 3


class ServerStatus(Struct, frozen=True, kw_only=True):
    """The status of one server.

    Attributes:
        why: reason of a failure; "" if none.
        catalog: what it offers; None if unknown.
        seconds: duration of its start; None if it was not started.
        log: path of its log file; None if there is none.
    """

    server: McpServer
    state: ServerState
    why: str
    catalog: Catalog | None
    seconds: float | None
    log: Path | None


class McpServers:
    """All configured servers.

    Args:
        problems: sentences about invalid entries.
        folder: directory for catalogs, logs and files in answers; None stores nothing.
        home: directory of the stored logins; None uses none.
        tell: shows the user one line.
        ask: asks the user a question; None if no one can be asked.
        clean: redacts secrets in logs.
        learn_secret: called with the tokens of logins, so that they are redacted too.
        first_wait_s: time `settle` waits for servers without a stored catalog.
        watch: returns a context around each call, given its method and the server's name.
        read_again: returns the servers and problems configured now, for `reload`.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        problems: Sequence[str],
        *,
        project: Path,
        env: Mapping[str, str],
        folder: Path | None,
        home: Path | None = None,
        tell: Callable[[str], None] = lambda line: None,
        ask: Ask | None = None,
        clean: Callable[[str], str] = str,
        learn_secret: Callable[[str], None] = lambda value: None,
        first_wait_s: float = FIRST_WAIT_S,
        watch: WatchCall | None = None,
        read_again: Callable[[], tuple[Sequence[McpServer], Sequence[str]]] | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.all = tuple(servers)
        self._project = project
        self._env = env
        self._folder = folder
        self._home = home
        self._tell = tell
        self._clean = clean
        self._ask = ask
        self._learn_secret = learn_secret
        self._sampler: Sampler | None = None
        self._requests: ServerRequests | None = None
        self._first_wait_s = first_wait_s
        self._watch = watch
        self._read_again = read_again
        self._catalogs: dict[str, Catalog] = {}
        self._seconds: dict[str, float] = {}
        self._connections: dict[str, ServerConnection] = {}
        self._offered: tuple[NamedTool, ...] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._storing: set[asyncio.Future[None]] = set()
        self._reported: set[str] = set()
        self._is_cache_read = False

    @property
    def enabled(self) -> tuple[McpServer, ...]:
        """The servers that are not disabled."""
        return tuple(server for server in self.all if server.enabled)

    @property
    def offered(self) -> tuple[NamedTool, ...]:
        """The tools of this session; () before `settle`."""
        return self._offered or ()

    def warm_up(self) -> None:
        """Import the SDK and read the stored catalogs. Blocking: call it in a thread while the user types."""
        if self.enabled:
            from clio.mcp.client import load_sdk

            self._load_catalogs()
            load_sdk()

    async def settle(self) -> None:
        """Determine this session's tools, once. Waits at most `first_wait_s`; failed servers are reported, not raised.

        The tools then stay the same, since a changed tool list would invalidate the model server's prompt cache.
        """
        if self._offered is not None:
            return
        for problem in self.problems:
            self._say(problem)
        if self.enabled:
            await asyncio.to_thread(self._load_catalogs)
            # The others are started by their first call; their tools are those of the last session.
            unknown = [server for server in self.enabled if server.name not in self._catalogs]
            await self._start_and_wait(unknown)
            self._refresh_old_catalogs()
        self._offered = self._name_tools()

    def offer_model(self, sampler: "Sampler") -> None:
        """Let servers ask this model, as far as the user agrees. A running server learns of it at its next start."""
        self._sampler = sampler
        if self._requests is not None:
            self._requests.sampler = sampler

    def adopt_changes(self) -> None:
        """Use the tools that servers offer now, where the model server's prompt cache is lost anyway."""
        if self._offered is not None:
            self._offered = self._name_tools()

    def begin_session(self) -> None:
        """Start a new session, so that the next `settle` determines the tools again."""
        self._offered = None

    async def reload(self) -> list[ServerStatus]:
        """Read the configuration again, restart every server and settle; return the statuses."""
        await self.close()
        if self._read_again is not None:
            servers, problems = await asyncio.to_thread(self._read_again)
            self.all, self.problems = tuple(servers), tuple(problems)
        self._reported.clear()
        self._catalogs.clear()
        self._seconds.clear()
        self._offered, self._is_cache_read = None, True
        await self.settle()
        return self.list_statuses()

    async def call(self, server: str, tool: str, arguments: dict[str, Any], progress: ShowProgress) -> McpReply:
        """Call a tool. Raises CallFailed or ServerDown."""
        with self._watch_call("tools/call", server):
            return await self._get_connection(server).call(tool, arguments, progress)

    async def read(self, server: str, uri: str) -> McpReply:
        """Return the text of a resource. Raises as `call`."""
        with self._watch_call("resources/read", server):
            return await self._get_connection(server).read(uri)

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> McpReply:
        """Return the text of a prompt. Raises as `call`."""
        with self._watch_call("prompts/get", server):
            return await self._get_connection(server).prompt(name, arguments)

    def _watch_call(self, method: str, server: str) -> AbstractContextManager[object]:
        return nullcontext() if self._watch is None else self._watch(method, server)

    async def start(self, server: str) -> ServerStatus:
        """Start one server and return its status with its catalog. Raises ServerDown."""
        await self._get_connection(server).start()
        return next(status for status in self.list_statuses() if status.server.name == server)

    async def log_in(self, name: str, show_page: "ShowPage", *, in_keyring: bool = False) -> None:
        """Log in to a server and store the login; running connections do not use it. Raises LoginFailed, ConfigError.

        show_page: shows the user the address of the page to log in on.
        """
        from clio.mcp.client import load_sdk, make_launch, open_http_client
        from clio.mcp.oauth import LoginFailed, LoginStore, log_in
        from clio.mcp.unattended_login import read_client_secret

        server = next((one for one in self.all if one.name == name), None)
        if server is None or self._home is None:
            raise LoginFailed(tr("There is no MCP server {name!r}; /mcp list shows all", name=name))
        if server.kind == "stdio":
            raise LoginFailed(
                tr("{name!r} is a program on this machine; only servers with a url have a login", name=name)
            )
        if server.oauth is not None and not server.oauth.needs_user:
            raise LoginFailed(
                tr(
                    "{name!r} needs no login: clio gets its token as client {client_id!r} when the server starts; "
                    "clio mcp test {name} tries it",
                    name=name,
                    client_id=server.oauth.client_id,
                )
            )
        launch = make_launch(server, self._project, self._env)
        if any(header.lower() == "authorization" for header in launch.headers):
            raise LoginFailed(
                tr("the entry of {name!r} has an Authorization header; remove it to log in instead", name=name)
            )
        await asyncio.to_thread(load_sdk)
        await log_in(
            structs.replace(server, oauth=launch.oauth),
            launch.url,
            await asyncio.to_thread(read_client_secret, launch.oauth) if launch.oauth else "",
            LoginStore(self._home, self._learn_secret),
            open_client=lambda auth: open_http_client(launch.url, launch.headers, auth),
            show_page=show_page,
            in_keyring=in_keyring,
        )

    async def log_out(self, name: str) -> tuple[int, bool]:
        """Delete the logins of a server; return how many, and whether the server was told. Raises LoginFailed."""
        from clio.mcp.client import load_sdk, open_http_client
        from clio.mcp.oauth import LoginStore, explain_unsafe_url, revoke

        logins = LoginStore(self._home).delete(name) if self._home else []
        told = False
        for login in logins:
            if explain_unsafe_url(login.url, login.url):
                continue
            await asyncio.to_thread(load_sdk)
            async with open_http_client(login.url, {}, checks_addresses=True) as http:
                told = await revoke(login, http) or told
        return len(logins), told

    def resources(self, server: str | None = None) -> list[tuple[str, OfferedResource]]:
        """Return the known resources, which can be mentioned as `@server:uri`, with their servers' names."""
        self._load_catalogs()
        catalogs = [(entry.name, self._catalogs[entry.name]) for entry in self.enabled if entry.name in self._catalogs]
        return [
            (name, resource) for name, catalog in catalogs if server in (None, name) for resource in catalog.resources
        ]

    def prompts(self) -> list[tuple[str, OfferedPrompt]]:
        """Return the known prompts, which can be called as `/mcp:server:prompt`, with their servers' names."""
        self._load_catalogs()
        catalogs = [
            (server.name, self._catalogs[server.name]) for server in self.enabled if server.name in self._catalogs
        ]
        return [(name, prompt) for name, catalog in catalogs for prompt in catalog.prompts]

    def list_statuses(self) -> list[ServerStatus]:
        """Return the status of every server, including disabled ones."""
        self._load_catalogs()
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
        """Return the estimated size of a server's tool definitions in tokens."""
        return sum(tool.tokens for tool in self._offered or self._name_tools() if tool.server == server)

    def names_of(self, server: str) -> dict[str, str]:
        """Return the names of a server's tools for the model, by the tools' own names."""
        return {tool.tool.name: tool.name for tool in self._offered or self._name_tools() if tool.server == server}

    def copy(self) -> "McpServers":
        """Return the servers configured now as a new object, to test them beside the running ones. Close it after."""
        servers, problems = self._read_again() if self._read_again else (self.all, self.problems)
        return McpServers(
            servers,
            problems,
            project=self._project,
            env=self._env,
            folder=self._folder,
            home=self._home,
            clean=self._clean,
            learn_secret=self._learn_secret,
            first_wait_s=self._first_wait_s,
            read_again=self._read_again,
        )

    async def close(self) -> None:
        """Stop every server, which takes a few seconds at most, and finish storing their catalogs."""
        for task in self._background:
            task.cancel()
        # Cleared first: a call that arrives meanwhile must not use a connection that is being closed.
        connections, self._connections = list(self._connections.values()), {}
        await asyncio.gather(*(connection.stop() for connection in connections))
        if self._storing:
            await asyncio.wait(self._storing)

    def _get_connection(self, name: str) -> "ServerConnection":
        if name not in self._connections:
            from clio.mcp.answers import AnswerReader
            from clio.mcp.client import ServerLog, make_launch
            from clio.mcp.connection import ServerConnection
            from clio.mcp.oauth import LoginStore
            from clio.mcp.server_requests import ServerRequests

            server = next((one for one in self.enabled if one.name == name), None)
            if server is None:
                raise ServerDown(tr("no such server; /mcp shows all"))
            if self._requests is None:
                self._requests = ServerRequests(self._ask, self._clean, self._tell)
                self._requests.sampler = self._sampler
            self._connections[name] = ServerConnection(
                server,
                lambda: make_launch(server, self._project, self._env),
                self._project,
                log=ServerLog(self._log_path(server), self._clean),
                requests=self._requests,
                answers=AnswerReader(self._folder / "mcp" / "files" if self._folder else None),
                on_catalog=lambda catalog, seconds: self._store_offer(server, catalog, seconds),
                logins=LoginStore(self._home, self._learn_secret) if self._home else None,
            )
        return self._connections[name]

    async def _start_and_wait(self, servers: Sequence[McpServer]) -> None:
        """Start these servers concurrently and wait for `first_wait_s`; slower ones continue to start after that."""
        if not servers:
            return
        tasks = {self._spawn(self._start_or_report(server)): server for server in servers}
        _, unfinished = await asyncio.wait(tasks, timeout=self._first_wait_s)
        if unfinished:
            names = ", ".join(repr(tasks[task].name) for task in tasks if task in unfinished)
            self._say(
                tr(
                    "MCP: still starting: {names}; tools available after /mcp reload or in the next session",
                    names=names,
                )
            )

    async def _start_or_report(self, server: McpServer) -> None:
        try:
            await self._get_connection(server.name).start()
        except ServerDown as error:
            self._say(tr("MCP: {server!r} cannot be used: {error}", server=server.name, error=error))

    def _refresh_old_catalogs(self) -> None:
        """Refresh catalogs older than a day in the background; changes apply from the next session."""
        for server in self.enabled:
            catalog = self._catalogs.get(server.name)
            if catalog is not None and time.time() - catalog.listed_at > MAX_CATALOG_AGE_S:
                self._spawn(self._start_or_report(server))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _store_offer(self, server: McpServer, catalog: Catalog, seconds: float | None) -> None:
        old, self._catalogs[server.name] = self._catalogs.get(server.name), catalog
        if seconds is not None:
            self._seconds[server.name] = seconds
        if self._offered is not None and old is not None and old.tools != catalog.tools:
            # The line is the same for every change, so a server that keeps changing is named once.
            self._say(
                tr(
                    "MCP: {server!r} has changed its tools; this session keeps the old list, so that the prompt cache "
                    "stays valid. /mcp reload uses the new one",
                    server=server.name,
                )
            )
        path = self._cache_path
        if path is not None:
            storing = asyncio.get_running_loop().run_in_executor(None, store_catalog, path, server, catalog)
            self._storing.add(storing)
            storing.add_done_callback(self._storing.discard)

    def _load_catalogs(self) -> None:
        """Read the catalogs stored by earlier sessions, once."""
        if self._is_cache_read or not self.enabled:
            return
        stored = read_catalogs(self._cache_path)
        for server in self.enabled:
            if (catalog := stored.get(hash_server_config(server))) is not None:
                self._catalogs.setdefault(server.name, catalog)
        self._is_cache_read = True

    def _name_tools(self) -> tuple[NamedTool, ...]:
        found: list[tuple[McpServer, OfferedTool]] = []
        # The user's servers first: their tool names never get a hash because of a project's.
        for server in sorted(self.enabled, key=lambda server: not server.own):
            catalog = self._catalogs.get(server.name, Catalog())
            found += [(server, tool) for tool in catalog.tools if server.tools is None or tool.name in server.tools]
        names = make_tool_names((server.name, tool.name) for server, tool in found)
        return tuple(
            # The server's own hint is not used: it comes from the party that is to be judged.
            NamedTool(name=name, server=server.name, tool=tool, reads=tool.name in server.read_only)
            for name, (server, tool) in zip(names, found, strict=True)
            if name
        )

    @property
    def _cache_path(self) -> Path | None:
        return self._folder / "mcp.json" if self._folder else None

    def _log_path(self, server: McpServer) -> Path | None:
        return self._folder / "mcp" / f"{server.name}.log" if self._folder else None

    def _say(self, line: str) -> None:
        """Show a line, each at most once."""
        if line not in self._reported:
            self._reported.add(line)
            self._tell(line)


def open_mcp_servers(
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    clean: Callable[[str], str],
    tell: Callable[[str], None] = lambda line: None,
    ask: Ask | None = None,
    learn_secret: Callable[[str], None] = lambda value: None,
    watch: WatchCall | None = None,
) -> McpServers:
    """Return all configured servers, without starting any. clean, tell, ask, learn_secret, watch: see `McpServers`."""
    folder = None if loaded.config.incognito else loaded.main_project / ".clio" / "cache"

    editor_servers = tuple(server for server in loaded.servers if server.where == FROM_EDITOR)

    def read_again() -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
        found = find_all_servers(loaded.home, loaded.main_project)
        names = {server.name for server in found.servers}
        return (*found.servers, *(server for server in editor_servers if server.name not in names)), found.problems

    return McpServers(
        loaded.servers,
        loaded.server_problems,
        project=loaded.project,
        env=env,
        folder=folder,
        home=loaded.home,
        tell=tell,
        ask=ask,
        clean=clean,
        learn_secret=learn_secret,
        watch=watch,
        read_again=read_again,
    )
