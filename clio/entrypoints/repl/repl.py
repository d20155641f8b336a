"""The interactive shell: read a line, carry out a command or a turn, read the next line."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from clio.agent.user_interface import Notice
from clio.commands.command import is_command
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import user_home
from clio.context.message_parts import PendingInput
from clio.context.workspace_state import get_working_tree
from clio.entrypoints import first_paint
from clio.entrypoints.background_work import consolidate_at_exit, make_idle_consolidation, start_sync
from clio.entrypoints.repl.components import (
    BackgroundLoader,
    PromptGate,
    QuestionAtPrompt,
    ReplComponents,
    detect_this_terminal,
    handle_end_signals,
    handle_interrupts,
    make_components,
    make_printed_rows,
    make_prompt_line,
    print_resume_hint,
    warm_up,
)
from clio.entrypoints.repl.start import SessionResume, ask_yes_no_at_start, settle_trust
from clio.entrypoints.repl.theme import ThemeController
from clio.entrypoints.repl.turn import Turns, make_mode_cycler, review_proposed, run_read_only_command
from clio.errors import ClioError
from clio.messages import AssistantMessage
from clio.text.translation import tr
from clio.text.untrusted_text import unmark_pasted_text
from clio.ui.footer import SessionStatus
from clio.ui.history import LineHistory
from clio.ui.line_rules import describe_line_prefix, make_memory_command, parse_shell_line
from clio.ui.terminal_handoff import is_terminal_handed_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clio.app import App
    from clio.commands.command import ExpandCommand, RepeatMessage
    from clio.commands.feedback_commands import QuickRating
    from clio.entrypoints.repl.commands import CommandRunner
    from clio.entrypoints.repl.repetition import RepetitionTimer
    from clio.entrypoints.repl.user_programs import LastPager, TypedCommands
    from clio.memory.consolidation.learner import Suggestion


_APP_CHECK_S = 0.1  # between checks whether the app is loaded


class LineHints:
    """Reads lines that begin with `+`, `-` or `#`: ratings of the last answer, and text to remember.

    app: returns None until the app is loaded.
    """

    def __init__(self, app: "Callable[[], App | None]") -> None:
        self._app = app
        self._loads_commands = False

    def hint(self, text: str) -> str:
        """Return the hint for what Enter will do with the line; "" for a message."""
        rating = self._rating(text)
        return rating.hint if rating else describe_line_prefix(text)

    async def look_up(self, text: str) -> bool:
        """Load what completes and runs the command being typed; return whether there are new completions to offer."""
        if not self._loads_commands:
            self._loads_commands = True
            await asyncio.to_thread(import_module, "clio.entrypoints.repl.commands")
        early, model = self._app() is None, text.startswith("/model ")
        if not early and not model:
            return False
        while (app := self._app()) is None:  # noqa: ASYNC110  typed before the app is loaded
            await asyncio.sleep(_APP_CHECK_S)
        if not model:
            return True
        from clio.commands.settings_commands import ask_server

        return await ask_server(app)  # arguments, and commands that are not built in

    def command(self, text: str) -> str:
        """Return the slash command equivalent to the line; "" for a message."""
        if rating := self._rating(text):
            return rating.command
        return make_memory_command(text)

    def _rating(self, text: str) -> "QuickRating | None":
        """Return the rating that a line gives the last answer; None for a message, or if there is no answer."""
        app = self._app()
        if app is None or not text.startswith(("+", "-", "−")):
            return None
        from clio.commands.feedback_commands import parse_quick_rating

        messages = app.session.messages
        return parse_quick_rating(text) if messages and isinstance(messages[-1], AssistantMessage) else None


def run_repl(options: Options, loaded: LoadedConfig) -> int:
    """Run the REPL until the user leaves; return the exit code. Raises UserError if it cannot start."""
    try:
        repl = Repl(options, settle_trust(options, loaded, os.environ, ask_yes_no_at_start))
        session_id = repl.resuming.choose(options)
        first_paint.silence_terminal()
    except EOFError:
        sys.stdout.write("\n")
        return 0
    if not loaded.config.debug:
        # asyncio prints a warning into the screen for every child that had exited before it was killed.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
    try:
        return asyncio.run(repl.main(session_id))
    except asyncio.CancelledError:
        return 128 + repl.ended_by


class Repl:
    """One run of the REPL. ended_by: the number of the signal that ended it. resuming: opens an earlier session."""

    def __init__(self, options: Options, loaded: LoadedConfig) -> None:
        self.ended_by = 0
        self._loaded = loaded
        self._terminal = detect_this_terminal(loaded)
        self._colours = ThemeController(loaded, self._terminal)
        self._history = None if loaded.config.incognito else LineHistory(loaded.home / "history", loaded.project)
        self._history_problem: str | None = None
        self._first_start = self._history is not None and not self._history.path.exists()
        self._printed = make_printed_rows(self._terminal)
        self.resuming = SessionResume(loaded, self._terminal, self._printed)
        self._pending_input = PendingInput()
        self._behind = behind = BackgroundLoader(
            options,
            loaded,
            self._make_components,
            welcome=self._welcome,
            failed=self._stop_reading,
        )
        self._line_hints = LineHints(behind.app)
        self._facts = SessionStatus(loaded.config, loaded.project, behind.app)
        self._turns = Turns(live=self._terminal.can_read_keys, run_query=run_read_only_command)
        self._line = make_prompt_line(
            loaded,
            self._terminal,
            self._history,
            app=behind.app,
            facts=self._facts,
            line_hint=self._line_hints.hint,
            look_up=self._line_hints.look_up,
            pending_input=self._pending_input,
            held=self._turns.ahead,
            printed=self._printed,
        )
        self._turns.ahead.pastes = self._line.pastes
        self._gate = PromptGate(self._line, lambda: self._turns.running)
        self._notices: set[asyncio.Task[None]] = set()
        self._shift_report: asyncio.Task[None] | None = None
        self._prefill = ""
        self._line.bind_key("c-o", self._open_last)
        self._turns.before_end = self._wait_for_pager
        next_mode = make_mode_cycler(lambda: behind.parts, self._turns, self._line.announce_change)
        self._line.bind_key("s-tab", next_mode, in_menu=False)
        self._turns.hotkeys |= {"c-o": self._unfold_or_open, "c-t": self._toggle_reasoning, "s-tab": next_mode}
        self._idle = make_idle_consolidation(loaded.config, behind.app, self._tell, live=self._terminal.can_read_keys)

    # Most sessions need none of these three, or only one, so they are imported late.

    @cached_property
    def _commands(self) -> "CommandRunner":
        from clio.entrypoints.repl.commands import CommandRunner

        return CommandRunner(
            self._terminal,
            self._line,
            self._colours,
            self._behind,
            run_turn=self._run_turn,
            prefill=self._put_on_line,
            repeat=self._repeat,
            printed=self._printed,
        )

    @cached_property
    def _repetition(self) -> "RepetitionTimer":
        from clio.entrypoints.repl.repetition import RepetitionTimer

        timer = RepetitionTimer(self._begin_due_run, lambda text: self._announce(Notice(text=text)))
        self._facts.describe_repetition = lambda: timer.status
        self._line.bind_key("escape", lambda: timer.stop(tr("stopped")), when=lambda: timer.active is not None)
        return timer

    @property
    def _repeats(self) -> bool:
        """Whether a message is repeated; loads nothing if none was in this session."""
        return "_repetition" in self.__dict__ and self._repetition.active is not None

    def _repeat(self, parts: ReplComponents, wanted: "RepeatMessage | None") -> None:
        if wanted is None:
            if self._repeats:
                self._repetition.stop(tr("stopped"))
            else:
                parts.screen.print_note(tr("no message is repeated; /loop 10m TEXT repeats one every ten minutes"))
            return
        app = parts.app

        def get_cost() -> int:
            return app.spending.run_cost.micro_dollars

        self._repetition.start(wanted, get_cost)

    def _begin_due_run(self) -> None:
        self._gate.typed = self._line.stop_reading(QuestionAtPrompt(), erase=True) or self._gate.typed

    async def _run_due(self) -> bool:
        """Run the repeated message if it is due; return whether a line was carried out."""
        text = self._repetition.take_due() if self._repeats else ""
        if not text:
            return False
        parts = await self._behind.wait_until_loaded()
        parts.screen.show_user_message(unmark_pasted_text(text), is_new_turn=True)
        if is_command(text):
            await self._commands.run(parts, text)
            self._repetition.end_run(done=True)
        else:
            await self._run_turn(parts, text)
            self._repetition.end_run(done=self._turns.is_last_done)
        return True

    @cached_property
    def _typed_commands(self) -> "TypedCommands":
        from clio.entrypoints.repl.user_programs import TypedCommands

        return TypedCommands(live=self._terminal.can_read_keys)

    @cached_property
    def _pager(self) -> "LastPager":
        from clio.entrypoints.repl.user_programs import LastPager

        return LastPager(lambda: self._behind.parts, self._line, opens=not self._terminal.for_screen_reader)

    def _unfold_or_open(self) -> None:
        """Unfold what the turn shows last; open the pager if it is too tall, or there is nothing to unfold."""
        if (parts := self._behind.parts) is None or not parts.screen.toggle_fold():
            self._open_last()

    def _open_last(self) -> None:
        self._pager.open()

    async def _wait_for_pager(self) -> None:
        await self._pager.wait_until_closed()
        await self._gate.wait_until_free()

    def _announce(self, notice: Notice) -> None:
        """Show a notice of work in the background: in the turn that runs, or above the line being typed."""
        if (parts := self._behind.parts) is not None and self._turns.running:
            parts.app.conversation.ui.emit(notice)
        elif parts is not None and not self._line.is_reading:
            parts.screen.print_note(notice.text)
        else:
            task = asyncio.create_task(self._tell(notice.text))
            self._notices.add(task)
            task.add_done_callback(self._notices.discard)

    async def main(self, session_id: str | None) -> int:
        """Read and carry out lines until the user leaves."""
        self._end_on_signals()
        self._line.watch_keys(self._idle.note_key)
        self._line.watch_keys(get_working_tree(self._loaded.project).read_ahead)
        try:
            if not self.resuming.show(session_id):
                parts = await self._behind.wait_until_loaded()
                if session_id is not None:
                    self._catch_interrupts()
                    await self._commands.show_opened_session(parts)
            await self._ask_about_deferred_suggestions()
            while await self._step():
                if self._terminal.live:
                    sys.stdout.write("\n")
                if self._printed is not None:
                    self._printed.add("\n")
        finally:
            try:
                await self._leave()
            finally:
                if (parts := self._behind.parts) is not None:
                    parts.signals.close()
                self._colours.stop_asking()
        return 0

    async def _step(self) -> bool:
        """Read and carry out one line; False when it was the last."""
        self._catch_interrupts()
        ahead = self._turns.ahead
        if entered := ahead.take_next():
            text = ahead.pastes.expand_message(entered.text)
        else:
            if self._repeats and await self._run_due():
                return True
            typed, self._prefill = ahead.take_line() or self._prefill, ""
            try:
                await self._gate.wait_until_free()
                if self._repeats:
                    self._repetition.watch()
                with self._idle.watch_idle_time():
                    text = await self._line.read(
                        default=typed, on_start=first_paint.release_line, on_ready=self._on_prompt_ready
                    )
            except QuestionAtPrompt:
                await self._gate.wait_until_free()
                self._prefill = self._gate.take_typed()
                return True
            except EOFError:
                return False
            if not text:
                return True
        parts = await self._behind.wait_until_loaded()
        if sent := entered.text if entered else self._line.pop_erased_line():
            parts.screen.show_user_message(sent, is_new_turn=True)
        if entered and entered.is_message:
            await self._run_turn(parts, text)
            return True
        if command := text if is_command(text) else self._line_hints.command(text):
            return await self._commands.run(parts, command)
        if line := parse_shell_line(text):
            self._prefill = await self._typed_commands.run(parts, line)
            return True
        await self._run_turn(parts, text)
        return True

    async def _run_turn(self, parts: ReplComponents, text: str, expand: "ExpandCommand | None" = None) -> None:
        """Run a turn, and further ones while the user answers the plan it proposed."""
        while text:
            await self._turns.run(parts, text, expand)
            parts.app.begin_title(self._line.redraw)
            expand = None  # belongs to the first text only
            await self._ask_about_suggestions(parts)
            text = await review_proposed(parts, busy=self._turns.ahead.busy)
        problem = self._history.problem if self._history else None
        if problem and problem != self._history_problem:
            parts.screen.print_note(tr("warning: {problem}", problem=problem))
        self._history_problem = problem
        script_problems = (self._facts.problem, parts.signals.problem)
        self._facts.problem = ""
        for script_problem in filter(None, script_problems):
            parts.screen.print_note(tr("warning: {problem}", problem=script_problem))

    async def _ask_about_suggestions(self, parts: ReplComponents) -> None:
        """Ask about statements that may apply to this turn only: they are stored only if the user confirms them."""
        if not self._terminal.can_read_keys or self._turns.ahead.busy:
            parts.app.learner.defer_suggestions()
            return
        await self._ask_each(parts.app.learner.pop_suggestions())

    async def _ask_each(self, suggestions: "Sequence[Suggestion]") -> None:
        for question, save in suggestions:
            if await self._line.confirm(question):
                save()

    async def _ask_about_deferred_suggestions(self) -> None:
        """Ask about statements from runs that could not ask; called before the first line."""
        if self._terminal.can_read_keys and (self._loaded.home / "memories.pending.json").exists():
            parts = await self._behind.wait_until_loaded()
            await self._ask_each(parts.app.learner.pop_deferred_suggestions())

    def _on_prompt_ready(self) -> None:
        """Start what must not delay the prompt: the query for the background, and loading the components."""
        self._colours.ask_background(self._line)
        self._behind.begin()

    def _stop_reading(self, error: BaseException) -> None:
        self._line.stop_reading(error)

    def _put_on_line(self, text: str) -> None:
        self._prefill = text

    async def _welcome(self, parts: ReplComponents) -> None:
        """Give the loaded app the resumed session, print the start notices, and start background work."""
        app = parts.app
        self.resuming.hand_over(app)
        app.runtime.take_terminal, app.runtime.announce = self._gate.hold_terminal, self._announce
        if self._history is not None:
            self._history.use_redaction(lambda text: (self._behind.app() or app).redactor.redact(text).text)
        from clio.entrypoints.repl.welcome import render_welcome

        parts.signals.open()
        header, notes = await asyncio.to_thread(
            render_welcome,
            app,
            first=self._first_start,
            with_header=self._terminal.live and not app.session.messages and not self._terminal.for_screen_reader,
            user_home=user_home(os.environ),
        )
        # A message that was entered meanwhile is on the screen; the header would be below it. What only the first start
        # tells is a note then.
        if header and (self._line.is_reading or not self._terminal.live):
            await self._line.print_above(lambda: parts.screen.show_header(header))
        elif self._first_start:
            notes = [*header[1:-1], *notes]
        if notice := "\n".join([*notes, *filter(None, (self._colours.problem,))]):
            await self._line.print_above(lambda: parts.screen.print_note(notice))
        self._line.redraw()
        asyncio.get_running_loop().run_in_executor(None, warm_up, app, self._facts, self._line)
        start_sync(app.config, app.loaded.home, "on_start")
        # Referenced by an attribute, because asyncio itself holds tasks only weakly.
        self._shift_report = asyncio.create_task(self._report_preference_shifts(parts))

    async def _report_preference_shifts(self, parts: ReplComponents) -> None:
        """Print once how preferences have shifted, unless a turn already runs."""
        with contextlib.suppress(ClioError, OSError):  # the preference commands report what is wrong with the file
            if (lines := await asyncio.to_thread(parts.app.memory.take_shifts)) and not self._turns.running:
                await self._tell("\n".join(lines))

    def _make_components(self, loaded: LoadedConfig) -> ReplComponents:
        return make_components(
            loaded,
            self._terminal,
            watch=lambda: self._turns.watch,
            interrupt=self._turns.interrupt,
            wrap=self._turns.wrap_listener,
            pending_input=self._pending_input,
            facts=self._facts,
            printed=self._printed,
        )

    async def _tell(self, line: str) -> None:
        """Print a line above the one being typed."""
        if parts := self._behind.parts:
            await self._line.print_above(lambda: parts.screen.print_note(line))

    def _toggle_reasoning(self) -> None:
        if (parts := self._behind.parts) is not None:
            parts.screen.toggle_reasoning()

    def _catch_interrupts(self) -> None:
        """Make a Ctrl-C signal do what the key does. Questions remove the handler, so it is set again each time."""

        def interrupt() -> None:
            if is_terminal_handed_over():
                return  # Ctrl-C is for the pager or editor that has the terminal
            if self._typed_commands.stop():
                return
            if self._turns.running:
                self._turns.interrupt()
            else:
                self._line.handle_interrupt()

        handle_interrupts(interrupt)

    def _end_on_signals(self) -> None:
        main = asyncio.current_task()

        def end(number: int) -> None:
            self.ended_by = number
            if main is not None:
                main.cancel()

        handle_end_signals(end)

    async def _leave(self) -> None:
        """Close everything, the session first, and print how to resume it."""
        parts = self._behind.parts
        if parts is None:
            self.resuming.close()
            return
        app, screen = parts.app, parts.screen
        await self._idle.close()
        await app.close()
        if self._terminal.can_read_keys and not self.ended_by and (line := await consolidate_at_exit(app)):
            screen.print_note(line)
        start_sync(app.config, app.loaded.home, "on_exit")
        if not self.ended_by:
            print_resume_hint(app, screen)
