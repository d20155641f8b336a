"""Notices a model that makes the same failing call again and again."""

from clio.messages import ToolCall, ToolMessage

LIMIT = 3


class RepetitionGuard:
    """Counts identical failing calls in a row, over the steps of one turn."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._last: tuple[str, str] | None = None
        self._count = 0

    def stuck(self, call: ToolCall, result: ToolMessage) -> bool:
        """Whether this result is the one too many."""
        key = (call.name, call.arguments)
        if result.ok:
            self._last, self._count = None, 0
            return False
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        return self._count >= self._limit
