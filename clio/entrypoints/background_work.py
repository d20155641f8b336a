"""Background work in the REPL (consolidation while idle and at exit), and long-running commands."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

from clio.commands.command import (
    CommandContext,
    CommandResult,
    ConsolidateNow,
    ExportFormat,
    ExportSession,
    LongWork,
    WorkControl,
    quote_code,
)
from clio.commands.session_table import find_gh, format_title, make_file_stem
from clio.config.schema import Config
from clio.entrypoints.first_paint import can_draw
from clio.errors import ClioError, ConfigError, ServerFailed, UserError
from clio.storage.files import write_atomic
from clio.text.formatting import format_bytes, truncate
from clio.text.translation import mark, tr, tr_count
from clio.ui.safe_text import clean_line

if TYPE_CHECKING:
    from clio.app import App
    from clio.memory.consolidation.consolidation import Report


async def run_until_key(step: LongWork, *, draws: bool = True, aloud: bool = False) -> tuple[CommandResult, str]:
    """Run the work in the REPL until it is done or Esc or Ctrl-C stops it; return its result and the text typed.

    draws: whether the terminal can redraw a line. aloud: see `bar`. Cancelling the caller stops the work, too.
    Raises what the work raises.
    """
    from clio.ui.keyboard import KeyWatch

    stopped = threading.Event()
    try:
        with show_progress(
            step.label, sys.stdout if draws or aloud else None, tr("esc to interrupt"), aloud=aloud
        ) as drawn:

            def stop() -> None:
                stopped.set()
                drawn.set_hint("stopping")

            async with KeyWatch(stop) as watch:
                result = await asyncio.to_thread(
                    step.work, WorkControl(is_stopped=stopped.is_set, report_progress=drawn.update)
                )
    finally:
        stopped.set()  # if cancelled: Python waits at exit for a thread that still works
    return result, watch.pop_text().rstrip("\n")


def run_until_interrupted(step: LongWork, *, aloud: bool = False) -> CommandResult:
    """Run the work on the command line until it is done or Ctrl-C stops it; return its result."""
    stopped = threading.Event()

    with show_progress(step.label, sys.stderr, tr("ctrl-c to stop"), aloud=aloud) as drawn:

        def stop(number: int, frame: object) -> None:
            stopped.set()
            drawn.set_hint("stopping")

        before = signal.signal(signal.SIGINT, stop)
        try:
            # In another thread, because the signal could interrupt this one while it writes the progress line.
            with ThreadPoolExecutor(1) as worker:
                return worker.submit(
                    step.work, WorkControl(is_stopped=stopped.is_set, report_progress=drawn.update)
                ).result()
        finally:
            signal.signal(signal.SIGINT, before)


class ProgressBar(Protocol):
    """Shows the progress of long work."""

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` is done."""
        ...

    def set_hint(self, hint: str) -> None:
        """Replace the hint on what a key does."""
        ...


class _NoBar:
    def update(self, done: int, total: int) -> None:
        pass

    def set_hint(self, hint: str) -> None:
        pass


@contextmanager
def show_progress(
    label: str, stream: TextIO | None, hint: str, after_s: float | None = None, *, aloud: bool = False
) -> Generator[ProgressBar]:
    """Draw a progress line once the work has taken `after_s`, and erase it at the end; draws nothing without a
    terminal.

    aloud: for a screen reader: the progress is printed in lines that stay.
    """
    if stream is None or not (stream.isatty() if aloud else can_draw(stream)):
        yield _NoBar()
        return
    if aloud:
        from clio.ui.reader.screen import SpokenProgress

        yield SpokenProgress(label, stream, hint=hint)
        return
    from clio.ui.turn_display import SHOW_PROGRESS_AFTER_S, TerminalProgress

    progress = TerminalProgress(
        label,
        stream,
        width=lambda: get_terminal_size().columns,
        hint=hint,
        after_s=SHOW_PROGRESS_AFTER_S if after_s is None else after_s,
    )
    try:
        yield progress
    finally:
        progress.update(1, 1)


LABEL = mark("consolidating memory")


def make_long_work(ctx: CommandContext, step: ConsolidateNow | LongWork) -> LongWork:
    """Return the work of a follow-up; a requested consolidation becomes `LongWork`."""
    if isinstance(step, LongWork):
        return step
    return LongWork(label=tr(LABEL), work=lambda track: consolidate_now(ctx, step, track))


def consolidate_now(ctx: CommandContext, step: ConsolidateNow, track: WorkControl) -> CommandResult:
    """Run one requested consolidation, or a dry run; for a thread.

    Raises:
        UserError: if another process consolidates.
        ClioError: if some results could not be written; what was written is kept.
    """
    # The prompt needs this module at once, and the memory commands import all of memory.
    from clio.commands.memory.commands import make_consolidation_result
    from clio.memory.consolidation.runner import dry_run, run_consolidation

    consolidation = ctx.memory.consolidation
    if step.dry_run:
        return make_consolidation_result(dry_run(consolidation, stop=track.is_stopped, tell=track.report_progress))
    use_model = ctx.config.sleep_use_model
    if use_model and not ctx.session.id:
        consolidation.ask = lambda prompt: asyncio.run(_ask_configured_model(ctx, prompt))
    report = run_consolidation(
        consolidation, "hand", stop=track.is_stopped, use_model=use_model, tell=track.report_progress
    )
    if report.write_error:
        raise ClioError(f"{report.write_error} ({report.line})")
    return make_consolidation_result(report)


async def _ask_configured_model(ctx: CommandContext, prompt: str) -> str:
    """Ask `light_model`, or else the configured model, outside a conversation; within `max_cost`.

    Raises ProviderError, also if no model is configured.
    """
    from clio.agent.model_request import SIDE_TIMEOUT_S, SideQuestion
    from clio.providers.base import NO_MODEL, OFFLINE
    from clio.providers.lesson_book import LessonBook
    from clio.providers.registry import OpenedProviders, make_provider

    config, learn = ctx.config, ctx.redactor.learn_secret
    book = LessonBook(ctx.loaded.home)
    try:
        provider = make_provider(config, os.environ, book=book, learn_secret=learn)
        providers = OpenedProviders(config, os.environ, provider, book, learn)
        if provider.name == OFFLINE:
            raise ConfigError(tr(NO_MODEL))
        provider = providers.open(config.light_model) if config.light_model else provider
        ctx.spending.check_price_known(provider)
    except ConfigError as error:
        raise ServerFailed(str(error), retryable=False) from error
    question = SideQuestion(
        lambda: provider, asyncio.get_running_loop(), ctx.spending, ctx.efforts.get_effort, tell=lambda sentence: None
    )
    try:
        return await asyncio.wait_for(question.answer(prompt), SIDE_TIMEOUT_S)
    except TimeoutError as error:
        raise ServerFailed(
            tr("the model did not answer within {side_timeout_s:.0f} seconds", side_timeout_s=SIDE_TIMEOUT_S)
        ) from error
    finally:
        await providers.close()


EXIT_BUDGET_S = 1.5
"""Seconds. Limit of the consolidation at exit: with closing everything the user waits two seconds at most."""


EXIT_QUIET_S = 0.3
"""Seconds after which a consolidation at exit shows its progress."""


class IdleConsolidation:
    """Consolidates memory in a thread once no key was pressed for a while at the prompt, until the next key.

    It uses one timer; keys are only observed, not read.

    Args:
        after_s: seconds without a key before it starts; None: never.
        is_busy: whether something else runs.
        consolidate: consolidates until its argument returns True; returns None if nothing was due.
        tell: prints a line above the one being typed.
    """

    def __init__(
        self,
        after_s: float | None,
        *,
        is_busy: Callable[[], bool],
        consolidate: "Callable[[Callable[[], bool]], Report | None]",
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        self._after_s = after_s
        self._is_busy = is_busy
        self._consolidate = consolidate
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._waiting = False
        self._last_key = 0.0
        self._pending_line = ""

    @contextmanager
    def watch_idle_time(self) -> Generator[None]:
        """Active while a line is read; the consolidation stops when the line is entered."""
        self._arm()
        try:
            yield
        finally:
            self._disarm()

    def _arm(self) -> None:
        self._waiting = True
        self._begin_waiting()
        if self._pending_line and self._task is None:
            line, self._pending_line = self._pending_line, ""
            self._task = asyncio.create_task(self._print_later(line))

    def _disarm(self) -> None:
        self._waiting = False
        self._stop.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def note_key(self) -> None:
        """A key was pressed: stop the consolidation and restart the timer."""
        self._stop.set()
        self._last_key = asyncio.get_running_loop().time()
        if self._waiting and self._timer is None and self._task is None:
            self._begin_waiting()

    async def close(self) -> None:
        """Stop the consolidation and wait for its end."""
        self._disarm()
        if self._task is not None:
            await self._task

    def _begin_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        self._last_key = loop.time()
        if self._timer is None and self._after_s is not None:
            self._timer = loop.call_later(self._after_s, self._check_idle_time)

    def _check_idle_time(self) -> None:
        """Start the consolidation, or restart the timer if a key was pressed meanwhile."""
        loop = asyncio.get_running_loop()
        after_s = self._after_s or 0.0
        left = after_s - (loop.time() - self._last_key)
        self._timer = None
        if self._task is not None or self._is_busy():
            left = after_s
        if left > 0:
            self._timer = loop.call_later(left, self._check_idle_time)
            return
        self._stop.clear()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            report = await asyncio.to_thread(self._consolidate, self._stop.is_set)
        finally:
            self._task = None
        if report is not None and report.changed:
            await self._print_or_keep(report.line)
        if self._waiting and self._stop.is_set():
            self._begin_waiting()  # the user is back, and may leave again

    async def _print_later(self, line: str) -> None:
        self._task = None
        await self._print_or_keep(line)

    async def _print_or_keep(self, line: str) -> None:
        """Print the line now if the prompt is displayed; else at the next prompt, because a turn has the screen."""
        if self._waiting:
            await self._tell(line)
        else:
            self._pending_line = line


def make_idle_consolidation(
    config: Config, app_of: "Callable[[], App | None]", tell: Callable[[str], Awaitable[None]], *, live: bool
) -> IdleConsolidation:
    """The REPL's own. app_of: returns None until the app is loaded. live: whether there is an interactive terminal."""

    def is_busy() -> bool:
        app = app_of()
        return app is None or bool(app.jobs.list_running())

    def consolidate(stop: Callable[[], bool]) -> "Report | None":
        app = app_of()
        return app.learner.consolidate("idle", stop) if app else None

    is_enabled = live and config.sleep and not config.incognito
    return IdleConsolidation(
        config.sleep_idle_s if is_enabled else None, is_busy=is_busy, consolidate=consolidate, tell=tell
    )


async def consolidate_at_exit(app: "App") -> str:
    """Consolidate briefly at exit, if the closed session has messages; return a line on what was learned, or ""."""
    if not app.session.is_persistent or not app.session.messages:
        return ""
    ended = threading.Event()
    try:
        with show_progress(
            tr("consolidating memory"), sys.stdout, "", EXIT_QUIET_S, aloud=app.config.screen_reader
        ) as drawn:
            report = await asyncio.to_thread(app.learner.consolidate, "exit", ended.is_set, EXIT_BUDGET_S, drawn.update)
    finally:
        ended.set()  # cancelled: the thread must not keep the process
    return report.line if report is not None and report.learned else ""


def start_sync(config: Config, home: Path, moment: Literal["on_start", "on_exit"]) -> None:
    """Start `clio sync push` as a process of its own, if it is on and set for this moment; nothing waits for it."""
    if config.sync not in (moment, "both") or config.incognito or not (home / "sync" / "sync.json").is_file():
        return
    import subprocess

    with suppress(OSError):  # such as too many processes; the next one sends what is waiting
        subprocess.Popen(
            # -P: a module in the project's folder must not be imported instead of clio's own.
            [sys.executable, "-P", "-m", "clio", "sync", "push", "--cwd", str(home)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
            | getattr(subprocess, "DETACHED_PROCESS", 0),
        )


STANDARD_OUTPUT = "-"


def export_to_file(ctx: CommandContext, step: ExportSession) -> CommandResult:
    """Write the session to a file, or to standard output; takes seconds for many megabytes.

    If the path is a directory, the file is named after the session. An existing file is replaced only with
    `step.force`. Raises UserError for a path that cannot be written, what `export_session` raises, and OSError.
    """
    from clio.export.export_session import SUFFIXES, export_session

    info = next((info for info in ctx.store.list() if info.id == step.session_id), None)
    title = format_title(info) if info else step.session_id
    to_gist = step.path == ""
    path, form = (None, step.form or "html") if to_gist else _resolve_export_path(step, title, dict(SUFFIXES))
    text = export_session(
        ctx.store, step.session_id, form, redact=lambda text: ctx.redactor.redact(text).text, now=time.time()
    )
    data = text.encode("utf-8")
    if to_gist:
        address = _upload_gist(f"{make_file_stem(title)}.{form}", data)
        return CommandResult(
            text=tr("Uploaded {bytes} as a secret gist: {address}", bytes=format_bytes(len(data)), address=address),
            data={"url": address, "bytes": len(data), "format": form, "session": step.session_id},
        )
    if path is None:
        return CommandResult(verbatim=text)
    try:
        write_atomic(path, data)
    except OSError as error:
        raise UserError(
            tr(
                "{path!r} cannot be written: {strerror}; choose another path",
                path=_display_path(path),
                strerror=error.strerror,
            )
        ) from error
    length = f", {tr_count(info.messages, 'message')}" if info else ""
    return CommandResult(
        text=tr(
            "Wrote {path}: {bytes}{length}.",
            path=quote_code(_display_path(path)),
            bytes=format_bytes(len(data)),
            length=length,
        ),
        data={"path": str(path), "bytes": len(data), "format": form, "session": step.session_id},
    )


_GIST_LIMIT_S = 120
_GIST_ADDRESS = re.compile(rb"https://[!-~]+")


def _upload_gist(name: str, data: bytes) -> str:
    """Upload a file as a secret gist with GitHub's `gh`; return its address. Raises UserError."""
    program = find_gh()
    # A folder of its own: only the user can read it, and no configuration of the project applies in it.
    with tempfile.TemporaryDirectory(prefix="clio-gist-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            done = subprocess.run(
                [program, "gist", "create", "--desc", tr("a session of clio"), "--", str(path)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_GIST_LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError(tr("gh did not upload the session: {error}", error=error)) from None
    found = _GIST_ADDRESS.search(done.stdout)
    if done.returncode != 0 or found is None:
        said = clean_line(truncate(done.stderr.decode("utf-8", "replace").strip(), 200))
        raise UserError(tr("gh did not upload the session: {said}. Check your login with `gh auth status`", said=said))
    return found[0].decode("ascii")


def _resolve_export_path(
    step: ExportSession, title: str, forms: dict[str, ExportFormat]
) -> tuple[Path | None, ExportFormat]:
    """Return the file, None for standard output; and the format."""
    if step.path == STANDARD_OUTPUT:
        return None, step.form or "md"
    try:
        path = Path.cwd() / Path(step.path).expanduser()
    except RuntimeError:
        raise UserError(tr("There is no home folder for {path!r}; write the full path", path=step.path)) from None
    if path.is_dir():
        form = step.form or "html"
        path /= f"{make_file_stem(title)}.{form}"
    elif step.path.endswith(("/", os.sep)):
        raise UserError(tr("There is no folder {path!r}; create it first, or choose another path", path=step.path))
    elif not path.suffix:
        form = step.form or "html"
        path = path.with_name(f"{path.name}.{form}")
    else:
        named = step.form or forms.get(path.suffix.lower())
        if named is None:
            raise UserError(
                tr(
                    "{path!r} does not end in an export format; use .html, .md or .json, or add --format",
                    path=path.name,
                )
            )
        form = named
    if not path.parent.is_dir():
        raise UserError(
            tr("There is no folder {path!r}; create it first, or choose another path", path=_display_path(path.parent))
        )
    if path.is_dir():
        raise UserError(tr("{path!r} is a folder; choose another path", path=_display_path(path)))
    if path.exists() and not step.force:
        raise UserError(tr("{path!r} already exists; add --force to replace it", path=_display_path(path)))
    return path, form


def _display_path(path: Path) -> str:
    """Return the path relative to the current directory if it is inside, else absolute."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
