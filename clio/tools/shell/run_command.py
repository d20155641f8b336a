"""The tools that run commands in the foreground, with a time limit, or in the background, as jobs."""

import asyncio
import re
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import structs

from clio.errors import ToolFailed, ToolRetry
from clio.messages import Commit, SideEffects
from clio.readonly_git import readonly_git_command, readonly_git_environment
from clio.sandbox.fence import PRIVATE_TMP_NOTE, PRIVATE_TMP_WARNING
from clio.security.actions import RunCommand, TouchOwnState, Workspace
from clio.sessions.side_effects import find_commit_lines, runs_commit
from clio.text.translation import english, tr
from clio.tools.base import ConfinedRun, PreparedCall, Progress, ToolOutput
from clio.tools.schemas import JobOutputArgs, JobStopArgs, RunCommandArgs, SandboxedCommandArgs, get_command_args
from clio.tools.shell.jobs import Job, JobTable
from clio.tools.shell.launcher import LAUNCHER
from clio.tools.shell.processes import RunningProcess, run_process
from clio.tools.shell.sandboxed_run import restore_files_changed_by_jobs, run_confined, run_sandboxed

_FIRST_OUTPUT_S = 0.5  # time for a new job to fail or print something before its first report
_TITLE_CHARS = 200
_GIT_LOG_LIMIT_S = 5.0
_LOG_ARGUMENTS = ("log", "--max-count=20", "--pretty=format:%h %s")


_MAX_COMPLAINT_CHARS = 2_000  # a longer output is not about the missing terminal alone
_COMPLAINT = (
    r"(?i)not (?:from )?a (?:tty|terminal)|not connected to a (?:tty|terminal)|tty get|terminal is (?:dumb|required)"
    r"|no tty present|opening terminal|unable to open (?:a )?tty|/dev/tty: |inappropriate ioctl"
)
_NO_TERMINAL_HINT = (
    "it needs a terminal, and a command has none: standard input is empty and no key can be pressed; use the form that"
    " asks nothing, such as `top -b -n 1`, `git commit -m`, `ssh host command`, and read_file and edit_file for files"
)


class RunCommandTool:
    """The tool `run_command`: one shell command line in the workspace."""

    name = "run_command"
    read_only = False

    def __init__(self, workspace: Workspace, jobs: JobTable, timeout_s: int) -> None:
        self._sandbox = jobs.sandbox
        self.args = get_command_args(sandboxed=jobs.is_sandboxed)
        self._workspace = workspace
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._has_explained_tmp = False

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a command. Raises ToolRetry for an empty command or one with a NUL character."""
        call: RunCommandArgs = args
        if not call.command.strip():
            raise ToolRetry(tr("the command is empty"), "give one line for the shell")
        if "\0" in call.command:
            raise ToolRetry(tr("the command contains a NUL character"), "leave it out")
        if sys.platform != "win32":
            # While the policy judges and the user may still read the question, Python starts; the command then waits
            # for a fork only.
            LAUNCHER.start_early()

        outside = isinstance(call, SandboxedCommandArgs) and call.outside

        async def run(progress: Progress, confined: ConfinedRun | None = None) -> ToolOutput:
            if call.background:
                return await self._run_in_background(call.command, outside, confined)
            limit_s = call.timeout_s or self._timeout_s
            return await self._run_in_foreground(call.command, limit_s, progress, outside, confined)

        first, _, more = call.command.strip().partition("\n")
        title = tr(
            "run {first}{value}", first=first[:_TITLE_CHARS], value=" …" if more or len(first) > _TITLE_CHARS else ""
        )
        title += tr(" (background)") if call.background else ""
        title += tr(" (outside the sandbox)") if outside else ""
        note = PRIVATE_TMP_WARNING if not outside and self._uses_private_tmp(call.command) else ""
        action = RunCommand(command=call.command, cwd=self._workspace.root, outside=outside, note=note)
        return PreparedCall(title=title, action=action, run=run, run_confined=run)

    async def _run_in_foreground(
        self, command: str, timeout_s: float, progress: Progress, outside: bool, confined: ConfinedRun | None
    ) -> ToolOutput:
        started = time.time()
        sandbox = None if outside else self._sandbox
        # Before anything that could run a hook: a background job may have changed .git/config or a hook meanwhile.
        restored = await restore_files_changed_by_jobs(self._sandbox)
        root, confinement, refused = self._workspace.root, self._jobs.confinement, ""
        if confined is not None and confinement is not None:
            process, timed_out, note, refused = await run_confined(
                command, root, confinement, sandbox,
                network=confined.network, timeout_s=timeout_s, on_progress=progress,
            )  # fmt: skip
        else:
            process, timed_out, note = await run_sandboxed(
                command, root, sandbox, timeout_s=timeout_s, on_progress=progress
            )
        if process.needed_terminal:
            summary = tr("stopped: it needs a terminal")
        else:
            summary = tr("stopped after {seconds:g} s", seconds=timeout_s) if timed_out else process.describe_end()
        state = f"{english(summary)}; {_explain_silence(process, timeout_s)}" if timed_out else english(summary)
        if _lacked_terminal(process):
            state = f"{english(process.describe_end())}; {_NO_TERMINAL_HINT}"
        if process.left_behind:
            state += "; processes it left running were stopped, background=true would keep them"
        ok = process.exit_code == 0 and not timed_out
        text = process.output.text().strip("\n")
        commits = await _find_commits(command, text, self._workspace.root, started)
        effects = SideEffects(
            command=command, exit_code=None if timed_out else _get_exit_code(process), commits=commits
        )
        # Told once per session: a file left in /tmp by one command is not seen by the next, which looks like a lost
        # file.
        if not outside and not note and not self._has_explained_tmp and self._uses_private_tmp(command):
            self._has_explained_tmp, note = True, PRIVATE_TMP_NOTE
        result = "\n".join(filter(None, (f"[{state}]", text or "(no output)", restored, note)))
        return ToolOutput(text=result, summary=summary, output=text, ok=ok, side_effects=effects, denied_need=refused)

    def _uses_private_tmp(self, command: str) -> bool:
        """Whether the command would see a private /tmp instead of the user's, and names /tmp."""
        return self._sandbox is not None and self._sandbox.names_own_tmp(command, self._workspace.root)

    async def _run_in_background(self, command: str, outside: bool, confined: ConfinedRun | None) -> ToolOutput:
        job = await self._jobs.start(command, self._workspace.root, outside=outside, confined=confined)
        await job.wait(_FIRST_OUTPUT_S)
        output = _make_job_report(job, job.read_to, await restore_files_changed_by_jobs(self._sandbox))
        return structs.replace(output, denied_need=await job.take_refusal())


class JobOutputTool:
    """The tool `job_output`: output of a background command."""

    name = "job_output"
    args = JobOutputArgs
    read_only = True

    def __init__(self, jobs: JobTable) -> None:
        self._jobs = jobs

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a call. Raises ToolRetry for an unknown job."""
        call: JobOutputArgs = args
        job = self._jobs.get(call.job)

        async def run(progress: Progress) -> ToolOutput:
            if call.wait_s:
                await job.wait(call.wait_s)
            if not isinstance(job, Job):
                return job.make_report()
            offset = job.read_to if call.offset is None else call.offset
            output = _make_job_report(job, offset, await restore_files_changed_by_jobs(self._jobs.sandbox))
            if refused := await job.take_refusal():
                return structs.replace(output, denied_need=refused, unconfined_call=self._prepare_unconfined_call(job))
            return output

        return PreparedCall(title=tr("output of {job}", job=job.name), action=TouchOwnState(), run=run)

    def _prepare_unconfined_call(self, job: Job) -> PreparedCall:
        """Return the same command, to be started again unconfined if the user agrees."""

        async def run(progress: Progress) -> ToolOutput:
            again = await self._jobs.start(job.command, job.folder)
            await again.wait(_FIRST_OUTPUT_S)
            return _make_job_report(again, again.read_to, await restore_files_changed_by_jobs(self._jobs.sandbox))

        first, _, more = job.command.strip().partition("\n")
        title = tr(
            "run {first}{value} (background)",
            first=first[:_TITLE_CHARS],
            value=" …" if more or len(first) > _TITLE_CHARS else "",
        )
        return PreparedCall(title=title, action=RunCommand(command=job.command, cwd=job.folder), run=run)


class JobStopTool:
    """The tool `job_stop`: end a background command and everything it started."""

    name = "job_stop"
    args = JobStopArgs
    read_only = False

    def __init__(self, jobs: JobTable) -> None:
        self._jobs = jobs

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a call. Raises ToolRetry for an unknown job."""
        call: JobStopArgs = args
        job = self._jobs.get(call.job)

        async def run(progress: Progress) -> ToolOutput:
            if job.is_running:
                await job.stop()
            if not isinstance(job, Job):
                return job.make_report()
            return _make_job_report(job, job.read_to, await restore_files_changed_by_jobs(self._jobs.sandbox))

        return PreparedCall(title=tr("stop {job}", job=job.name), action=TouchOwnState(ends_work=True), run=run)


def _make_job_report(job: Job, offset: int, note: str) -> ToolOutput:
    """Return a job's state and its output from a character offset; record that the model has read all of the output.

    note: a sentence about files that jobs changed and the sandbox restored, or "".
    """
    process = job.process
    job.read_to = process.output.total_chars
    text = process.output.text_from(offset).strip("\n")
    if job.is_running:
        state = tr("{job} running for {seconds:.0f} s", job=job.name, seconds=process.seconds)
        unfinished = process.unfinished_line
        text = "\n".join(part for part in (text, unfinished) if part)
    else:
        state = tr("{job} ended: {end}", job=job.name, end=process.describe_end())
    effects = None if job.is_running else SideEffects(command=job.command, exit_code=_get_exit_code(process))
    head = f"[{english(state)}; read to offset {job.read_to} with job_output]"
    result = "\n".join(filter(None, (head, text or "(nothing new)", note)))
    return ToolOutput(text=result, summary=state, side_effects=effects)


def _get_exit_code(process: RunningProcess) -> int | None:
    """Return the exit code of the command; None if a signal ended it."""
    code = process.exit_code
    return None if code is None or code < 0 else code


async def _find_commits(command: str, output: str, folder: Path, started: float) -> tuple[Commit, ...]:
    """Return the commits a command made: from git's output, or from its log if git was told to be quiet."""
    if not runs_commit(command):
        return ()
    commits = find_commit_lines(output)
    if not commits:
        try:
            argv = await asyncio.to_thread(readonly_git_command, folder, *_LOG_ARGUMENTS, f"--since=@{int(started)}")
            log, timed_out = await run_process(argv, folder, timeout_s=_GIT_LOG_LIMIT_S, env=readonly_git_environment())
        except (OSError, ToolFailed):
            return ()
        lines = log.output.text().splitlines() if log.exit_code == 0 and not timed_out else []
        commits = [(name, subject) for name, _, subject in (line.partition(" ") for line in reversed(lines))]
    return tuple(Commit(hash=name, subject=subject) for name, subject in commits)


def _lacked_terminal(process: RunningProcess) -> bool:
    """Whether the command was stopped or failed because it has no terminal."""
    if process.needed_terminal:
        return True
    output = process.output
    return (
        bool(process.exit_code)
        and output.total_chars <= _MAX_COMPLAINT_CHARS
        and re.search(_COMPLAINT, output.text()) is not None
    )


def _explain_silence(process: RunningProcess, timeout_s: float) -> str:
    """Tell the model why its command may not have ended in time."""
    return (
        f"it had printed nothing for {process.silent_s:.0f} s and may have waited for input, which it cannot get"
        if process.silent_s > timeout_s / 2
        else "it was still printing; give timeout_s, or background=true for something that does not end"
    )
