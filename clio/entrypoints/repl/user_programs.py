"""Programs the user runs from the prompt: commands after `!`, and the pager."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from clio.commands.command import CommandResult
from clio.commands.context_commands import list_last_calls, read_whole_output
from clio.context.workspace_state import invalidate_working_trees
from clio.entrypoints.repl.components import ReplComponents
from clio.errors import ClioError, ToolFailed
from clio.text.translation import tr
from clio.ui.line_rules import ShellLine
from clio.ui.terminal_handoff import hand_over_terminal, show_in_pager

if TYPE_CHECKING:
    from clio.tools.shell.processes import RunningProcess
    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine


_PRINT_INTERVAL_S = 0.1
# A command that prints more, such as a build, would push the conversation out of the scrollback.
_MAX_PRINTED_LINES = 400
_LAST_PRINTED_LINES = 20  # of a longer output, printed when the command has ended


class TypedCommands:
    """Runs `!` commands, one at a time.

    live: keys are watched; otherwise Ctrl-C arrives as a signal and calls `stop`.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._task: asyncio.Task[RunningProcess] | None = None

    def stop(self) -> bool:
        """Stop the running command and everything it started; False if none runs."""
        if self._task is None:
            return False
        self._task.cancel()
        return True

    def _interrupt(self) -> None:
        self.stop()

    async def run(self, parts: ReplComponents, line: ShellLine) -> str:
        """Run the command, print its output as it arrives, and return the text typed meanwhile."""
        from clio.ui.keyboard import KeyWatch

        shown = _OutputDisplay(parts)
        self._task = task = asyncio.create_task(_run(parts, line.command, shown))
        watch = KeyWatch(self._interrupt) if self._live else None
        try:
            if watch is not None:
                async with watch:
                    await asyncio.wait({task})
            else:
                await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._task = None
            invalidate_working_trees()  # the command may have changed files that the status line shows
        _report(parts, line, task, shown)
        return watch.pop_text() if watch is not None else ""


class _OutputDisplay:
    """Prints a command's output as it arrives, and keeps track of how much is printed."""

    def __init__(self, parts: ReplComponents) -> None:
        self._parts = parts
        self._offset = 0
        self._lines = 0
        self._held: list[str] = []
        self._partial = ""  # the last line while it has no end yet
        self._has_printed = False
        self.process: RunningProcess | None = None

    @property
    def text(self) -> str:
        """Return the whole output; the middle of a very long one is omitted."""
        return self.process.output.text().strip("\n") if self.process else ""

    def more(self, *, is_end: bool = False) -> None:
        """Print the lines that were completed since the last call; at the end also what is left of the last one."""
        if self.process is None or (self.process.output.total_chars == self._offset and not is_end):
            return
        text = self._partial + self.process.output.text_from(self._offset)
        self._offset = self.process.output.total_chars
        end = len(text) if is_end else text.rfind("\n") + 1
        text, self._partial = text[:end], text[end:]
        if not text:
            return
        lines = text.removesuffix("\n").split("\n")
        room = max(_MAX_PRINTED_LINES - self._lines, 0)
        self._lines += len(lines)
        if lines[:room]:
            self._print(lines[:room])
        self._held = [*self._held, *lines[room:]][-_LAST_PRINTED_LINES:]

    def end(self) -> None:
        """Print the end of an output that was too long to print whole."""
        self.more(is_end=True)
        left_out = self._lines - _MAX_PRINTED_LINES - len(self._held)
        if left_out > 0:
            self._parts.screen.print_note(tr("… {left_out:,} lines not shown", left_out=left_out))
        if self._held:
            self._print(self._held)

    def _print(self, lines: list[str]) -> None:
        from clio.commands.command import CommandResult

        self._parts.screen.show_result(CommandResult(verbatim="\n".join(lines)), continues=self._has_printed)
        self._has_printed = True


async def _run(parts: ReplComponents, command: str, shown: _OutputDisplay) -> "RunningProcess":
    from clio.tools.shell.processes import CANCEL_GRACE_S, start_command_process

    for sentence in await asyncio.to_thread(parts.app.sandbox.describe_trouble):
        parts.screen.print_note(sentence)  # a job may have left a hook that this command would run
    process = shown.process = await start_command_process(command, parts.app.workspace.root)
    waiting = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({waiting}, timeout=_PRINT_INTERVAL_S))[0]:
            shown.more()
        await waiting
    except asyncio.CancelledError:
        await process.stop(CANCEL_GRACE_S)
        raise
    finally:
        waiting.cancel()
    return process


def _report(
    parts: ReplComponents, line: ShellLine, task: "asyncio.Task[RunningProcess]", shown: _OutputDisplay
) -> None:
    """Print how the command ended, and save its output for the next message if `line` asks for it."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        if not isinstance(error, ToolFailed):
            raise error
        parts.screen.print_error(str(error))
        return
    shown.end()
    process = shown.process
    state = tr("stopped by the user") if task.cancelled() or process is None else _describe_exit(process)
    if line.is_output_shared:
        parts.app.pending_input.add_command_output(line.command, state, shown.text)
    hint = tr(" · included in your next message (use !! to keep it out)") if line.is_output_shared else ""
    parts.screen.print_note(f"{state}{hint}")


def _describe_exit(process: "RunningProcess") -> str:
    return process.describe_end() + (tr("; processes it left running were stopped") if process.left_behind else "")


class LastPager:
    """Shows the whole output of the last tool call in the user's pager, one pager at a time.

    Args:
        parts_of: returns None while the app is being loaded.
        opens: False for a screen reader; then the output is printed.
    """

    def __init__(
        self, parts_of: Callable[[], ReplComponents | None], line: "PromptLine | PlainLine", *, opens: bool = True
    ) -> None:
        self._parts_of = parts_of
        self._line = line
        self._opens = opens
        self._showing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the pager has the terminal."""
        return self._showing is not None and not self._showing.done()

    async def wait_until_closed(self) -> None:
        """Wait until the pager is closed."""
        if self._showing is not None:
            await asyncio.wait({self._showing})

    def open(self) -> None:
        """Show the output of the last finished call; print it if there is no pager."""
        parts = self._parts_of()
        if parts is not None and not self.is_open:
            self._showing = asyncio.get_running_loop().create_task(self._show(parts))

    async def _show(self, parts: ReplComponents) -> None:
        session = parts.app.session
        try:
            calls = list_last_calls(session.messages)
            text = await asyncio.to_thread(read_whole_output, session, calls[-1]) if calls else ""
        except ClioError as error:
            message = str(error)  # Python deletes `error` when the handler ends, and the lambda runs later
            await self._print(parts, lambda: parts.screen.print_error(message))
            return
        if not calls:
            await self._print(
                parts, lambda: parts.screen.print_note(tr("no output to open: no tool has been called yet"))
            )
            return
        head = f"{calls[-1].title} … {calls[-1].line}\n\n"
        shown: list[bool] = []
        if not self._opens:
            shown.append(False)
        elif self._line.is_reading:
            async with hand_over_terminal():
                await self._line.print_above(
                    lambda: shown.append(show_in_pager(head + text, os.environ)), in_thread=True
                )
        else:
            async with parts.suspended(), hand_over_terminal():
                shown.append(await asyncio.to_thread(show_in_pager, head + text, os.environ))
        if not all(shown):
            await self._print(parts, lambda: parts.screen.show_result(CommandResult(verbatim=head + text)))

    async def _print(self, parts: ReplComponents, show: Callable[[], None]) -> None:
        await self._line.print_above(show)
