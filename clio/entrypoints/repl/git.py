"""What git commands ask of the shell: a commit made with the person, a text for a pull request, the clipboard."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from clio.commands.command import CommandResult, GitWork
from clio.commands.git_commands import describe_branch
from clio.entrypoints.committing import Committing
from clio.entrypoints.repl.parts import Parts
from clio.ui.asking.commit_review import CommitReviewer
from clio.ui.line.clipboard import copy_sequence
from clio.ui.typing.keys import KeyWatch

_T = TypeVar("_T")
_QUIET_S = 0.5
"""Work that is over sooner is not spoken of."""


async def carry_out(parts: Parts, step: GitWork) -> str:
    """Do what /commit and /pr ask for; what was typed meanwhile. Raises ClioError, OSError."""
    wait = _Wait(parts.screen.note)
    if step.kind == "commit":
        await Committing(parts.app, CommitReviewer(parts.desk), wait.on).run(step.words)
    else:
        result = await wait.on("writing the text", describe_branch(parts.app, step.words, step.file))
        if result is None:
            parts.screen.note("stopped")
        else:
            parts.screen.show_result(result)
            copy(result)
    return wait.typed


def copy(result: CommandResult) -> None:
    """Put the text a result offers on the terminal's clipboard, by OSC 52; nothing where there is no terminal."""
    if result.copy and sys.stdout.isatty():
        sys.stdout.write(copy_sequence(result.copy))
        sys.stdout.flush()


class _Wait:
    """Waits until the work is done or Esc is pressed. note: prints a line. typed: what was typed meanwhile."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self.typed = ""

    async def on(self, label: str, work: Awaitable[_T]) -> _T | None:
        """What the work gives; None where the person stopped it. Raises what it raises."""
        task = asyncio.ensure_future(work)

        def stop() -> None:
            task.cancel()

        try:
            async with KeyWatch(stop) as watch:
                done, _ = await asyncio.wait({task}, timeout=_QUIET_S)
                if not done:
                    self._note(f"{label} … esc stops")
                    await asyncio.wait({task})
        finally:
            task.cancel()
        self.typed += watch.take_text().rstrip("\n")
        with suppress(asyncio.CancelledError):
            return task.result()
        return None
