"""`/loop`: one message, repeated while the session is open, until a limit, a turn that does not finish, or Esc."""

import asyncio
import time
from collections.abc import Callable

from clio.commands.command import RepeatMessage
from clio.text.formatting import MICROS_PER_DOLLAR, truncate_line
from clio.text.translation import tr
from clio.text.untrusted_text import unmark_pasted_text

_TEXT_CHARS = 40


class Repetition:
    """One message to be repeated, and how often it was.

    Args:
        get_cost: returns what the session has cost so far, in micro-dollars.
    """

    def __init__(self, wanted: RepeatMessage, get_cost: Callable[[], int], clock: Callable[[], float]) -> None:
        self.wanted = wanted
        self._get_cost = get_cost
        self._clock = clock
        self._ends_at = clock() + wanted.limit_s
        self._cost_at_start = get_cost()
        self.next_at = clock()
        self.count = 0

    @property
    def end_reason(self) -> str:
        """Why it must not run once more; "" if it may."""
        wanted = self.wanted
        if self.count >= wanted.times:
            return tr("{count} times", count=self.count)
        if self._clock() >= self._ends_at or self.next_at > self._ends_at:
            return tr("its time of {time} is up", time=format_interval(wanted.limit_s))
        if self._get_cost() - self._cost_at_start >= wanted.max_cost * MICROS_PER_DOLLAR:
            return tr("it has spent {max_cost:g} dollars", max_cost=wanted.max_cost)
        return ""

    def begin_run(self) -> None:
        """Count one more run."""
        self.count += 1

    def end_run(self) -> None:
        """Plan the next run: the interval begins at the end of one, so runs never overlap."""
        self.next_at = self._clock() + self.wanted.interval_s

    def describe(self) -> str:
        """Return its state for the status line."""
        left = max(self.next_at - self._clock(), 0.0)
        return tr(
            "loop {count}/{times} in {time}",
            count=self.count,
            times=self.wanted.times,
            time=format_interval(left),
        )


def format_interval(seconds: float) -> str:
    """Return a time to wait, without zeros behind it: "45 s", "10 min", "1 h 30 min"; whole minutes from one on."""
    if seconds < 60:
        return f"{round(seconds)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))


class RepetitionTimer:
    """Holds the repetition of the shell and tells when its next run is due.

    Args:
        on_due: called on the event loop when a run is due.
        tell: prints a line.
    """

    def __init__(self, on_due: Callable[[], None], tell: Callable[[str], None]) -> None:
        self._on_due = on_due
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self.active: Repetition | None = None

    @property
    def status(self) -> str:
        """The state for the status line; "" if nothing is repeated."""
        return self.active.describe() if self.active is not None else ""

    def start(self, wanted: RepeatMessage, get_cost: Callable[[], int]) -> None:
        """Repeat a message, in place of an earlier one; its first run is due at once."""
        self.active = Repetition(wanted, get_cost, time.monotonic)
        self._tell(
            tr(
                "repeats every {interval}, at most {times} times: {text} · Esc or /loop stop ends it",
                interval=format_interval(wanted.interval_s),
                times=wanted.times,
                text=truncate_line(unmark_pasted_text(wanted.text), _TEXT_CHARS),
            )
        )

    def stop(self, reason: str) -> None:
        """End the repetition; does nothing if nothing is repeated."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.active is not None:
            self.active = None
            self._tell(tr("loop ended: {reason}", reason=reason))

    def take_due(self) -> str:
        """Return the text of a run that is due now; "" if none is."""
        active = self.active
        if active is None or time.monotonic() < active.next_at:
            return ""
        if reason := active.end_reason:
            self.stop(reason)
            return ""
        active.begin_run()
        return active.wanted.text

    def end_run(self, *, done: bool) -> None:
        """Note that a run has ended. One that was stopped or failed ends the repetition."""
        active = self.active
        if active is None:
            return
        active.end_run()
        if not done:
            self.stop(tr("the turn did not finish"))
        elif reason := active.end_reason:
            self.stop(reason)

    def watch(self) -> None:
        """Call `on_due` when the next run is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.active is not None:
            left_s = max(self.active.next_at - time.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left_s, self._on_due)
