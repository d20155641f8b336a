"""Who writes into the shared folder: the name git signs commits with, and nothing else of the person."""

import subprocess
from functools import lru_cache
from pathlib import Path

from clio.memory.team.statement import person

_TIME_LIMIT_S = 5.0


@lru_cache(maxsize=64)
def author(project: Path) -> str:
    """`user.name` of git in that folder; empty where git is missing, or has none. The address is never asked for."""
    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            cwd=project, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return person(done.stdout.decode("utf-8", "replace"))
