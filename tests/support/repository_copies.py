"""Copies of git repositories that an earlier test in this process made with the same files: one git call, not five."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable
from functools import cache
from itertools import count
from pathlib import Path

_made: dict[Hashable, Path] = {}
_numbers = count(1)


def make_or_copy(folder: Path, key: Hashable, make: Callable[[Path], None], refresh: Callable[[Path], object]) -> None:
    """Make a repository in `folder`; if the folder is new or empty, copy what `make` made for this key before.

    Args:
        key: everything that `make` depends on.
        refresh: `git update-index --refresh`, for git knows a file by its inode, which a copy does not keep.
    """
    if folder.exists() and any(folder.iterdir()):
        make(folder)
        return
    if key not in _made:
        template = _get_folder() / str(next(_numbers))
        make(template)
        _made[key] = template
    shutil.copytree(_made[key], folder, symlinks=True, dirs_exist_ok=True)
    refresh(folder)


@cache
def _get_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="clio-test-repositories-"))
    owner = os.getpid()

    @atexit.register
    def remove() -> None:
        if os.getpid() == owner:  # a forked process runs the exit functions as well
            shutil.rmtree(folder, ignore_errors=True)

    return folder
