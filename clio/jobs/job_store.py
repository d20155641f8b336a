"""Jobs: tasks that run in a process of their own and continue after the terminal is closed.

Each job has a folder `~/.clio/jobs/N`: `job.json` says what to do, `journal.jsonl` what happened, `output.log` what it
printed, `answer-N.json` how the user answered its question N. The job's process holds the lock of the file `lock`,
which the system releases however it ends: a journal without an end and without a lock belongs to a killed job.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.errors import ClioError, UserError
from clio.storage.files import make_folder, open_regular, read_regular, write_atomic
from clio.storage.jsonl import append_lines
from clio.storage.locks import FileLock, LockOwner, error_cause, find_lock_owner
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr
from clio.text.untrusted_text import unmark_pasted_text
from clio.threads import read_process_start

JOBS_FOLDER = "jobs"
JOURNAL_NAME, OUTPUT_NAME, RECORD_NAME, LOCK_NAME = "journal.jsonl", "output.log", "job.json", "lock"
START_LIMIT_S = 60.0
"""Seconds within which a new process must have written its first line; a busy machine takes a few."""
STOP_LIMIT_S = 15.0
"""Seconds a job has to end by itself after it was asked to stop."""
_POLL_S = 0.05
_MAX_JOURNAL_BYTES = 20_000_000

QuestionRule = Literal["wait", "refuse"]
"""What a job does where it needs approval: it waits for the user, or the call is refused."""
JobState = Literal["starting", "running", "needs you", "done", "failed", "stopped", "interrupted"]
STATE_NAMES: dict[JobState, str] = {
    "starting": mark("starting"),
    "running": mark("running"),
    "needs you": mark("needs you"),
    "done": mark("done"),
    "failed": mark("failed"),
    "stopped": mark("stopped"),
    "interrupted": mark("interrupted"),
}


class JobRecord(Struct, frozen=True, kw_only=True):
    """What a job is to do, decided when it is started. Stored without secrets.

    Attributes:
        folder: where it works.
        project: the project whose session it writes.
        overrides: settings as on the command line, such as the approval mode.
        max_cost: in US dollars. is_cost_required: refuse to run a model whose price is unknown.
        minutes: how long it may work, without the time in which it waits for the user.
        created: seconds since the epoch.
        worktree: name of the worktree it works in; "" for none.
        schedule: number of the schedule that started it; 0 for none.
    """

    id: int
    task: str
    folder: str
    project: str
    approve: str
    max_cost: float
    minutes: float
    created: float
    is_cost_required: bool = False
    on_question: QuestionRule = "wait"
    config_file: str = ""
    overrides: dict[str, str | bool | tuple[str, ...]] = {}
    worktree: str = ""
    schedule: int = 0

    @property
    def plain_task(self) -> str:
        """The task for the user, without the tags around what was pasted."""
        return unmark_pasted_text(self.task)


class JobEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a journal.

    Attributes:
        at: seconds since the epoch.
        process_start: when the process `pid` began, in the system's own unit; with it a reused pid is recognized.
        question: number of the question, from 1.
        detail: the command or the change that needs approval.
        status: how the turn ended; "stopped" and "time_limit" besides those of a turn.
        text: the answer.
    """

    kind: Literal["started", "session", "step", "notice", "question", "answered", "finished"]
    at: float
    pid: int = 0
    process_start: str = ""
    session: str = ""
    step: int = 0
    tokens: int = 0
    micro_dollars: int = 0
    question: int = 0
    title: str = ""
    detail: str = ""
    reason: str = ""
    status: str = ""
    text: str = ""
    error: str = ""


class JobAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer to a question of a job."""

    question: int
    approved: bool
    reason: str = ""


class Job(Struct, frozen=True, kw_only=True):
    """One job as its folder describes it.

    owner: the process that works on it; None if none does.
    """

    record: JobRecord
    folder: Path
    events: tuple[JobEvent, ...] = ()
    owner: LockOwner | None = None

    @property
    def state(self) -> JobState:
        """What it does, or how it ended."""
        end = self.get_last("finished")
        if end is not None:
            return "done" if end.status == "done" else "stopped" if end.status == "stopped" else "failed"
        if self.owner is not None:
            return "needs you" if self.open_question is not None else "running"
        is_new = not self.events and time.time() - self.record.created < START_LIMIT_S
        return "starting" if is_new else "interrupted"

    @property
    def is_active(self) -> bool:
        """Whether it works, waits or is about to begin."""
        return self.state in ("starting", "running", "needs you")

    @property
    def open_question(self) -> JobEvent | None:
        """The question that waits for an answer; None if there is none, or if its process has ended."""
        asked = self.get_last("question")
        if asked is None or self.owner is None or self.get_last("finished") is not None:
            return None
        answered = self.get_last("answered")
        return asked if answered is None or answered.question < asked.question else None

    @property
    def session_id(self) -> str:
        """The session it writes; "" before it has one."""
        found = self.get_last("session")
        return found.session if found else ""

    def get_last(self, kind: str) -> JobEvent | None:
        """Return the newest event of a kind."""
        return next((event for event in reversed(self.events) if event.kind == kind), None)


class Journal:
    """Writes what happens to a job. A line that cannot be written, as on a full disk, is written with a later one."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._path = folder / JOURNAL_NAME
        self._now = now
        self._waiting: list[bytes] = []
        self.problem = ""

    def add(self, event: JobEvent) -> bool:
        """Write an event, and those that could not be written before; return whether all are on disk."""
        self._waiting.append(msgspec.json.encode(msgspec.structs.replace(event, at=self._now())))
        return self.flush()

    def flush(self) -> bool:
        """Write what could not be written before; return whether all is on disk."""
        try:
            append_lines(self._path, self._waiting)
        except OSError as error:
            self.problem = error_cause(error)
            return False
        self._waiting.clear()
        return True


def get_jobs_folder(home: Path) -> Path:
    """Return the folder that has all jobs of a user."""
    return home / JOBS_FOLDER


def create_job(home: Path, record: JobRecord) -> Job:
    """Store a new job under the next free number. Raises OSError."""
    parent = get_jobs_folder(home)
    make_folder(parent)
    number = max((int(path.name) for path in parent.iterdir() if path.name.isdecimal()), default=0)
    while True:
        number += 1
        folder = parent / str(number)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:  # another clio took the number
            continue
        break
    record = msgspec.structs.replace(record, id=number)
    try:
        write_atomic(folder / RECORD_NAME, msgspec.json.encode(record))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise
    return Job(record=record, folder=folder)


def read_job(folder: Path) -> Job | None:
    """Return the job of a folder; None if it has none that this version can read."""
    try:
        record = decode_json(read_regular(folder / RECORD_NAME), type=JobRecord)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    # Before the journal: a process that ends between the two reads has written its end.
    owner = find_lock_owner(folder / LOCK_NAME)
    return Job(record=record, folder=folder, events=tuple(_read_events(folder / JOURNAL_NAME)), owner=owner)


def _read_events(path: Path) -> list[JobEvent]:
    events: list[JobEvent] = []
    try:
        lines = read_regular(path, _MAX_JOURNAL_BYTES).splitlines()
    except OSError:
        return events
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):  # truncated by a kill, or a later version's
            events.append(decode_json(line, type=JobEvent))
    return events


def list_jobs(home: Path) -> list[Job]:
    """Return all jobs, oldest first."""
    try:
        names = [path for path in get_jobs_folder(home).iterdir() if path.name.isdecimal()]
    except OSError:
        return []
    jobs = map(read_job, sorted(names, key=lambda path: int(path.name)))
    return [job for job in jobs if job is not None]


def find_job(home: Path, name: str) -> Job:
    """Return the job of that number. Raises UserError."""
    folder = get_jobs_folder(home) / name.strip().removeprefix("#")
    job = read_job(folder) if folder.name.isdecimal() else None
    if job is None:
        raise UserError(tr("there is no job {name!r}; clio jobs list shows them", name=name))
    return job


def launch_job(job: Job, env: Mapping[str, str]) -> Job:
    """Start the process of a job, detached from this terminal, and wait until it works.

    Raises ClioError if it does not begin; its folder is removed then.
    """
    log = open_output(job)
    try:
        process = subprocess.Popen(
            # -P: a module in the project's folder must not be imported instead of clio's own.
            [sys.executable, "-P", "-m", "clio", "__job", str(job.folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=job.record.folder,
            env=dict(env),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
            | getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        current = read_job(job.folder)
        if current is not None and current.events:
            return current
        # The process that was started ends when the job itself has begun in a child of it.
        if process.poll() not in (None, 0):
            break
        time.sleep(_POLL_S)
    reason = " ".join(read_output(job, 2_000).split()) or tr("it wrote no journal")
    raise ClioError(tr("the job {id} did not start: {reason}", id=job.record.id, reason=reason))


def open_output(job: Job) -> int:
    """Open the file for what a job prints and return its descriptor. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.open(job.folder / OUTPUT_NAME, flags, 0o600)


def read_output(job: Job, max_chars: int) -> str:
    """Return the end of what a job printed."""
    try:
        with open_regular(job.folder / OUTPUT_NAME, None, follow=False) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 4 * max_chars, 0))
            return file.read(4 * max_chars).decode("utf-8", "replace")[-max_chars:]
    except OSError:
        return ""


def read_output_from(folder: Path, offset: int) -> bytes:
    """Return what a job has printed from this byte on, at most a megabyte; b"" if there is nothing more."""
    try:
        with open_regular(folder / OUTPUT_NAME, None, follow=False) as file:
            file.seek(offset)
            return file.read(1_000_000)
    except OSError:
        return b""


def measure_output(folder: Path) -> int:
    """Return how many bytes a job has printed."""
    try:
        return (folder / OUTPUT_NAME).stat().st_size
    except OSError:
        return 0


def answer_job(job: Job, *, approved: bool, reason: str = "") -> JobEvent:
    """Answer the open question of a job and return the question. Raises UserError if there is none."""
    question = job.open_question
    if question is None:
        raise UserError(tr("job {id} asks nothing now; clio jobs show {id} shows its state", id=job.record.id))
    answer = JobAnswer(question=question.question, approved=approved, reason=reason)
    write_atomic(get_answer_file(job.folder, question.question), msgspec.json.encode(answer))
    return question


def get_answer_file(folder: Path, question: int) -> Path:
    """Return the file with the answer to a question."""
    return folder / f"answer-{question}.json"


def read_answer(folder: Path, question: int) -> JobAnswer | None:
    """Return the answer to a question; None if there is none yet."""
    try:
        answer = decode_json(read_regular(get_answer_file(folder, question), 100_000), type=JobAnswer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return answer if answer.question == question else None


def stop_job(job: Job) -> Job:
    """End the process of a job, first by asking it to end, and return the job as it is then.

    Raises UserError if no process works on it.
    """
    deadline, is_killed = time.monotonic() + STOP_LIMIT_S, False
    if job.owner is None:
        raise UserError(tr("job {id} is not running; clio jobs show {id} shows how it ended", id=job.record.id))
    _signal_owner(job, signal.SIGTERM)
    while True:
        current = read_job(job.folder)
        if current is None or current.owner is None:
            return current or job
        if time.monotonic() > deadline:
            if is_killed:
                raise UserError(tr("job {id} cannot be ended: process {pid}", id=job.record.id, pid=current.owner.pid))
            _signal_owner(current, getattr(signal, "SIGKILL", signal.SIGTERM))
            deadline, is_killed = time.monotonic() + STOP_LIMIT_S, True
        time.sleep(_POLL_S)


def _signal_owner(job: Job, number: int) -> None:
    """Send a signal to the process that holds the job's lock, and to no other process that got its pid."""
    owner, started = job.owner, job.get_last("started")
    if owner is None or not owner.pid:
        return
    if started is not None and started.pid == owner.pid and started.process_start != read_process_start(owner.pid):
        return
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
            os.kill(owner.pid, number)
            return
        process = os.pidfd_open(owner.pid)  # refers to this process even if its pid is reused
        try:
            if find_lock_owner(job.folder / LOCK_NAME) == owner:
                signal.pidfd_send_signal(process, number)
        finally:
            os.close(process)


def remove_job(job: Job) -> None:
    """Delete the folder of a job that has ended. Its session stays. Raises UserError for one that runs, and OSError."""
    lock = FileLock(job.folder / LOCK_NAME)
    if job.is_active or not lock.acquire():
        raise UserError(tr("job {id} still runs; end it with clio jobs stop {id}", id=job.record.id))
    try:
        for path in job.folder.iterdir():
            if path.name != LOCK_NAME:
                path.unlink()
    finally:
        lock.release()
    job.folder.rmdir()
