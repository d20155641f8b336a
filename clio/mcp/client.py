"""The MCP client on the `mcp` SDK: start a server, write its log, and convert its answers to clio's own values."""

import asyncio
import binascii
import contextlib
import importlib
import logging
import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw, Struct

from clio import __version__
from clio.config.loaded import McpServer
from clio.errors import ConfigError
from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, Picture, detect_media_type, read_picture
from clio.mcp.values import (
    CallFailed,
    Catalog,
    ElicitationQuestion,
    McpReply,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    PromptArgument,
    ServerDown,
    ShowProgress,
)
from clio.storage.files import make_folder
from clio.text.formatting import format_bytes
from clio.threads import start_process

if TYPE_CHECKING:
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
                make_folder(path.parent)
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
    PROGRAMFILES PROGRAMDATA
    """.split()
)
_INHERITED_PREFIXES = ("LC_", "XDG_")
_URL_PASSWORD = re.compile(r"://[^/@\s]*@")


class Launch(Struct, frozen=True, kw_only=True):
    """A server's command, directory and complete environment; or its URL and headers."""

    command: tuple[str, ...] = ()
    cwd: Path = Path()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}


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
            f"{server.where}: the MCP server {server.name!r} needs the environment variable {match[1]}; "
            f"set it, or write ${{{match[1]}:-a default}}"
        )

    return Launch(
        command=tuple(map(fill, (server.command, *server.args))) if server.command else (),
        cwd=project / Path(fill(server.cwd)).expanduser(),
        env=list_inherited_variables(env) | {name: fill(text) for name, text in server.env.items()},
        url=fill(server.url),
        headers={name: fill(text) for name, text in server.headers.items()},
    )


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


MAX_PICTURES = 10
"""Maximum number of images in one answer."""
MAX_ANSWER_CHARS = 1_000_000
"""Maximum length of one answer. The tool runner sends the model less, and stores all of it for `read_output`."""


def format_blocks(blocks: Iterable[Any], structured: Any = None) -> str:
    """Return the text of a tool's answer. Blocks that are not text are described in brackets.

    structured: the answer's structured content, used if the blocks have no text.
    """
    parts = [_format_block(block) for block in blocks]
    if structured is not None and not any(part.strip() for part in parts):
        parts = [msgspec.json.format(msgspec.json.encode(structured), indent=1).decode("utf-8")]
    text = "\n\n".join(part for part in parts if part)
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    return f"{text[:MAX_ANSWER_CHARS]}\n[… {len(text) - MAX_ANSWER_CHARS:,} characters left out]"


def decode_block_pictures(blocks: Iterable[Any]) -> tuple[Picture, ...]:
    """Return the images in an answer that a model can be sent, at most MAX_PICTURES; `format_blocks` names each."""
    pictures = (_decode_picture(block) for block in blocks)
    return tuple(picture for picture in pictures if isinstance(picture, Picture))[:MAX_PICTURES]


def format_prompt_messages(messages: Iterable[Any]) -> str:
    """Return the messages of a prompt as one text; messages of the assistant are marked as example answers."""
    parts: list[str] = []
    for message in messages:
        text = _format_block(message.content)
        parts.append(f"[an example answer]\n{text}\n[end of the example]" if message.role == "assistant" else text)
    return "\n\n".join(parts)[:MAX_ANSWER_CHARS]


def format_resource(contents: Any) -> str:
    """Return the text of a resource; for a binary one, its type and size in brackets."""
    text = getattr(contents, "text", None)
    if text is not None:
        return str(text)
    kind = contents.mime_type or "binary data"
    return f"[{contents.uri}: {kind}, {_format_size(contents.blob)}, not text]"


def _format_block(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            picture = _decode_picture(block)
            if isinstance(picture, Picture):
                return f"[picture: {picture.description}]"
            why = f": it {picture}" if picture else ""
            return f"[image: {block.mime_type}, {_format_size(block.data)}, not shown{why}]"
        case "audio":
            return f"[{block.type}: {block.mime_type}, {_format_size(block.data)}, not shown]"
        case "resource_link":
            description = " - ".join(part for part in (block.title or block.name, block.description) if part)
            return f"[resource {block.uri}: {description}]"
        case "resource":
            return f"[resource {block.resource.uri}]\n{format_resource(block.resource)}"
        case kind:
            return f"[a block of type {kind}]"


def _decode_picture(block: Any) -> Picture | str:
    """Return the image in a block; else why it cannot be sent, "" if the block is not a supported image."""
    if block.type != "image":
        return ""
    if len(block.data) > MAX_TOOL_IMAGE_BYTES * 4 // 3 + 4:
        return f"is larger than {MAX_TOOL_IMAGE_BYTES // 1_000_000} MB"
    try:
        data = binascii.a2b_base64(block.data)
        return read_picture(data, "picture") if detect_media_type(data) else ""
    except NotAPicture as error:
        return str(error)
    except ValueError:
        return "is not valid base64"


def _format_size(base64: str) -> str:
    return format_bytes(len(base64) * 3 // 4)


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
        end_signal.set("it was stopped")
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


async def _start_process(launch: Launch) -> asyncio.subprocess.Process:
    if not launch.cwd.is_dir():
        raise ServerDown(f"its directory {str(launch.cwd)!r} does not exist")
    try:
        start = asyncio.create_subprocess_exec(
            *launch.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=launch.cwd,
            env=launch.env,
            limit=MAX_LINE_BYTES,
            # A process group of its own: Ctrl-C in clio's terminal must not end the server, and its children can be
            # ended with it.
            start_new_session=os.name != "nt",
        )
        return await start_process(start, _end_process)
    except FileNotFoundError:
        raise ServerDown(f"command {launch.command[0]!r} not found; install it, or give its full path") from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ServerDown(f"command {launch.command[0]!r} cannot be started: {cause}") from None


async def _read_messages(stdout: asyncio.StreamReader, to_session: Any, log: ServerLog, end_signal: EndSignal) -> None:
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    stray = 0
    async with to_session:
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                end_signal.set(f"it sent a line of more than {MAX_LINE_BYTES // 1_000_000} MB")
                return
            if not line:
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                stray += bool(line.strip())
                log.write("stdout: " + line[:2_000].decode("utf-8", "replace"))
                if stray > MAX_STRAY_LINES:
                    end_signal.set("it writes text that is not part of the protocol to its standard output")
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
    reason = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
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
            _send_signal(process, signal.SIGTERM)
            await _wait_for_exit(process, _TERM_GRACE_S)
    finally:
        _send_signal(process, signal.SIGKILL if os.name != "nt" else signal.SIGTERM)


async def _wait_for_exit(process: asyncio.subprocess.Process, timeout_s: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), timeout_s)
    except TimeoutError:
        return False
    return True


def _send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to the process group; on Windows, terminate the process."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)


MAX_TOOLS, MAX_RESOURCES = 300, 1_000
_MAX_PAGES = 50
_MAX_FIELDS = 20
_MAX_SCHEMA_BYTES = 40_000
_CONNECT_S = 30.0
Elicit = Callable[[str, str, Sequence[ElicitationQuestion]], Awaitable[dict[str, str] | None]]
"""Asks the user a server's questions: server name, message, questions → answers by field; None without answers."""


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

    def __init__(self, client: "Client", log: ServerLog) -> None:
        self._client = client
        self._log = log

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
            server=info.name if info else "",
            version=info.version if info else "",
            tools=tuple(self._convert_tool(tool) for tool in tools),
            resources=(
                *map(_convert_resource, resources),
                *(_convert_resource(template, template=True) for template in templates),
            ),
            prompts=tuple(map(_convert_prompt, prompts)),
            listed_at=time.time(),
        )

    async def call(self, tool: str, arguments: dict[str, Any], tell: ShowProgress) -> McpReply:
        """Call a tool. Raises CallFailed; ConnectionError if the connection was closed.

        tell: called with one line for each progress notification.
        """

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            tell(format_progress(progress, total, message))

        with _convert_errors():
            result = await self._client.call_tool(tool, arguments, progress_callback=on_progress)
        return McpReply(
            text=format_blocks(result.content, result.structured_content),
            ok=not result.is_error,
            images=decode_block_pictures(result.content),
        )

    async def read(self, uri: str) -> McpReply:
        """Return the text of a resource. Raises as `call`."""
        with _convert_errors():
            result = await self._client.read_resource(uri)
        return McpReply(text="\n\n".join(format_resource(content) for content in result.contents))

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpReply:
        """Return the text of a prompt with its arguments filled in. Raises as `call`."""
        with _convert_errors():
            result = await self._client.get_prompt(name, arguments)
        return McpReply(text=format_prompt_messages(result.messages))

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

    def _convert_tool(self, tool: Any) -> OfferedTool:
        schema = msgspec.json.encode(tool.input_schema)
        if len(schema) > _MAX_SCHEMA_BYTES:
            self._log.write(f"clio: the schema of {tool.name} is too large; the tool is offered without it")
            schema = b'{"type":"object"}'
        hints = tool.annotations
        return OfferedTool(
            name=tool.name,
            title=tool.title or (hints.title if hints else None) or "",
            description=tool.description or "",
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
    elicit: Elicit,
    legacy: bool = False,
) -> AsyncGenerator[McpClient]:
    """Start or connect to a server and negotiate the protocol version. Call `load_sdk` before.

    legacy: use only the older handshake, for servers that end on an unknown request.

    Raises the exceptions of process, network and SDK; `connection.describe_failure` describes them.
    """
    from mcp import Client
    from mcp.types import Implementation

    async with _open_transport(server, launch, log, end_signal) as transport:
        client = Client(
            transport,
            mode="legacy" if legacy else "auto",
            client_info=Implementation(name="clio", version=__version__),
            list_roots_callback=_make_roots_handler(project),
            elicitation_callback=_make_elicitation_handler(server.name, elicit),
            logging_callback=_make_logging_handler(log),
            cache=None,
        )
        async with client:
            yield McpClient(client, log)


def format_progress(progress: float, total: float | None, message: str | None) -> str:
    """Format a progress notification as one line: percentage or number, and message."""
    share = f"{min(progress / total, 1.0):.0%}".replace("%", " %") if total else f"{progress:g}"
    return f"{share} {' '.join(message.split())[:200]}" if message else share


@contextlib.asynccontextmanager
async def _open_transport(
    server: McpServer, launch: Launch, log: ServerLog, end_signal: EndSignal
) -> "AsyncGenerator[Transport]":
    import httpx2
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    if server.kind == "stdio":
        yield pipe_transport(launch, log, end_signal)
    elif server.kind == "sse":
        yield sse_client(launch.url, headers=launch.headers)
    else:
        # No read timeout here: `ServerConnection` applies the server's `timeout_s` to each call.
        timeout = httpx2.Timeout(_CONNECT_S, read=None)

        async def note_status(response: httpx2.Response) -> None:
            if response.status_code >= 400:
                end_signal.status = response.status_code

        hooks: Any = {"response": [note_status]}
        async with httpx2.AsyncClient(headers=launch.headers, timeout=timeout, event_hooks=hooks) as http:
            yield streamable_http_client(launch.url, http_client=http)


@contextlib.contextmanager
def _convert_errors() -> Generator[None]:
    """Convert the SDK's errors: CallFailed for an error from the server, ConnectionError for a closed connection."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        yield
    except MCPError as error:
        if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
            raise ConnectionError("the connection was closed") from None
        raise CallFailed(error.message or f"error {error.code}") from None
    except (RuntimeError, ValueError) as error:  # an answer that violates the protocol or the tool's own schema
        raise CallFailed(" ".join(str(error).split())[:500]) from None


def _convert_resource(resource: Any, *, template: bool = False) -> OfferedResource:
    return OfferedResource(
        uri=str(resource.uri_template if template else resource.uri),
        name=resource.title or resource.name or "",
        description=resource.description or "",
        media_type=resource.mime_type or "",
        template=template,
    )


def _convert_prompt(prompt: Any) -> OfferedPrompt:
    arguments = tuple(
        PromptArgument(name=argument.name, description=argument.description or "", required=bool(argument.required))
        for argument in prompt.arguments or ()
    )
    return OfferedPrompt(name=prompt.name, description=prompt.description or prompt.title or "", arguments=arguments)


def _make_roots_handler(project: Path) -> Any:
    from mcp.types import ListRootsResult, Root

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=cast(Any, project.as_uri()), name=project.name)])

    return roots


def _make_logging_handler(log: ServerLog) -> Any:
    async def write_message(params: Any) -> None:
        log.write(f"{params.level}: {params.data}")

    return write_message


def _make_elicitation_handler(name: str, elicit: Elicit) -> Any:
    from mcp.types import ElicitResult

    async def handle_elicitation(context: Any, params: Any) -> ElicitResult:
        if params.mode != "form":
            return ElicitResult(action="decline")  # a URL: a server must not send the user to a web page
        questions = read_questions(params.requested_schema)
        if not questions:
            return ElicitResult(action="decline")
        answers = await elicit(name, params.message, questions)
        if answers is None:
            return ElicitResult(action="decline")
        content = {
            question.name: _convert_answer(answers[question.name], question)
            for question in questions
            if answers.get(question.name)
        }
        if any(question.required and question.name not in content for question in questions):
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=cast(Any, content))

    return handle_elicitation


def read_questions(schema: dict[str, Any]) -> list[ElicitationQuestion]:
    """Return one question for each field of a form; [] if a required field cannot be answered as text."""
    required = schema.get("required", [])
    found: list[ElicitationQuestion] = []
    for name, field in list(cast("dict[str, Any]", schema.get("properties", {})).items())[:_MAX_FIELDS]:
        kind = field.get("type", "string")
        choices = field.get("enum") or [choice.get("const") for choice in field.get("oneOf", [])]
        if kind not in ("string", "number", "integer", "boolean"):
            if name in required:
                return []
            continue
        text = " ".join(str(field.get("description") or field.get("title") or name).split())
        found.append(
            ElicitationQuestion(
                name=name,
                text=text,
                options=("yes", "no") if kind == "boolean" else tuple(map(str, choices)),
                kind=kind,
                default=_format_default(field.get("default")),
                required=name in required,
            )
        )
    return found


def _format_default(default: object) -> str | None:
    """Return a field's default as the user would type it."""
    if isinstance(default, bool):
        return "yes" if default else "no"
    return None if default is None else str(default)


def _convert_answer(text: str, question: ElicitationQuestion) -> str | int | float | bool:
    if question.kind == "boolean":
        return text.strip().lower() in ("yes", "y", "true", "1")
    try:
        if question.kind == "integer":
            return int(text)
        if question.kind == "number":
            return float(text)
    except ValueError:
        pass
    return text
