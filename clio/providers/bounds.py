"""How much one answer may hold, and how long it may say nothing: a server that never ends is let go of."""

from clio.providers.base import Chunk
from clio.providers.failure import Failure, TransportFailed

MAX_CHARS = 8_000_000
"""Of words, thoughts and arguments together; the longest answers of today's models have a tenth of it."""
MAX_CALLS = 500
MAX_EMPTY = 100_000
"""Events in a row that hold nothing."""
WITHOUT_WORDS_S = 1_800.0
"""Signs of life do not count: a server that sends nothing else would be waited for as long as it likes."""


class Bounds:
    """Counts one answer."""

    def __init__(self) -> None:
        self._chars = self._empty = 0

    def take(self, chunk: Chunk | None) -> None:
        """Count what an event held. Raises TransportFailed where it is more than an answer can be."""
        if chunk is None:
            self._empty += 1
            if self._empty > MAX_EMPTY:
                raise endless(f"{MAX_EMPTY:,} events in a row that hold nothing")
            return
        self._empty = 0
        self._chars += len(chunk.text) + len(chunk.reasoning)
        for call in chunk.tool_calls:
            self._chars += len(call.arguments)
            if call.index >= MAX_CALLS:
                raise endless(f"more than {MAX_CALLS:,} tool calls in one answer")
        if self._chars > MAX_CHARS:
            raise endless(f"more than {MAX_CHARS:,} characters in one answer")


def endless(what: str) -> TransportFailed:
    """The failure of an answer without an end. what: as in "sent …"."""
    return TransportFailed(Failure(kind="endless", detail=what))
