"""One turn at a time in the shell: it can be stopped by a key, and what is typed meanwhile is not lost."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from clio.agent.events import Emit, Event, TurnFinished
from clio.entrypoints.repl_parts import Parts
from clio.errors import ClioError

if TYPE_CHECKING:
    from clio.ui.keys import KeyWatch


class Turns:
    """Runs turns and keeps what was typed during them.

    live: keys are watched one by one. Where the terminal gives whole lines only, Ctrl-C stops a turn as a signal, and
        what is typed waits in the terminal.
    watch: the keyboard watch of the running turn, None between turns. hotkeys: what further keys do meanwhile.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self.watch: KeyWatch | None = None
        self.hotkeys: dict[str, Callable[[], None]] = {}
        self._task: asyncio.Task[TurnFinished] | None = None
        self._said_its_end = False
        self._typed = ""

    async def run(self, parts: Parts, text: str) -> None:
        """Run a turn to its end, whatever that is. Cancelling the caller stops the turn first."""
        self._said_its_end = False
        self._task = task = asyncio.create_task(parts.app.run_turn(text))
        try:
            await (self._watched(parts, task) if self._live else asyncio.wait({task}))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._task = None
        if task.cancelled():  # after Esc nothing is sent by itself
            self._typed = self._typed.rstrip("\n")
        self._report(parts, task)

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._task is not None

    @property
    def is_typing(self) -> bool:
        """Whether something was typed during the last turn that waits to be read."""
        return bool(self._typed)

    def interrupt(self) -> None:
        """Stop the running turn; nothing where none runs."""
        if self._task is not None:
            self._task.cancel()

    def listening(self, emit: Emit) -> Emit:
        """The listener with an ear for the end of a turn."""

        def listen(event: Event) -> None:
            self._said_its_end = self._said_its_end or isinstance(event, TurnFinished)
            emit(event)

        return listen

    def take_sent(self) -> str:
        """What was typed during the last turn and ended with Enter; "" where nothing was."""
        sent, newline, rest = self._typed.rpartition("\n")
        if newline:
            self._typed = rest
        return sent.strip()

    def take_typed(self) -> str:
        """What was typed during the last turn and not ended."""
        typed, self._typed = self._typed, ""
        return typed.rstrip("\n")

    async def _watched(self, parts: Parts, task: asyncio.Task[TurnFinished]) -> None:
        from clio.ui.keys import KeyWatch

        self.watch = watch = KeyWatch(self.interrupt, on_text=parts.screen.set_typed, hotkeys=self.hotkeys)
        try:
            async with watch:
                await asyncio.wait({task})
        finally:
            self.watch = None
            self._typed += watch.take_text()

    def _report(self, parts: Parts, task: asyncio.Task[TurnFinished]) -> None:
        """Say how a turn ended that did not say it itself. Raises what is a bug."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ClioError):
            parts.screen.error(str(error))
        elif error is not None:
            raise error
        elif task.cancelled() and not self._said_its_end:
            parts.screen.note("interrupted")
