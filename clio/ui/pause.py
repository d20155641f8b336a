"""Hands the terminal over: drawing stops and the keys are let go while a question is asked or a pager is open."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Protocol

from clio.ui.typing.keys import KeyWatch

Suspended = Callable[[], AbstractAsyncContextManager[None]]


class Pausable(Protocol):
    """A screen that can stop drawing."""

    def suspended(self) -> AbstractContextManager[None]:
        """A context in which nothing is drawn."""
        ...


def suspended_both(screen: Pausable, keys: Callable[[], KeyWatch | None]) -> Suspended:
    """A factory of contexts in which neither the screen draws nor the keys are read.

    One at a time: a question waits until the pager is left. A task that has the terminal may ask for it again.
    keys: the watch of the running turn, or None where there is none.
    """
    free = asyncio.Lock()
    owner: asyncio.Task[object] | None = None

    @asynccontextmanager
    async def context() -> AsyncGenerator[None]:
        nonlocal owner
        task = asyncio.current_task()
        if owner is not None and owner is task:
            yield
            return
        async with free:
            owner = task
            try:
                async with handed_over():
                    yield
            finally:
                owner = None

    @asynccontextmanager
    async def handed_over() -> AsyncGenerator[None]:
        watch = keys()
        with screen.suspended():
            if watch is None:
                yield
            else:
                async with watch.suspended():
                    yield

    return context
