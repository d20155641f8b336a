"""A clock that tests set."""


class Clock:
    """Returns `now`, in seconds since the epoch, which stays the same until a test sets it."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
