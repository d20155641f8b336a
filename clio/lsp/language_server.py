"""One running language server: its start, the files it knows, their problems, and questions about names in them."""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import AsyncGenerator, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from clio import __version__
from clio.errors import ToolFailed
from clio.lsp.catalog import LANGUAGE_IDS, FoundServer
from clio.lsp.rpc import Connection, RequestRefused, ServerFailed
from clio.sandbox.fence import EnclosedCommand
from clio.sandbox.sandbox import Confinement
from clio.text.translation import tr
from clio.text.untrusted_text import to_inert_line
from clio.threads import split_path_folders
from clio.tools.files.file_index import walk_files
from clio.tools.shell.sandboxed_run import build_confined_environment, remove_private_tmp

START_LIMIT_S = 30.0
"""Time limit for starting the process and for its answer to `initialize`."""
ANSWER_LIMIT_S = 20.0
LOADING_LIMIT_S = 15.0
"""How long a question waits for a server that reports that it is still loading the project."""
DIAGNOSTICS_LIMIT_S = 20.0
MAX_MEMORY_BYTES = 4_000_000_000
"""Memory of a server and everything it started, above which it is ended; less on a machine with little memory."""
MAX_FILE_BYTES = 2_000_000
MAX_OPEN_FILES = 50
MAX_PROBLEMS = 500
MAX_LOCATIONS = 5_000
_SETTLE_S = 0.6
"""Time without a further report, after which the problems that a server reported are taken as complete."""
_BEGIN_S = 0.3
"""Time in which a server that was just started says that it loads the project."""
_WATCH_BUSY_S, _WATCH_IDLE_S = 5.0, 60.0
_IDLE_END_S = 900.0
"""A server that no one has used for so long is ended; the next use starts it again."""
_MAX_WATCHED = 20_000
_WALK_LIMIT_S = 3.0
"""Files of a project, and time to look at them, above which changed files are not reported to the server."""
_MAX_SHOWN_FILES = 40
"""Number of files with a name, fewer than MAX_OPEN_FILES, that a server without a list of the files is shown."""
_LINE_BREAKS = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"\w+")
_EXECUTE = 'exec "$@"'
_PULL_METHOD = "textDocument/diagnostic"
_RETRY_CODES = (-32802, -32801)  # ServerCancelled, ContentModified: ask again
_SYMBOL_KINDS: Mapping[int, str] = {
    2: "module", 3: "namespace", 4: "package", 5: "class", 6: "method", 7: "property", 8: "field", 9: "constructor",
    10: "enum", 11: "interface", 12: "function", 13: "variable", 14: "constant", 22: "enum member", 23: "struct",
    24: "event", 25: "operator", 26: "type parameter",
}  # fmt: skip


class ServerProblem(Struct, frozen=True, kw_only=True):
    """A problem that a server reports in a file. line: counted from 1."""

    line: int
    code: str
    message: str
    is_error: bool


class Location(Struct, frozen=True, kw_only=True, order=True):
    """A place that a server names. line: counted from 1."""

    path: Path
    line: int


class Symbol(Struct, frozen=True, kw_only=True):
    """A name that a file defines. depth: how many symbols contain it."""

    name: str
    kind: str
    path: Path
    line: int
    depth: int = 0
    container: str = ""


class _OpenFile(Struct, kw_only=True):
    version: int
    text: str
    reported_version: int = -1  # of the last report; -1 before the first
    reports: int = 0  # since the text was shown
    reported_text: str | None = None  # the text at the last report
    problems: list[ServerProblem] = []


class LanguageServer:
    """A server for one folder. Start it before anything else; once `failure` is set, make another one.

    Args:
        root: the workspace, which the confinement shows; `folder` is the part of it that the server works on.
        confinement: how it is confined; None for not at all, which is only for servers the user chose.
    """

    def __init__(self, found: FoundServer, root: Path, folder: Path, confinement: Confinement | None) -> None:
        self.found = found
        self.folder = folder
        self.name = found.spec.name
        self.last_used = time.monotonic()
        self._root = root
        self._confinement = confinement
        self._connection = Connection(self._answer, self._note)
        self._capabilities: dict[str, Any] = {}
        self._answers_for_problems = False  # whether it is asked for problems; otherwise it reports them by itself
        self._open: dict[Path, _OpenFile] = {}  # in the order of their last use
        self._versions = 0
        self._loading: set[str] = set()
        self._is_ready = False
        self.was_idle = False  # whether it was ended because no one used it
        self._news = asyncio.Event()  # set when a report arrives or loading ends
        self._last_report = 0.0
        self._stamps: dict[str, tuple[int, int]] = {}
        self._is_too_large = False  # its changed files are not looked for; the open ones are shown all the same
        self._tmp: EnclosedCommand | None = None
        self._watch_task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def failure(self) -> str:
        """Why it ended; "" while it runs."""
        return self._connection.failure

    async def start(self) -> None:
        """Start the process and introduce clio to it. Raises ServerFailed."""
        try:
            async with asyncio.timeout(START_LIMIT_S):
                env, command = await asyncio.to_thread(self._confine)
                self._tmp = command
                await self._connection.open(command, self.folder, env)
                self._watch_task = asyncio.create_task(self._watch())
                result = await self._connection.request("initialize", self._introduce(), START_LIMIT_S)
                capabilities = _as_dict(result).get("capabilities")
                self._capabilities = _as_dict(capabilities)
                self._answers_for_problems |= bool(self._capabilities.get("diagnosticProvider"))
                self._connection.notify("initialized", {})
            self._stamps = await asyncio.to_thread(self._read_stamps) or {}
        except TimeoutError:
            await self.close()
            raise ServerFailed(tr("it was not ready within {start_s:g} s", start_s=START_LIMIT_S)) from None
        except ToolFailed as error:
            raise ServerFailed(str(error)) from None
        except ServerFailed:
            has_ended = self._connection.ended.is_set()
            await self.close()
            if has_ended:
                raise ServerFailed(self.failure) from None
            raise
        except BaseException:
            await self.close()
            raise

    def _confine(self) -> tuple[dict[str, str], EnclosedCommand]:
        found, root = self.found, self._root
        env = build_confined_environment(os.environ, root)
        env.pop("NODE_OPTIONS", None)  # it may make node load a file of the project first
        if not found.is_trusted:
            # A server runs programs by their name, such as `python` and `go`, which must not be the project's.
            env["PATH"] = os.pathsep.join(split_path_folders(root)[0])
            env |= found.spec.env
        # A link on PATH may lead into /tmp, of which confined commands see only folders that are on PATH.
        program = os.path.realpath(found.argv[0])
        env["PATH"] = os.pathsep.join(filter(None, (env.get("PATH"), os.path.dirname(program))))  # noqa: PTH120
        if self._confinement is None or self._confinement.level() == "off":
            if found.needs_trust:
                raise ServerFailed(tr("it can't be confined here"))
            return env, EnclosedCommand(argv=found.argv)
        # Many write a cache; without one gopls reports no problems.
        shell = f'export XDG_CACHE_HOME="$TMPDIR/cache"; {found.spec.confined_shell or _EXECUTE}'
        argv = ("/bin/sh", "-c", shell, "sh", *found.argv)
        enclosed = self._confinement.enclose(argv, root, env)
        return env, enclosed or EnclosedCommand(argv=found.argv)

    def _introduce(self) -> dict[str, Any]:
        uri = self.folder.as_uri()
        return {
            # Servers end when this process ends, unless they are confined and cannot see it.
            "processId": None,
            "clientInfo": {"name": "clio", "version": __version__},
            "locale": "en",
            "rootPath": str(self.folder),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": self.folder.name}],
            "initializationOptions": dict(self.found.options),
            "trace": "off",
            "capabilities": {
                "general": {"positionEncodings": ["utf-16"]},
                "window": {"workDoneProgress": True},
                "workspace": {
                    "configuration": True,
                    "workspaceFolders": True,
                    "didChangeWatchedFiles": {"dynamicRegistration": True},
                    "symbol": {"dynamicRegistration": False},
                },
                "textDocument": {
                    "synchronization": {"didSave": False},
                    "publishDiagnostics": {"versionSupport": True, "relatedInformation": False},
                    "diagnostic": {"dynamicRegistration": True},
                    "definition": {"linkSupport": True},
                    "references": {},
                    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                },
            },
        }

    def _make_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {name: dict(values) for name, values in self.found.spec.settings.items()}
        if "python" in settings:
            analysis = {**settings["python"]["analysis"], "extraPaths": [str(path) for path in self._list_packages()]}
            settings["python"] = settings["python"] | {"analysis": analysis}
            settings["basedpyright"] = {"analysis": analysis}
        return settings

    def _list_packages(self) -> list[Path]:
        """Return the folders of installed packages in the project's environment, without running its Python."""
        folders = [self.folder / name for name in (".venv", "venv")]
        if active := os.environ.get("VIRTUAL_ENV"):
            folders.append(Path(active))
        patterns = ("lib/python3*/site-packages", "Lib/site-packages")
        return [path for folder in folders for pattern in patterns for path in sorted(folder.glob(pattern))]

    # Messages from the server

    def _answer(self, method: str, params: Any) -> Any:
        """Return the result of a request of the server. Raises KeyError for what clio does not do."""
        match method:
            case "workspace/configuration":
                settings = self._make_settings()
                items = _as_list(_as_dict(params).get("items"))
                return [_get_section(settings, _as_dict(item).get("section")) for item in items[:100]]
            case "workspace/workspaceFolders":
                return [{"uri": self.folder.as_uri(), "name": self.folder.name}]
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "clio only reads"}
            case "window/showDocument":
                return {"success": False}
            case "client/registerCapability":
                registered = map(_as_dict, _as_list(_as_dict(params).get("registrations")))
                self._answers_for_problems |= any(entry.get("method") == _PULL_METHOD for entry in registered)
                self._news.set()
                return None
            case (
                "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
                | "workspace/diagnostic/refresh"
                | "workspace/semanticTokens/refresh"
                | "workspace/inlayHint/refresh"
                | "workspace/codeLens/refresh"
            ):
                return None
            case _:
                raise KeyError(method)

    def _note(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "textDocument/publishDiagnostics":
            self._store_report(params)
        elif method == "window/logMessage":
            text, ready_text = params.get("message"), self.found.spec.ready_text
            if ready_text and isinstance(text, str) and ready_text in text:
                self._is_ready = True
                self._news.set()
        elif method == "$/progress":
            token, kind = str(params.get("token"))[:100], _as_dict(params.get("value")).get("kind")
            if kind == "begin" and len(self._loading) < 100:
                self._loading.add(token)
                self._news.set()
            elif kind == "end":
                self._loading.discard(token)
                self._news.set()

    def _store_report(self, params: Mapping[str, Any]) -> None:
        path = parse_uri(params.get("uri"))
        file = self._open.get(path) if path is not None else None
        if file is None:
            return
        version = params.get("version")
        file.reported_version = version if isinstance(version, int) else -1
        file.reports += 1
        if file.reported_version in (-1, file.version):
            file.reported_text = file.text
        file.problems = list(_read_problems(params.get("diagnostics")))
        self._last_report = time.monotonic()
        self._news.set()

    # Files

    def _show(self, path: Path, text: str) -> _OpenFile:
        """Make the server see this text as the content of the file."""
        file = self._open.pop(path, None)
        self._versions += 1
        uri = path.as_uri()
        if file is None:
            file = _OpenFile(version=self._versions, text=text)
            language = LANGUAGE_IDS.get(path.suffix, "plaintext")
            self._connection.notify(
                "textDocument/didOpen",
                {"textDocument": {"uri": uri, "languageId": language, "version": file.version, "text": text}},
            )
        elif file.text != text:
            file.version, file.text, file.reports = self._versions, text, 0
            self._connection.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": uri, "version": file.version}, "contentChanges": [{"text": text}]},
            )
        self._open[path] = file
        while len(self._open) > MAX_OPEN_FILES:
            self._hide(next(iter(self._open)))
        return file

    def _hide(self, path: Path) -> None:
        if self._open.pop(path, None) is not None:
            self._connection.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    async def _show_files(self, paths: Iterable[Path], other_texts: Container[Path] = ()) -> None:
        """Show these files, and the open ones that have changed, as they are on disk, except those in `other_texts`."""
        for path in [path for path in (*self._open, *paths) if path not in other_texts]:
            text = await asyncio.to_thread(read_source, path)
            if text is None:
                self._hide(path)
            else:
                self._show(path, text)

    async def _report_changes(self) -> None:
        """Tell the server which files were changed by anything, since it may not watch them itself."""
        now = await asyncio.to_thread(self._read_stamps)
        if now is None:
            return
        before, self._stamps = self._stamps, now
        created = [(path, 1) for path in now.keys() - before.keys()]
        changed = [(path, 2) for path in now.keys() & before.keys() if now[path] != before[path]]
        deleted = [(path, 3) for path in before.keys() - now.keys()]
        if changes := [*created, *changed, *deleted]:
            events = [{"uri": (self.folder / path).as_uri(), "type": kind} for path, kind in changes]
            self._connection.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def _read_stamps(self) -> dict[str, tuple[int, int]] | None:
        """Return time and size of the files that matter to the server; None if there are too many to look at."""
        if self._is_too_large:
            return None
        deadline = time.monotonic() + _WALK_LIMIT_S
        stamps: dict[str, tuple[int, int]] = {}
        names = (*self.found.spec.suffixes, *self.found.spec.root_markers)
        for relative in walk_files(self._root, self.folder, hidden=False):
            if relative.endswith(names):
                with contextlib.suppress(OSError):
                    status = (self.folder / relative).stat()
                    stamps[relative] = (status.st_mtime_ns, status.st_size)
            # Part of the files would look as if the others had been deleted.
            if len(stamps) > _MAX_WATCHED or time.monotonic() > deadline:
                self._is_too_large = True
                return None
        return stamps

    # Questions

    @contextlib.asynccontextmanager
    async def _ask_alone(self) -> AsyncGenerator[None]:
        """Ask one question at a time. If the server ends meanwhile, the reason is known only after its last output."""
        async with self._lock:
            try:
                yield
            except ServerFailed:
                if not self._connection.ended.is_set():
                    raise
                await self._connection.close()
                raise ServerFailed(self.failure) from None

    async def find_problems(self, paths: Sequence[Path], texts: Mapping[Path, str]) -> dict[Path, list[ServerProblem]]:
        """Return the problems of these files as they are on disk, or as `texts` has them. Raises ServerFailed.

        Afterwards the server sees all files as they are on disk again.
        """
        self.last_used = time.monotonic()
        async with self._ask_alone():
            await self._show_files(paths, texts)
            try:
                for path, text in texts.items():
                    self._show(path, text)
                wanted = [path for path in paths if path in self._open]
                if not self._answers_for_problems:
                    await self._await_reports(wanted)
                if self._answers_for_problems:  # some servers say so only after their start
                    return {path: await self._pull_problems(path) for path in wanted}
                return {path: self._open[path].problems for path in wanted}
            finally:
                # Also after a cancellation, and without a pause: a later question must not see the old texts.
                for path in texts:
                    with contextlib.suppress(ServerFailed):
                        if (now := read_source(path)) is not None:
                            self._show(path, now)
                        else:
                            self._hide(path)

    async def _pull_problems(self, path: Path) -> list[ServerProblem]:
        params = {"textDocument": {"uri": path.as_uri()}}
        for attempt in range(3):
            try:
                report = await self._connection.request(_PULL_METHOD, params, DIAGNOSTICS_LIMIT_S)
                return list(_read_problems(_as_dict(report).get("items")))
            except RequestRefused as error:
                if error.code not in _RETRY_CODES or attempt == 2:
                    raise
                await asyncio.sleep(0.2)
        return []

    async def _await_reports(self, paths: Sequence[Path]) -> None:
        """Wait until the server has reported the problems of these files, or says that it wants to be asked."""
        files = [self._open[path] for path in paths]
        try:
            async with asyncio.timeout(DIAGNOSTICS_LIMIT_S):
                while not self._answers_for_problems and not all(map(self._is_reported, files)):
                    # clangd reports nothing for a text that is again the one it reported last: several changes at once
                    # are one to it.
                    are_known = all(self._is_reported(file) or file.text == file.reported_text for file in files)
                    await self._await_news(_SETTLE_S if are_known else None)
                    if are_known and not self._news.is_set():
                        break
                # The first report may be of the text before, or without types; others follow.
                while (
                    not self._answers_for_problems and (left_s := self._last_report + _SETTLE_S - time.monotonic()) > 0
                ):
                    await self._await_news(left_s)
        except TimeoutError:
            limit = DIAGNOSTICS_LIMIT_S
            raise ServerFailed(tr("it did not answer within {timeout_s:g} s", timeout_s=limit)) from None

    def _is_reported(self, file: _OpenFile) -> bool:
        return file.reported_version >= file.version or (file.reported_version < 0 and file.reports > 0)

    async def _await_news(self, limit_s: float | None) -> None:
        """Wait for a report, the end of loading, or the time limit. Raises ServerFailed if the server ends."""
        self._news.clear()
        tasks = [asyncio.ensure_future(event.wait()) for event in (self._news, self._connection.ended)]
        try:
            await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if self._connection.ended.is_set():
            raise ServerFailed(self.failure)

    async def _prepare(self, paths: Sequence[Path]) -> None:
        self.last_used = time.monotonic()
        await self._report_changes()
        await self._show_files(paths)
        if not self._is_ready and not self.found.spec.ready_text:
            self._is_ready = True
            end = time.monotonic() + _BEGIN_S
            while not self._loading and (left_s := end - time.monotonic()) > 0:
                await self._await_news(left_s)  # of any kind: a report may come before the loading
        try:
            async with asyncio.timeout(LOADING_LIMIT_S):
                while self._loading or not self._is_ready:
                    await self._await_news(None)
        except TimeoutError:
            # It is asked all the same, and not waited for again.
            self._loading.clear()
            self._is_ready = True

    async def find_locations(
        self, kind: Literal["definition", "references"], path: Path, line: int, column: int
    ) -> list[Location]:
        """Return where a name is defined or used. line, column: from 0, in UTF-16 units. Raises ServerFailed."""
        async with self._ask_alone():
            await self._prepare([path])
            if path not in self._open:
                raise ServerFailed(tr("the file is too large, or not text"))
            if kind == "references" and self.found.spec.file_list:
                await self._show_files_with_name(path, line, column)
            params: dict[str, Any] = {
                "textDocument": {"uri": path.as_uri()},
                "position": {"line": line, "character": column},
            }
            if kind == "references":
                params["context"] = {"includeDeclaration": True}
            result = await self._ask(f"textDocument/{kind}", params)
        places = _as_list(result) or [result]
        return sorted({place for entry in places[:MAX_LOCATIONS] if (place := _read_location(entry)) is not None})

    async def _show_files_with_name(self, path: Path, line: int, column: int) -> None:
        """Show the files that contain the name at this place to a server that has no list of the project's files."""
        row = split_source_lines(self._open[path].text)[line]
        offset = len(row.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore"))
        name = next((match[0] for match in _NAME.finditer(row) if match.start() <= offset < match.end()), "")
        paths = await asyncio.to_thread(self._find_files_with_name, name) if name else []
        if paths:
            await self._show_files(paths)
            with contextlib.suppress(ServerFailed):  # it is asked all the same, and fails then if it has ended
                await self._await_reports([other for other in paths if other in self._open])

    def _find_files_with_name(self, name: str) -> list[Path]:
        """Return up to 40 files that contain this word; none if the server has a list of the files."""
        folders = [folder for folder in (self.folder, *self.folder.parents) if folder.is_relative_to(self._root)]
        lists = [place / self.found.spec.file_list for folder in folders for place in (folder, folder / "build")]
        if any(map(Path.is_file, lists)):
            return []
        deadline = time.monotonic() + _WALK_LIMIT_S
        word = re.compile(rf"\b{re.escape(name)}\b")
        found: list[Path] = []
        for relative in walk_files(self._root, self.folder, hidden=False):
            if len(found) >= _MAX_SHOWN_FILES or time.monotonic() > deadline:
                break
            if relative.endswith(self.found.spec.suffixes):
                text = read_source(self.folder / relative)
                if text is not None and word.search(text):
                    found.append(self.folder / relative)
        return found

    async def list_symbols(self, path: Path) -> list[Symbol]:
        """Return the names that a file defines, in its order. Raises ServerFailed."""
        async with self._ask_alone():
            await self._prepare([path])
            if path not in self._open:
                raise ServerFailed(tr("the file is too large, or not text"))
            result = await self._ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
        found: list[Symbol] = []
        _read_symbols(result, path, 0, found)
        return sorted(found, key=lambda symbol: symbol.line)

    async def search_symbols(self, query: str, example: Path | None) -> list[Symbol]:
        """Return the names in the project that match. example: any file of the language. Raises ServerFailed."""
        async with self._ask_alone():
            # Some servers load a project only with its first file.
            await self._prepare([example] if example is not None else [])
            result = await self._ask("workspace/symbol", {"query": query})
        found: list[Symbol] = []
        for entry in map(_as_dict, _as_list(result)[:MAX_LOCATIONS]):
            if (place := _read_location(entry.get("location"))) is not None and (name := _as_name(entry.get("name"))):
                kind, container = _read_kind(entry.get("kind")), _as_name(entry.get("containerName"))
                found.append(Symbol(name=name, kind=kind, path=place.path, line=place.line, container=container))
        return found

    async def _ask(self, method: str, params: Any) -> Any:
        for attempt in range(3):
            try:
                return await self._connection.request(method, params, ANSWER_LIMIT_S)
            except RequestRefused as error:
                if error.code not in _RETRY_CODES or attempt == 2:
                    raise
                await asyncio.sleep(0.3)
        return None

    # Limits and end

    async def _watch(self) -> None:
        """End the server if it takes too much memory, or is not used."""
        while not self.failure:
            limit = min(MAX_MEMORY_BYTES, _get_machine_memory() // 3 or MAX_MEMORY_BYTES)
            idle_s = time.monotonic() - self.last_used
            if idle_s > _IDLE_END_S:
                self.was_idle = True
                self._connection.end(tr("it was idle"))
                return
            used = await asyncio.to_thread(measure_memory, self._connection.list_processes())
            if used > limit:
                reason = tr(
                    "it used {used} MB of memory, more than {limit} MB", used=used // 10**6, limit=limit // 10**6
                )
                self._connection.end(reason)
                return
            with contextlib.suppress(TimeoutError):
                pause_s = _WATCH_BUSY_S if idle_s < _WATCH_IDLE_S else _WATCH_IDLE_S
                await asyncio.wait_for(self._connection.ended.wait(), pause_s)

    async def close(self) -> None:
        """Ask the server to end, and end it and everything it started."""
        if self._watch_task is not None:
            self._watch_task.cancel()
        if not self.failure and self._capabilities:
            with contextlib.suppress(ServerFailed):
                await self._connection.request("shutdown", None, 0.5)
                self._connection.notify("exit", None)
        await self._connection.close()
        if self._tmp is not None:
            await asyncio.to_thread(remove_private_tmp, self._tmp)


def split_source_lines(text: str) -> list[str]:
    """Return the lines of a file as language servers count them; `str.splitlines` has further separators."""
    return _LINE_BREAKS.split(text)


def read_source(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist, is too large, or is not UTF-8."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def parse_uri(uri: object) -> Path | None:
    """Return the path that a file URI names, with links resolved; None for anything else."""
    if not isinstance(uri, str) or len(uri) > 10_000:
        return None
    try:
        parts = urlsplit(uri)
        text = unquote(parts.path)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in text:
            return None
        if os.name == "nt":
            text = text.lstrip("/")
        return Path(text).resolve()
    except (ValueError, OSError, RuntimeError):
        return None


def measure_memory(pids: Sequence[int]) -> int:
    """Return the memory of these processes in bytes; 0 where the system does not tell."""
    total = 0
    if not Path("/proc/self/statm").exists():
        return _measure_with_ps(pids)
    page = os.sysconf("SC_PAGE_SIZE")
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1:3]
            total += (int(resident) - int(shared)) * page
    return total


def _measure_with_ps(pids: Sequence[int]) -> int:
    if os.name == "nt" or not pids:
        return 0
    import subprocess

    names = ",".join(map(str, pids))
    try:
        done = subprocess.run(["ps", "-o", "rss=", "-p", names], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(int(line) * 1024 for line in done.stdout.split() if line.isdigit())


def _get_machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


# What servers send is data of any shape; whatever is not as the protocol has it is skipped.


def _as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _as_name(value: Any) -> str:
    return to_inert_line(value[:300]) if isinstance(value, str) else ""


def _get_section(settings: Mapping[str, Any], section: Any) -> Any:
    value: Any = settings
    for part in section.split(".")[:10] if isinstance(section, str) and section else ():
        value = _as_dict(value).get(part)
    return value


def _read_line(value: Any) -> int:
    line = _as_dict(_as_dict(value).get("start")).get("line")
    return line + 1 if isinstance(line, int) and 0 <= line < 10**9 else 0


def _read_location(value: Any) -> Location | None:
    fields = _as_dict(value)
    path = parse_uri(fields.get("uri") or fields.get("targetUri"))
    line = _read_line(fields.get("targetSelectionRange") or fields.get("range"))
    return Location(path=path, line=line) if path is not None and line else None


def _read_kind(value: Any) -> str:
    return _SYMBOL_KINDS.get(value, "") if isinstance(value, int) else ""


def _read_problems(value: Any) -> Iterable[ServerProblem]:
    for entry in map(_as_dict, _as_list(value)[:MAX_PROBLEMS]):
        severity, message, code = entry.get("severity", 1), entry.get("message"), entry.get("code")
        if severity not in (1, 2) or not isinstance(message, str):
            continue  # hints and information
        yield ServerProblem(
            line=_read_line(entry.get("range")),
            code=_as_name(code if isinstance(code, str) else f"{entry.get('source') or ''}{code}" if code else ""),
            message=to_inert_line(message.partition("\n")[0][:1_000]),
            is_error=severity == 1,
        )


def _read_symbols(value: Any, path: Path, depth: int, found: list[Symbol]) -> None:
    """Add the symbols of a document, nested ones after the symbol that contains them."""
    if depth > 10:
        return
    for entry in map(_as_dict, _as_list(value)):
        if len(found) >= MAX_LOCATIONS:
            return
        place = entry.get("selectionRange") or entry.get("range") or _as_dict(entry.get("location")).get("range")
        kind, name, line = _read_kind(entry.get("kind")), _as_name(entry.get("name")), _read_line(place)
        # Local variables of functions would hide the names that matter.
        is_local = kind in ("variable", "constant") and depth > 0
        if kind and name and line and not is_local:
            container = _as_name(entry.get("containerName"))
            found.append(Symbol(name=name, kind=kind, path=path, line=line, depth=depth, container=container))
        _read_symbols(entry.get("children"), path, depth + 1, found)
