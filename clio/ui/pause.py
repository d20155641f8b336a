"""Hands the terminal over: drawing stops and the keys are let go while a question is asked."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Protocol

from clio.ui.keys import KeyWatch

Suspended = Callable[[], AbstractAsyncContextManager[None]]


class Pausable(Protocol):
    """A screen that can stop drawing."""

    def suspended(self) -> AbstractContextManager[None]:
        """A context in which nothing is drawn."""
        ...


def suspended_both(screen: Pausable, keys: Callable[[], KeyWatch | None]) -> Suspended:
    """A factory of contexts in which neither the screen draws nor the keys are read.

    keys: the watch of the running turn, or None where there is none.
    """

    @asynccontextmanager
    async def context() -> AsyncGenerator[None]:
        watch = keys()
        with screen.suspended():
            if watch is None:
                yield
            else:
                async with watch.suspended():
                    yield

    return context
