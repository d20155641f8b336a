"""Measure the time that the sandbox, and the confinement of unapproved commands, add to the command `true`.

    python bench/sandbox.py [--runs 40]

Every round runs the command alone and at each level that works here, so that other work on the machine slows all of
them alike. Prints the median and the 90th percentile, the difference and the ratio to the command alone, and the time
of the detection, which runs once (for the confinement once until the machine restarts).
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.config.schema import Sandboxing
from clio.errors import ToolFailed
from clio.sandbox.backends import explain_unusable_confinement
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.tools.shell.sandboxed_run import run_confined, run_sandboxed

Run = Callable[[], Awaitable[None]]


def make_sandboxed_run(level: Sandboxing, project: Path) -> tuple[Run, Sandbox]:
    """Return a function that runs the command in the sandbox of a level, and the sandbox."""
    sandbox = Sandbox(level, home=project / "home", user_home=project, env=dict(os.environ))

    async def run() -> None:
        process, _, _ = await run_sandboxed("true", project, sandbox, timeout_s=20)
        assert process.exit_code == 0, process.output.text()

    return run, sandbox


def make_confined_run(level: SandboxLevel, project: Path) -> tuple[Run, float]:
    """Return a function that runs the command confined by a level, and the seconds of the detection.

    Raises ToolFailed if the level does not work here.
    """
    started = time.perf_counter()
    if reason := explain_unusable_confinement(level, os.environ, Path.home()):
        raise ToolFailed(reason)
    seconds = time.perf_counter() - started
    confinement = Confinement(enabled=True, home=project, user_home=project, env=dict(os.environ))
    confinement.use(level)

    async def run() -> None:
        process, _, _, _ = await run_confined("true", project, confinement, None, network=False, timeout_s=20)
        assert process.exit_code == 0, process.output.text()

    return run, seconds


async def measure(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each run, one of each kind per round."""
    seconds_by_run: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            await run()
            seconds_by_run[name].append(time.perf_counter() - started)
    return seconds_by_run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    rounds: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        project = Path(name).resolve()
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
        alone, off = make_sandboxed_run("off", project)
        runs, sandboxes, detection_s = {"alone": alone}, [off], {}
        levels: tuple[Sandboxing, ...] = ("bwrap", "landlock", "seatbelt")
        for level in levels:
            run, sandbox = make_sandboxed_run(level, project)
            started = time.perf_counter()
            try:
                sandbox.level()
                runs[f"sandbox {level}"] = run
                detection_s[f"sandbox {level}"] = time.perf_counter() - started
                runs[f"confined {level}"], detection_s[f"confined {level}"] = make_confined_run(level, project)
            except ToolFailed as error:
                print(f"{level:<18} {error}")
            sandboxes.append(sandbox)
        asyncio.run(measure(runs, 2))  # starts the launcher, and loads modules
        seconds_by_run = asyncio.run(measure(runs, rounds))
        base = statistics.median(seconds_by_run["alone"])
        for kind, seconds in seconds_by_run.items():
            median, p90 = statistics.median(seconds), sorted(seconds)[int(len(seconds) * 0.9)]
            added = (
                f"   adds {(median - base) * 1000:5.1f} ms   {median / base:4.1f} times" if kind in detection_s else ""
            )
            detection = f"   detection {detection_s[kind] * 1000:5.1f} ms" if kind in detection_s else ""
            print(f"{kind:<18} median {median * 1000:5.1f} ms   p90 {p90 * 1000:5.1f} ms{added}{detection}")
        for sandbox in sandboxes:
            sandbox.close()


if __name__ == "__main__":
    main()
