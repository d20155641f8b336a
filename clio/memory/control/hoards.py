"""What a wipe takes: which files hold what was learned, whose it is, and the lock they are changed under."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from clio.memory.control.places import Places
from clio.memory.typed.store import Scope

WipeScope = Literal["project", "user", "styles"]
WIPE_SCOPES: tuple[WipeScope, ...] = get_args(WipeScope)
Kind = Literal[
    "memories", "knowledge", "notes", "documents", "ratings", "nights", "sleep", "undo", "cache", "shifts", "styles"
]


class Hoard(Struct, frozen=True, kw_only=True):
    """Files that belong together. `what` is their name for people.

    folder: where they lie. names: patterns of their names; with them go what was set aside as damaged and what a killed
    writer left half-written. lock: the name of the file they are changed under; empty where everyone writes alone.
    owner: of typed memories, whose they are.
    """

    kind: Kind
    what: str
    folder: Path
    names: tuple[str, ...]
    lock: str = ""
    owner: Scope = "project"

    def files(self) -> list[Path]:
        """The files there are, without the lock; everything below a folder of that name."""
        return sorted(path for found in self._top() for path in _below(found))

    def _top(self) -> Iterator[Path]:
        try:
            found = list(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for path in found:
            if not path.name.endswith(".lock") and any(fnmatch(path.name, name) for name in self.names):
                yield path


def hoards_of(places: Places, scopes: Iterable[WipeScope]) -> tuple[Hoard, ...]:
    """What these scopes hold, in the order it is wiped: the changes that could be taken back come last."""
    scopes = frozenset(scopes)
    project, home = places.folder, places.home
    found: list[Hoard] = []
    if "project" in scopes:
        found += [
            _memories(project, "project", "memories of the project"),
            Hoard(
                kind="knowledge", what="project knowledge", folder=project, names=("ltm.*", "ltm"), lock="ltm.json.lock"
            ),
            Hoard(kind="notes", what="notes", folder=places.notes, names=("*",)),
            _one(project, "documents", "documents you added, not the files themselves", "documents.json"),
            Hoard(
                kind="ratings",
                what="rated turns and ratings",
                folder=project,
                names=("trajectories.*",),
                lock="trajectories.jsonl.lock",
            ),
        ]
    if "user" in scopes:
        found += [
            _memories(home, "user", "memories of yours, preferences among them"),
            Hoard(kind="sleep", what="how far sleep came with yours", folder=home, names=("sleep.person.*",)),
            _one(home, "shifts", "changes of taste that were told", "shifts.json"),
        ]
    if "styles" in scopes:
        found.append(_one(home, "styles", "what was learned about styles", "styles.json"))
    if "project" in scopes or "user" in scopes:
        if "project" in scopes:
            found.append(Hoard(kind="nights", what="what sleep counts", folder=project, names=("sleep.json*",)))
        found += [
            Hoard(kind="sleep", what="what sleep did", folder=project, names=("sleep.log*",)),
            _one(project, "undo", "changes to undo", "memory.undo.jsonl"),
        ]
    names = ("*",) if "project" in scopes else ("why.json*", "style.json*") if "user" in scopes else ("style.json*",)
    if scopes:
        found.append(Hoard(kind="cache", what="indexes, vectors, accounts of turns", folder=places.cache, names=names))
    return tuple(found)


def _memories(folder: Path, owner: Scope, what: str) -> Hoard:
    return Hoard(
        kind="memories", what=what, folder=folder, names=("memories.*",), lock="memories.json.lock", owner=owner
    )


def _one(folder: Path, kind: Kind, what: str, name: str) -> Hoard:
    """A document with what was set aside beside it."""
    return Hoard(kind=kind, what=what, folder=folder, names=(f"{name}*",), lock=f"{name}.lock")


def _below(path: Path) -> Iterator[Path]:
    """The file, or all files in the folder; a link is itself a file."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for inner in path.iterdir():
        if not inner.name.endswith(".lock"):
            yield from _below(inner)
