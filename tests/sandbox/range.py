"""A folder to attack from: a project in a sandbox, and surroundings that must not change."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from clio.config.schema import Sandboxing
from clio.sandbox.backends import explain_unusable_level
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Sandbox
from clio.tools.shell.processes import RunningProcess
from clio.tools.shell.sandboxed_run import run_sandboxed

REASONS: Mapping[SandboxLevel, str] = {
    level: explain_unusable_level(level, os.environ) for level in ("bwrap", "landlock")
}
"""Why a level cannot be tested here, "" if it can."""
_DECIDING = ("config", "commondir", "config.worktree")


class AttackField:
    """In /var/tmp, because commands have a /tmp of their own."""

    def __init__(self) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="clio-range-", dir="/var/tmp")).resolve()
        self.project = self.top / "project"
        self.home = self.top / "home"
        self.outside = self.top / "outside"
        self.clio_home = self.home / ".clio"
        for folder in (self.project / ".clio", self.home / ".cache", self.clio_home, self.outside / "deep"):
            folder.mkdir(parents=True)
        (self.outside / "file").write_text("safe\n", encoding="utf-8")
        (self.home / ".profile").write_text("safe\n", encoding="utf-8")
        (self.clio_home / "config.yaml").write_text("approve: ask\n", encoding="utf-8")
        (self.project / ".clio" / "config.yaml").write_text("approve: ask\n", encoding="utf-8")
        self.git("init", "--quiet")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@b.example")
        self.git("commit", "--quiet", "--allow-empty", "--message", "begun")
        (self.project / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n", encoding="utf-8")
        (self.project / ".git" / "hooks" / "pre-commit").chmod(0o755)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.project, check=True, capture_output=True)

    def sandbox(self, choice: Sandboxing, **options: object) -> Sandbox:
        return Sandbox(choice, home=self.clio_home, user_home=self.home, env=dict(os.environ), **options)  # type: ignore[arg-type]

    def run(self, sandbox: Sandbox, command: str, timeout_s: float = 20) -> tuple[RunningProcess, bool, str]:
        return asyncio.run(run_sandboxed(command, self.project, sandbox, timeout_s=timeout_s))

    def intact(self) -> dict[str, bytes]:
        """Return what no command may change: everything around the project, and what decides which programs run."""
        cache = self.home / ".cache"
        git = self.project / ".git"
        around = [
            path for folder in (self.home, self.outside) for path in folder.rglob("*") if cache not in path.parents
        ]
        within = [git / name for name in _DECIDING]
        within += [path for path in (git / "hooks").iterdir() if ".set-aside-" not in path.name]
        within += [path for path in (self.project / ".clio").iterdir() if ".set-aside-" not in path.name]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in (*around, *within) if path.exists()}

    def tidy(self) -> None:
        """Remove what earlier commands left in the project."""
        for path in (*self.project.iterdir(), *self.project.rglob("*.set-aside-*"), self.project / ".git" / "g"):
            if path.name not in (".git", ".clio") and os.path.lexists(path):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def close(self) -> None:
        shutil.rmtree(self.top, ignore_errors=True)
