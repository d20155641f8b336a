"""Runs checks side by side, each with a time of its own: a folder or a server that hangs is one line, not the end."""

import threading
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clio.entrypoints.doctor.finding import Check, Finding, Ground, fix
from clio.errors import ClioError

LIMIT_S = 5.0
"""For all checks together, as all begin at once."""


class Named(Struct, frozen=True, kw_only=True):
    """A check and what it is about. hint: what may be the matter where it does not end."""

    about: str
    check: Check
    hint: str = "a disk or network folder may hang"


class _Look:
    """One check in a thread of its own, which is left behind where it does not end."""

    def __init__(self, check: Check, ground: Ground) -> None:
        self._done = threading.Event()
        self._found: list[Finding] = []
        self._error: Exception | None = None
        threading.Thread(target=self._work, args=(check, ground), daemon=True).start()

    def findings(self, about: str, limit_s: float) -> list[Finding] | None:
        """What was found; None where that is not known in time. Raises what is a bug of the check."""
        if not self._done.wait(limit_s):
            return None
        match self._error:
            case None:
                return self._found
            case ClioError() | OSError() as error:
                return [*self._found, fix(about, str(error), "look there; the other lines do not depend on it")]
            case error:
                raise error

    def _work(self, check: Check, ground: Ground) -> None:
        try:
            self._found.extend(check(ground))
        except Exception as error:  # handed on to who asked for it
            self._error = error
        finally:
            self._done.set()


def run_all(checks: Sequence[Named], ground: Ground, limit_s: float = LIMIT_S) -> Iterator[Finding]:
    """What they find, in their order, as soon as it is known."""
    begun = time.monotonic()
    looks = [(named, _Look(named.check, ground)) for named in checks]
    for named, look in looks:
        found = look.findings(named.about, max(begun + limit_s - time.monotonic(), 0.0))
        yield from [fix(named.about, f"no answer within {limit_s:g} seconds", named.hint)] if found is None else found
