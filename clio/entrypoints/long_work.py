"""Carries out what takes long, in a thread, with a progress bar, until it is stopped; and consolidation."""

import asyncio
import signal
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Protocol, TextIO

from clio.commands.command import CommandResult, LongWork, Shell, SleepNow, Track
from clio.commands.memory.commands import night_result
from clio.entrypoints.first_paint import can_draw
from clio.errors import ClioError


async def until_key(step: LongWork, *, draws: bool = True, aloud: bool = False) -> tuple[CommandResult, str]:
    """Run the work in the REPL until it is done or Esc or Ctrl-C stops it; return its result and the text typed.

    draws: whether the terminal can redraw a line. aloud: see `bar`. Cancelling the caller stops the work, too.
    Raises what the work raises.
    """
    from clio.ui.keyboard import KeyWatch

    stopped = threading.Event()
    try:
        with bar(step.label, sys.stdout if draws or aloud else None, "esc stops", aloud=aloud) as drawn:

            def stop() -> None:
                stopped.set()
                drawn.say("stopping")

            async with KeyWatch(stop) as watch:
                result = await asyncio.to_thread(step.work, Track(stop=stopped.is_set, tell=drawn.at))
    finally:
        stopped.set()  # cancelled: the thread must not keep the process
    return result, watch.take_text().rstrip("\n")


def until_interrupted(step: LongWork, *, aloud: bool = False) -> CommandResult:
    """Run the work on the command line until it is done or Ctrl-C stops it; return its result."""
    stopped = threading.Event()

    with bar(step.label, sys.stderr, "ctrl-c stops", aloud=aloud) as drawn:

        def stop(number: int, frame: object) -> None:
            stopped.set()
            drawn.say("stopping")

        before = signal.signal(signal.SIGINT, stop)
        try:
            # Not in this thread, which the signal could interrupt while it writes the progress line.
            with ThreadPoolExecutor(1) as worker:
                return worker.submit(step.work, Track(stop=stopped.is_set, tell=drawn.at)).result()
        finally:
            signal.signal(signal.SIGINT, before)


class Bar(Protocol):
    """Shows the progress of long work."""

    def at(self, done: int, total: int) -> None:
        """Show that `done` of `total` is done."""
        ...

    def say(self, hint: str) -> None:
        """Replace the hint on what a key does."""
        ...


class _NoBar:
    def at(self, done: int, total: int) -> None:
        pass

    def say(self, hint: str) -> None:
        pass


@contextmanager
def bar(
    label: str, stream: TextIO | None, hint: str, after_s: float | None = None, *, aloud: bool = False
) -> Generator[Bar]:
    """Draw a progress line once the work has taken `after_s`, and erase it at the end; nothing without a terminal.

    aloud: for a screen reader: the progress is printed in lines that stay.
    """
    if stream is None or not (stream.isatty() if aloud else can_draw(stream)):
        yield _NoBar()
        return
    if aloud:
        from clio.ui.reader.screen import SpokenProgress

        yield SpokenProgress(label, stream, hint=hint)
        return
    from clio.ui.turn_display import LONG_S, TerminalProgress

    progress = TerminalProgress(
        label,
        stream,
        width=lambda: get_terminal_size().columns,
        hint=hint,
        after_s=LONG_S if after_s is None else after_s,
    )
    try:
        yield progress
    finally:
        progress.at(1, 1)


LABEL = "sleeping"


def work_of(shell: Shell, step: SleepNow | LongWork) -> LongWork:
    """The work of a follow-up; a requested consolidation becomes `LongWork` like any other."""
    if isinstance(step, LongWork):
        return step
    return LongWork(label=LABEL, work=lambda track: sleep_now(shell, step, track))


def sleep_now(shell: Shell, step: SleepNow, track: Track) -> CommandResult:
    """Run one requested consolidation, or a dry run; for a thread.

    Raises:
        UserError: where another process consolidates.
        ClioError: where not everything found could be written; what was written is kept.
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
