"""Files that decide what runs later, and so are never written without a person's word."""

import os
from pathlib import Path

from clio.config.deciding import why_deciding
from clio.security.automatic_files import why_automatic


def is_protected(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file is protected, as the end of a sentence; "" where it is not.

    path: absolute with links resolved, inside `root`.
    """
    if why := decides_for_clio(path, root, clio_home):
        return why
    parts = _below(path, root)
    if ".git" in parts:
        return "belongs to git, which may run what it holds"
    return why_automatic(parts) or _why_linked(path, root)


def _why_linked(path: Path, root: Path) -> str:
    """Why a file counts that a link beside it, or in the project's own folder, gives the name of one that does."""
    for folder in dict.fromkeys((root, *(place for place in path.parents if place.is_relative_to(root)))):
        try:
            links = [entry for entry in os.scandir(folder) if entry.is_symlink()]
        except OSError:
            continue
        for link in links:
            real = Path(os.path.realpath(link.path))
            why = why_automatic(_below(Path(link.path), root)) if real == path or real in path.parents else ""
            if why:
                return f"{why}, as {link.name!r} leads to it"
    return ""


def decides_for_clio(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file decides what clio itself does, so that no mode lets it be written unasked; "" where it does not.

    path: absolute with links resolved, anywhere: the person's own files of these kinds need no trust to take effect.
    Names are compared without regard to case, since on some disks `.GIT` is `.git`.
    """
    if clio_home is not None and (path == clio_home or clio_home in path.parents):
        return "belongs to clio's own settings"
    return why_deciding(_below(path, root))


def _below(path: Path, root: Path) -> tuple[str, ...]:
    parts = path.relative_to(root).parts if path.is_relative_to(root) else path.parts
    return tuple(_folded(part) for part in parts)


def _folded(name: str) -> str:
    """A name as a careless disk would see it."""
    return name.casefold().rstrip(". ") or os.curdir
