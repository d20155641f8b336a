"""Unfinished writes: the temporary files of `storage.atomic` that a killed process leaves, and whose they are."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clio.algorithms.late_pattern import LatePattern
from clio.storage.filelock import holder

NAME = LatePattern(r"(.+)\.[0-9a-f]{12}\.tmp")
"""The file that was to be replaced, and what makes the temporary one unique."""
SETTLED_S = 1.0
"""A writer that lives has locked its file long before it is so old."""


def is_abandoned(path: Path) -> bool:
    """Whether nobody is writing it any more: its writer holds a lock on it while it lives.

    Where the file system has no locks this is true of every file; then only its age tells.
    """
    return holder(path) is None


def drop_unfinished(paths: Iterable[Path], now: float) -> None:
    """Delete what killed processes left beside these files, where clio did not make everything that is there.

    now: seconds since the epoch. What cannot be deleted stays.
    """
    wanted: dict[Path, set[str]] = {}
    for path in paths:
        wanted.setdefault(path.parent, set()).add(path.name)
    for folder, names in wanted.items():
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                found = NAME.fullmatch(entry.name)
                if found is None or found[1] not in names or entry.is_dir(follow_symlinks=False):
                    continue
                path = folder / entry.name
                if now - entry.stat(follow_symlinks=False).st_mtime >= SETTLED_S and is_abandoned(path):
                    path.unlink(missing_ok=True)
