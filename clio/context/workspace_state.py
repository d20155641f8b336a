"""What changes from turn to turn and the model should know: the date, and how the working tree stands."""

import asyncio
import subprocess
import time
from pathlib import Path

from clio.algorithms.git_looking import LOOKING
from clio.context.inert import one_line

# Reading starts no other program and takes no lock.
_PLAIN = ("-c", "color.ui=false", "-c", "core.quotePath=false", *LOOKING, "--no-optional-locks")
_TIMEOUT_S = 0.7  # `git status` takes 43 ms in 20,000 files; a slower disk must not hold up the turn


async def describe_state(project: Path, now: float) -> str:
    """Date, branch and count of changed files as `key: value` lines. Outside git only the date."""
    lines = [f"date: {time.strftime('%Y-%m-%d (%A)', time.localtime(now))}"]
    status = await asyncio.to_thread(read_git, project, "status", "--porcelain", "--branch")
    if status is not None:
        lines += _summary(status)
    return "\n".join(lines)


def read_git(project: Path, *arguments: str) -> str | None:
    """What a reading git command prints; None without git, without a repository, or if it takes too long.

    Blocks up to 0.7 s; under an event loop, call it in a thread.
    """
    try:
        done = subprocess.run(
            ["git", *_PLAIN, "-C", str(project), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _summary(status: str) -> list[str]:
    head, *files = status.splitlines() or [""]
    branch = one_line(head.removeprefix("## ").split("...")[0])
    return [f"branch: {branch}", f"changed files: {len(files)}"]
