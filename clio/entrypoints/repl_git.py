"""What git commands ask of the shell: a commit made with the person, a text for a pull request, the clipboard."""

import asyncio
import sys
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from clio.commands.base import CommandResult
from clio.commands.called import GitWork
from clio.commands.git_pr import describe_branch
from clio.entrypoints.committing import Committing
from clio.entrypoints.long_work import bar
from clio.entrypoints.repl_parts import Parts
from clio.ui.clipboard import copy_sequence
from clio.ui.commit_review import CommitReviewer

_T = TypeVar("_T")


async def carry_out(parts: Parts, step: GitWork, *, draws: bool, aloud: bool) -> str:
    """Do what /commit and /pr ask for; what was typed meanwhile. Raises ClioError, OSError."""
    wait = _Wait(draws=draws, aloud=aloud)
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
    """Waits with a bar, until Esc. typed: what was typed meanwhile, for the next line."""

    def __init__(self, *, draws: bool, aloud: bool) -> None:
        self._draws = draws
        self._aloud = aloud
        self.typed = ""

    async def on(self, label: str, work: Awaitable[_T]) -> _T | None:
        """What the work gives; None where the person stopped it. Raises what it raises."""
        from clio.ui.keys import KeyWatch

        task = asyncio.ensure_future(work)

        def stop() -> None:
            task.cancel()

        try:
            with bar(label, sys.stdout if self._draws or self._aloud else None, "esc stops", aloud=self._aloud):
                async with KeyWatch(stop) as watch:
                    await asyncio.wait({task})
        finally:
            task.cancel()
        self.typed += watch.take_text().rstrip("\n")
        with suppress(asyncio.CancelledError):
            return task.result()
        return None
