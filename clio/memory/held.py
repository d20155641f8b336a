"""The time for which something was so, whichever store knows it. Pure."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct


class Held(Struct, frozen=True, kw_only=True):
    """What was so from `since` up to, but not including, `until`; None: it still is.

    since: 0.0 where the file does not say. because: why it ended, empty while it holds.
    left: the thing itself went, and not only this version of it.
    """

    since: float
    until: float | None = None
    because: str = ""
    left: bool = False

    def held_at(self, at: float) -> bool:
        """Whether it was so at that time, in seconds since the epoch."""
        return self.since <= at and (self.until is None or at < self.until)


V = TypeVar("V", bound=Held)


def in_force(versions: Iterable[V], at: float, id_of: Callable[[V], str]) -> list[V]:
    """The version that held at a time, of each thing that was there; a change that was undone counts as never made."""
    found: dict[str, V] = {}
    for version in versions:
        if version.because == "undone" or not version.held_at(at):
            continue
        before = found.get(id := id_of(version))
        if before is None or version.since >= before.since:
            found[id] = version
    return list(found.values())
