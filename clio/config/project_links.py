"""What in a project leads elsewhere or comes from others: links, team memory, and a worktree's main checkout."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import TrustRequest
from clio.config.paths import FOLDER_NAME
from clio.config.trust import TrustStore, format_asked_value
from clio.readonly_git import read_git_path
from clio.text.translation import mark, tr

SHARED_NAME = "ltm"
FORMAT_NAME = "format.json"
TEAM_MEMORY_KEY = mark("team memory")
_TEAM_FINGERPRINT = hashlib.sha256(b'["team memory"]').hexdigest()


def team_memory_folder(project: Path) -> Path:
    """Return the directory of the team's shared memory; it need not exist."""
    return project / FOLDER_NAME / SHARED_NAME


def find_team_trust_request(project: Path) -> TrustRequest | None:
    """Return the question to ask before team memory is used; None if the project has none."""
    return (
        make_team_trust_request(tr("memory written by others"))
        if has_shared_memory(team_memory_folder(project))
        else None
    )


def has_shared_memory(folder: Path) -> bool:
    """Whether this directory contains shared memory; links are not followed."""
    return not folder.is_symlink() and (folder / FORMAT_NAME).is_file()


def make_team_trust_request(value: str) -> TrustRequest:
    """Return the request to trust shared memory with this description."""
    return TrustRequest(
        key=TEAM_MEMORY_KEY, value=value, where=f"{FOLDER_NAME}/{SHARED_NAME}/", fingerprint=_TEAM_FINGERPRINT
    )


def is_team_trusted(project: Path, home: Path) -> bool:
    """Whether the user trusts team memory in this project."""
    return _TEAM_FINGERPRINT in TrustStore(home).fingerprints(project)


def trust_team(project: Path, home: Path) -> None:
    """Trust the project's team memory. Raises ConfigError, CorruptDocument, NewerDocument."""
    TrustStore(home).add(project, make_team_trust_request(""))


_INSTRUCTION_FILES = (".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
_MAX_DEPTH = 8


class ProjectLink(Struct, frozen=True):
    """A link that leaves the project. name: below the project, with forward slashes. target: with links resolved."""

    name: str
    target: Path

    @property
    def is_clio_folder(self) -> bool:
        """Whether it is `.clio` or inside it."""
        return self.name.split("/", 1)[0] == FOLDER_NAME


def find_links(project: Path) -> tuple[ProjectLink, ...]:
    """Return every link of `.clio` and of instruction files that leaves the project. Follows none."""
    root = Path(os.path.realpath(project))
    found = [
        *_find_links_in_clio_folder(project),
        *(name for name in _INSTRUCTION_FILES if (project / name).is_symlink()),
    ]
    links = (ProjectLink(name, Path(os.path.realpath(project / name))) for name in found)
    return tuple(link for link in links if not link.target.is_relative_to(root))


def make_link_trust_request(link: ProjectLink) -> TrustRequest:
    """Return the question to ask before the link is followed. A changed target is asked about again."""
    fingerprint = hashlib.sha256(json.dumps(["link", link.name, str(link.target)]).encode("ascii")).hexdigest()
    name = format_asked_value("", link.name)
    return TrustRequest(
        key=f"link {name}",
        value=tr("points to {value}", value=format_asked_value("", str(link.target))),
        where=name,
        fingerprint=fingerprint,
    )


def _find_links_in_clio_folder(project: Path) -> Iterator[str]:
    if (project / FOLDER_NAME).is_symlink():
        yield FOLDER_NAME
    else:
        yield from _iter_links_below(project / FOLDER_NAME, FOLDER_NAME, _MAX_DEPTH)


def _iter_links_below(folder: Path | str, name: str, depth: int) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # missing or not readable
        return
    for entry in entries:
        if entry.is_symlink():
            yield f"{name}/{entry.name}"
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _iter_links_below(entry.path, f"{name}/{entry.name}", depth - 1)


WORKTREE_MARK = "clio-worktree"
"""Name of a file in `.git/worktrees/<id>/` that marks clio's worktrees."""


class WorktreeLink(Struct, frozen=True):
    """A worktree and the checkout it was created from, both with links resolved."""

    worktree: Path
    main: Path

    def get_main_path(self, folder: Path) -> Path:
        """Return the same directory in the main checkout."""
        return self.main / folder.relative_to(self.worktree)


def find_worktree_link(folder: Path) -> WorktreeLink | None:
    """Return the clio worktree that contains a directory; None if there is none or git's files are inconsistent."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        try:
            if (parent / ".git").is_dir():
                return None
            if (parent / ".git").is_file():
                return _read_worktree_link(parent)
        except OSError:
            return None
    return None


def _read_worktree_link(worktree: Path) -> WorktreeLink | None:
    try:
        entry = (worktree / read_git_path(worktree / ".git").removeprefix("gitdir:").strip()).resolve()
        if (
            not (entry / WORKTREE_MARK).is_file()
            # Both must name each other: nothing that is cloned or unpacked can then point to another project's memory.
            or Path(read_git_path(entry / "gitdir")).resolve() != (worktree / ".git").resolve()
        ):
            return None
        common = (entry / read_git_path(entry / "commondir")).resolve()
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    main = common.parent
    return (
        WorktreeLink(worktree, main)
        if common.name == ".git" and main.is_dir() and entry.parent.parent == common
        else None
    )
