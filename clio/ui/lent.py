"""The terminal lent to another program, a pager or an editor. What is pressed meanwhile is said to that program.

Such a program leaves Ctrl-C a signal, and the terminal sends it to all who share it: to clio as well.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_LATE_TURNS = 3
"""Turns of the event loop. A signal is heard one or two of them after the end of a program it came before: the end
is told to the loop directly, a signal through a socket the loop has to find readable."""
_borrowers: list[object] = []  # a process has one terminal


def is_lent() -> bool:
    """Whether Ctrl-C, where it comes as a signal, is another program's."""
    return bool(_borrowers)


@asynccontextmanager
async def lent() -> AsyncGenerator[None]:
    """A context in which another program has the terminal; signals sent before it ended are still heard within."""
    borrower = object()
    _borrowers.append(borrower)
    try:
        try:
            yield
        finally:
            for _ in range(_LATE_TURNS):
                await asyncio.sleep(0)
    finally:
        _borrowers.remove(borrower)
