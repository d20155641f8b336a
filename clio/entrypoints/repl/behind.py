"""What is behind the line: made in a thread while the person types, and made anew when the folder is trusted."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from clio.config.command_line import Options
from clio.config.layers import load
from clio.config.loaded import Loaded
from clio.config.trust import grant_all
from clio.entrypoints.repl.parts import Parts

if TYPE_CHECKING:
    from clio.app import App


class Behind:
    """make: everything that is behind a line, for a configuration; may be called in a thread.

    welcome: awaited once, with the first of them, before anything else is done with it.
    failed: told of an error while they are made. parts: None until they are there.
    """

    def __init__(
        self,
        options: Options,
        loaded: Loaded,
        make: Callable[[Loaded], Parts],
        *,
        welcome: Callable[[Parts], Awaitable[None]],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.parts: Parts | None = None
        self._options = options
        self._loaded = loaded
        self._make = make
        self._welcome = welcome
        self._failed = failed
        self._loading: asyncio.Task[Parts] | None = None

    def app(self) -> "App | None":
        """The running clio; None until it is there."""
        return self.parts.app if self.parts else None

    def begin(self) -> asyncio.Task[Parts]:
        """Have it made, if it is not being made already."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
            self._loading.add_done_callback(self._ended)
        return self._loading

    async def ready(self) -> Parts:
        """What is there, once it is. Raises what making it raised."""
        loaded = await self.begin()
        return self.parts or loaded

    async def _load(self) -> Parts:
        self.parts = parts = await asyncio.to_thread(self._make, self._loaded)
        await self._welcome(parts)
        return parts

    def _ended(self, loading: asyncio.Task[Parts]) -> None:
        if not loading.cancelled() and (error := loading.exception()) is not None:
            self._failed(error)

    async def trust(self, old: Parts) -> None:
        """Store the trust, and go on in the same session with the configuration that follows from it."""
        grant_all(self._loaded)
        self._loaded = load(self._options, os.environ)
        new = self._make(self._loaded)
        session_id = old.app.session.id if old.app.session.messages else None
        await old.app.close()
        if session_id is not None:
            new.app.open_session(session_id)
        self.parts = new
        new.screen.note("trusted; the project's settings count from now on")
