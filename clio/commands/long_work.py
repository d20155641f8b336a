"""Work a command asks for that may take a while: how it tells how far it is, and how it is told to stop."""

from collections.abc import Callable

from msgspec import Struct

from clio.algorithms.listeners import Tell, never, to_nobody


class Track(Struct, frozen=True, kw_only=True):
    """The two ends of a line to work in a thread.

    stop: whether it is to end; asked often, so it is quick. tell: told of how much is done, and of how much there is.
    """

    stop: Callable[[], bool] = never
    tell: Tell = to_nobody
