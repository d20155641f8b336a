"""Callbacks for long work where no one listens: progress reports, and the question whether to stop."""

from collections.abc import Callable

Tell = Callable[[int, int], None]
"""Is told of how much is done, and of how much there is."""


def never() -> bool:
    """Nobody ends it."""
    return False


def to_nobody(done: int, total: int) -> None:
    """Nobody is told."""


def nothing() -> None:
    """Nothing is done."""
