"""What a project's `.clio` refers to: links out of the project, team memory from git, a worktree's main checkout."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import Widening
from clio.config.paths import FOLDER_NAME
from clio.config.trust import Trust, shown_value

SHARED_NAME = "ltm"
FORMAT_NAME = "format.json"
KEY = "team memory"
_FINGERPRINT = hashlib.sha256(b'["team memory"]').hexdigest()


def shared_folder(project: Path) -> Path:
    """Return the directory of the team's shared memory; it need not exist."""
    return project / FOLDER_NAME / SHARED_NAME


def team_widening(project: Path) -> Widening | None:
    """Return the question to ask before team memory is used; None if the project has none."""
    return widening_of("what others wrote there") if is_shared(shared_folder(project)) else None


def is_shared(folder: Path) -> bool:
    """Whether this directory contains shared memory; links are not followed."""
    return not folder.is_symlink() and (folder / FORMAT_NAME).is_file()


def widening_of(value: str) -> Widening:
    """Return the request to trust shared memory with this description."""
    return Widening(key=KEY, value=value, where=f"{FOLDER_NAME}/{SHARED_NAME}/", fingerprint=_FINGERPRINT)


def is_trusted(project: Path, home: Path) -> bool:
    """Whether the user trusts team memory in this project."""
    return _FINGERPRINT in Trust(home).fingerprints(project)


def trust_team(project: Path, home: Path) -> None:
    """Trust the project's team memory. Raises ConfigError, CorruptDocument, NewerDocument."""
    Trust(home).add(project, widening_of(""))


_FILES = (".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
_MAX_DEPTH = 8


class ProjectLink(Struct, frozen=True):
    """A link that leaves the project. name: below the project, with forward slashes. target: with links resolved."""

    name: str
    target: Path

    @property
    def is_state(self) -> bool:
        """Whether it is `.clio` or inside it."""
        return self.name.split("/", 1)[0] == FOLDER_NAME


def find_links(project: Path) -> tuple[ProjectLink, ...]:
    """Return every link of `.clio` and of instruction files that leaves the project. Follows none."""
    root = Path(os.path.realpath(project))
    found = [*_of_folder(project), *(name for name in _FILES if (project / name).is_symlink())]
    links = (ProjectLink(name, Path(os.path.realpath(project / name))) for name in found)
    return tuple(link for link in links if not link.target.is_relative_to(root))


def link_widening(link: ProjectLink) -> Widening:
    """Return the question to ask before the link is followed. A changed target is asked about again."""
    mark = hashlib.sha256(json.dumps(["link", link.name, str(link.target)]).encode("ascii")).hexdigest()
    name = shown_value("", link.name)
    return Widening(
        key=f"link {name}", value=f"leads to {shown_value('', str(link.target))}", where=name, fingerprint=mark
    )


def _of_folder(project: Path) -> Iterator[str]:
    if (project / FOLDER_NAME).is_symlink():
        yield FOLDER_NAME
    else:
        yield from _links_below(project / FOLDER_NAME, FOLDER_NAME, _MAX_DEPTH)


def _links_below(folder: Path | str, name: str, depth: int) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # missing or not readable
        return
    for entry in entries:
        if entry.is_symlink():
            yield f"{name}/{entry.name}"
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _links_below(entry.path, f"{name}/{entry.name}", depth - 1)


MARK = "clio-worktree"
"""Name of a file in `.git/worktrees/<id>/` that marks clio's worktrees."""


class Link(Struct, frozen=True):
    """A worktree and the checkout it was created from, both with links resolved."""

    worktree: Path
    main: Path

    def twin(self, folder: Path) -> Path:
        """Return the same directory in the main checkout."""
        return self.main / folder.relative_to(self.worktree)


def link_of(folder: Path) -> Link | None:
    """Return the clio worktree that contains a directory; None if there is none or git's files are inconsistent."""
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
