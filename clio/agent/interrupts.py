"""What a person says into a running turn: it waits here until the next request of that turn is made."""

from collections.abc import Callable


class Mailbox:
    """Words for the running turn, oldest first. Used on the event loop's thread only; kept in memory only.

    Where the turn ends before they could be sent they stay, for whoever ran the turn to take out.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """What has not been sent yet."""
        return tuple(self._waiting)

    def put(self, text: str) -> None:
        """Say something into the running turn; blank text says nothing."""
        if text.strip():
            self._waiting.append(text)

    def take_back(self) -> str:
        """The newest words, no longer to be sent; "" where none wait."""
        return self._waiting.pop() if self._waiting else ""

    def take(self) -> str:
        """The oldest words, which are no longer here then; "" where none wait."""
        return self._waiting.pop(0) if self._waiting else ""

    def take_all(self) -> list[str]:
        """All of it, which is no longer here then."""
        taken, self._waiting = self._waiting, []
        return taken


class StopOnce:
    """Lets the first request to stop through, and the next ones only after a second of waiting.

    A key that is pressed again in impatience must not cut short the cleaning up that the first one began.
    clock: seconds, only differences count.
    """

    AGAIN_S = 1.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_at: float | None = None

    def reset(self) -> None:
        """Something new runs."""
        self._asked_at = None

    def passes(self) -> bool:
        """Whether this request is to be carried out."""
        now = self._clock()
        if self._asked_at is not None and now - self._asked_at < self.AGAIN_S:
            return False
        self._asked_at = now
        return True
