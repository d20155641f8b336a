"""Which checkout a worktree of clio's belongs to, read from git's own files: no process is started.

`clio --worktree` leaves a mark in the folder git keeps for the worktree. Nothing that is cloned or unpacked can carry
it: it counts only where git's entry for the worktree and the worktree name each other.
"""

from pathlib import Path

from msgspec import Struct

MARK = "clio-worktree"
"""A file in `.git/worktrees/<id>/`."""


class Link(Struct, frozen=True):
    """A worktree and the checkout it was made from, both with links resolved."""

    worktree: Path
    main: Path

    def twin(self, folder: Path) -> Path:
        """The same folder in the main checkout."""
        return self.main / folder.relative_to(self.worktree)


def link_of(folder: Path) -> Link | None:
    """The worktree of clio's that a folder lies in; None anywhere else, and where git's files do not fit together."""
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        try:
            if (place / ".git").is_dir():
                return None
            if (place / ".git").is_file():
                return _linked(place)
        except OSError:
            return None
    return None


def _linked(place: Path) -> Link | None:
    try:
        entry = (place / _text(place / ".git").removeprefix("gitdir:").strip()).resolve()
        if not (entry / MARK).is_file() or Path(_text(entry / "gitdir")).resolve() != (place / ".git").resolve():
            return None
        common = (entry / _text(entry / "commondir")).resolve()
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    main = common.parent
    return Link(place, main) if common.name == ".git" and main.is_dir() and entry.parent.parent == common else None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
