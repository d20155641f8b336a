"""How much one result may hold: it follows the room that the window has left before the tool runs."""

_SHARE = 0.2
"""Of the free room, for one result."""
_STEP_SHARE = 0.6
"""Of the free room, for all results of one step."""
_ALWAYS_FREE = 0.25
"""Of the whole room: a trim before the next request makes at least this much."""
_LEAST_CHARS = 4_000


class PageSize:
    """Shared by the tools of one session and whoever runs them. most: never more characters than this."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chars = most

    @property
    def chars(self) -> int:
        """The most characters the next result may have."""
        return self._chars

    def fit(self, free: float, room: float, calls: int = 1) -> None:
        """Set the size for the calls of one step.

        Args:
            free: what the conversation leaves of the window, as a weight: about one for each character.
            room: the same for an empty conversation.
            calls: how many calls share it.
        """
        free = max(free, _ALWAYS_FREE * room)
        share = min(_SHARE * free, _STEP_SHARE * free / max(calls, 1))
        self._chars = min(self._most, max(int(share), _LEAST_CHARS))


def page_size(size: "int | PageSize") -> PageSize:
    """A fixed size as one that nothing changes; a PageSize as it is."""
    return PageSize(size) if isinstance(size, int) else size
