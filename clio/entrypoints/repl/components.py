"""The objects of the interactive shell: the prompt line, and the components a thread loads while the user types."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clio.agent.user_interface import Emit, Event
from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.schema import Config
from clio.config.trust import trust_project
from clio.entrypoints import first_paint
from clio.errors import ClioError
from clio.text.translation import tr
from clio.threads import freeze_startup_objects
from clio.ui.links import detect_file_links
from clio.ui.theme import Terminal, detect_terminal

if TYPE_CHECKING:
    from clio.app import App
    from clio.context.message_parts import PendingInput
    from clio.ui.footer import SessionStatus
    from clio.ui.history import LineHistory
    from clio.ui.keyboard import HeldTexts, KeyWatch
    from clio.ui.pipe_screen import PipeScreen
    from clio.ui.plain_line import PlainLine
    from clio.ui.plan_dialog import PlanReviewer
    from clio.ui.printed_rows import PrintedRows
    from clio.ui.prompt_io import PromptIO
    from clio.ui.prompt_line import PromptLine
    from clio.ui.reader.screen import ReaderScreen
    from clio.ui.screen import Screen
    from clio.ui.terminal_handoff import Suspender
    from clio.ui.terminal_signals import TerminalSignals


# Files are listed before the first "@" so that its menu opens at once (16 to 39 ms instead of 225 to 324 in a project
# of 20,000 files). Projects that take longer or have more files are listed only when "@" is typed.
_LISTING_LIMIT_S = 2.0
_MAX_LISTED_FILES = 50_000
# Imported while the user types, so that neither the first command nor the first tool calls wait for an import.
_PRELOADED_MODULES = (
    "clio.agent.tool_runner",
    "clio.security.command_policy",
    "clio.tools.files.read_file",
    "clio.tools.files.edit_file",
    "clio.tools.files.search_text",
    "clio.tools.shell.run_command",
    "clio.tools.output",
)
# A question that opens while the user types ahead must not be answered by a key meant for the line.
_TYPING_S = 1.0


class ReplComponents(Struct, frozen=True):
    """The components behind the prompt line.

    Attributes:
        suspended: gives the terminal to another program while its context is open.
        plans: asks the user about a proposed plan.
        prompt_io: asks the user questions and prints around them.
        signals: the terminal's title, progress and notifications.
    """

    app: "App"
    screen: "Screen | PipeScreen | ReaderScreen"
    suspended: "Suspender"
    plans: "PlanReviewer"
    prompt_io: "PromptIO"
    signals: "TerminalSignals"


class QuestionAtPrompt(Exception):
    """Work in the background has a question, for which the prompt line gives up the terminal."""


class PromptGate:
    """Gives the terminal to questions of work in the background, during a turn or while a line is being typed.

    Attributes:
        typed: what was on the line that was given up.
    """

    _CHECK_S = 0.05

    def __init__(self, line: "PromptLine | PlainLine", is_turn_running: Callable[[], bool]) -> None:
        self._line = line
        self._is_turn_running = is_turn_running
        self._questions = 0
        self.typed = ""

    @asynccontextmanager
    async def hold_terminal(self) -> AsyncGenerator[None]:
        """Hold the terminal for one question, from when a turn runs or the prompt line has given the terminal up."""
        while not (self._is_turn_running() or self._line.is_reading):  # noqa: ASYNC110  neither tells when it changes
            await asyncio.sleep(self._CHECK_S)  # a command has the terminal
        self._questions += 1
        try:
            while not self._is_turn_running() and self._line.is_reading:
                self.typed = self._line.stop_reading(QuestionAtPrompt(), erase=True) or self.typed
                await asyncio.sleep(self._CHECK_S)
            yield
        finally:
            self._questions -= 1

    async def wait_until_free(self) -> None:
        """Return once no question is open."""
        while self._questions:  # noqa: ASYNC110  a question takes seconds
            await asyncio.sleep(self._CHECK_S)

    def take_typed(self) -> str:
        """Return and clear what was on the line that was given up."""
        typed, self.typed = self.typed, ""
        return typed


def make_printed_rows(terminal: Terminal) -> "PrintedRows | None":
    """Make the record of what is printed above the bottom area; None for a terminal that cannot redraw one."""
    if not terminal.live:
        return None
    from clio.ui.printed_rows import PrintedRows

    return PrintedRows(terminal_size, reflows=terminal.reflows)


def make_prompt_line(
    loaded: LoadedConfig,
    terminal: Terminal,
    history: "LineHistory | None",
    *,
    app: "Callable[[], App | None]",
    facts: "SessionStatus",
    line_hint: Callable[[str], str],
    look_up: Callable[[str], Awaitable[bool]],
    pending_input: "PendingInput",
    held: "HeldTexts",
    printed: "PrintedRows | None",
) -> "PromptLine | PlainLine":
    """Make the prompt line for this terminal. history: None keeps it in memory only.

    Other arguments: see `PromptLine`.
    """
    if not terminal.can_read_keys:
        from clio.ui.plain_line import PlainLine

        return PlainLine(text="you: " if terminal.for_screen_reader else "> ", output=sys.stdout)
    from prompt_toolkit.history import InMemoryHistory

    from clio.ui.completer import LineCompleter
    from clio.ui.keyboard import change_keys
    from clio.ui.prompt_line import PromptLine

    change_keys(loaded.config.keys)

    def list_files() -> Sequence[str]:
        from clio.tools.files.file_index import list_files

        return list_files(loaded.project)

    def list_files_in_advance() -> Sequence[str] | None:
        from clio.tools.files.file_index import list_files_within

        return list_files_within(loaded.project, limit_s=_LISTING_LIMIT_S, most=_MAX_LISTED_FILES)

    if terminal.for_screen_reader:
        from clio.ui.reader.prompt import ReaderLine

        return ReaderLine(
            sys.stdout,
            terminal_size,
            history=history or InMemoryHistory(),
            completer=LineCompleter(app, list_files, list_files_in_advance),
            status=facts.list_spoken_parts,
            line_hint=line_hint,
            held=held,
            vi=loaded.config.editing == "vi",
            project=loaded.project,
            pending_input=pending_input,
            look_up=look_up,
        )
    script = None
    if command := loaded.config.status_line:
        from clio.ui.user_scripts import StatusScript

        script = StatusScript(command, lambda: line.redraw(), colour=terminal.colour)

    def render_own_status() -> str:
        if script is None or (running := app()) is None:
            return ""
        script.update(facts.describe_for_script(loaded.project, running.session))
        facts.problem = script.take_problem() or facts.problem
        return script.line

    facts.render_own_line = render_own_status
    line = PromptLine(
        text=first_paint.prompt_text(),
        history=history or InMemoryHistory(),
        completer=LineCompleter(app, list_files, list_files_in_advance),
        status=facts.list_parts,
        line_hint=line_hint,
        held=held,
        theme=terminal.theme,
        vi=loaded.config.editing == "vi",
        project=loaded.project,
        pending_input=pending_input,
        look_up=look_up,
        own_status=render_own_status,
        printed=printed,
    )
    return line


def make_components(
    loaded: LoadedConfig,
    terminal: Terminal,
    *,
    watch: "Callable[[], KeyWatch | None]",
    interrupt: Callable[[], None],
    wrap: Callable[[Emit], Emit],
    pending_input: "PendingInput",
    facts: "SessionStatus",
    printed: "PrintedRows | None" = None,
) -> ReplComponents:
    """Make everything behind the prompt line; may run in a thread. About 0.2 s of imports the first time.

    Args:
        watch: returns the keyboard watch of the running turn.
        interrupt: stops the running turn.
        wrap: adds a listener for the loop's events to the given one.
        pending_input: output and pictures saved for the next message.
        facts: values of the status line; updated by events.
        printed: what is printed above the bottom area, if the terminal can redraw one.

    Raises:
        ConfigError: if no provider can be made.
    """
    from clio.agent.user_interface import ComposedInterface
    from clio.app import build_app
    from clio.security.actions import Workspace
    from clio.ui.approval_dialog import TerminalApprover, TerminalAsker
    from clio.ui.pipe_screen import TerminalOutput
    from clio.ui.plan_dialog import PlanReviewer
    from clio.ui.terminal_handoff import make_suspender
    from clio.ui.terminal_signals import make_signals

    def is_typing() -> bool:
        running = watch()
        return running is not None and running.has_typed_within(_TYPING_S)

    config = loaded.config
    write = TerminalOutput(sys.stdout).write
    signals = make_signals(config, os.environ, loaded.project, write, live=terminal.live)
    screen = make_screen(config, terminal, facts, signals, printed)

    def show(event: Event) -> None:
        facts.handle_event(event)
        screen.handle(event)

    suspended = make_suspender(screen, watch)
    prompt_io = make_prompt_io(terminal, suspended, interrupt, is_typing, signals, printed)
    approver = TerminalApprover(prompt_io, Workspace(loaded.project).display)
    app = build_app(
        loaded,
        ComposedInterface(approver, TerminalAsker(prompt_io), wrap(show)),
        env=os.environ,
        pending_input=pending_input,
    )
    return ReplComponents(app, screen, suspended, PlanReviewer(prompt_io), prompt_io, signals)


def make_screen(
    config: Config,
    terminal: Terminal,
    facts: "SessionStatus",
    signals: "TerminalSignals",
    printed: "PrintedRows | None",
) -> "Screen | PipeScreen | ReaderScreen":
    """Make the screen that shows turns on this terminal. facts: for the status line of a running turn."""
    if terminal.for_screen_reader:
        from clio.ui.reader.screen import ReaderScreen

        return ReaderScreen(sys.stdout, terminal_size, reasoning=config.reasoning, signals=signals)
    if not terminal.live:
        from clio.ui.pipe_screen import PipeScreen, PlainMarkdown

        make_layout = (lambda: PlainMarkdown(terminal.theme, terminal_size)) if sys.stdout.isatty() else None
        return PipeScreen(sys.stdout, sys.stdout, show_footer=True, make_layout=make_layout)
    from clio.ui.screen import Screen

    return Screen(
        sys.stdout,
        terminal,
        terminal_size,
        reasoning=config.reasoning,
        get_status_parts=facts.list_parts,
        get_own_status=lambda: facts.render_own_line(),
        get_todos=facts.get_todos,
        prompt=first_paint.prompt_text(),
        signals=signals,
        printed=printed,
    )


def make_prompt_io(
    terminal: Terminal,
    suspended: "Suspender",
    interrupt: Callable[[], None],
    is_typing: Callable[[], bool],
    signals: "TerminalSignals",
    printed: "PrintedRows | None",
) -> "PromptIO":
    """Make the dialog that asks questions on this terminal."""
    if terminal.for_screen_reader:
        from clio.ui.reader.prompt import ReaderPromptIO

        return ReaderPromptIO(
            sys.stdout, terminal, terminal_size, suspended, interrupt, is_typing=is_typing, signals=signals
        )
    from clio.ui.prompt_io import PromptIO

    return PromptIO(
        sys.stdout, terminal, terminal_size, suspended, interrupt, is_typing=is_typing, signals=signals, printed=printed
    )


def detect_this_terminal(loaded: LoadedConfig) -> Terminal:
    """Describe what standard output can show, from its terminal and the settings."""
    config = loaded.config
    is_tty = sys.stdout.isatty()
    if is_tty and sys.platform == "win32":
        import ctypes

        from clio.ui.terminal_handoff import enable_windows_escapes

        is_tty = enable_windows_escapes(ctypes.windll.kernel32)
    terminal = detect_terminal(
        os.environ,
        is_tty=is_tty,
        wants_colour=config.color,
        hyperlinks=config.hyperlinks,
        for_screen_reader=config.screen_reader,
    )
    if not terminal.links:
        return terminal
    return msgspec.structs.replace(terminal, file_links=detect_file_links(os.environ, loaded.project))


def warm_up(app: "App", facts: "SessionStatus", line: "PromptLine | PlainLine") -> None:
    """Import what the first turn needs, list the project's files, and update the index; runs in a thread.

    Args:
        facts: show the progress of the index.
        line: redrawn when the facts change; the user may be typing on it.
    """
    from clio.providers.http_provider import HttpProvider
    from clio.ui.markdown import preload_markdown
    from clio.ui.turn_display import WorkProgress

    for name in _PRELOADED_MODULES:
        import_module(name)
    preload_markdown()
    if isinstance(app.provider, HttpProvider):
        app.provider.warm_up()  # opens the connection, so that the first request does not wait for TLS
    if not app.memory.is_silent:
        app.memory.styles.warm_up()
    app.servers.warm_up()
    if app.sandbox.is_enabled:
        with suppress(ClioError):  # reported before the first turn
            app.sandbox.level()
        line.redraw()
    line.prepare_completions()
    freeze_startup_objects()  # after all imports, so that later garbage collections skip what never dies
    started_at = time.monotonic()

    def report_progress(done: int, total: int) -> None:
        work = WorkProgress("indexing", started_at, done, total).format_short(time.monotonic())
        if work != facts.background_work:
            facts.background_work = work
            line.redraw()

    try:
        app.refresh_index(report_progress)
    finally:
        facts.background_work = ""
        line.redraw()


def terminal_size() -> tuple[int, int]:
    """Return the terminal's columns and lines.

    The variable COLUMNS is ignored: a shell that exports it does not update it when the window changes.
    """
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


class BackgroundLoader:
    """Makes the components behind the prompt line in a thread, while the user types.

    They are made again when the user trusts the project, because its settings count from then on.

    Attributes:
        parts: the components, None until they are loaded.

    Args:
        make: makes the components for a configuration; called in a thread.
        welcome: awaited once, with the first components, before anything else uses them.
        failed: called with an error raised by `make` or `welcome`.
    """

    def __init__(
        self,
        options: Options,
        loaded: LoadedConfig,
        make: Callable[[LoadedConfig], ReplComponents],
        *,
        welcome: Callable[[ReplComponents], Awaitable[None]],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.parts: ReplComponents | None = None
        self._options = options
        self._loaded = loaded
        self._make = make
        self._welcome = welcome
        self._failed = failed
        self._loading: asyncio.Task[ReplComponents] | None = None

    def app(self) -> "App | None":
        """The app; None until it is loaded."""
        return self.parts.app if self.parts else None

    def begin(self) -> asyncio.Task[ReplComponents]:
        """Start loading, unless it has begun; return the task."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
            self._loading.add_done_callback(self._ended)
        return self._loading

    async def wait_until_loaded(self) -> ReplComponents:
        """Wait until the components are loaded. Raises what making them raised."""
        loaded = await self.begin()
        return self.parts or loaded

    async def _load(self) -> ReplComponents:
        self.parts = parts = await asyncio.to_thread(self._make, self._loaded)
        await self._welcome(parts)
        return parts

    def _ended(self, loading: asyncio.Task[ReplComponents]) -> None:
        if not loading.cancelled() and (error := loading.exception()) is not None:
            self._failed(error)

    async def trust(self, old: ReplComponents) -> None:
        """Store the trust, and continue the session with the configuration that follows from it."""
        trust_project(self._loaded)
        self._loaded = load_config(self._options, os.environ)
        new = self._make(self._loaded)
        session_id = old.app.session.id if old.app.session.messages else None
        await old.app.close()  # first, because only one process and one app may have a session open
        if session_id is not None:
            new.app.open_session(session_id)
        self.parts = new
        old.signals.close()
        new.signals.open()
        new.screen.print_note(tr("trusted; the project's settings apply from now on"))


def handle_interrupts(act: Callable[[], None]) -> None:
    """Call `act` when Ctrl-C arrives as a signal, as it does while no program reads single keys."""
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, act)


def handle_end_signals(act: Callable[[int], None]) -> None:
    """Call `act` with the signal's number when a signal ends the program."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows has no SIGHUP either
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, act, number)


def print_resume_hint(app: "App", screen: "Screen | PipeScreen | ReaderScreen") -> None:
    """Print how to resume the session, or why it is not saved."""
    session = app.session
    if not session.is_persistent or not session.messages:
        return
    if session.unsaved_reason:
        screen.print_error(session.unsaved_reason)
    else:
        from clio.commands.session_table import compute_unique_id_length

        known = [info.id for info in app.store.list()]
        screen.print_note(tr("resume with: clio -r {id}", id=session.id[: compute_unique_id_length(known)]))
    screen.close()
