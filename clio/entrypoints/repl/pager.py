"""Ctrl-O: the whole output of the last call in the person's pager, at the prompt and while a turn runs."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from clio.commands.command import CommandResult
from clio.commands.context_commands import last_calls, whole_output
from clio.entrypoints.repl.parts import Parts
from clio.errors import ClioError
from clio.ui.lent import lent
from clio.ui.own_pager import page

if TYPE_CHECKING:
    from clio.ui.line.plain_line import PlainLine
    from clio.ui.line.prompt_line import PromptLine


class LastPager:
    """Opens one pager at a time. parts_of: None while clio is still being loaded.

    opens: False where a program that draws is of no use; then everything is printed.
    """

    def __init__(
        self, parts_of: Callable[[], Parts | None], line: "PromptLine | PlainLine", *, opens: bool = True
    ) -> None:
        self._parts_of = parts_of
        self._line = line
        self._opens = opens
        self._showing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the terminal belongs to the pager."""
        return self._showing is not None and not self._showing.done()

    async def until_left(self) -> None:
        """Return when nobody looks at anything any more."""
        if self._showing is not None:
            await asyncio.wait({self._showing})

    def open(self) -> None:
        """Show the output of the last call that is over; where there is no pager, print it."""
        parts = self._parts_of()
        if parts is not None and not self.is_open:
            self._showing = asyncio.get_running_loop().create_task(self._show(parts))

    async def _show(self, parts: Parts) -> None:
        session = parts.app.session
        try:
            calls = last_calls(session.messages)
            text = await asyncio.to_thread(whole_output, session, calls[-1]) if calls else ""
        except ClioError as error:
            said = str(error)
            await self._print(parts, lambda: parts.screen.error(said))
            return
        if not calls:
            await self._print(parts, lambda: parts.screen.note("there is no output to open: no call was made yet"))
            return
        head = f"{calls[-1].title} … {calls[-1].line}\n\n"
        shown: list[bool] = []
        if not self._opens:
            shown.append(False)
        elif self._line.is_reading:
            async with lent():
                await self._line.print_above(lambda: shown.append(page(head + text, os.environ)), in_thread=True)
        else:
            async with parts.suspended(), lent():
                shown.append(await asyncio.to_thread(page, head + text, os.environ))
        if not all(shown):
            await self._print(parts, lambda: parts.screen.show_result(CommandResult(verbatim=head + text)))

    async def _print(self, parts: Parts, show: Callable[[], None]) -> None:
        await self._line.print_above(show)
