"""One night at a time in a project, whoever asks for it; and what a night would do."""

import time
from collections.abc import Callable
from typing import Literal

from msgspec import structs

from clio.errors import UserError
from clio.memory.sleep.ground import Ground, copied
from clio.memory.sleep.night import Night, Over
from clio.memory.sleep.nights import Nights
from clio.memory.sleep.report import By, Report
from clio.storage.locks import FileLock, cause, next_step, read_owner
from clio.text.formatting import format_stored_time
from clio.text.listeners import Tell, never, to_nobody


def sleep(
    nights: Nights,
    by: By = "hand",
    *,
    stop: Callable[[], bool] = never,
    budget_s: float | None = None,
    use_model: bool = False,
    tell: Tell = to_nobody,
) -> Report:
    """Sleep until all is done, `stop` says so, or the time is up; all of it is one change to undo.

    use_model: whether a model may be asked once what it finds in the best turns. tell: told of how many turns are
    replayed, and of how many there may be.
    Raises UserError where another process sleeps over this project, NewerDocument, OSError.
    """
    if not nights.folder.is_dir():
        return Report(at=nights.clock(), by=by)
    lock = FileLock(nights.folder / "sleep.lock")
    if not lock.acquire():
        owner = read_owner(lock.path)
        since = format_stored_time("%H:%M", owner.timestamp, "an unknown time")
        raise UserError(
            f"process {owner.pid} on {owner.hostname!r} sleeps over this project since {since}; try again when it is "
            "done, or read /memory log"
        )
    try:
        ground = Ground(nights.project, nights.folder, nights.person, redact=nights.redact, clock=nights.clock)
        began = time.strftime("%d %b %H:%M", time.localtime(nights.clock()))
        deadline = None if budget_s is None else time.monotonic() + budget_s
        nights.begin()
        night = Night(
            ground,
            nights.store,
            rng=nights.rng,
            over=_over(stop, deadline),
            deadline=deadline,
            ask=nights.ask if use_model else None,
            clock=nights.clock,
            tell=tell,
        )
        with ground.undo.group(f"the sleep of {began}"):
            report = night.run(by)
        return _noted(nights, report)
    finally:
        lock.release()


def _noted(nights: Nights, report: Report) -> Report:
    """The report, written down; what was done stands without its account, and then it says that it has none."""
    if not report.did_anything:
        return report
    try:
        nights.log.add(report)
    except OSError as error:
        said = f"/memory log does not have this night: {cause(error)}; {next_step(error)}"
        trouble = report.trouble if report.unkept else (*report.trouble, said)
        return structs.replace(report, trouble=trouble, unkept=report.unkept or said)
    return report


def dry_run(nights: Nights, *, stop: Callable[[], bool] = never, tell: Tell = to_nobody) -> Report:
    """What a night would do, found out on copies of the stores; nothing of the project or the person is written.

    No model is asked. Raises NewerDocument, OSError.
    """
    if not nights.folder.is_dir():
        return Report(at=nights.clock(), dry_run=True)
    with copied(nights.folder, nights.person) as (folder, person):
        ground = Ground(nights.project, folder, person, redact=nights.redact, clock=nights.clock)
        night = Night(ground, nights.store, rng=nights.rng, over=_over(stop, None), clock=nights.clock, tell=tell)
        return night.run("hand", dry_run=True)


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
