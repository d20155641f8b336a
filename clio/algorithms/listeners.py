"""Who is told how far long work is, and who is asked whether it is to end, where there is nobody."""

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
