"""Default callbacks for long work: no progress report, never stop early."""

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Called with the number of items done and the total."""


def never_stop() -> bool:
    """Return False: the work is not to be stopped."""
    return False


def ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report."""


def do_nothing() -> None:
    """Do nothing."""
