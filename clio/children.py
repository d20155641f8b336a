"""Child processes that somebody stops waiting for while they are being started."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_Process = TypeVar("_Process")


async def started(start: Coroutine[Any, Any, _Process], end: Callable[[_Process], Awaitable[None]]) -> _Process:
    """What `start` gives; raises what it raises. Cancelled meanwhile, the process is waited for and given to `end`.

    asyncio alone would kill it outright: without the time to give its locks back, and without those it has started.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await end(await starting)
        raise
