"""Real git repositories for tests, made by a git without user configuration."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.repository_copies import make_or_copy

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str) -> str:
    """Run git and return its output. Raises CalledProcessError."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "color.ui=false", *arguments],
        cwd=folder,
        env={**env, **NOBODY},
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.stdout.rstrip("\n")


def make(folder: Path, files: Mapping[str, str] | None = None, *, subject: str = "begin") -> Path:
    """Make a repository with these files in its first commit; without files it has no commit."""
    make_or_copy(
        folder,
        ("repositories", subject, *(files or {}).items()),
        make=lambda target: _make(target, files, subject),
        refresh=lambda target: git(target, "update-index", "--refresh"),
    )
    return folder


def _make(folder: Path, files: Mapping[str, str] | None, subject: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "you")
    git(folder, "config", "user.email", "you@localhost")
    if files:
        write(folder, files)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", subject)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write these texts to files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
