"""Slash commands in the shell: run, shown, and carried out, commits and pull requests among them."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, assert_never

from clio.commands.command import (
    Choose,
    ClearScreen,
    CommandResult,
    Confirm,
    EditText,
    ExportSession,
    FollowUp,
    GitWork,
    GrantTrust,
    LoadWindow,
    LongWork,
    NewSession,
    Prefill,
    Quit,
    ReviewPlan,
    RunPrompt,
    SetApproval,
    SetModel,
    SetTheme,
    SleepNow,
    SwitchSession,
    WaitFor,
)
from clio.commands.git_commands import describe_branch
from clio.commands.registry import run_command
from clio.commands.typed_line import MakeMeaning, MakePrompt
from clio.context.workspace_state import files_may_have_changed
from clio.entrypoints.committing import Committing
from clio.entrypoints.export_file import export
from clio.entrypoints.long_work import until_key, work_of
from clio.entrypoints.repl.parts import Behind, Parts
from clio.entrypoints.repl.start import recap
from clio.entrypoints.repl.theme import Colours
from clio.entrypoints.repl.turn import review_plan, review_proposed
from clio.errors import ClioError
from clio.storage.locks import cause
from clio.ui.keyboard_watch import KeyWatch
from clio.ui.line_keys import copy_sequence
from clio.ui.reviews import CommitReviewer
from clio.ui.terminal_handoff import edit_text
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine


_T = TypeVar("_T")
_QUIET_S = 0.5
"""Shorter work is not announced."""


async def carry_out(parts: Parts, step: GitWork) -> str:
    """Carry out /commit or /pr; return the text typed meanwhile. Raises ClioError, OSError."""
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
    """Copy the text a result offers to the terminal's clipboard, by OSC 52; do nothing without a terminal."""
    if result.copy and sys.stdout.isatty():
        sys.stdout.write(copy_sequence(result.copy))
        sys.stdout.flush()


class _Wait:
    """Waits until the work is done or Esc is pressed. note: prints a line. typed: the text typed meanwhile."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self.typed = ""

    async def on(self, label: str, work: Awaitable[_T]) -> _T | None:
        """Return the work's result; None where the user stopped it. Raises what the work raises."""
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


RunTurn = Callable[[Parts, str, MakeMeaning | None], Awaitable[None]]
"""Runs turns until no plan waits for review; none for an empty text. Further arguments: see `App.run_turn`."""


class Commands:
    """Runs slash commands and carries out their follow-ups.

    line: where the user is asked. prefill: puts a text on the next line.
    """

    def __init__(
        self,
        terminal: Terminal,
        line: "PromptLine | PlainLine",
        colours: Colours,
        behind: Behind,
        *,
        run_turn: RunTurn,
        prefill: Callable[[str], None],
    ) -> None:
        self._terminal = terminal
        self._line = line
        self._colours = colours
        self._behind = behind
        self._run_turn = run_turn
        self._prefill = prefill
        self._unsaved: str | None = None  # the last warning printed; turns print their own

    async def run(self, parts: Parts, line: str) -> bool:
        """Run the command of a line that begins with a slash; False to leave the REPL."""
        result = run_command(parts.app, line)
        self._show(parts, result)
        unsaved = parts.app.session.unsaved
        if unsaved and unsaved != self._unsaved:
            parts.screen.error(unsaved)
        self._unsaved = unsaved
        try:
            return result.follow_up is None or await self._follow(parts, result.follow_up)
        except (ClioError, OSError) as error:
            parts.screen.error(cause(error))
            return True
        finally:
            files_may_have_changed()

    async def go_on(self, parts: Parts) -> None:
        """Show how the opened session ended, and review a plan that waits for an answer."""
        parts.screen.note("\n".join(recap(parts.app.session)))
        await self._run_turn(parts, await review_proposed(parts, busy=False), None)

    def _show(self, parts: Parts, result: CommandResult) -> None:
        """Print a result, unless its table is about to be drawn as a list to choose from."""
        if not (isinstance(result.follow_up, Choose) and parts.desk.questions.live):
            parts.screen.show_result(result)

    async def _choose(self, parts: Parts, step: Choose) -> bool:
        questions = parts.desk.questions
        if not questions.live:
            return True
        async with parts.desk.suspended():
            chosen = await questions.row(step.title, step.table, step.values, step.start)
        return chosen is None or await self.run(parts, f"{step.then} {chosen}")

    async def _follow(self, parts: Parts, step: FollowUp) -> bool:
        """Carry out what a command asked for; False to leave the REPL."""
        app, screen, live, aloud = parts.app, parts.screen, self._terminal.live, self._terminal.aloud
        match step:
            case Quit():
                return False
            case ClearScreen():
                sys.stdout.write("\x1b[H\x1b[2J" if self._terminal.takes_keys else "")
                sys.stdout.flush()
            case SwitchSession(session_id=session_id):
                app.open_session(session_id)
                await self.go_on(parts)
            case NewSession(name=name):
                app.new_session(name)
                screen.note(f"new session{f' {name!r}' if name else ''}; earlier ones: /session list")
            case SetModel(name=name):
                app.set_model(name)
                screen.note(f"{app.provider.model} at {app.provider.name} answers from now on")
            case SetApproval(mode=mode):
                app.planning.set_mode(mode)
            case ReviewPlan():
                await self._run_turn(parts, await review_plan(parts), None)
            case RunPrompt(text=text):
                await self._run_turn(parts, text, None)
            case MakePrompt(said=said, make=make):
                await self._run_turn(parts, said, make)
            case GrantTrust():
                await self._behind.trust(parts)
            case LoadWindow(then=then):
                await app.window()
                return await self.run(parts, then)
            case Prefill(text=text):
                self._prefill(text)
            case EditText(text=text, then=then, suffix=suffix):
                if (edited := await asyncio.to_thread(edit_text, text, suffix)) is not None:
                    result = then(edited)
                    screen.show_result(result)
                    return result.follow_up is None or await self._follow(parts, result.follow_up)
            case ExportSession():
                screen.show_result(await asyncio.to_thread(export, app, step))
            case SetTheme(name=name):
                self._colours.choose_theme(parts, name)
            case SleepNow() | LongWork():
                result, typed = await until_key(work_of(app, step), draws=live, aloud=aloud)
                self._prefill(typed)
                screen.show_result(result)
            case GitWork():
                self._prefill(await carry_out(parts, step))
            case WaitFor(saying=saying, work=work):
                screen.note(f"{saying} …")
                result = await work()
                self._show(parts, result)
                return result.follow_up is None or await self._follow(parts, result.follow_up)
            case Choose():
                return await self._choose(parts, step)
            case Confirm(question=question, then=then, word=word):
                return not await self._line.confirm(question, word) or await self.run(parts, then)
            case _:
                assert_never(step)
        return True
