"""Work a command asks for that may take a while: how it tells how far it is, and how it is told to stop."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.algorithms.listeners import Tell, never, to_nobody

if TYPE_CHECKING:  # which knows this room
    from clio.commands.base import CommandResult


class Track(Struct, frozen=True, kw_only=True):
    """The two ends of a line to work in a thread.

    stop: whether it is to end; asked often, so it is quick. tell: told of how much is done, and of how much there is.
    """

    stop: Callable[[], bool] = never
    tell: Tell = to_nobody


class LongWork(Struct, frozen=True, kw_only=True, tag="long_work"):
    """Carry this out in a thread, with a bar where it takes long, until it is done or a person stops it.

    label: what is done, such as "reading documents". work: keeps what is done when it is stopped; raises ClioError.
    """

    label: str
    work: "Callable[[Track], CommandResult]"
