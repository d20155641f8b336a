"""Links by which a project's `.clio`, or a file that tells agents how to work, leads out of the project.

What lies behind such a link is the user's, or another project's: it is not read before the user agrees to this link
with this target. A link that stays in the project is an ordinary file of it.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import Widening
from clio.config.paths import FOLDER_NAME
from clio.config.secrets import shown_value

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
