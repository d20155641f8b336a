"""The branch of the folder, read from git's own file: no process is started for a word on the status line."""

import time
from collections.abc import Callable
from pathlib import Path

from clio.ui.plain import clean_line

_KEPT_S = 2.0
_HASH = 7


class GitBranch:
    """Asks again at most every two seconds; may be asked at every frame."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._asked = -1e9
        self._name = ""

    @property
    def name(self) -> str:
        """The branch, the beginning of a detached commit's hash, or "" outside of git."""
        now = self._clock()
        if now - self._asked >= _KEPT_S:
            self._asked, self._name = now, read_branch(self._folder)
        return self._name


def read_branch(folder: Path) -> str:
    """What HEAD says in this folder or the nearest one above it that is a repository or a worktree."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        try:
            if git.is_file():  # a worktree or a submodule: the file names the real folder
                git = place / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            head = clean_line((git / "HEAD").read_text(encoding="utf-8"))  # git allows no such name; a file may hold it
        except (OSError, UnicodeDecodeError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:_HASH]
    return ""
