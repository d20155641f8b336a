"""What the sandbox adds to a command: `true`, run and waited for, at every level that holds here.

    python bench/sandbox.py [--runs 40]

Also printed: how long finding out takes, which happens once in a run of clio that asks for a sandbox.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.config.schema import Sandboxing
from clio.errors import ToolFailed
from clio.sandbox.sandbox import Sandbox
from clio.tools.shell.held import run_held


async def times(sandbox: Sandbox, project: Path, runs: int) -> list[float]:
    """Seconds of each command."""
    found: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        process, _, _ = await run_held("true", project, sandbox, timeout_s=20)
        assert process.exit_code == 0, process.output.text()
        found.append(time.perf_counter() - began)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    runs: int = parser.parse_args().runs
    levels: tuple[Sandboxing, ...] = ("off", "bwrap", "landlock", "seatbelt")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        project = Path(name).resolve()
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
        for level in levels:
            sandbox = Sandbox(level, home=project / "home", person=project, env=dict(os.environ))
            began = time.perf_counter()
            try:
                sandbox.level()
            except ToolFailed as error:
                print(f"{level:<9} {error}")
                continue
            known = time.perf_counter() - began
            found = sorted(asyncio.run(times(sandbox, project, runs)))
            print(
                f"{level:<9} median {statistics.median(found) * 1000:5.1f} ms   "
                f"p90 {found[int(len(found) * 0.9)] * 1000:5.1f} ms   finding out {known * 1000:5.1f} ms"
            )
            sandbox.close()


if __name__ == "__main__":
    main()
