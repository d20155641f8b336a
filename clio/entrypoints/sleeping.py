"""Carries out a night that somebody asked for: it can be stopped at any time, and keeps what is done by then."""

import asyncio
import signal
import threading
from collections.abc import Callable

from clio.commands.base import CommandResult, Shell, SleepNow
from clio.commands.memory_sleep import night_result


def sleep_now(shell: Shell, step: SleepNow, stop: Callable[[], bool]) -> CommandResult:
    """One night by hand, or a dry run of one; for a thread. Raises UserError where another process sleeps."""
    from clio.memory.sleep.sleep import dry_run, sleep

    nights = shell.memory.sleep
    if step.dry_run:
        return night_result(dry_run(nights, stop=stop))
    return night_result(sleep(nights, "hand", stop=stop, use_model=shell.config.sleep_use_model))


def sleep_until_interrupted(shell: Shell, step: SleepNow) -> CommandResult:
    """The same on the command line; Ctrl-C ends the night, and its result still is one."""
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        return sleep_now(shell, step, stopped.is_set)
    finally:
        signal.signal(signal.SIGINT, before)


async def sleep_until_key(shell: Shell, step: SleepNow) -> tuple[CommandResult, str]:
    """The same in the shell, where Esc or Ctrl-C ends the night; and what was typed meanwhile."""
    from clio.ui.keys import KeyWatch

    stopped = threading.Event()
    async with KeyWatch(stopped.set) as watch:
        result = await asyncio.to_thread(sleep_now, shell, step, stopped.is_set)
    return result, watch.take_text().rstrip("\n")
