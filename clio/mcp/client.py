"""The MCP client on the `mcp` SDK: start a server, write its log, and convert its answers to clio's own values."""

import asyncio
import contextlib
import importlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw, Struct, structs

from clio import __version__
from clio.config.loaded import IdentityProvider, McpServer, OAuthClient
from clio.errors import ConfigError
from clio.mcp.answers import AnswerReader
from clio.mcp.oauth import (
    MAX_AUTH_BYTES,
    LoginStore,
    check_auth_addresses,
    check_auth_request,
    find_login,
    make_stored_login_auth,
)
from clio.mcp.server_requests import (
    ServerRequests,
    WaitingForUser,
    make_elicitation_handler,
    make_roots_handler,
    make_sampling_handler,
)
from clio.mcp.unattended_login import make_unattended_auth
from clio.mcp.values import (
    CallFailed,
    Catalog,
    McpReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    PromptArgument,
    ServerDown,
    ShowProgress,
)
from clio.storage.files import make_ignored_folder
from clio.text.formatting import format_bytes, truncate
from clio.text.translation import tr
from clio.threads import end_tree_on_windows, find_program, start_process

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client import Transport


MAX_LOG_BYTES = 200_000
"""Maximum size of a log file; a full one is renamed to `.1`, replacing the one before."""
_TAIL_LINES = 20
_LINE_CHARS = 2_000


class ServerLog:
    """The log of one server. Thread-safe.

    path: the log file; None keeps only the last lines, in memory. clean: redacts secrets in a line.
    """

    def __init__(self, path: Path | None, clean: Callable[[str], str] = str) -> None:
        self.path = path
        self._clean = clean
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._lock = threading.Lock()
        self._size: int | None = None

    def write(self, line: str) -> None:
        """Append a line. If the file cannot be written, the line is lost; the server keeps running."""
        line = self._clean(line.rstrip("\r\n")[:_LINE_CHARS])
        with self._lock:
            if line.strip():
                self._tail.append(line.strip())
            if self.path is not None:
                self._append(self.path, line.encode("utf-8", "replace") + b"\n")

    def last_line(self) -> str:
        """Return the last line that was not empty; "" if there is none."""
        return self._tail[-1] if self._tail else ""

    def clear(self) -> None:
        """Forget the lines in memory, for a new process of the server."""
        self._tail.clear()

    def _append(self, path: Path, data: bytes) -> None:
        try:
            if self._size is None:
                make_ignored_folder(path.parent, path.parents[2])
                self._size = path.stat().st_size if path.exists() else 0
            if self._size + len(data) > MAX_LOG_BYTES:
                path.replace(path.with_name(path.name + ".1"))
                self._size = 0
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            self._size += len(data)
        except OSError:
            self._size = None


_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
# A server is a third-party program: it gets the variables that programs need to run, and no keys or tokens unless the
# server's `env` names them.
_INHERITED = frozenset(
    """
    HOME USER LOGNAME USERNAME SHELL PATH TERM LANG LANGUAGE TZ TMPDIR TEMP TMP PWD DISPLAY WAYLAND_DISPLAY
    VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME NODE_PATH NVM_DIR NVM_BIN VOLTA_HOME PNPM_HOME BUN_INSTALL
    DENO_DIR CARGO_HOME RUSTUP_HOME GOPATH GOROOT GOBIN JAVA_HOME DOTNET_ROOT UV_CACHE_DIR PIP_CACHE_DIR
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
    npm_config_registry npm_config_cache NPM_CONFIG_REGISTRY NPM_CONFIG_CACHE PIP_INDEX_URL UV_INDEX_URL
    APPDATA LOCALAPPDATA HOMEDRIVE HOMEPATH USERPROFILE SYSTEMDRIVE SYSTEMROOT PROCESSOR_ARCHITECTURE PATHEXT COMSPEC
    PROGRAMFILES PROGRAMDATA NoDefaultCurrentDirectoryInExePath
    """.split()
)
_INHERITED_PREFIXES = ("LC_", "XDG_")
_URL_PASSWORD = re.compile(r"://[^/@\s]*@")


class Launch(Struct, frozen=True, kw_only=True):
    """A server's command, directory and complete environment; or its URL, headers and its login's credentials."""

    command: tuple[str, ...] = ()
    cwd: Path = Path()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    oauth: OAuthClient | None = None


def make_launch(server: McpServer, project: Path, env: Mapping[str, str]) -> Launch:
    """Replace `${NAME}` and `${NAME:-default}` in a server's texts by values of the environment.

    Raises ConfigError for a variable that is not set and has no default.
    """

    def fill(text: str) -> str:
        return _VARIABLE.sub(value, text)

    def value(match: re.Match[str]) -> str:
        found = env.get(match[1], "")
        if found or match[2] is not None:
            return found or match[2]
        raise ConfigError(
            tr(
                "{where}: the MCP server {server!r} needs the environment variable {match}; set it, or "
                "write ${{{match}:-a default}}",
                where=server.where,
                server=server.name,
                match=match[1],
            )
        )

    return Launch(
        command=tuple(map(fill, (server.command, *server.args))) if server.command else (),
        cwd=project / Path(fill(server.cwd)).expanduser(),
        env=list_inherited_variables(env) | server.added_env | {name: fill(text) for name, text in server.env.items()},
        url=fill(server.url),
        headers={name: fill(text) for name, text in server.headers.items()},
        oauth=_fill_login(server.oauth, fill) if server.oauth else None,
    )


def _fill_login(oauth: OAuthClient, fill: Callable[[str], str]) -> OAuthClient:
    def fill_texts(struct: OAuthClient | IdentityProvider) -> dict[str, str]:
        texts = {name: getattr(struct, name) for name in struct.__struct_fields__}
        return {name: fill(text) for name, text in texts.items() if isinstance(text, str)}

    provider = oauth.identity_provider
    filled = structs.replace(provider, **fill_texts(provider)) if provider else None
    return structs.replace(oauth, **fill_texts(oauth), identity_provider=filled)


def list_inherited_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that every server gets.

    Excluded are URLs with a password, such as a proxy's, and exported shell functions (values that begin with "()").
    """
    upper = {name.upper() for name in _INHERITED} if os.name == "nt" else _INHERITED
    return {
        name: value
        for name, value in env.items()
        if (name.upper() if os.name == "nt" else name) in upper or name.startswith(_INHERITED_PREFIXES)
        if not _URL_PASSWORD.search(value) and not value.startswith("()")
    }


MAX_LINE_BYTES = 64_000_000
"""Maximum length of one protocol message; asyncio's default of 64 KiB is too small for images."""
MAX_STRAY_LINES = 10_000
"""Maximum number of lines on standard output that are not protocol messages; then the connection is closed."""
_EXIT_GRACE_S = 0.4
"""Time for a server to exit after its input was closed, and for its exit code to be known after its output ended."""
_TERM_GRACE_S = 0.4
"""Time between SIGTERM and SIGKILL: clio must not delay its exit for a server that ignores signals."""


class EndSignal:
    """Set when a server's process or connection has ended.

    why: the reason, as the end of a sentence. status: of the last HTTP answer with an error status; 0 if none.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.why = ""
        self.status = 0

    def set(self, why: str) -> None:
        """Set the event and the reason; later calls do nothing."""
        if not self.event.is_set():
            self.why = why
            self.event.set()

    def note_status(self, status: int) -> None:
        """Note the status of an answer.

        A 401 stays until an answer is good, or is 403: it is why the older handshake is tried, and then refused.
        """
        if status < 400 and self.status == 401:
            self.status = 0
        elif status in (401, 403) or (status >= 400 and self.status != 401):
            self.status = status

    def clear_status(self) -> None:
        """Forget the last error status, before a call."""
        self.status = 0


@contextlib.asynccontextmanager
async def open_pipe(launch: Launch, log: ServerLog, end_signal: EndSignal) -> AsyncGenerator[Any]:
    """Start a server's process; yield the two streams (from and to the server) that the SDK's session uses.

    Raises ServerDown if the process cannot be started.
    """
    import anyio

    process = await _start_process(launch)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    assert process.stdout and process.stdin and process.stderr
    tasks = [
        asyncio.create_task(_read_messages(process.stdout, to_session, log, end_signal)),
        asyncio.create_task(_write_messages(process.stdin, from_session, to_session)),
        asyncio.create_task(_log_stderr(process.stderr, log)),
        asyncio.create_task(_watch_exit(process, log, end_signal, to_session)),
    ]
    try:
        yield from_server, to_server
    finally:
        if tasks[0].done():  # standard output has ended; wait for the exit code, which is the reason
            await asyncio.wait({tasks[-1]}, timeout=_EXIT_GRACE_S)
        end_signal.set(tr("it was stopped"))
        for stream in (from_server, to_server):
            await stream.aclose()
        try:
            await _end_process(process)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (to_session, from_session):
                await stream.aclose()


def pipe_transport(launch: Launch, log: ServerLog, end_signal: EndSignal) -> "Transport":
    """Return `open_pipe` with the type that the SDK's client expects."""
    return open_pipe(launch, log, end_signal)


_OWN_GROUP: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if sys.platform == "win32" else {"start_new_session": True}
)


def _resolve_command(launch: Launch) -> tuple[str, ...]:
    """Return the command with its program's full path on Windows, which would find only `.exe` files: npx is `.cmd`."""
    program, *arguments = launch.command
    if sys.platform == "win32":
        program = find_program(program, launch.env.get("PATH")) or program
    return (program, *arguments)


async def _start_process(launch: Launch) -> asyncio.subprocess.Process:
    if not launch.cwd.is_dir():
        raise ServerDown(tr("its directory {cwd!r} does not exist", cwd=str(launch.cwd)))
    try:
        start = asyncio.create_subprocess_exec(
            *_resolve_command(launch),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=launch.cwd,
            env=launch.env,
            limit=MAX_LINE_BYTES,
            # A process group of its own: Ctrl-C in clio's terminal must not end the server, and its children can be
            # ended with it.
            **_OWN_GROUP,
        )
        return await start_process(start, _end_process)
    except FileNotFoundError:
        raise ServerDown(
            tr("command {command!r} not found; install it, or give its full path", command=launch.command[0])
        ) from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ServerDown(
            tr("command {command!r} cannot be started: {cause}", command=launch.command[0], cause=cause)
        ) from None


async def _read_messages(stdout: asyncio.StreamReader, to_session: Any, log: ServerLog, end_signal: EndSignal) -> None:
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    stray = 0
    async with to_session:
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                end_signal.set(
                    tr("it sent a line of more than {max_line_bytes} MB", max_line_bytes=MAX_LINE_BYTES // 1000000)
                )
                return
            if not line:
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                stray += bool(line.strip())
                log.write("stdout: " + line[:2_000].decode("utf-8", "replace"))
                if stray > MAX_STRAY_LINES:
                    end_signal.set(tr("it writes text that is not part of the protocol to its standard output"))
                    return
                await asyncio.sleep(0)  # let other tasks run during a flood of lines
                continue
            try:
                await to_session.send(SessionMessage(message))
            except Exception:  # the session has ended; anyio's exception types would need another import
                return


async def _write_messages(stdin: asyncio.StreamWriter, from_session: Any, to_session: Any) -> None:
    async with from_session:
        async for wrapped in from_session:
            data = wrapped.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
            try:
                stdin.write(data)
                await stdin.drain()
            except OSError:
                await to_session.aclose()  # ends requests that wait for answers which will not come
                return


async def _log_stderr(stderr: asyncio.StreamReader, log: ServerLog) -> None:
    while True:
        try:
            line = await stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        log.write(line[:2_000].decode("utf-8", "replace"))
        await asyncio.sleep(0)


async def _watch_exit(
    process: asyncio.subprocess.Process, log: ServerLog, end_signal: EndSignal, to_session: Any
) -> None:
    code = await process.wait()
    await asyncio.sleep(0)
    reason = (
        tr("it exited with code {code}", code=code)
        if code >= 0
        else tr("it was killed by signal {signal}", signal=-code)
    )
    last_line = log.last_line()
    end_signal.set(f"{reason}: {last_line}" if last_line else reason)
    await to_session.aclose()


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """End the process and its children as the protocol specifies: close its input, then SIGTERM, then SIGKILL."""
    assert process.stdin
    try:
        with contextlib.suppress(OSError):
            process.stdin.close()
        if not await _wait_for_exit(process, _EXIT_GRACE_S):
            _end_group(process, gently=True)
            await _wait_for_exit(process, _TERM_GRACE_S)
    finally:
        _end_group(process, gently=False)


async def _wait_for_exit(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), timeout_s)
    except TimeoutError:
        return False
    return True


def _end_group(process: asyncio.subprocess.Process, *, gently: bool) -> None:
    """Send SIGTERM or SIGKILL to the process group; on Windows, Ctrl-Break, or end the process with its children."""
    if sys.platform == "win32":
        end_tree_on_windows(process.pid, gently=gently, running=process.returncode is None)
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGTERM if gently else signal.SIGKILL)


MAX_TOOLS, MAX_RESOURCES = 300, 1_000
_MAX_PAGES = 50
_MAX_SCHEMA_BYTES = 40_000
_MAX_NAME_CHARS, _MAX_URI_CHARS, _MAX_DESCRIPTION_CHARS, _MAX_ARGUMENTS = 200, 2_000, 4_000, 50
_CONNECT_S = 30.0
_PROGRESS_LINES = 10
"""Progress lines that are shown at once, and in each second after: a server may send thousands a second."""


def load_sdk() -> None:
    """Import the SDK. Takes 0.8 s the first time: call it in a thread."""
    importlib.import_module("mcp.client.streamable_http")
    for name in ("mcp", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)  # their warnings would appear in the middle of the screen
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


class McpClient:
    """One open connection to a server. Cancelling the caller of a method cancels the request."""

    def __init__(self, client: "Client", log: ServerLog, answers: AnswerReader) -> None:
        self._client = client
        self._log = log
        self._answers = answers

    async def catalog(self) -> Catalog:
        """Return everything the server offers: at most MAX_TOOLS tools, and MAX_RESOURCES resources and prompts."""
        capabilities, info = self._client.server_capabilities, self._client.server_info
        tools = await self._list_all_pages(self._client.list_tools, "tools", MAX_TOOLS) if capabilities.tools else []
        resources: list[Any] = []
        templates: list[Any] = []
        if capabilities.resources:
            resources = await self._list_all_pages(self._client.list_resources, "resources", MAX_RESOURCES)
            with contextlib.suppress(CallFailed):  # many servers support only the first of the two requests
                templates = await self._list_all_pages(
                    self._client.list_resource_templates, "resource_templates", MAX_RESOURCES
                )
        prompts = (
            await self._list_all_pages(self._client.list_prompts, "prompts", MAX_RESOURCES)
            if capabilities.prompts
            else []
        )
        return Catalog(
            server=_shorten(info.name) if info else "",
            version=_shorten(info.version) if info else "",
            tools=tuple(self._convert_tool(tool) for tool in tools if self._is_usable("tool", tool.name)),
            resources=(
                *(_convert_resource(one) for one in resources if self._is_usable("resource", str(one.uri))),
                *(
                    _convert_resource(one, template=True)
                    for one in templates
                    if self._is_usable("resource", str(one.uri_template))
                ),
            ),
            prompts=tuple(_convert_prompt(one) for one in prompts if self._is_usable("prompt", one.name)),
            listed_at=time.time(),
        )

    async def call(self, tool: str, arguments: dict[str, Any], tell: ShowProgress) -> McpReply:
        """Call a tool. Raises CallFailed; ConnectionError if the connection was closed.

        tell: called with one line for each progress notification.
        """

        budget, last = float(_PROGRESS_LINES), time.monotonic()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal budget, last
            now = time.monotonic()
            budget, last = min(budget + (now - last) * _PROGRESS_LINES, _PROGRESS_LINES), now
            if budget >= 1.0:
                budget -= 1.0
                tell(format_progress(progress, total, message))

        with _convert_errors():
            result = await self._client.call_tool(tool, arguments, progress_callback=on_progress)
        return await asyncio.to_thread(
            self._answers.read_result, result.content, result.structured_content, ok=not result.is_error
        )

    async def read(self, uri: str) -> McpReply:
        """Return the text of a resource. Raises as `call`."""
        with _convert_errors():
            result = await self._client.read_resource(uri)
        return await asyncio.to_thread(self._answers.read_resource, result.contents)

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpReply:
        """Return the text of a prompt with its arguments filled in. Raises as `call`."""
        with _convert_errors():
            result = await self._client.get_prompt(name, arguments)
        return await asyncio.to_thread(self._answers.read_prompt, result.messages)

    async def follow_changes(self, make_note_change: Callable[[], None]) -> None:
        """Call `make_note_change` whenever the server announces that its lists changed, until cancelled.

        Servers of older versions of the protocol need no request for that; `connect_server` listens to them.
        """
        from mcp.client.subscriptions import SubscriptionLost
        from mcp.shared.exceptions import MCPError
        from mcp.types.version import MODERN_PROTOCOL_VERSIONS

        capabilities = self._client.server_capabilities
        tools = bool(capabilities.tools and capabilities.tools.list_changed)
        prompts = bool(capabilities.prompts and capabilities.prompts.list_changed)
        resources = bool(capabilities.resources and capabilities.resources.list_changed)
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools or prompts or resources):
            return
        try:
            async with self._client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as events:
                async for _ in events:
                    make_note_change()
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            self._log.write(f"clio: changed lists are not announced any more: {error}")

    async def _list_all_pages(self, request: Any, field: str, maximum: int) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            with _convert_errors():
                page = await request(cursor=cursor)
            found += getattr(page, field)
            cursor = page.next_cursor
            if cursor is None:
                return found[:maximum]
            if len(found) >= maximum:
                break
        self._log.write(f"clio: the server offers more than {maximum} {field}; the rest is ignored")
        return found[:maximum]

    def _is_usable(self, kind: str, name: str) -> bool:
        """Whether a name or address can be shown and typed; the log names one that cannot."""
        if name and name.isprintable() and len(name) <= (_MAX_URI_CHARS if kind == "resource" else _MAX_NAME_CHARS):
            return True
        self._log.write(f"clio: a {kind} is left out because of its name: {name[:_MAX_NAME_CHARS]!a}")
        return False

    def _convert_tool(self, tool: Any) -> OfferedTool:
        schema = msgspec.json.encode(tool.input_schema)
        if len(schema) > _MAX_SCHEMA_BYTES:
            self._log.write(f"clio: the schema of {tool.name} is too large; the tool is offered without it")
            schema = b'{"type":"object"}'
        hints = tool.annotations
        return OfferedTool(
            name=tool.name,
            title=_shorten(tool.title or (hints.title if hints else None)),
            description=_shorten(tool.description, _MAX_DESCRIPTION_CHARS),
            schema=Raw(schema),
            reads=bool(hints and hints.read_only_hint),
        )


@contextlib.asynccontextmanager
async def connect_server(
    server: McpServer,
    launch: Launch,
    project: Path,
    *,
    log: ServerLog,
    end_signal: EndSignal,
    requests: ServerRequests,
    answers: AnswerReader,
    make_note_change: Callable[[], None],
    waiting_for_user: WaitingForUser,
    logins: LoginStore | None = None,
    legacy: bool = False,
) -> AsyncGenerator[McpClient]:
    """Start or connect to a server and negotiate the protocol version. Call `load_sdk` before.

    Args:
        make_note_change: called when the server announces that one of its lists changed.
        waiting_for_user: entered while one of the server's own requests waits for the user.
        logins: the stored logins; None uses none.
        legacy: use only the older handshake, for servers that end on an unknown request.

    Raises the exceptions of process, network and SDK; `connection.describe_failure` describes them.
    """
    from mcp import Client
    from mcp.types import Implementation

    async def handle_message(message: Any) -> None:
        if getattr(message, "method", "").endswith("/list_changed"):
            make_note_change()

    async with _open_transport(server, launch, log, end_signal, logins) as transport:
        client = Client(
            transport,
            mode="legacy" if legacy else "auto",
            client_info=Implementation(name="clio", version=__version__),
            list_roots_callback=make_roots_handler(project),
            elicitation_callback=(
                make_elicitation_handler(server.name, requests, waiting_for_user) if requests.can_ask else None
            ),
            sampling_callback=(
                make_sampling_handler(server, requests, waiting_for_user) if requests.offers_sampling(server) else None
            ),
            logging_callback=_make_logging_handler(log),
            message_handler=handle_message,
            cache=None,
        )
        async with client:
            _complete_results(client)
            yield McpClient(client, log, answers)


def _complete_results(client: "Client") -> None:
    """Have results without `resultType` count as complete, as the protocol demands; the SDK refuses them."""
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

    dispatcher: Any = getattr(client.session, "_dispatcher", None)  # not public: without it, results must have the type
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or dispatcher is None:
        return
    send = dispatcher.send_raw_request

    async def send_and_complete(*args: Any, **named: Any) -> dict[str, Any]:
        return {"resultType": "complete", **await send(*args, **named)}

    dispatcher.send_raw_request = send_and_complete


def format_progress(progress: float, total: float | None, message: str | None) -> str:
    """Format a progress notification as one line: percentage or number, and message."""
    share = f"{min(progress / total, 1.0):.0%}".replace("%", " %") if total else f"{progress:g}"
    return f"{share} {' '.join(message.split())[:200]}" if message else share


@contextlib.asynccontextmanager
async def _open_transport(
    server: McpServer, launch: Launch, log: ServerLog, end_signal: EndSignal, logins: LoginStore | None
) -> "AsyncGenerator[Transport]":
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    if server.kind == "stdio":
        yield pipe_transport(launch, log, end_signal)
        return
    auth: httpx2.Auth | None = None
    if server.own and launch.oauth is not None and not launch.oauth.needs_user:
        auth = make_unattended_auth(
            server,
            launch.url,
            launch.oauth,
            open_client=lambda url: open_http_client(url, {}, checks_addresses=True),
            learn_secret=logins.learn_secret if logins else lambda value: None,
            write_log=log.write,
        )
    else:
        login = await asyncio.to_thread(find_login, logins, server, launch.url, launch.headers)
        auth = make_stored_login_auth(logins, login) if logins and login else None
    if server.kind == "sse":

        def make_http_client(headers: Any = None, timeout: Any = None, auth: Any = None) -> "httpx2.AsyncClient":
            return open_http_client(launch.url, headers or {}, auth, end_signal)

        yield sse_client(launch.url, headers=launch.headers, auth=auth, httpx_client_factory=make_http_client)
        return
    async with open_http_client(launch.url, launch.headers, auth, end_signal) as http:
        yield streamable_http_client(launch.url, http_client=http, max_sse_event_size=MAX_LINE_BYTES)


def open_http_client(
    url: str,
    headers: Mapping[str, str],
    auth: "httpx2.Auth | None" = None,
    end_signal: EndSignal | None = None,
    *,
    checks_addresses: bool = False,
) -> "httpx2.AsyncClient":
    """Return an HTTP client for one server, with bounded answers.

    Args:
        auth: a login. Addresses that a login must not use are then refused, as with `checks_addresses`.
        checks_addresses: for requests to an authorization server, whose answers are small.
        end_signal: gets the status of the server's errors.
    """
    import httpx2

    target = httpx2.URL(url)

    async def check_request(request: httpx2.Request) -> None:
        if auth is not None or checks_addresses:
            check_auth_request(str(request.url), url)
            await check_auth_addresses(str(request.url), url)

    async def check_response(response: httpx2.Response) -> None:
        asked = response.request.url
        is_server = (asked.host, asked.port, asked.path) == (target.host, target.port, target.path)
        if is_server and end_signal is not None:
            end_signal.note_status(response.status_code)
        is_answer = is_server and response.status_code < 400 and not checks_addresses
        # The SDK bounds each event of a stream; it reads any other answer as a whole, whatever its type.
        if not is_answer or "text/event-stream" not in response.headers.get("content-type", ""):
            max_bytes = MAX_LINE_BYTES if is_answer else MAX_AUTH_BYTES
            response.stream = _bound_stream(cast("httpx2.AsyncByteStream", response.stream), max_bytes)

    return httpx2.AsyncClient(
        headers=dict(headers),
        # No read timeout here: `ServerConnection` applies the server's `timeout_s` to each call.
        timeout=httpx2.Timeout(_CONNECT_S, read=None),
        event_hooks={"request": [check_request], "response": [check_response]},
        auth=auth,
    )


def _bound_stream(stream: "httpx2.AsyncByteStream", max_bytes: int) -> "httpx2.AsyncByteStream":
    """Return a stream that fails after `max_bytes`."""
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for part in stream:
                count += len(part)
                if count > max_bytes:
                    raise httpx2.ReadError(tr("the answer is larger than {size}", size=format_bytes(max_bytes)))
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return BoundedStream()


@contextlib.contextmanager
def _convert_errors() -> Generator[None]:
    """Convert the SDK's errors: CallFailed for an error from the server, ConnectionError for a closed connection."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        yield
    except MCPError as error:
        if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
            raise ConnectionError(tr("the connection was closed")) from None
        raise CallFailed(error.message or tr("error {code}", code=error.code)) from None
    except (RuntimeError, ValueError) as error:  # an answer that violates the protocol or the tool's own schema
        raise CallFailed(" ".join(str(error).split())[:500]) from None


def _convert_resource(resource: Any, *, template: bool = False) -> OfferedResource:
    return OfferedResource(
        uri=str(resource.uri_template if template else resource.uri),
        name=_shorten(resource.title or resource.name),
        description=_shorten(resource.description, _MAX_DESCRIPTION_CHARS),
        media_type=_shorten(resource.mime_type),
        template=template,
    )


def _convert_prompt(prompt: Any) -> OfferedPrompt:
    arguments = tuple(
        PromptArgument(
            name=_shorten(argument.name), description=_shorten(argument.description), required=bool(argument.required)
        )
        for argument in (prompt.arguments or ())[:_MAX_ARGUMENTS]
    )
    description = _shorten(prompt.description or prompt.title, _MAX_DESCRIPTION_CHARS)
    return OfferedPrompt(name=prompt.name, description=description, arguments=arguments)


def _shorten(text: str | None, max_chars: int = _MAX_NAME_CHARS) -> str:
    """Return a server's text in bounded length: it is stored, and shown in lists."""
    return truncate(text or "", max_chars)


def _make_logging_handler(log: ServerLog) -> Any:
    async def write_message(params: Any) -> None:
        log.write(f"{params.level}: {params.data}")

    return write_message
