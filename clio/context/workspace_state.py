"""What changes from turn to turn and the model should know: the date, and how the working tree stands."""

import asyncio
import time
from pathlib import Path

# Reading starts no other program and takes no lock.
_PLAIN = ("-c", "color.ui=false", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "--no-optional-locks")
_TIMEOUT_S = 0.7  # `git status` takes 43 ms in 20,000 files; a slower disk must not hold up the turn


async def describe_state(project: Path, now: float) -> str:
    """Date, branch and count of changed files as `key: value` lines. Outside git only the date."""
    lines = [f"date: {time.strftime('%Y-%m-%d (%A)', time.localtime(now))}"]
    status = await read_git(project, "status", "--porcelain", "--branch")
    if status is not None:
        lines += _summary(status)
    return "\n".join(lines)


async def read_git(project: Path, *arguments: str) -> str | None:
    """What a reading git command prints; None without git, without a repository, or if it takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *_PLAIN, "-C", str(project), *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_S)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()  # else it is left to be noticed by an event loop that may be gone by then
    return output.decode("utf-8", "replace") if process.returncode == 0 else None


def _summary(status: str) -> list[str]:
    head, *files = status.splitlines() or [""]
    branch = head.removeprefix("## ").split("...")[0]
    return [f"branch: {branch}", f"changed files: {len(files)}"]
