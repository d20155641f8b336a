"""A night that somebody asked for: it can be stopped at any time, and keeps what is done by then."""

from clio.commands.command import CommandResult, LongWork, Shell, SleepNow, Track
from clio.commands.memory.consolidation import night_result
from clio.errors import ClioError

LABEL = "sleeping"


def work_of(shell: Shell, step: SleepNow | LongWork) -> LongWork:
    """A night as work to be carried out like any other."""
    if isinstance(step, LongWork):
        return step
    return LongWork(label=LABEL, work=lambda track: sleep_now(shell, step, track))


def sleep_now(shell: Shell, step: SleepNow, track: Track) -> CommandResult:
    """One night by hand, or a dry run of one; for a thread. Raises UserError where another process sleeps.

    Raises ClioError where not all that was found could be written; what could be stays.
    """
    from clio.memory.sleep.sleep import dry_run, sleep

    nights = shell.memory.sleep
    if step.dry_run:
        return night_result(dry_run(nights, stop=track.stop, tell=track.tell))
    use_model = shell.config.sleep_use_model
    report = sleep(nights, "hand", stop=track.stop, use_model=use_model, tell=track.tell)
    if report.unkept:
        raise ClioError(f"{report.unkept} ({report.line})")
    return night_result(report)
