"""Puts one conversation of an editor together, and reads and writes files as the editor has them."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, structs

from clio.agent.events import Notice
from clio.agent.user_interface import ComposedInterface
from clio.app import App, build_app
from clio.config.layers import load
from clio.config.loaded import HANDED, Loaded, Server
from clio.config.options import Options
from clio.config.show import start_notes
from clio.entrypoints import garbage
from clio.entrypoints.acp.approver import EditorApprover, EditorAsker, EditorDesk
from clio.entrypoints.acp.listener import Listener
from clio.entrypoints.acp.prompt import EditorShelf
from clio.entrypoints.acp.session import EditorSession
from clio.entrypoints.acp.updates import Outbox, UpdateMaker
from clio.errors import SessionNotFound, ToolFailed
from clio.ids import is_own_id
from clio.security.actions import ChangeFiles, Workspace
from clio.tools.files.text_file import as_open, plain, same_text, shown

if TYPE_CHECKING:
    from acp.interfaces import Client
    from acp.schema import PermissionOption, RequestPermissionResponse, ToolCallUpdate


PATIENCE_S = 5.0
"""How long to wait for the editor's text of a file; after that the file on disk is used."""
Read = Callable[[str], Awaitable[str]]
"""Asks the editor for the text of a file in its buffer; raises OSError where it refuses."""
Write = Callable[[str, str], Awaitable[None]]
"""Makes the editor write and save a text; raises OSError where it refuses."""


class EditorFiles:
    """Reads and saves files through the editor of one session. write: None where the editor offers none.

    editor_path: a file's path as the editor knows it.
    """

    def __init__(
        self, workspace: Workspace, read: Read, write: Write | None, editor_path: Callable[[Path], str]
    ) -> None:
        self._workspace = workspace
        self._read = read
        self._write = write
        self._editor_path = editor_path
        self._loop = asyncio.get_running_loop()
        self._begun = time.time()
        self._agreed: dict[Path, bytes] = {}  # hash of the text on disk when the editor showed the same

    @property
    def can_save(self) -> bool:
        """Whether the editor can save files for clio."""
        return self._write is not None

    def text(self, path: Path, disk: str) -> str | None:
        """The editor's unsaved text of a file; None where nothing is unsaved, or the editor does not answer.

        An editor's buffer may also be older than the file, when a command changed the file since. So the buffer
        counts only while the file is as it was when both agreed, or is older than this session.
        """
        shown = self._shown(path) if self._workspace.contains(path) else None
        if shown is None:
            return None
        if same_text(shown, disk):
            self._agreed[path] = _print(disk)
            return None
        if path not in self._agreed:
            try:
                if path.stat().st_mtime >= self._begun:
                    return None
            except OSError:
                return None
            self._agreed[path] = _print(disk)
        return shown if self._agreed[path] == _print(disk) else None

    def _shown(self, path: Path) -> str | None:
        asked: Future[str] = asyncio.run_coroutine_threadsafe(self._ask(path), self._loop)
        try:
            return asked.result(PATIENCE_S)
        except (TimeoutError, CancelledError):
            asked.cancel()
            return None
        except (OSError, ValueError):  # the editor does not know the file, or is gone: the file on disk is used
            return None

    async def save_before(self, action: ChangeFiles) -> None:
        """Make the editor save its unsaved text of these files, so that undo restores it.

        Raises ToolFailed where it does not.
        """
        for change in action.changes:
            if change.before is None or self._write is None:
                continue
            now = await asyncio.to_thread(as_open, self._workspace, change.path)
            if not now.unsaved or not same_text(shown(now.text), change.before):
                continue
            try:
                await self._write(self._editor_path(change.path), now.text)
            except (OSError, ValueError) as error:
                name = self._workspace.display(change.path)
                raise ToolFailed(
                    f"{name!r} has unsaved changes in the editor, which did not save them: {error}; "
                    "ask the user to save the file"
                ) from error

    async def _ask(self, path: Path) -> str:
        return await self._read(self._editor_path(path))


def _print(text: str) -> bytes:
    return hashlib.sha256(plain(text).encode("utf-8", "surrogatepass")).digest()


T = TypeVar("T")


class Offer(Struct, frozen=True, kw_only=True):
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
    """Open a stored session, or a new one under an id that clio gave out and that was never prompted.

    A session is not on disk before its first message, so the id itself must show that clio made it.
    Raises ClioError.
    """
    try:
        app.open_session(session_id)
    except SessionNotFound:
        if not is_own_id(session_id) or app.store.exists(session_id):
            raise
        app.go_on(app.store.new(app.project, persist=not app.config.incognito, id=session_id))


async def open_session(
    offer: Offer, options: Options, env: Mapping[str, str], make: UpdateMaker, outbox: Outbox, client: "Client"
) -> EditorSession:
    """Open a session that is ready for its first prompt.

    Raises ConfigError and UsageError for its configuration, SessionNotFound, SessionLocked, StorageError, OSError.
    """
    loaded = await asyncio.to_thread(load, structs.replace(options, cwd=offer.folder), env)
    loaded, refused = _with_servers(loaded, offer.servers)
    paths = _Paths(offer.folder)
    shelf = EditorShelf()
    sessions: list[EditorSession] = []
    listener = Listener(
        make,
        outbox,
        editor_path=paths.shown,
        on_step=lambda usage: [session.heard_step(usage) for session in sessions],
    )

    async def ask(
        session_id: str, call: "ToolCallUpdate", choices: "list[PermissionOption]"
    ) -> "RequestPermissionResponse":
        return await _asked(client.request_permission(session_id=session_id, tool_call=call, options=choices))

    desk = EditorDesk(make, outbox, ask)
    approver = EditorApprover(desk, paths.shown)
    ui = ComposedInterface(approver, EditorAsker(desk), listener.handle)
    app = await asyncio.to_thread(build_app, loaded, ui, env=env, shelf=shelf)
    try:
        if offer.session_id is not None:
            _open_stored(app, offer.session_id)
    except BaseException:
        await app.close()
        raise
    listener.workspace = app.workspace
    listener.redact = approver.redact = lambda text: app.redactor.redact(text).text
    desk.session_id = app.session.id
    if offer.reads:
        _read_open_files(app, offer, paths, client)
    for sentence in _to_know(loaded, refused):
        listener.handle(Notice(text=sentence, level="warning"))
    session = EditorSession(app, make=make, outbox=outbox, desk=desk, listener=listener, shelf=shelf)
    sessions.append(session)
    _warm_up(app)
    return session


class _Paths:
    """Maps resolved paths to the editor's, which may reach the folder through a link."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._real = folder.resolve()

    def shown(self, path: Path) -> str:
        """A file's path as the editor knows it."""
        return str(self._folder / path.relative_to(self._real)) if path.is_relative_to(self._real) else str(path)


def _read_open_files(app: App, offer: Offer, paths: _Paths, client: "Client") -> None:
    session_id = app.session.id

    async def read(path: str) -> str:
        return (await _asked(client.read_text_file(session_id=session_id, path=path))).content

    async def write(path: str, text: str) -> None:
        await _asked(client.write_text_file(session_id=session_id, path=path, content=text))

    files = EditorFiles(app.workspace, read, write if offer.writes else None, paths.shown)
    app.workspace.open_files = files
    app.turn_files.before_change = files.save_before


async def _asked(answer: Awaitable[T]) -> T:
    """Await the editor's answer; raise its refusal as OSError."""
    from acp import RequestError

    try:
        return await answer
    except RequestError as error:
        raise OSError(f"the editor says: {error}") from error


def _with_servers(loaded: Loaded, handed: Sequence[Any]) -> tuple[Loaded, list[str]]:
    """Add the editor's MCP servers to the configuration; also return the names of those clio cannot reach.

    A configured server of the same name takes precedence. Servers from the editor count as the user's own settings.
    """
    known = {server.name for server in loaded.servers}
    servers = list(loaded.servers)
    refused: list[str] = []
    for one in handed:
        server = _server(one)
        if server is None:
            refused.append(str(one.name))
        elif server.name not in known:
            known.add(server.name)
            servers.append(server)
    return structs.replace(loaded, servers=tuple(servers)), refused


def _server(one: Any) -> Server | None:
    """An editor's MCP server as clio's own type; None for a kind that only the editor can reach."""
    kind = getattr(one, "type", "stdio")
    if kind == "stdio":
        env = {variable.name: variable.value for variable in one.env or ()}
        return Server(
            name=one.name, where=HANDED, own=True, command=str(one.command), args=tuple(one.args or ()), env=env
        )
    if kind not in ("http", "sse"):
        return None
    headers = {header.name: header.value for header in one.headers or ()}
    return Server(name=one.name, where=HANDED, own=True, kind=kind, url=one.url, headers=headers)


def _to_know(loaded: Loaded, refused: Sequence[str]) -> list[str]:
    """Notices to show before the first prompt."""
    sentences = start_notes(loaded)
    if loaded.config.incognito and not loaded.is_closed:
        sentences.append("incognito: nothing is written and nothing is remembered")
    if refused:
        sentences.append(f"not reached from here, so not used: the editor's MCP servers {', '.join(refused)}")
    return sentences


def _warm_up(app: App) -> None:
    """Import what the first turn needs and update the index, while the user types."""

    def warm() -> None:
        from clio.providers.http_provider import HttpProvider

        if isinstance(app.provider, HttpProvider):
            app.provider.warm_up()
        garbage.settle()
        app.refresh_index()

    asyncio.get_running_loop().run_in_executor(None, warm)
