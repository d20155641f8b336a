"""The shell: a line is read, a command or a turn is carried out, and the next line is read.

The line can be typed on before the rest of clio is imported: that happens in a thread while the person types.
"""

import asyncio
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, assert_never

from clio.agent.events import Event, TurnFinished
from clio.commands.base import (
    ClearScreen,
    Confirm,
    FollowUp,
    GrantTrust,
    NewSession,
    Quit,
    RunPrompt,
    SetApproval,
    SetModel,
    SwitchSession,
)
from clio.commands.registry import is_command, run_command
from clio.commands.session_commands import id_length
from clio.config.layers import load
from clio.config.loaded import Loaded
from clio.config.options import Options, with_prompt
from clio.config.paths import user_home
from clio.config.trust import grant_all
from clio.entrypoints import first_paint
from clio.entrypoints.repl_start import choose_session, recap, settle_trust, welcome
from clio.errors import ClioError, UsageError
from clio.ui.theme import detect_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clio.app import App
    from clio.ui.keys import KeyWatch
    from clio.ui.pipe_screen import PipeScreen
    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine
    from clio.ui.screen import Screen

_TYPING_S = 1.0  # somebody who typed this recently may hit a question's key by accident


def run(options: Options, loaded: Loaded) -> int:
    """Run the shell until the person leaves; returns the exit code.

    What is piped into it is one prompt, as with `-p`. Raises UserError where it cannot start.
    """
    if not sys.stdin.isatty():
        return _piped(options, loaded)
    try:
        loaded = settle_trust(options, loaded, os.environ, _ask)
        repl = Repl(options, loaded)
        session_id = repl.choose_session()
    except EOFError:
        return 0
    try:
        return asyncio.run(repl.main(session_id))
    except asyncio.CancelledError:
        return 128 + repl.ended_by


def _piped(options: Options, loaded: Loaded) -> int:
    from clio.entrypoints import oneshot

    prompt = sys.stdin.read()
    if not prompt.strip():
        raise UsageError("standard input is no terminal and holds no prompt; run clio in a terminal, or use -p TEXT")
    return oneshot.run(with_prompt(options, prompt), loaded)


def _ask(question: str) -> str:
    """A question before the line editor runs."""
    first_paint.clear()
    return input(question)


def _size() -> tuple[int, int]:
    """The terminal's columns and lines; COLUMNS in the environment is not believed."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


class Repl:
    """One run of the shell. ended_by: the number of the signal that ended it."""

    def __init__(self, options: Options, loaded: Loaded) -> None:
        self.ended_by = 0
        self._options = options
        self._loaded = loaded
        self._terminal = detect_terminal(os.environ, is_tty=sys.stdout.isatty(), wants_colour=loaded.config.color)
        self._history_file = loaded.home / "history"
        self._first_start = not self._history_file.exists()
        self._line = self._make_line()
        self._app: App | None = None
        self._screen: Screen | PipeScreen | None = None
        self._watch: KeyWatch | None = None
        self._loading: asyncio.Task[App] | None = None
        self._turn: asyncio.Task[TurnFinished] | None = None
        self._turn_ended = False
        self._typed_ahead = ""
        self._history_problem: str | None = None

    def choose_session(self) -> str | None:
        """The id of the session to go on with; None for a new one. May ask the person."""
        if not self._options.continue_latest and self._options.resume is None:
            return None
        first_paint.clear()
        return choose_session(self._options, self._build().store, _ask, width=_size()[0])

    async def main(self, session_id: str | None) -> int:
        """Read and carry out lines until the person leaves."""
        self._end_on_signals()
        try:
            if session_id is not None or not self._terminal.live:
                first_paint.clear()
                await self._load()
            if session_id is not None:
                self._open(session_id)
            while await self._step():
                pass
        finally:
            await self._leave()
        return 0

    async def _step(self) -> bool:
        """One line; False when it was the last."""
        self._catch_interrupts()
        typed, self._typed_ahead = self._typed_ahead, ""
        try:
            text = await self._line.read(
                default=typed, on_start=first_paint.take_over, on_ready=None if self._loading else self._start_loading
            )
        except EOFError:
            return False
        await self._load()
        return await self._do(text)

    async def _do(self, text: str) -> bool:
        if is_command(text):
            return await self._command(text)
        await self._run_turn(text)
        return True

    # ------------------------------------------------------------------ loading

    def _start_loading(self) -> None:
        self._loading = asyncio.create_task(self._load_in_background())
        self._loading.add_done_callback(self._loading_ended)

    def _loading_ended(self, loading: "asyncio.Task[App]") -> None:
        """An error while loading ends the line that is being typed: nothing could be done with it."""
        if not loading.cancelled() and (error := loading.exception()) is not None:
            self._line.stop(error)

    async def _load(self) -> "App":
        if self._loading is None:
            self._start_loading()
        assert self._loading is not None
        return await self._loading

    async def _load_in_background(self) -> "App":
        app = await asyncio.to_thread(self._build)
        await self._line.print_above(self._greet)
        self._line.redraw()
        asyncio.get_running_loop().run_in_executor(None, _warm_up, app)
        return app

    def _build(self) -> "App":
        """Everything behind the line; about 0.2 s of imports."""
        if self._app is not None:
            return self._app
        from clio.app import build_app
        from clio.security.path_policy import Workspace
        from clio.ui.approve import Desk, TerminalApprover, TerminalAsker
        from clio.ui.pause import suspended_both
        from clio.ui.screen import open_screen

        screen = open_screen(sys.stdout, self._terminal, _size)
        desk = Desk(
            sys.stdout,
            self._terminal,
            _size,
            suspended_both(screen, lambda: self._watch),
            self._interrupt,
            is_typing=lambda: self._watch is not None and self._watch.typed_within(_TYPING_S),
        )
        self._screen = screen
        self._app = build_app(
            self._loaded,
            approver=TerminalApprover(desk, Workspace(self._loaded.project).display),
            asker=TerminalAsker(desk),
            emit=self._show,
            env=os.environ,
        )
        return self._app

    def _greet(self) -> None:
        app, screen = self._ready()
        if self._history is not None:
            self._history.use_redaction(lambda text: app.redactor.redact(text).text)
        for line in welcome(
            self._loaded,
            model=app.provider.model,
            server=app.provider.name,
            first=self._first_start,
            user_home=user_home(os.environ),
        ):
            screen.note(line)

    def _ready(self) -> "tuple[App, Screen | PipeScreen]":
        assert self._app is not None and self._screen is not None
        return self._app, self._screen

    # ------------------------------------------------------------------ turns

    async def _run_turn(self, text: str) -> None:
        from clio.ui.keys import KeyWatch

        app, screen = self._ready()
        self._turn_ended = False
        self._turn = turn = asyncio.create_task(app.run_turn(text))
        self._watch = watch = KeyWatch(self._interrupt, on_text=screen.set_typed)
        try:
            async with watch:
                await asyncio.wait({turn})
        except asyncio.CancelledError:
            turn.cancel()
            await asyncio.wait({turn})
            raise
        finally:
            self._turn = self._watch = None
        self._typed_ahead = watch.take_text()
        self._report(turn)

    def _report(self, turn: "asyncio.Task[TurnFinished]") -> None:
        """Say how a turn ended that did not say it itself."""
        _, screen = self._ready()
        error = None if turn.cancelled() else turn.exception()
        if isinstance(error, ClioError):
            screen.error(str(error))
        elif error is not None:
            raise error
        elif turn.cancelled() and not self._turn_ended:
            screen.note("interrupted")
        if self._history is not None and self._history.problem != self._history_problem:
            self._history_problem = self._history.problem
            screen.note(f"warning: {self._history_problem}")

    def _show(self, event: Event) -> None:
        _, screen = self._ready()
        self._turn_ended = self._turn_ended or isinstance(event, TurnFinished)
        screen.handle(event)

    def _interrupt(self) -> None:
        if self._turn is not None:
            self._turn.cancel()

    # ------------------------------------------------------------------ commands

    async def _command(self, line: str) -> bool:
        app, screen = self._ready()
        result = run_command(app, line)
        screen.show_result(result)
        try:
            return result.follow_up is None or await self._follow(result.follow_up)
        except (ClioError, OSError) as error:
            screen.error(str(error))
            return True

    async def _follow(self, step: FollowUp) -> bool:
        """Carry out what a command asked for; False to leave."""
        app, screen = self._ready()
        match step:
            case Quit():
                return False
            case ClearScreen():
                if self._terminal.live:
                    sys.stdout.write("\x1b[H\x1b[2J\x1b[3J")
                    sys.stdout.flush()
            case SwitchSession(session_id=session_id):
                self._open(session_id)
            case NewSession(name=name):
                app.new_session(name)
                screen.note(f"new session{f' {name}' if name else ''}; the one before stays on disk")
            case SetModel(name=name):
                app.set_model(name)
                screen.note(f"{app.provider.model} at {app.provider.name} answers from now on")
            case SetApproval(mode=mode):
                app.set_approval(mode)
            case RunPrompt(text=text):
                await self._run_turn(text)
            case GrantTrust():
                await self._grant_trust()
            case Confirm(question=question, then=then):
                return not await self._line.confirm(question) or await self._command(then)
            case _:
                assert_never(step)
        return True

    def _open(self, session_id: str) -> None:
        app, screen = self._ready()
        for line in recap(app.open_session(session_id)):
            screen.note(line)

    async def _grant_trust(self) -> None:
        """Store the trust, and go on in the same session with the configuration that follows from it."""
        old, screen = self._ready()
        grant_all(self._loaded)
        self._loaded = load(self._options, os.environ)
        self._app = None
        try:
            new = self._build()
        except ClioError:
            self._app = old
            raise
        session_id = old.session.id if old.session.messages else None
        await old.close()
        if session_id is not None:
            new.open_session(session_id)
        screen.note("trusted; the project's settings count from now on")

    # ------------------------------------------------------------------ line, signals, end

    def _make_line(self) -> "PromptLine | PlainLine":
        self._history = None
        text = first_paint.prompt_text()
        if not self._terminal.live:
            from clio.ui.plain_line import PlainLine

            return PlainLine(text="> ", output=sys.stdout)
        from prompt_toolkit.history import InMemoryHistory

        from clio.ui.completer import LineCompleter
        from clio.ui.line_history import LineHistory
        from clio.ui.prompt_line import PromptLine

        if not self._loaded.config.incognito:
            self._history = LineHistory(self._history_file)
        return PromptLine(
            text=text,
            history=self._history or InMemoryHistory(),
            completer=LineCompleter(self._loaded.project, lambda: self._app, self._files),
            status=self._status,
            color=self._loaded.config.color,
        )

    def _files(self) -> "Sequence[str]":
        from clio.tools.file_index import list_files

        return list_files(self._loaded.project)

    def _status(self) -> "Sequence[str]":
        if self._app is None:
            return (self._loaded.config.model or "", self._loaded.config.approve)
        name = self._app.session.name or ""
        incognito = "incognito" if self._loaded.config.incognito else ""
        return (self._app.provider.model, self._app.policy.mode, incognito, name)

    def _catch_interrupts(self) -> None:
        """Ctrl-C as a signal does what the key does. Line editors take the handler away, so it is set anew."""

        def interrupt() -> None:
            if self._turn is not None:
                self._turn.cancel()
            else:
                self._line.interrupt()

        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)

    def _end_on_signals(self) -> None:
        main = asyncio.current_task()

        def end(number: int) -> None:
            self.ended_by = number
            if main is not None:
                main.cancel()

        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError):
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, end, number)

    async def _leave(self) -> None:
        """Close everything; the session first of all."""
        if self._app is None or self._screen is None:
            return
        app, screen = self._app, self._screen
        await app.close()
        if self.ended_by:
            return
        if app.session.persistent and app.session.messages and not app.session.unsaved:
            known = [info.id for info in app.store.list()]
            screen.note(f"resume with: clio -r {app.session.id[: id_length(known)]}")
        screen.close()


def _warm_up(app: "App") -> None:
    """Import what the first turn needs, in a thread while the person types."""
    from clio.providers.openai_chat import OpenAIChatProvider
    from clio.ui.markdown import preload

    preload()
    if isinstance(app.provider, OpenAIChatProvider):
        app.provider.warm_up()
