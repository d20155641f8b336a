"""Real commands: their output, their limits, and that no process remains."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import RunCommand, Workspace
from clio.tools.base import ToolOutput
from clio.tools.shell import processes
from clio.tools.shell.jobs import Job, JobTable
from clio.tools.shell.run_command import (
    JobOutputArgs,
    JobOutputTool,
    JobStopArgs,
    JobStopTool,
    RunCommandArgs,
    RunCommandTool,
)
from tests.support.processes import find_survivors, is_alive
from tests.support.waiting import has_text, run_loop_once, wait_until_async

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are POSIX shell")


def ignore(line: str) -> None:
    pass


async def call(tool: RunCommandTool | JobOutputTool | JobStopTool, args: object) -> ToolOutput:
    return await tool.prepare(args).run(ignore)


def shell(tmp_path: Path, jobs: JobTable | None = None, timeout_s: int = 20) -> RunCommandTool:
    return RunCommandTool(Workspace(tmp_path), jobs or JobTable(), timeout_s)


def run(tmp_path: Path, command: str, timeout_s: int = 20) -> ToolOutput:
    return asyncio.run(call(shell(tmp_path, timeout_s=timeout_s), RunCommandArgs(command=command)))


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """A file in which commands record their process ids; processes still alive afterwards are killed."""
    noted = tmp_path / "pids"
    noted.touch()
    yield noted
    for pid in map(int, noted.read_text(encoding="utf-8").split()):
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def noted_pids(noted: Path) -> list[int]:
    return [int(word) for word in noted.read_text(encoding="utf-8").split()]


async def until_noted(noted: Path, count: int) -> list[int]:
    await wait_until_async(lambda: len(noted_pids(noted)) >= count)
    return noted_pids(noted)


# A shell, a child in the same process group, and one that `timeout` puts in its own group.
FAMILY = "echo $$ >> pids; sleep 60 & echo $! >> pids; timeout 60 sh -c 'echo $$ >> pids; sleep 60'"


def test_output_of_both_streams_is_in_order_with_the_exit_code(tmp_path: Path) -> None:
    output = run(tmp_path, "echo one; echo two >&2; pwd; exit 3")
    first, text = output.text.split("\n", 1)
    assert re.fullmatch(r"\[exit 3( in \d+\.\d s)?\]", first)
    assert text == f"one\ntwo\n{tmp_path}"
    assert f"[{output.summary}]" == first
    assert not output.ok


def test_success_without_output(tmp_path: Path) -> None:
    output = run(tmp_path, "true")
    assert output.ok
    assert output.text.endswith("\n(no output)")


def test_the_environment_is_non_interactive_and_otherwise_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING_OF_MINE", "42")
    monkeypatch.setenv("CI", "true")
    output = run(tmp_path, 'echo "$NO_COLOR $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $SOMETHING_OF_MINE $CI"')
    assert output.text.endswith("\n1 dumb cat cat 0 42 true")


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert run(tmp_path, "cat; read x || echo no input").text.endswith("\nno input")


def test_a_signal_is_named(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -SEGV $$").summary.startswith("killed by signal 11")


def test_a_timeout_kills_the_whole_process_group(tmp_path: Path, pids: Path) -> None:
    output = run(tmp_path, FAMILY, timeout_s=1)
    assert output.summary == "stopped after 1 s"
    assert len(noted_pids(pids)) == 3
    assert find_survivors(noted_pids(pids)) == []
    assert not output.ok


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERM_GRACE_S", 0.1)
    run(tmp_path, "trap '' TERM; echo $$ >> pids; while true; do sleep 0.05; done", timeout_s=1)
    assert find_survivors(noted_pids(pids)) == []


def test_output_before_the_timeout_is_kept_and_silence_is_reported(tmp_path: Path) -> None:
    output = run(tmp_path, "echo started; sleep 60", timeout_s=1)
    assert output.text.endswith("\nstarted")
    assert "it had printed nothing for 1 s" in output.text


def test_a_command_that_was_still_printing_is_distinguished_from_a_silent_one(tmp_path: Path) -> None:
    output = run(tmp_path, "while true; do echo more; sleep 0.05; done", timeout_s=1)
    assert "it was still printing" in output.text


EDITOR = """printf 'Vim: Warning: Input is not from a terminal\\n'; sleep 600"""
FULL_SCREEN = "printf '\\033[?10'; sleep 0.1; printf '49h'; while :; do printf '\\033[H'; date; sleep 0.1; done"


@pytest.mark.parametrize("command", [EDITOR, FULL_SCREEN])
def test_a_program_that_waits_for_keys_is_stopped_with_a_hint(tmp_path: Path, pids: Path, command: str) -> None:
    output = run(tmp_path, f"echo $$ >> pids; {command}", timeout_s=600)
    assert not output.ok and "needs a terminal" in output.text and "edit_file" in output.text
    assert "terminal" in output.summary
    assert not any(is_alive(pid) for pid in noted_pids(pids))


def test_a_program_that_needs_a_terminal_is_explained(tmp_path: Path) -> None:
    assert "needs a terminal" in run(tmp_path, "echo 'top: failed tty get' >&2; exit 1").text
    assert "needs a terminal" not in run(tmp_path, "echo 'top: failed tty get'").text
    long = "for n in $(seq 200); do echo 'test 7: the input device is not a TTY'; done; exit 1"
    assert "needs a terminal" not in run(tmp_path, long).text


def test_an_editor_that_needs_no_keys_is_not_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_TERMINAL_WAIT_S", 0.0)
    closed = "printf '\\033[?1049h\\033[?1049l'; sleep 1.5; echo written"
    assert run(tmp_path, closed).ok


def test_cancelling_leaves_no_process(tmp_path: Path, pids: Path) -> None:
    async def scenario() -> list[int]:
        task = asyncio.create_task(call(shell(tmp_path), RunCommandArgs(command=FAMILY)))
        found = await until_noted(pids, 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return find_survivors(found)

    assert asyncio.run(scenario()) == []


def test_cancelling_during_the_start_leaves_no_process(tmp_path: Path, pids: Path) -> None:
    """The command runs, and has child processes, before asyncio returns it."""
    started = tmp_path / "started"
    os.mkfifo(started)

    async def scenario() -> list[int]:
        command = "sleep 60 & echo $! $$ >> pids; echo > started; wait"
        task = asyncio.create_task(processes.run_process(command, tmp_path, timeout_s=20))
        await run_loop_once(2)
        started.read_text(encoding="utf-8")  # in the loop's own thread, so nothing else runs meanwhile
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return find_survivors(noted_pids(pids))

    assert asyncio.run(scenario()) == []


def test_cancelling_twice_leaves_no_process(tmp_path: Path, pids: Path) -> None:
    async def scenario() -> list[int]:
        stubborn = "trap 'echo asked > asked' TERM; echo $$ >> pids; while true; do sleep 0.05; done"
        task = asyncio.create_task(call(shell(tmp_path), RunCommandArgs(command=stubborn)))
        found = await until_noted(pids, 1)
        task.cancel()
        # It was asked to end and continues, or it was killed at once because its start was not complete.
        await wait_until_async(lambda: has_text(tmp_path / "asked") or not any(map(is_alive, found)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until_async(lambda: not any(map(is_alive, found)))
        return found

    assert len(asyncio.run(asyncio.wait_for(scenario(), 60))) == 1


@pytest.mark.fast
def test_remaining_child_processes_do_not_delay_the_call(tmp_path: Path, pids: Path) -> None:
    output = run(tmp_path, "sleep 60 & echo $! >> pids; echo done")
    assert "done" in output.text
    assert "background=true" in output.text
    assert find_survivors(noted_pids(pids)) == []
    assert output.ok


def test_a_daemon_that_leaves_the_session_does_not_delay_the_call(tmp_path: Path, pids: Path) -> None:
    # The daemon must outlive its command.
    daemon = f"import os, time; os.setsid(); open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(60)"
    command = f'{sys.executable} -c "{daemon}" & while [ ! -s pids ]; do sleep 0.02; done; echo done'
    assert run(tmp_path, command).text.endswith("\ndone")
    assert [pid for pid in noted_pids(pids) if is_alive(pid)] == noted_pids(pids)


def test_fifty_megabytes_of_output_are_limited(tmp_path: Path) -> None:
    output = run(tmp_path, "echo first; head -c 50000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo last", 60)
    assert len(output.text) < 2_100_000
    assert output.text.split("\n")[1] == "first"
    assert output.text.endswith("\nlast")
    assert re.search(r"\[… 48,\d{3},\d{3} characters are not kept …\]", output.text)


def test_progress_is_reported_while_it_runs(tmp_path: Path) -> None:
    updates: list[str] = []
    tool = shell(tmp_path)
    asyncio.run(tool.prepare(RunCommandArgs(command="echo step 7; printf 'part'; sleep 1.3")).run(updates.append))
    assert updates == ["step 7\npart"]


def test_an_interrupted_command_reports_its_output_a_last_time(tmp_path: Path) -> None:
    async def interrupt() -> list[str]:
        updates: list[str] = []
        call = shell(tmp_path).prepare(RunCommandArgs(command="for i in 1 2 3; do echo line $i; done; sleep 60"))
        task = asyncio.create_task(call.run(updates.append))
        while not updates:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return updates

    assert asyncio.run(interrupt())[-1] == "line 1\nline 2\nline 3"


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="could not be started"):
        run(tmp_path / "gone", "true")


@pytest.mark.parametrize("command", ["", "  \n", "echo \0"])
def test_an_invalid_command_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(ToolRetry):
        shell(tmp_path).prepare(RunCommandArgs(command=command))


def test_the_action_that_the_policy_judges(tmp_path: Path) -> None:
    prepared = shell(tmp_path).prepare(RunCommandArgs(command="pytest -q\nls"))
    assert prepared.title == "run pytest -q …"
    assert prepared.action == RunCommand(command="pytest -q\nls", cwd=tmp_path.resolve())


def test_a_job_reports_new_output_and_its_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        jobs = JobTable()
        start, output = shell(tmp_path, jobs), JobOutputTool(jobs)
        command = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4"
        first = await call(start, RunCommandArgs(command=command, background=True))
        while "one" not in first.text:
            first = await call(output, JobOutputArgs(job="job1"))
        assert re.match(r"\[job1 running for \d+ s; read to offset 4 with job_output\]\none$", first.text)
        assert (await call(output, JobOutputArgs(job="job1"))).text.endswith("\n(nothing new)")
        (tmp_path / "go").touch()
        last = await call(output, JobOutputArgs(job="job1", wait_s=10))
        assert re.match(r"\[job1 ended: exit 4(?: in [\d.]+ s)?; read to offset 8 with job_output\]\ntwo$", last.text)
        assert (await call(output, JobOutputArgs(job="job1", offset=0))).text.endswith("\none\ntwo")
        assert jobs.list_running() == []

    asyncio.run(scenario())


def test_a_job_that_ends_at_once_is_reported_by_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.tools.shell.run_command._FIRST_OUTPUT_S", 10.0)
    output = asyncio.run(call(shell(tmp_path), RunCommandArgs(command="no-such-program-1", background=True)))
    assert "job1 ended: exit 127" in output.text
    assert "not found" in output.text


def test_stopping_a_job_ends_its_child_processes(tmp_path: Path, pids: Path) -> None:
    async def scenario() -> ToolOutput:
        jobs = JobTable()
        await call(shell(tmp_path, jobs), RunCommandArgs(command=FAMILY, background=True))
        await until_noted(pids, 3)
        return await call(JobStopTool(jobs), JobStopArgs(job="job1"))

    assert "job1 ended: killed by signal 15" in asyncio.run(scenario()).summary
    assert find_survivors(noted_pids(pids)) == []


def test_a_job_lasts_as_long_as_its_child_processes(tmp_path: Path, pids: Path) -> None:
    async def scenario() -> None:
        jobs = JobTable()
        command = "sh -c 'echo $$ >> pids; sleep 60' & echo up"
        await call(shell(tmp_path, jobs), RunCommandArgs(command=command, background=True))
        await until_noted(pids, 1)
        await wait_until_async(lambda: not jobs.get("job1").process.is_running)
        assert jobs.list_running() == [jobs.get("job1")]
        await jobs.close()
        assert jobs.list_running() == []

    asyncio.run(scenario())
    assert find_survivors(noted_pids(pids)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is asked for twice a second")
def test_the_end_of_remaining_processes_of_a_job_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_POLL_S", 1_000.0)  # polling would wait until then
    os.mkfifo(tmp_path / "go")

    async def scenario() -> list[Job]:
        jobs = JobTable()
        job = await jobs.start("(read line < go) &", tmp_path)
        await wait_until_async(lambda: not job.process.is_running)
        await asyncio.to_thread((tmp_path / "go").write_text, "on\n", encoding="utf-8")
        await job.wait(15)
        return jobs.list_running()

    assert asyncio.run(scenario()) == []


def test_closing_the_table_ends_every_job(tmp_path: Path, pids: Path) -> None:
    async def scenario() -> None:
        jobs = JobTable()
        for _ in range(3):
            await jobs.start("echo $$ >> pids; sleep 60", tmp_path)
        await until_noted(pids, 3)
        await jobs.close()
        await jobs.close()

    asyncio.run(scenario())
    assert find_survivors(noted_pids(pids)) == []


def test_jobs_end_when_clio_fails_with_an_error(tmp_path: Path, pids: Path) -> None:
    """The event loop ended without closing the table: the exit of the interpreter still kills them."""
    script = f"""
import asyncio
from pathlib import Path
from clio.tools.shell.jobs import Job, JobTable
async def main():
    jobs = JobTable()
    await jobs.start("echo $$ >> pids; sleep 60", Path({str(tmp_path)!r}))
    while not Path({str(pids)!r}).read_text(): await asyncio.sleep(0.01)  # the poll interval, in the process under test
    raise SystemExit(5)
asyncio.run(main())
"""

    async def scenario() -> int:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        return await process.wait()

    assert asyncio.run(scenario()) == 5
    assert len(noted_pids(pids)) == 1
    assert find_survivors(noted_pids(pids)) == []


def test_an_unknown_job_gets_the_known_ones() -> None:
    with pytest.raises(ToolRetry, match="none has been started"):
        JobOutputTool(JobTable()).prepare(JobOutputArgs(job="job9"))
