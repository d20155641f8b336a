"""Runs checks side by side, each with a time of its own: a folder or a server that hangs is one line, not the end."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from clio.entrypoints.doctor.finding import Check, Finding, Ground, fix
from clio.errors import ClioError

T = TypeVar("T")
LIMIT_S = 5.0
"""For all checks together, as all begin at once."""
HANGS = "a disk or network folder may hang"


class Named(Struct, frozen=True, kw_only=True):
    """A check and what it is about. hint: what may be the matter where it does not end."""

    about: str
    check: Check
    hint: str = HANGS


class Look(Generic[T]):
    """Work in a thread of its own, which is left behind where it does not end."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done = threading.Event()
        self._found: list[T] = []
        self._error: Exception | None = None
        threading.Thread(target=self._carry_out, args=(work,), daemon=True).start()

    def wait(self, limit_s: float) -> T:
        """What it gave. Raises what it raised, and TimeoutError where that is not known in time."""
        if not self._done.wait(limit_s):
            raise TimeoutError(f"no answer within {limit_s:g} seconds")
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _carry_out(self, work: Callable[[], T]) -> None:
        try:
            self._found.append(work())
        except Exception as error:  # handed on to who waits
            self._error = error
        finally:
            self._done.set()


def run_all(checks: Sequence[Named], ground: Ground, limit_s: float) -> Iterator[Finding]:
    """What they find, in their order, as soon as it is known. limit_s: for all of them together."""
    begun = time.monotonic()
    looks = [(named, Look(lambda check=named.check: list(check(ground)))) for named in checks]
    for named, look in looks:
        try:
            yield from look.wait(max(begun + limit_s - time.monotonic(), 0.0))
        except TimeoutError:
            yield fix(named.about, f"no answer within {limit_s:g} seconds", named.hint)
        except (ClioError, OSError) as error:
            yield fix(named.about, str(error), "look there; the other lines do not depend on it")
