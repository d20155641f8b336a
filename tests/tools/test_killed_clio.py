"""What happens to commands if clio is killed with SIGKILL, or ends."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clio.errors import ToolFailed
from clio.tools.shell import launcher_child
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.launcher import LAUNCHER
from clio.tools.shell.processes import run_process, start_command_process
from tests.support.chat_server import ChatServer, tool_calls
from tests.support.processes import find_survivors, is_alive
from tests.support.waiting import has_text, wait_until, wait_until_async

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere not all of these are found")

NOTED = "echo $$ >> pids; exec sleep 97"
DOUBLE_FORK = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("pids", "a").write(f"{os.getpid()}\\n")
        os.closerange(0, 3)
        time.sleep(97)  # it must not end by itself
"""
SHAPES = {
    "foreground": (f"sh -c '{NOTED}'", False),
    "pipeline": (f"sh -c '{NOTED}' | sh -c '{NOTED}'", False),
    "background": (f"sh -c '{NOTED}' & sleep 97", False),
    "job": (f"sh -c '{NOTED}'", True),
    "setsid": (f"setsid sh -c '{NOTED}' & sleep 97", False),
    "nohup": (f"nohup sh -c '{NOTED}' & sleep 97", False),
    "double fork": (f"{sys.executable} d.py; sleep 97", False),
    "no environment": (f"env -i setsid -f sh -c '{NOTED}'; sleep 97", False),
    "deaf": ("trap '' TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done", False),
}


def noted(folder: Path, count: int) -> list[int]:
    """Return the process ids that commands have recorded, when there are this many; wait at most 20 seconds."""

    def found() -> list[int]:
        path = folder / "pids"
        return [int(pid) for pid in path.read_text(encoding="utf-8").split()] if path.exists() else []

    wait_until(lambda: len(found()) >= count)
    return found()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_process_survives_a_killed_clio(tmp_path: Path, shape: str) -> None:
    line, background = SHAPES[shape]
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "d.py").write_text(DOUBLE_FORK, encoding="utf-8")
    with ChatServer([tool_calls([("run_command", {"command": line, "background": background})])]) as server:
        clio = subprocess.Popen(
            [sys.executable, "-m", "clio", "--input", "stream-json", "--output", "stream-json", "--approve", "all",
             "--base-url", server.url, "--model", "m"],
            cwd=tmp_path / "project",
            env={**os.environ, "HOME": str(tmp_path), "CLIO_HOME": str(tmp_path / "clio"), "OPENAI_API_KEY": "k"},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert clio.stdin is not None
            clio.stdin.write(b'{"type": "user", "text": "go"}\n')
            clio.stdin.flush()
            pids = noted(tmp_path / "project", 2 if shape == "pipeline" else 1)
            assert all(map(is_alive, pids))
        finally:
            clio.kill()
            clio.wait()
    assert find_survivors(pids) == []


def end_of_clio(tmp_path: Path, ending: str) -> list[int]:
    """Start a process that runs a command which leaves a daemon, and then ends."""
    script = f"""
import asyncio, os, signal
from pathlib import Path
from clio.tools.shell.launcher import LAUNCHER
from clio.tools.shell.processes import run_process
asyncio.run(run_process("setsid -f sh -c '{NOTED}'; until [ -s pids ]; do sleep 0.02; done", Path("."), timeout_s=20))
Path("launcher").write_text(str(LAUNCHER.pid))
{ending}
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=60, check=False, capture_output=True)
    return noted(tmp_path, 1)


def test_a_daemon_continues_when_clio_ends_normally(tmp_path: Path) -> None:
    pids = end_of_clio(tmp_path, "")
    try:
        # The launcher ends the remaining processes before it ends itself.
        launcher = int((tmp_path / "launcher").read_text(encoding="utf-8"))
        wait_until(lambda: not is_alive(launcher))
        assert all(map(is_alive, pids))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def test_a_daemon_is_ended_with_a_killed_clio(tmp_path: Path) -> None:
    assert find_survivors(end_of_clio(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")) == []


def test_commands_continue_if_the_launcher_is_killed(tmp_path: Path) -> None:
    async def go() -> None:
        first = await start_command_process("echo $$ > pids; sleep 97", tmp_path)
        await wait_until_async(lambda: has_text(tmp_path / "pids"))
        assert LAUNCHER.pid is not None
        os.kill(LAUNCHER.pid, signal.SIGKILL)
        await asyncio.wait_for(first.wait(), 10)
        assert first.exit_code == -signal.SIGKILL
        second, _ = await run_process("echo again; exit 3", tmp_path, timeout_s=20)
        assert (second.exit_code, second.output.text()) == (3, "again\n")

    asyncio.run(go())
    assert find_survivors(noted(tmp_path, 1)) == []


@pytest.mark.parametrize(
    "command",
    ["kill -9 $PPID; sleep 97", "sleep 97 & setsid sleep 97 & kill -9 $PPID; sleep 97", "kill -9 $PPID | cat"],
)
def test_a_command_that_kills_the_launcher_is_reported_and_jobs_can_be_closed(tmp_path: Path, command: str) -> None:
    async def go() -> None:
        jobs = JobTable()
        await jobs.start("sleep 97", tmp_path)
        try:
            process, late = await asyncio.wait_for(run_process(command, tmp_path, timeout_s=60), 20)
        except ToolFailed as error:  # it was faster than the launcher's report of its start
            assert "was killed; try again" in str(error)
        else:
            assert (process.exit_code, late) == (-signal.SIGKILL, False)
        await asyncio.wait_for(jobs.get("job1").wait(10), 15)
        assert not jobs.get("job1").is_running
        await jobs.start("echo again", tmp_path)
        await asyncio.wait_for(jobs.close(), 20)

    asyncio.run(go())


def test_a_command_does_not_see_clios_environment_in_its_parent_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LAUNCHER.release()
    monkeypatch.setenv("SOME_TOKEN", "a-secret-of-clio")
    process, _ = asyncio.run(
        run_process("cat /proc/$PPID/environ", tmp_path, timeout_s=20, env={"PATH": os.environ["PATH"]})
    )
    assert process.exit_code == 0
    assert "a-secret-of-clio" not in process.output.text()


def test_without_subreaper_sessions_and_process_trees_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The method for other systems, with `ps`: a child in its command's session and one in its own session."""
    monkeypatch.setattr(launcher_child, "_LINUX", False)
    top = subprocess.Popen(
        ["sh", "-c", f"sh -c '{NOTED}' & setsid sh -c '{NOTED}' & wait"], cwd=tmp_path, start_new_session=True
    )
    noted(tmp_path, 2)
    found = launcher_child._list_descendants(top.pid)  # pyright: ignore[reportPrivateUsage]
    assert set(noted(tmp_path, 2)) <= set(found)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    assert top.wait(10) is not None
