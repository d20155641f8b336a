"""The language servers of one run of clio: started when first needed, restarted after a failure, ended with clio."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.lsp.catalog import (
    FoundServer,
    are_servers_trusted,
    find_server_root,
    find_servers,
    suggest_installation,
)
from clio.lsp.language_server import LanguageServer
from clio.lsp.rpc import ServerFailed
from clio.sandbox.sandbox import Confinement
from clio.text.translation import tr

MAX_RUNNING = 3
"""Servers that run at the same time; the one that was not used for longest is ended for another."""
_MAX_FAILURES = 3
_RETRY_S = 30.0
_FOUND_S = 10.0
"""Seconds for which the list of installed servers is used again."""


class ServerContext(Struct, frozen=True, kw_only=True):
    """What servers need from clio.

    Attributes:
        setting: the entries of the setting `language_servers`.
        root: the workspace.
        owner: the project folder for which the user grants trust; in a worktree, the folder of its main checkout.
        home: clio's own folder.
        warn: shows a warning to the user.
    """

    setting: tuple[str, ...]
    root: Path
    owner: Path
    home: Path
    confinement: Confinement
    warn: Callable[[str], None]


class _Failures(Struct):
    count: int = 0
    reason: str = ""
    at: float = 0.0


class LanguageServers:
    """Starts servers on demand, one for each kind and folder, and ends all of them in `close`."""

    def __init__(self, context: ServerContext) -> None:
        self.root = context.root
        self._context = context
        self._running: dict[tuple[str, Path], LanguageServer] = {}
        self._starts: dict[tuple[str, Path], asyncio.Task[LanguageServer]] = {}
        self._failures: dict[tuple[str, Path], _Failures] = {}
        self._found: list[FoundServer] = []
        self._found_at = float("-inf")
        self._is_trusted = False
        # Tasks of `begin`, which the event loop itself would not keep alive.
        self._opening: set[asyncio.Future[None]] = set()
        self._is_closed = False

    def list_found(self) -> list[FoundServer]:
        """Return the installed servers, including those that wait for trust. Blocks for some milliseconds."""
        context = self._context
        is_trusted = are_servers_trusted(context.owner, context.home)
        if is_trusted != self._is_trusted or time.monotonic() - self._found_at > _FOUND_S:
            self._found = find_servers(context.setting, context.root, is_trusted=is_trusted)
            self._found_at, self._is_trusted = time.monotonic(), is_trusted
        return self._found

    def find_for(self, suffix: str) -> FoundServer | None:
        """Return the server for files with this suffix; None if none is installed and may run. Blocks."""
        return next((found for found in self.list_found() if found.may_run and suffix in found.spec.suffixes), None)

    def explain_missing(self, suffixes: Iterable[str]) -> str:
        """Return why no server answers for these files, and what helps, for the model and the user. Blocks."""
        wanted = set(suffixes)
        waiting = [found.spec.name for found in self.list_found() if not wanted.isdisjoint(found.spec.suffixes)]
        if waiting:
            return tr(
                "{name} starts only after the user trusts the project: /trust, or clio config trust", name=waiting[0]
            )
        names = ", ".join(sorted(wanted))
        if install := suggest_installation(wanted):
            return tr("no language server for {names} files is installed: {install}", names=names, install=install)
        return tr("clio does not know a language server for {names} files", names=names)

    async def open_for(self, path: Path) -> LanguageServer:
        """Return the running server for a file; start it if needed. Raises ServerFailed."""
        found = await asyncio.to_thread(self.find_for, path.suffix)
        if found is None:
            raise ServerFailed(await asyncio.to_thread(self.explain_missing, (path.suffix,)))
        folder = await asyncio.to_thread(find_server_root, found.spec, self.root, path)
        key = (found.spec.name, folder)
        if (server := self._running.get(key)) is not None:
            if not server.failure:
                return server
            del self._running[key]
            if not server.was_idle:
                self._note_failure(key, server.failure)
            await server.close()
        if (start := self._starts.get(key)) is None:
            self._check_may_start(key)
            start = self._starts[key] = asyncio.create_task(self._start(key, found))
        return await asyncio.shield(start)  # cancelling one caller must not cancel the start for the others

    def begin(self, path: Path) -> None:
        """Start the server for a file in the background, because it will be needed soon."""

        async def open_quietly() -> None:
            try:
                await self.open_for(path)
            except ServerFailed:
                return  # the first lookup or check that needs this server reports it

        task = asyncio.ensure_future(open_quietly())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _check_may_start(self, key: tuple[str, Path]) -> None:
        if self._is_closed:
            raise ServerFailed(tr("clio is exiting"))
        failures = self._failures.get(key)
        if failures is not None and (
            failures.count >= _MAX_FAILURES or time.monotonic() - failures.at < _RETRY_S * failures.count
        ):
            raise ServerFailed(tr("{name}: {reason}", name=key[0], reason=failures.reason))

    async def _start(self, key: tuple[str, Path], found: FoundServer) -> LanguageServer:
        try:
            while len(self._running) >= MAX_RUNNING:
                oldest = min(self._running, key=lambda other: self._running[other].last_used)
                await self._running.pop(oldest).close()
            server = LanguageServer(found, self.root, key[1], self._context.confinement)
            try:
                await server.start()
            except ServerFailed as error:
                self._note_failure(key, str(error))
                raise ServerFailed(tr("{name}: {reason}", name=key[0], reason=error)) from None
            self._running[key] = server
            return server
        finally:
            self._starts.pop(key, None)

    def _note_failure(self, key: tuple[str, Path], reason: str) -> None:
        failures = self._failures.setdefault(key, _Failures())
        failures.count += 1
        failures.reason, failures.at = reason, time.monotonic()
        if failures.count == 1:
            name = key[0]
            self._context.warn(tr("language server {name}: {reason}", name=name, reason=reason))

    @property
    def running(self) -> Sequence[LanguageServer]:
        """The servers that run now."""
        return [server for server in self._running.values() if not server.failure]

    async def close(self) -> None:
        """End all servers, and those that are starting."""
        self._is_closed = True
        for task in (*self._opening, *self._starts.values()):
            task.cancel()
        starting = [*self._opening, *self._starts.values()]
        if starting:
            await asyncio.wait(starting)
        servers = list(self._running.values())
        self._running.clear()
        await asyncio.gather(*(server.close() for server in servers))
