"""What a project's `.clio` leads to outside it: links, team memory that came through git, a worktree's checkout."""

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
    """Where the knowledge lies that a project's people share; it need not exist."""
    return project / FOLDER_NAME / SHARED_NAME


def team_widening(project: Path) -> Widening | None:
    """What is asked before others' entries count; None where a project has none."""
    return widening_of("what others wrote there") if is_shared(shared_folder(project)) else None


def is_shared(folder: Path) -> bool:
    """Whether shared knowledge lies in this folder; links lead nowhere."""
    return not folder.is_symlink() and (folder / FORMAT_NAME).is_file()


def widening_of(value: str) -> Widening:
    """The trust in shared knowledge, described in these words."""
    return Widening(key=KEY, value=value, where=f"{FOLDER_NAME}/{SHARED_NAME}/", fingerprint=_FINGERPRINT)


def is_trusted(project: Path, home: Path) -> bool:
    """Whether the person agreed to read what others write into this project."""
    return _FINGERPRINT in Trust(home).fingerprints(project)


def trust_team(project: Path, home: Path) -> None:
    """Remember that they did. Raises ConfigError, CorruptDocument, NewerDocument."""
    Trust(home).add(project, widening_of(""))


_FILES = (".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
_MAX_DEPTH = 8


class ProjectLink(Struct, frozen=True):
    """A link that leaves the project. name: below the project, with forward slashes. target: with links resolved."""

    name: str
    target: Path

    @property
    def is_state(self) -> bool:
        """Whether it is `.clio` or is inside it."""
        return self.name.split("/", 1)[0] == FOLDER_NAME


def find_links(project: Path) -> tuple[ProjectLink, ...]:
    """Every link of `.clio` and of the files of instructions that leads out of the project. Follows none."""
    root = Path(os.path.realpath(project))
    found = [*_of_folder(project), *(name for name in _FILES if (project / name).is_symlink())]
    links = (ProjectLink(name, Path(os.path.realpath(project / name))) for name in found)
    return tuple(link for link in links if not link.target.is_relative_to(root))


def link_widening(link: ProjectLink) -> Widening:
    """What is asked before it is followed. Another target is another question."""
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
    except OSError:  # there is none, or nothing in it can be read
        return
    for entry in entries:
        if entry.is_symlink():
            yield f"{name}/{entry.name}"
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _links_below(entry.path, f"{name}/{entry.name}", depth - 1)


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
