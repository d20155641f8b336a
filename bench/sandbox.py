"""What the sandbox and the confinement of unasked commands add to a command: `true`, run and waited for.

    python bench/sandbox.py [--runs 40]

Every round runs the command alone, then at each level that works here, so that all see the same load. Printed: the
median and the 90th percentile, what a level adds to the command alone, and their ratio; also how long finding out
takes, which happens once (for the confinement once until the machine is started again).
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


def sandboxed(level: Sandboxing, project: Path) -> tuple[Run, Sandbox]:
    """Runs the command in the sandbox of a level."""
    sandbox = Sandbox(level, home=project / "home", user_home=project, env=dict(os.environ))

    async def run() -> None:
        process, _, _ = await run_sandboxed("true", project, sandbox, timeout_s=20)
        assert process.exit_code == 0, process.output.text()

    return run, sandbox


def confined(level: SandboxLevel, project: Path) -> tuple[Run, float]:
    """Runs the command confined by a level, and the seconds that finding out took. Raises ToolFailed."""
    began = time.perf_counter()
    if reason := explain_unusable_confinement(level, os.environ, Path.home()):
        raise ToolFailed(reason)
    seconds = time.perf_counter() - began
    confinement = Confinement(enabled=True, home=project, user_home=project, env=dict(os.environ))
    confinement.use(level)

    async def run() -> None:
        process, _, _, _ = await run_confined("true", project, confinement, None, network=False, timeout_s=20)
        assert process.exit_code == 0, process.output.text()

    return run, seconds


async def measure(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Seconds of each command, one of each kind a round."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            await run()
            found[name].append(time.perf_counter() - began)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    rounds: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        project = Path(name).resolve()
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
        alone, off = sandboxed("off", project)
        runs, sandboxes, finding = {"alone": alone}, [off], {}
        levels: tuple[Sandboxing, ...] = ("bwrap", "landlock", "seatbelt")
        for level in levels:
            run, sandbox = sandboxed(level, project)
            began = time.perf_counter()
            try:
                sandbox.level()
                runs[f"sandbox {level}"] = run
                finding[f"sandbox {level}"] = time.perf_counter() - began
                runs[f"unasked {level}"], finding[f"unasked {level}"] = confined(level, project)
            except ToolFailed as error:
                print(f"{level:<18} {error}")
            sandboxes.append(sandbox)
        asyncio.run(measure(runs, 2))  # the launcher is started, and what is needed is loaded
        found = asyncio.run(measure(runs, rounds))
        base = statistics.median(found["alone"])
        for kind, seconds in found.items():
            median, late = statistics.median(seconds), sorted(seconds)[int(len(seconds) * 0.9)]
            more = f"   adds {(median - base) * 1000:5.1f} ms   {median / base:4.1f} times" if kind in finding else ""
            once = f"   finding out {finding[kind] * 1000:5.1f} ms" if kind in finding else ""
            print(f"{kind:<18} median {median * 1000:5.1f} ms   p90 {late * 1000:5.1f} ms{more}{once}")
        for sandbox in sandboxes:
            sandbox.close()


if __name__ == "__main__":
    main()
