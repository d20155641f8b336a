"""`clio acp`: clio as the agent of an editor, over the Agent Client Protocol on standard input and output."""

import asyncio
import contextlib
import hashlib
import json
import logging
import math
import os
import queue
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar

from msgspec import Struct, structs

from clio import __version__
from clio.agent.user_interface import ComposedInterface, Notice
from clio.app import App, build_app
from clio.commands.settings_commands import MODES
from clio.config.layers import load_config
from clio.config.loaded import FROM_EDITOR, LoadedConfig, McpServer
from clio.config.options import Options
from clio.config.paths import clio_home, project_folder, user_home
from clio.config.show import list_start_notes
from clio.entrypoints.acp.session import (
    EditorApprover,
    EditorAsker,
    EditorAttachments,
    EditorQuestions,
    EditorSession,
    read_prompt_blocks,
)
from clio.entrypoints.acp.updates import EditorListener, Outbox, UpdateMaker
from clio.entrypoints.repl.components import handle_end_signals
from clio.errors import ClioError, SessionNotFound, ToolFailed, UsageError, UserError
from clio.ids import is_own_id
from clio.security.actions import ChangeFiles, Workspace
from clio.sessions.state import SessionInfo
from clio.sessions.store import OwnSessions, SessionStore
from clio.text.translation import mark, tr
from clio.threads import freeze_startup_objects, start_daemon_thread
from clio.tools.files.text_file import is_same_text, normalize_editor_text, read_open_file, to_printable
from clio.ui.safe_text import clean_line
from clio.ui.terminal_text import print_error

if TYPE_CHECKING:
    from acp import schema
    from acp.interfaces import Client
    from acp.schema import PermissionOption, RequestPermissionResponse, ToolCallUpdate


EDITOR_WAIT_S = 5.0
"""How long to wait for the editor's text of a file; after that the file on disk is used."""
ReadEditorFile = Callable[[str], Awaitable[str]]
"""Requests the text of a file in the editor's buffer; raises OSError if the editor refuses."""
WriteEditorFile = Callable[[str, str], Awaitable[None]]
"""Makes the editor write and save a text; raises OSError if it refuses."""


class EditorFiles:
    """Reads and saves files through the editor of one session. write: None if the editor cannot save.

    editor_path: returns a file's path as the editor names it.
    """

    def __init__(
        self,
        workspace: Workspace,
        read: ReadEditorFile,
        write: WriteEditorFile | None,
        editor_path: Callable[[Path], str],
    ) -> None:
        self._workspace = workspace
        self._read = read
        self._write = write
        self._editor_path = editor_path
        self._loop = asyncio.get_running_loop()
        self._started_at = time.time()
        self._agreed: dict[Path, bytes] = {}  # hash of the text on disk when the editor had the same text

    @property
    def can_save(self) -> bool:
        """Whether the editor can save files for clio."""
        return self._write is not None

    def text(self, path: Path, disk: str) -> str | None:
        """Return the editor's unsaved text of a file; None if there is none, or the editor does not answer.

        An editor's buffer may also be older than the file, if a command changed the file since. So the buffer is
        used only while the file is as it was when both agreed, or is older than this session.
        """
        shown = self._request_text(path) if self._workspace.contains(path) else None
        if shown is None:
            return None
        if is_same_text(shown, disk):
            self._agreed[path] = _hash_text(disk)
            return None
        if path not in self._agreed:
            try:
                if path.stat().st_mtime >= self._started_at:
                    return None
            except OSError:
                return None
            self._agreed[path] = _hash_text(disk)
        return shown if self._agreed[path] == _hash_text(disk) else None

    def _request_text(self, path: Path) -> str | None:
        # Tools read files in a thread, while the connection belongs to the event loop.
        request: Future[str] = asyncio.run_coroutine_threadsafe(self._await_text(path), self._loop)
        try:
            return request.result(EDITOR_WAIT_S)
        except (TimeoutError, CancelledError):
            request.cancel()
            return None
        except (OSError, ValueError):  # the editor does not have the file, or has exited: the file on disk is used
            return None

    async def _await_text(self, path: Path) -> str:
        return await self._read(self._editor_path(path))

    async def save_before(self, action: ChangeFiles) -> None:
        """Make the editor save its unsaved text of these files, so that undo restores it.

        Raises ToolFailed if it does not.
        """
        for change in action.changes:
            if change.before is None or self._write is None:
                continue
            now = await asyncio.to_thread(read_open_file, self._workspace, change.path)
            # A text that differs from the one approved was typed meanwhile: the write itself refuses that.
            if not now.unsaved or not is_same_text(to_printable(now.text), change.before):
                continue
            try:
                await self._write(self._editor_path(change.path), now.text)
            except (OSError, ValueError) as error:
                name = self._workspace.display(change.path)
                raise ToolFailed(
                    f"{name!r} has unsaved changes in the editor, which did not save them: {error}",
                    "ask the user to save the file",
                ) from error


def _hash_text(text: str) -> bytes:
    return hashlib.sha256(normalize_editor_text(text).encode("utf-8", "surrogatepass")).digest()


T = TypeVar("T")


class SessionRequest(Struct, frozen=True, kw_only=True):
    """What an editor asks for when it opens a session.

    Attributes:
        folder: an existing absolute path, written as the editor writes it.
        session_id: of a stored session; None for a new one.
        servers: the editor's MCP servers, in the protocol's types.
        reads, writes: whether the editor lets clio read its buffers, and save files.
    """

    folder: Path
    session_id: str | None
    servers: tuple[Any, ...]
    reads: bool
    writes: bool


def _open_stored(app: App, session_id: str) -> None:
    """Open a stored session, or a new one under an id that clio issued and that was never prompted.

    A session is not on disk before its first message, so the id itself must show that clio created it.
    Raises ClioError.
    """
    try:
        app.open_session(session_id)
    except SessionNotFound:
        if not is_own_id(session_id) or app.store.exists(session_id):
            raise
        app.continue_session(app.store.new(app.project, persist=not app.config.incognito, id=session_id))


async def open_session(
    offer: SessionRequest, options: Options, env: Mapping[str, str], make: UpdateMaker, outbox: Outbox, client: "Client"
) -> EditorSession:
    """Open a session that is ready for its first prompt.

    Raises ConfigError and UsageError for its configuration, SessionNotFound, SessionLocked, StorageError, OSError.
    """
    loaded = await asyncio.to_thread(load_config, structs.replace(options, cwd=offer.folder), env)
    loaded, refused = _add_editor_servers(loaded, offer.servers)
    paths = _Paths(offer.folder)
    attachments = EditorAttachments()
    sessions: list[EditorSession] = []  # filled below: the listener is needed to make the app, the app the session
    listener = EditorListener(
        make,
        outbox,
        editor_path=paths.map_to_editor,
        on_step=lambda usage: [session.report_usage(usage) for session in sessions],
    )

    async def ask(
        session_id: str, call: "ToolCallUpdate", choices: "list[PermissionOption]"
    ) -> "RequestPermissionResponse":
        return await _await_answer(client.request_permission(session_id=session_id, tool_call=call, options=choices))

    questions = EditorQuestions(make, outbox, ask)
    approver = EditorApprover(questions, paths.map_to_editor)
    ui = ComposedInterface(approver, EditorAsker(questions), listener.handle)
    app = await asyncio.to_thread(build_app, loaded, ui, env=env, pending_input=attachments)
    try:
        if offer.session_id is not None:
            _open_stored(app, offer.session_id)
    except BaseException:
        await app.close()
        raise
    listener.workspace = app.workspace
    listener.redact = approver.redact = lambda text: app.redactor.redact(text).text
    questions.session_id = app.session.id
    if offer.reads:
        _read_open_files(app, offer, paths, client)
    for sentence in _collect_notices(loaded, refused):
        listener.handle(Notice(text=sentence, level="warning"))
    session = EditorSession(
        app, make=make, outbox=outbox, questions=questions, listener=listener, attachments=attachments
    )
    sessions.append(session)
    _warm_up(app)
    return session


class _Paths:
    """Maps resolved paths to the editor's, which may reach the folder through a link."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._real = folder.resolve()

    def map_to_editor(self, path: Path) -> str:
        """Return a file's path as the editor knows it."""
        return str(self._folder / path.relative_to(self._real)) if path.is_relative_to(self._real) else str(path)


def _read_open_files(app: App, offer: SessionRequest, paths: _Paths, client: "Client") -> None:
    session_id = app.session.id

    async def read(path: str) -> str:
        return (await _await_answer(client.read_text_file(session_id=session_id, path=path))).content

    async def write(path: str, text: str) -> None:
        await _await_answer(client.write_text_file(session_id=session_id, path=path, content=text))

    files = EditorFiles(app.workspace, read, write if offer.writes else None, paths.map_to_editor)
    app.workspace.open_files = files
    app.turn_files.before_change = files.save_before


async def _await_answer(answer: Awaitable[T]) -> T:
    """Await the editor's answer; raise its refusal as OSError."""
    from acp import RequestError

    try:
        return await answer
    except RequestError as error:
        raise OSError(tr("the editor refused: {error}", error=error)) from error


def _add_editor_servers(loaded: LoadedConfig, handed: Sequence[Any]) -> tuple[LoadedConfig, list[str]]:
    """Add the editor's MCP servers to the configuration; also return the names of those clio cannot reach.

    A configured server of the same name takes precedence. Servers from the editor count as the user's own settings.
    """
    known = {server.name for server in loaded.servers}
    servers = list(loaded.servers)
    refused: list[str] = []
    for one in handed:
        server = _convert_server(one)
        if server is None:
            refused.append(str(one.name))
        elif server.name not in known:
            known.add(server.name)
            servers.append(server)
    return structs.replace(loaded, servers=tuple(servers)), refused


def _convert_server(one: Any) -> McpServer | None:
    """Convert an editor's MCP server to clio's own type; None for a kind that only the editor can reach."""
    kind = getattr(one, "type", "stdio")
    if kind == "stdio":
        env = {variable.name: variable.value for variable in one.env or ()}
        return McpServer(
            name=one.name, where=FROM_EDITOR, own=True, command=str(one.command), args=tuple(one.args or ()), env=env
        )
    if kind not in ("http", "sse"):
        return None
    headers = {header.name: header.value for header in one.headers or ()}
    return McpServer(name=one.name, where=FROM_EDITOR, own=True, kind=kind, url=one.url, headers=headers)


def _collect_notices(loaded: LoadedConfig, refused: Sequence[str]) -> list[str]:
    """Return the notices to show before the first prompt."""
    sentences = list_start_notes(loaded)
    if loaded.config.incognito and not loaded.is_folder_blocked:
        sentences.append(tr("incognito: nothing is written or remembered"))
    if refused:
        sentences.append(
            tr(
                "not used, because clio cannot reach them: the editor's MCP servers {refused}",
                refused=", ".join(refused),
            )
        )
    return sentences


def _warm_up(app: App) -> None:
    """Import what the first turn needs and update the index, while the user types."""

    def warm() -> None:
        from clio.providers.http_provider import HttpProvider

        if isinstance(app.provider, HttpProvider):
            app.provider.warm_up()
        freeze_startup_objects()
        app.refresh_index()

    asyncio.get_running_loop().run_in_executor(None, warm)


MAX_LINE_BYTES = 64_000_000
"""A longer line is refused; images are part of a line."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_Waiting = tuple[bytes, "asyncio.Future[None]"]


class StdioTransport:
    """Reads and writes one JSON message per line; takes over standard input and output when it is made.

    Make and use it on the event loop's thread. A line that is not a message is answered with a JSON-RPC error.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._outgoing: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        # Threads, because asyncio cannot wait for a pipe or a file on standard input on every platform.
        source, sink = take_over_stdio()
        start_daemon_thread(lambda: self._read(source), "acp-in")
        self._writer = start_daemon_thread(lambda: self._write(sink), "acp-out")

    async def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None if the editor has closed its end."""
        return await self._incoming.get()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message and wait until it is written; messages keep the order of the calls.

        Raises ConnectionError if the editor has closed its end.
        """
        written = self._loop.create_future()
        self._outgoing.put((_encode(message), written))
        await written

    async def close(self) -> None:
        """Write the queued messages, and stop."""
        self._outgoing.put(None)
        await asyncio.to_thread(self._writer.join, 1.0)

    def _read(self, source: int) -> None:
        buffer = bytearray()
        too_long = False
        while data := _read_available(source):
            start = len(buffer)  # the part before it is known to contain no line end
            buffer += data
            while (end := buffer.find(b"\n", start)) >= 0:
                line, start = bytes(buffer[:end]), 0
                del buffer[: end + 1]
                if too_long or line.strip():
                    self._call_on_loop(self._parse_line, b"" if too_long else line)
                too_long = False
            if len(buffer) > MAX_LINE_BYTES:
                buffer.clear()
                too_long = True
        self._call_on_loop(self._incoming.put_nowait, None)

    def _parse_line(self, line: bytes) -> None:
        try:
            message: object = json.loads(line, parse_float=_parse_float, parse_constant=_parse_float)
        except (ValueError, RecursionError):
            self._refuse(PARSE_ERROR, tr("Parse error: the line is not JSON"))
            return
        if isinstance(message, dict) and isinstance(message.get("id"), str | int | float | None):  # pyright: ignore[reportUnknownMemberType]
            self._incoming.put_nowait(message)  # pyright: ignore[reportUnknownArgumentType]
        else:
            self._refuse(INVALID_REQUEST, tr("Invalid request: a message is one JSON object"))

    def _refuse(self, code: int, text: str) -> None:
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
        self._outgoing.put((_encode(answer), self._loop.create_future()))

    def _write(self, sink: BinaryIO) -> None:
        broken: OSError | None = None
        while (waiting := self._outgoing.get()) is not None:
            data, written = waiting
            try:
                if broken is None:
                    sink.write(data)
                    sink.flush()
            except OSError as error:
                broken = error
                self._call_on_loop(self._incoming.put_nowait, None)  # an editor that does not read has exited
            self._call_on_loop(_finish_write, written, broken)

    def _call_on_loop(self, act: Any, *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop was closed
            self._loop.call_soon_threadsafe(act, *arguments)


def take_over_stdio() -> tuple[int, BinaryIO]:
    """Return the real standard input and output; all other code then reads nothing and writes to standard error.

    A stray `print`, or a child process that writes, would otherwise end up between the protocol's messages.
    """
    source = os.dup(sys.stdin.fileno())
    sys.stdout.flush()
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, sink


def _read_available(source: int) -> bytes:
    """Return the next bytes; b"" at the end of the input, or if it was closed meanwhile."""
    try:
        return os.read(source, 1 << 16)
    except OSError:
        return b""


def _parse_float(text: str) -> float:
    """Parse a number. Raises ValueError for one that JSON could not express in the answer: NaN, and what overflows."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _encode(message: dict[str, Any]) -> bytes:
    """Encode a message as one line; values that JSON has no type for become text."""
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def _finish_write(written: "asyncio.Future[None]", error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(ConnectionError(tr("the editor no longer reads")))
        written.exception()  # marks the error as retrieved: possibly nothing awaits it


SESSIONS_PER_PAGE = 50
"""Sessions of one page of the list."""
_INVALID_PARAMS, _INTERNAL, _NOT_FOUND = -32602, -32603, -32002
P = ParamSpec("P")


def handle_request_errors(
    method: Callable[Concatenate["AcpAgent", P], Awaitable[T]],
) -> Callable[Concatenate["AcpAgent", P], Awaitable[T]]:
    """Turn the errors of a method into the protocol's errors, with their messages."""

    @wraps(method)
    async def answer(self: "AcpAgent", *args: P.args, **kwargs: P.kwargs) -> T:
        from acp import RequestError

        try:
            return await method(self, *args, **kwargs)
        except SessionNotFound as error:
            raise RequestError(_NOT_FOUND, str(error)) from error
        except UserError as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error
        except (ClioError, OSError) as error:
            raise RequestError(_INTERNAL, str(error)) from error
        except Exception as error:  # outermost boundary: a bug in one conversation must not end the others
            logging.getLogger(__name__).exception("bug")
            cause = " ".join(str(error).split())[:300]
            hint = tr("start clio acp with --debug for a traceback")
            raise RequestError(
                _INTERNAL,
                tr("this is a bug in clio: {name}: {cause}; {hint}", name=type(error).__name__, cause=cause, hint=hint),
            ) from error

    return answer


class AcpAgent:
    """All sessions of one editor. options: the flags of `clio acp`, which apply to every session."""

    def __init__(self, options: Options, env: Mapping[str, str]) -> None:
        from acp import schema

        self._schema = schema
        self._options = options
        self._env = env
        self._make = UpdateMaker()
        self._sessions: dict[str, EditorSession] = {}
        self._can_read = self._can_write = False
        self._client: Client | None = None
        self._outbox: Outbox | None = None

    def on_connect(self, conn: "Client") -> None:
        """Note that the editor has connected; called by the SDK."""
        self._client = conn
        self._outbox = Outbox(conn.session_update, self._make.make_message)

    async def close(self) -> None:
        """Stop all turns and close all sessions."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions))
        if self._outbox is not None:
            await self._outbox.close()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: "schema.ClientCapabilities | None" = None,
        client_info: "schema.Implementation | None" = None,
        **more: Any,
    ) -> "schema.InitializeResponse":
        """Exchange capabilities."""
        from acp import PROTOCOL_VERSION

        schema = self._schema
        fs = client_capabilities.fs if client_capabilities else None
        self._can_read = bool(fs and fs.read_text_file)
        self._can_write = bool(fs and fs.write_text_file)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="clio", title="clio", version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    @handle_request_errors
    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **more: Any
    ) -> "schema.NewSessionResponse":
        """Open a new session in the project of this folder."""
        session = await self._open(cwd, None, mcp_servers)
        asyncio.get_running_loop().call_soon(session.begin)  # after the response, which names the session
        return self._schema.NewSessionResponse(session_id=session.id, modes=self._make.make_mode_list(session.mode))

    @handle_request_errors
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **more: Any
    ) -> "schema.LoadSessionResponse":
        """Open a stored session and send its whole conversation again."""
        session = self._sessions.get(session_id) or await self._open(cwd, session_id, mcp_servers)
        session.replay()
        session.begin()
        if self._outbox is not None:
            await self._outbox.flush()
        return self._schema.LoadSessionResponse(modes=self._make.make_mode_list(session.mode))

    @handle_request_errors
    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **more: Any
    ) -> "schema.ResumeSessionResponse":
        """Open a stored session whose conversation the editor still shows."""
        session = self._sessions.get(session_id) or await self._open(cwd, session_id, mcp_servers)
        asyncio.get_running_loop().call_soon(session.begin)  # after the response, as for a new session
        return self._schema.ResumeSessionResponse(modes=self._make.make_mode_list(session.mode))

    @handle_request_errors
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **more: Any
    ) -> "schema.ListSessionsResponse":
        """Return the sessions of a project, last changed first; without `cwd`, of the directory clio was started in."""
        folder = _check_folder(cwd) if cwd else self._options.cwd
        place = project_folder(folder, clio_home=clio_home(self._env), user_home=user_home(self._env))
        store = SessionStore(place / ".clio" / "sessions", own=OwnSessions(place, clio_home(self._env)))
        known = await asyncio.to_thread(store.list)
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        schema = self._schema
        rows = [
            schema.SessionInfo(
                session_id=info.id,
                cwd=str(folder),
                title=_make_title(info),
                updated_at=_format_time(info.updated_at),
            )
            for info in known[start : start + SESSIONS_PER_PAGE]
        ]
        following = str(start + SESSIONS_PER_PAGE) if start + SESSIONS_PER_PAGE < len(known) else None
        return schema.ListSessionsResponse(sessions=rows, next_cursor=following)

    @handle_request_errors
    async def close_session(self, session_id: str, **more: Any) -> "schema.CloseSessionResponse":
        """Close a session; it stays on disk."""
        session = self._find(session_id)
        del self._sessions[session_id]
        await session.close()
        return self._schema.CloseSessionResponse()

    @handle_request_errors
    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> "schema.SetSessionModeResponse":
        """Change the approval mode, from the next tool call on."""
        session = self._find(session_id)
        for mode in MODES:
            if mode == mode_id:
                session.set_mode(mode)
                return self._schema.SetSessionModeResponse()
        raise UsageError(
            tr("there is no mode {mode_id!r}; choose one of {modes}", mode_id=mode_id, modes=", ".join(MODES))
        )

    @handle_request_errors
    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> "schema.PromptResponse":
        """Run a turn or a slash command."""
        session = self._find(session_id)
        task = session.start(read_prompt_blocks(prompt, session.attachments))
        return self._schema.PromptResponse(stop_reason=await session.wait(task))

    async def cancel(self, session_id: str, **more: Any) -> None:
        """Stop the running turn of a session, and everything it started."""
        if session := self._sessions.get(session_id):
            session.cancel()

    def _find(self, session_id: str) -> EditorSession:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise SessionNotFound(
                tr("session {session_id!r} is not open here; load it first", session_id=session_id)
            ) from None

    async def _open(self, cwd: str, session_id: str | None, mcp_servers: list[Any] | None) -> EditorSession:
        assert self._client is not None
        assert self._outbox is not None
        offer = SessionRequest(
            folder=_check_folder(cwd),
            session_id=session_id,
            servers=tuple(mcp_servers or ()),
            reads=self._can_read,
            writes=self._can_write,
        )
        session = await open_session(offer, self._options, self._env, self._make, self._outbox, self._client)
        self._sessions[session.id] = session
        return session


def _check_folder(cwd: str) -> Path:
    """Return the directory as a path. Raises UsageError unless it is absolute and exists."""
    path = Path(cwd)
    if not path.is_absolute():
        raise UsageError(tr("cwd must be an absolute path, not {cwd!r}", cwd=cwd))
    try:
        if path.is_dir():
            return path
    except OSError as error:  # not a valid file name
        raise UsageError(tr("cwd {cwd!r} cannot be used: {strerror}", cwd=cwd, strerror=error.strerror)) from None
    raise UsageError(
        tr("cwd {cwd!r}: ", cwd=cwd) + (tr("not a folder") if os.path.lexists(path) else tr("no such folder"))
    )


def _make_title(info: SessionInfo) -> str | None:
    title = clean_line(info.name or info.first_words)
    return tr("from the repository: {title}", title=title) if info.came_with_project else title or None


def _format_time(seconds: float) -> str | None:
    """Return a time as ISO 8601; None for a value from a damaged file."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


HELP = mark("""\
usage: clio acp [options]

Lets an editor use clio as its agent, over the Agent Client Protocol.
The editor starts this command and communicates with it on standard input and output.
It ends when the editor closes the connection.
docs/editors.md has the settings for Zed, JetBrains and Neovim.

The editor names the project of each conversation. These options apply to all of them:
  -m, --model NAME, --provider NAME, --base-url URL, --context-window TOKENS
  --approve MODE, --max-steps N, --max-cost USD, --scenario NAME, --no-ltm, --incognito
  --config FILE, --debug   as everywhere

It needs the extra acp: pip install '.[acp]' in the folder of clio's source
""")


def run_acp_server(options: Options) -> int:
    """Serve until the editor closes its end; return the exit code. Raises ClioError if the SDK is not installed."""
    try:
        import acp
    except ImportError:
        raise ClioError(
            tr(
                "clio acp needs the package agent-client-protocol; "
                "install it with pip install '.[acp]' in the folder of clio's source"
            )
        ) from None
    assert acp.PROTOCOL_VERSION
    if sys.stdin and sys.stdin.isatty():
        print_error(tr("waiting for an editor on standard input; Ctrl-C to stop"))
    if not options.overrides.get("debug"):
        # The SDK logs a traceback for every error that is answered, and for an editor that has exited.
        logging.getLogger().setLevel(logging.CRITICAL)
    return asyncio.run(_serve(options))


async def _serve(options: Options) -> int:
    from acp import AgentSideConnection

    ended_by = 0
    agent = AcpAgent(options, os.environ)
    connection = AgentSideConnection(agent, StdioTransport(), listening=False, use_unstable_protocol=True)
    listening = asyncio.create_task(connection.listen())

    def end(number: int) -> None:
        nonlocal ended_by
        ended_by = ended_by or number
        listening.cancel()  # only the listening: sessions that are being closed are closed to the end

    handle_end_signals(end)
    try:
        await asyncio.wait({listening})
    finally:
        await agent.close()
        await connection.close()
    if not listening.cancelled() and (error := listening.exception()) is not None:
        raise error
    return 128 + ended_by if ended_by else 0
