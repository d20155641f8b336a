"""The process of a job: one turn without a terminal, with its progress in a journal and its questions in files."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

from msgspec import structs

from clio.agent.user_interface import (
    ComposedInterface,
    Event,
    MessageAdded,
    Notice,
    StepFinished,
    TurnFinished,
)
from clio.app import App, build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.oneshot import DecliningAsker, DenyingApprover, run_prompt_line
from clio.errors import ApprovalNeeded, ClioError, ConfigError
from clio.jobs.job_store import (
    LOCK_NAME,
    JobAnswer,
    JobEvent,
    JobRecord,
    Journal,
    create_job,
    get_answer_file,
    list_jobs,
    open_output,
    read_answer,
    read_job,
)
from clio.jobs.schedules import SkippedRun, explain_other_place, note_skipped_run, read_schedule
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.storage.locks import FileLock, format_os_error
from clio.text.formatting import replace_slash_commands
from clio.text.translation import tr
from clio.threads import read_process_start
from clio.tools.files.diff import diff_change
from clio.ui.pipe_screen import PipeScreen

_ANSWER_POLL_S = 0.3
_MAX_WAIT_S = 7 * 86_400.0
"""How long a job waits for one answer; then the call is refused and the job continues."""
_MAX_TEXT_CHARS = 20_000
_FLUSH_ATTEMPTS, _FLUSH_PAUSE_S = 60, 1.0
"""How long an ended job tries to write its end to a full disk."""


def run_job_process(folder: Path) -> int:
    """Run the job of this folder in a new process that no terminal can end; return an exit code.

    The process that was started returns 0 at once, so that the job becomes a child of the system's first process.
    """
    if hasattr(os, "fork") and os.fork():
        return 0
    return _run_job(folder)


def run_scheduled_job(schedules: Path, number: str) -> int:
    """Start a job of a schedule and run it in this process, which cron or systemd has started; return an exit code.

    It prints nothing unless it cannot start a job: what it does is in the journal of the job.
    """
    schedule = read_schedule(schedules / number)
    if schedule is None:
        raise ClioError(
            tr(
                "the settings of schedule {number} are gone; `clio schedule remove {number}` removes what starts it",
                number=number,
            )
        )
    os.environ.update(schedule.env)
    _find_session_bus()
    home = schedules.parent
    unfinished = next((job for job in list_jobs(home) if job.record.schedule == schedule.id and job.is_active), None)
    if unfinished is not None:
        note_skipped_run(schedules / number, SkippedRun(at=time.time(), job=unfinished.record.id))
        return 0
    record = structs.replace(schedule.job, created=time.time(), schedule=schedule.id)
    job = create_job(home, record)
    try:
        os.chdir(record.folder)
        why = explain_other_place(schedule, os.curdir)
    except OSError as error:
        why = format_os_error(error)
    if why:
        end = JobEvent(kind="finished", at=0, status="failed", error=why)
        Journal(job.folder).add(end)
        return 1
    output = open_output(job)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    os.close(output)
    return _run_job(job.folder)


def _find_session_bus() -> None:
    """Name the session bus as a login does, for the system's keyring: cron does not know it."""
    if hasattr(os, "getuid") and (folder := Path(f"/run/user/{os.getuid()}")).is_dir():
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        if (folder / "bus").exists():
            os.environ.setdefault("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder / 'bus'}")


def _run_job(folder: Path) -> int:
    lock = FileLock(folder / LOCK_NAME)
    if not lock.acquire(timeout_s=2.0):
        raise ClioError(tr("another process works on the job in {folder}", folder=folder))
    job = read_job(folder)
    if job is None or job.events:
        lock.release()
        raise ClioError(tr("the job in {folder} cannot be started", folder=folder))
    journal = Journal(folder)
    started = JobEvent(kind="started", at=0, pid=os.getpid(), process_start=read_process_start(os.getpid()))
    if not journal.add(started):
        lock.release()
        raise ClioError(
            tr("the journal in {folder} cannot be written: {problem}", folder=folder, problem=journal.problem)
        )
    try:
        end = asyncio.run(_run(folder, job.record, journal))
    except (ClioError, OSError) as error:
        end = JobEvent(kind="finished", at=0, status="failed", error=str(error))
    attempts = 0 if journal.add(end) else _FLUSH_ATTEMPTS
    while attempts and not journal.flush():
        attempts -= 1
        time.sleep(_FLUSH_PAUSE_S)
    lock.release()
    return 0 if end.status == "done" else 1


class TimeLimit:
    """Ends the work of a task after a time, in which waiting for the user does not count."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Do not count the time within."""
        loop, deadline = asyncio.get_running_loop(), self._limit.when()
        left = None if deadline is None else deadline - loop.time()
        self._limit.reschedule(None)
        try:
            yield
        finally:
            if left is not None and not self._limit.expired():
                self._limit.reschedule(loop.time() + max(left, 0.0))


class JobApprover:
    """Writes what needs approval into the journal and waits for a file with the answer."""

    never_asks = False

    def __init__(self, folder: Path, journal: Journal, time_limit: TimeLimit) -> None:
        self._folder = folder
        self._journal = journal
        self._time_limit = time_limit
        self._count = 0
        self._turn = asyncio.Lock()
        self.app: App | None = None

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Wait for the user's answer. Raises ApprovalNeeded if there is none for a week."""
        app = self.app
        assert app is not None
        async with self._turn:
            self._count += 1
            question = self._count
            with contextlib.suppress(FileNotFoundError):  # only an answer given after the question counts
                get_answer_file(self._folder, question).unlink()
            self._journal.add(_describe_question(app, request, question))
            app.runtime.tell(tr("waits for approval: {title}", title=request.title))
            with self._time_limit.paused():
                answer = await self._wait(question)
            self._journal.add(JobEvent(kind="answered", at=0, question=question, status=_name_answer(answer)))
            if answer is None:
                raise ApprovalNeeded(tr("{title} needs approval, and no one answered", title=request.title))
            return Answer("once") if answer.approved else Answer("no", answer.reason)

    async def _wait(self, question: int) -> JobAnswer | None:
        deadline = time.monotonic() + _MAX_WAIT_S
        while time.monotonic() < deadline:
            if (answer := read_answer(self._folder, question)) is not None:
                return answer
            self._journal.flush()
            await asyncio.sleep(_ANSWER_POLL_S)
        return None


def _describe_question(app: App, request: ApprovalRequest, question: int) -> JobEvent:
    action, detail = request.action, ""
    if isinstance(action, RunCommand):
        detail = action.command
    elif isinstance(action, ChangeFiles):
        detail = "".join(diff_change(change, app.workspace.display).text for change in action.changes)
    redact = app.runtime.redact
    return JobEvent(
        kind="question",
        at=0,
        question=question,
        title=redact(request.title),
        detail=redact(detail),
        reason=request.verdict.reason,
    )


def _name_answer(answer: JobAnswer | None) -> str:
    return "none" if answer is None else "approved" if answer.approved else "declined"


class _JobListener:
    """Prints events like a one-shot run and writes the steps into the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._screen = PipeScreen(sys.stdout, sys.stderr, on_broken=lambda: None)
        self.app: App | None = None
        self._tokens = 0
        self.finished: TurnFinished | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Notice):
            event = structs.replace(event, text=replace_slash_commands(event.text))
        self._screen.handle(event)
        match event:
            case StepFinished(step=step, usage=usage):
                self._tokens += usage.prompt_tokens + usage.completion_tokens if usage else 0
                cost = self.app.spending.run_cost.micro_dollars if self.app else 0
                self._journal.add(JobEvent(kind="step", at=0, step=step, tokens=self._tokens, micro_dollars=cost))
            case MessageAdded():
                sys.stdout.flush()
            case TurnFinished():
                self.finished = event
            case _:
                pass  # what is printed is enough


async def _run(folder: Path, record: JobRecord, journal: Journal) -> JobEvent:
    """Run the turn of a job and return its end."""
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    overrides = {**record.overrides, "approve": record.approve, "max_cost": str(record.max_cost)}
    options = Options(
        cwd=Path(record.folder),
        prompt=record.task,
        config_file=Path(record.config_file) if record.config_file else None,
        overrides=overrides,
    )
    listener = _JobListener(journal)
    try:
        async with asyncio.timeout(record.minutes * 60.0) as limit:
            approver = JobApprover(folder, journal, TimeLimit(limit))
            asks = approver if record.on_question == "wait" else DenyingApprover()
            loaded = load_config(options, os.environ)
            app = build_app(loaded, ComposedInterface(asks, DecliningAsker(), listener), env=os.environ)
            approver.app = listener.app = app
            try:
                _check_cost_limit(app, record, journal)
                journal.add(JobEvent(kind="session", at=0, session=app.session.id))
                app.session.rename(_make_session_name(record))
                await run_prompt_line(app, record.task)
            finally:
                await app.close()
    except TimeoutError:
        minutes = f"{record.minutes:g}"
        return _make_end(
            listener, "time_limit", tr("stopped after its time limit of {minutes} minutes", minutes=minutes)
        )
    except asyncio.CancelledError:
        return _make_end(listener, "stopped", "")
    return _make_end(listener)


def _check_cost_limit(app: App, record: JobRecord, journal: Journal) -> None:
    """Lift the limit that the user did not ask for if the model has no known price."""
    try:
        app.spending.check_price_known(app.provider)
    except ConfigError as error:
        if record.is_cost_required:
            raise
        app.spending.cap = None
        journal.add(JobEvent(kind="notice", at=0, text=tr("spending is not limited: {error}", error=error)))


def _make_session_name(record: JobRecord) -> str:
    return f"job {record.id}: {' '.join(record.plain_task.split())}"[:60]


def _make_end(listener: _JobListener, status: str = "", error: str = "") -> JobEvent:
    finished = listener.finished
    return JobEvent(
        kind="finished",
        at=0,
        status=status or (finished.status if finished else "failed"),
        text=finished.text[:_MAX_TEXT_CHARS] if finished else "",
        error=error or (finished.error if finished and not status else ""),
        micro_dollars=listener.app.spending.run_cost.micro_dollars if listener.app else 0,
    )
