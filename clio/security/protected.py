"""Files inside the workspace that decide what runs later, and so are never written without a person's word."""

import os
from itertools import pairwise
from pathlib import Path

_SETTINGS = {"config.yaml", "config.yml", "mcp.yaml", "mcp.yml", "hooks.yaml"}


def is_protected(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file is protected, as the end of a sentence; "" where it is not.

    path: absolute with links resolved, inside `root`. Names are compared without regard to case, since on some disks
    `.GIT` is `.git`.
    """
    if clio_home is not None and (path == clio_home or clio_home in path.parents):
        return "belongs to clio's own settings"
    parts = tuple(_folded(part) for part in path.relative_to(root).parts)
    if ".git" in parts:
        return "belongs to git, which may run what it holds"
    if any(folder == ".clio" and name in _SETTINGS for folder, name in pairwise(parts)):
        return "decides what clio may do"
    return ""


def _folded(name: str) -> str:
    """A name as a careless disk would see it."""
    return name.casefold().rstrip(". ") or os.curdir
