"""Background commands that change what commands may not change: undone while they run, and when they end."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clio.sandbox.sandbox import Sandbox
from clio.security.actions import Workspace
from clio.tools.git import GitArgs, GitTool
from clio.tools.shell.jobs import Job, JobTable
from clio.tools.shell.run_command import JobOutputArgs, JobOutputTool, RunCommandArgs, RunCommandTool
from clio.tools.shell.sandboxed_run import restore_files_changed_by_jobs, run_sandboxed
from tests.sandbox.range import AttackField
from tests.support.waiting import wait_until_async

PLANT = "echo 'touch ran' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor ./evil"
COMMON = "echo ../g > .git/commondir"
"""A path of a repository that is not a worktree, which no level can protect."""


@pytest.fixture(autouse=True)
def tidy(field: AttackField) -> None:
    field.tidy()
    field.git("rm", "-rq", "--cached", "--ignore-unmatch", ".")


@asynccontextmanager
async def job_of(working_sandbox: Sandbox, field: AttackField, line: str) -> AsyncGenerator[Job]:
    """Return a job that has done its work, and waits for a file `go` before it ends."""
    jobs = JobTable(working_sandbox)
    try:
        job = await jobs.start(f"{line}; echo planted; until [ -e go ]; do sleep 0.02; done", field.project)
        await wait_until_async(lambda: "planted" in job.process.output.text() or not job.is_running)
        assert job.is_running, job.process.output.text()
        yield job
    finally:
        for one in jobs.list_running():
            await one.stop()


Step = Callable[[Sandbox, AttackField, Job], Coroutine[Any, Any, str]]


async def next_command(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    return (await run_sandboxed("true", field.project, working_sandbox, timeout_s=20))[2]


async def command_outside(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    table = JobTable(working_sandbox)
    tool = RunCommandTool(Workspace(field.project), table, 20)
    call = tool.args(command="ls .git/commondir; ls .git/hooks", outside=True)  # type: ignore[call-arg]
    return (await tool.prepare(call).run(lambda line: None)).text


async def its_end(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    (field.project / "go").touch()
    await job.wait(20)
    assert not job.is_running
    return await restore_files_changed_by_jobs(working_sandbox)


async def stopping_it(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    await job.stop()
    return await restore_files_changed_by_jobs(working_sandbox)


async def next_turn(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    return "\n".join(working_sandbox.describe_trouble())


async def commit_by_the_model(working_sandbox: Sandbox, field: AttackField, job: Job) -> str:
    (field.project / "new").write_text(f"{working_sandbox.choice}\n", encoding="utf-8")
    tool = GitTool(Workspace(field.project), 20, sandbox=working_sandbox)
    done = await tool.prepare(GitArgs(operation="commit", message="new", paths=("new",))).run(lambda line: None)
    assert done.ok, done.text
    assert not (field.project / "ran").exists()
    return "; ".join(str(path) for path in (field.project / ".git").rglob("*.set-aside-*"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", [next_command, command_outside, its_end, stopping_it, next_turn, commit_by_the_model])
def test_files_planted_by_a_job_are_removed(working_sandbox: Sandbox, field: AttackField, step: Step) -> None:
    before = field.intact()
    working_sandbox.describe_trouble()

    async def go() -> str:
        async with job_of(working_sandbox, field, f"{PLANT}; {COMMON}"):
            assert (field.project / ".git" / "commondir").exists()
            async with job_of(working_sandbox, field, "true") as other:  # a second one, with its own guard
                del other
            assert field.intact() == before
        async with job_of(working_sandbox, field, f"{PLANT}; {COMMON}") as job:
            return await step(working_sandbox, field, job)

    note = asyncio.run(go())
    assert field.intact() == before
    assert "commondir" in note and "commondir: No such" not in note
    assert working_sandbox.known != "landlock" or "hooks/pre-commit" in note


def test_the_model_is_told_with_the_output_of_the_job(working_sandbox: Sandbox, field: AttackField) -> None:
    async def go() -> str:
        jobs = JobTable(working_sandbox)
        tool = RunCommandTool(Workspace(field.project), jobs, 20)
        begun = await tool.prepare(RunCommandArgs(command=f"{COMMON}; exec sleep 60", background=True)).run(print)
        job = jobs.get("job1")
        await wait_until_async(lambda: begun.text.count("commondir") or (field.project / ".git" / "commondir").exists())
        seen = await JobOutputTool(jobs).prepare(JobOutputArgs(job="job1")).run(print)
        await job.stop()
        return begun.text + seen.text

    assert asyncio.run(go()).count("the sandbox reverted") == 1
    assert not (field.project / ".git" / "commondir").exists()


def test_answers_of_the_user_are_kept_while_a_job_runs(working_sandbox: Sandbox, field: AttackField) -> None:
    settings = field.project / ".clio" / "config.yaml"
    old = settings.read_bytes()

    async def go() -> None:
        async with job_of(working_sandbox, field, "true"):
            settings.write_text("approve: ask\nallow: [ls]\n", encoding="utf-8")
            assert (await run_sandboxed("true", field.project, working_sandbox, timeout_s=20))[2] == ""
            assert "ls" in settings.read_text(encoding="utf-8")

    try:
        asyncio.run(go())
    finally:
        settings.write_bytes(old)


def test_nothing_is_watched_if_no_job_runs(working_sandbox: Sandbox, field: AttackField, tmp_path: Path) -> None:
    async def go() -> str:
        async with job_of(working_sandbox, field, "true"):
            pass
        field.git("config", "remote.there.url", str(tmp_path))
        return await restore_files_changed_by_jobs(working_sandbox)

    assert asyncio.run(go()) == ""
    field.git("config", "--unset", "remote.there.url")
