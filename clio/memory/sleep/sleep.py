"""The door to sleep: one night at a time in a project, whoever asks for it, and what earlier nights did."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from clio.errors import StorageError, UserError
from clio.memory.sleep.ask_model import Ask
from clio.memory.sleep.ground import Ground, copied
from clio.memory.sleep.night import Night, Over, same_day
from clio.memory.sleep.report import By, Report, ReportLog
from clio.memory.sleep.state import read_state
from clio.sessions.store import SessionStore
from clio.storage.filelock import FileLock, read_owner

EXIT_BUDGET_S = 1.6
"""What a night may take when clio is left; what follows its end makes it two seconds at most."""


def never() -> bool:
    """A night that nobody ends."""
    return False


class Sleep:
    """The nights of one project.

    person: the folder of the person's memories. redact: applied to every text before it is stored.
    ask: puts a question to a model; None asks nobody.
    """

    def __init__(
        self,
        project: Path,
        person: Path,
        store: SessionStore,
        *,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self._project = project
        self._folder = project / ".clio"
        self._person = person
        self._store = store
        self._redact = redact
        self._clock = clock
        self._rng = rng or random.Random()
        self.ask: Ask | None = None
        self._log = ReportLog(self._folder / "sleep.log.jsonl")

    def is_due(self) -> bool:
        """Whether clio should sleep by itself: there are sessions, and no whole pass has ended today."""
        if not self._store.folder.is_dir():
            return False
        try:
            state, _ = read_state(self._folder / "sleep.json")
        except (StorageError, OSError):
            return False  # whoever sleeps by hand is told
        return not same_day(state.last_full, self._clock())

    def run(
        self,
        by: By = "hand",
        *,
        stop: Callable[[], bool] = never,
        budget_s: float | None = None,
        use_model: bool = False,
    ) -> Report:
        """Sleep until all is done, `stop` says so, or the time is up; all of it is one change to undo.

        use_model: whether a model may be asked once what it finds in the best turns.
        Raises UserError where another process sleeps over this project, NewerDocument, OSError.
        """
        if not self._folder.is_dir():
            return Report(at=self._clock(), by=by)
        lock = FileLock(self._folder / "sleep.lock")
        if not lock.acquire():
            owner = read_owner(lock.path)
            since = time.strftime("%H:%M", time.localtime(owner.timestamp))
            raise UserError(
                f"process {owner.pid} on {owner.hostname!r} sleeps over this project since {since}; try again when it "
                "is done, or read /memory log"
            )
        try:
            ground = self._ground(self._folder, self._person)
            began = time.strftime("%d %b %H:%M", time.localtime(self._clock()))
            with ground.undo.group(f"the sleep of {began}"):
                report = self._night(ground, stop, budget_s, self.ask if use_model else None).run(by)
            if report.did_anything:
                with suppress(OSError):  # what was done stands without its account
                    self._log.add(report)
            return report
        finally:
            lock.release()

    def dry_run(self, *, stop: Callable[[], bool] = never) -> Report:
        """What a night would do, found out on copies of the stores; nothing of the project or the person is written.

        No model is asked. Raises NewerDocument, OSError.
        """
        if not self._folder.is_dir():
            return Report(at=self._clock(), dry_run=True)
        with copied(self._folder, self._person) as (folder, person):
            night = self._night(self._ground(folder, person), stop, None, None)
            return night.run("hand", dry_run=True)

    def log(self, limit: int) -> tuple[Report, ...]:
        """The newest reports, the newest first. Raises OSError."""
        return self._log.last(limit)

    def _ground(self, folder: Path, person: Path) -> Ground:
        return Ground(self._project, folder, person, redact=self._redact, clock=self._clock)

    def _night(self, ground: Ground, stop: Callable[[], bool], budget_s: float | None, ask: Ask | None) -> Night:
        over = _over(stop, None if budget_s is None else time.monotonic() + budget_s)
        return Night(ground, self._store, rng=self._rng, over=over, ask=ask, clock=self._clock)


def _over(stop: Callable[[], bool], deadline: float | None) -> Over:
    """Why a night must end, which stays the reason once there is one."""
    reason: list[Literal["stopped", "time"]] = []

    def over() -> Literal["", "stopped", "time"]:
        if not reason and stop():
            reason.append("stopped")
        elif not reason and deadline is not None and time.monotonic() >= deadline:
            reason.append("time")
        return reason[0] if reason else ""

    return over
