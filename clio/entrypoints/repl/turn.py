"""One turn at a time in the shell: it can be stopped by a key, steered by words, and what is typed is not lost."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import structs

from clio.agent.events import Emit, Event, Steered, StepFinished, TurnFinished
from clio.agent.interrupts import StopOnce
from clio.entrypoints.repl.parts import Parts
from clio.entrypoints.typed_ahead import Ahead
from clio.errors import ClioError

if TYPE_CHECKING:
    from clio.commands.typed_line import MakeMeaning
    from clio.ui.line.chips import Chips
    from clio.ui.typing.keys import KeyWatch

Wait = Callable[[], Awaitable[None]]
Look = Callable[[Parts, str], bool]
"""Carries out a command that only looks; False where more than showing its result is asked for."""


class Turns:
    """Runs turns, and hands on what was typed during them.

    live: keys are watched one by one. Where the terminal gives whole lines only, Ctrl-C stops a turn as a signal, and
        what is typed waits in the terminal.
    watch: the keyboard watch of the running turn, None between turns. hotkeys: what further keys do meanwhile.
    ahead: what was typed. before_end: awaited when a turn is over, before the keyboard goes back to the line.
    """

    def __init__(self, *, live: bool, look: Look) -> None:
        self._live = live
        self._look = look
        self.watch: KeyWatch | None = None
        self.hotkeys: dict[str, Callable[[], None]] = {}
        self.before_end: Wait | None = None
        self.ahead = Ahead()
        self._parts: Parts | None = None
        self._chips: Chips | None = None
        self._task: asyncio.Task[TurnFinished] | None = None
        self._stop = StopOnce(time.monotonic)
        self._end: TurnFinished | None = None

    async def run(self, parts: Parts, text: str, make: "MakeMeaning | None" = None) -> None:
        """Run a turn to its end, whatever that is. Cancelling the caller stops the turn first.

        make: see `App.run_turn`.
        """
        self._end, self._parts = None, parts
        self._stop.reset()
        self.ahead.begin(parts.app.mailbox)
        self._task = task = asyncio.create_task(parts.app.run_turn(text, make))
        try:
            await (self._watched(parts, task) if self._live else asyncio.wait({task}))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._task = None
            self.ahead.end(done=self._end is not None and self._end.status == "done")
        self._report(parts, task)

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._task is not None

    def interrupt(self) -> None:
        """Stop the running turn; nothing where none runs, or where it has just been asked to stop."""
        if self._task is not None and self._stop.passes():
            self._task.cancel()

    def listening(self, emit: Emit) -> Emit:
        """The listener with an ear for what concerns the typed text."""

        def listen(event: Event) -> None:
            match event:
                case TurnFinished():
                    self._end = event
                case Steered():
                    self.ahead.delivered()
                    self._show()
                case StepFinished():
                    asyncio.get_running_loop().call_soon(self._look_now)
                case _:
                    pass
            emit(event)

        return listen

    def _look_now(self) -> None:
        """Carry out the commands that waited for the end of the step."""
        parts = self._parts
        while parts is not None and self.running and (line := self.ahead.take_look()):
            if not self._look(parts, line):
                self.ahead.put_first(line)
            self._show()

    def _show(self) -> None:
        if self._parts is not None and self.running:
            typing = self.ahead.typing()
            if self._chips is not None:
                typing = structs.replace(typing, chips=tuple(self._chips.of(self.ahead.line.text)))
            self._parts.screen.set_typed(typing)

    async def _watched(self, parts: Parts, task: asyncio.Task[TurnFinished]) -> None:
        from clio.ui.line.chips import Chips
        from clio.ui.typing.keys import KeyWatch
        from clio.ui.typing.typed_keys import TypedKeys

        ahead = self.ahead
        self._chips = self._chips or Chips(parts.app.project)
        typed = TypedKeys(
            ahead.line,
            on_enter=ahead.enter,
            on_up=ahead.edit_last,
            on_key=ahead.other_key,
            paste=ahead.pastes.take,
        )
        self.watch = KeyWatch(
            self.interrupt, typed=typed, on_change=self._show, hotkeys=self.hotkeys, write=_to_terminal
        )
        try:
            self._show()
            async with self.watch:
                await asyncio.wait({task})
                if self.before_end is not None:
                    await self.before_end()
        finally:
            self.watch = None

    def _report(self, parts: Parts, task: asyncio.Task[TurnFinished]) -> None:
        """Say how a turn ended that did not say it itself. Raises what is a bug."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ClioError):
            parts.screen.error(str(error))
        elif error is not None:
            raise error
        elif task.cancelled() and self._end is None:
            parts.screen.note("interrupted")


def look(parts: Parts, line: str) -> bool:
    """Carry out a command that only looks, while a turn runs; False where it asks for more than to be shown."""
    from clio.commands.registry import run_command

    result = run_command(parts.app, line)
    if result.follow_up is not None:
        return False
    parts.screen.note(f"› {line}")
    parts.screen.show_result(result)
    return True


def _to_terminal(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()
