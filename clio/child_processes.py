"""Starting child processes so that a cancelled caller leaves none behind."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_Process = TypeVar("_Process")


async def start_process(start: Coroutine[Any, Any, _Process], end: Callable[[_Process], Awaitable[None]]) -> _Process:
    """Await `start` and return its process. If cancelled meanwhile, wait for the process and pass it to `end`.

    asyncio alone would kill only the process itself, at once: it could not release its locks, and its children would
    keep running.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await end(await starting)
        raise
