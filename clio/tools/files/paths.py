"""The paths a model names: resolved, and when there is no such file, with the names it may have meant."""

from difflib import get_close_matches
from pathlib import Path

from clio.errors import ToolRetry
from clio.security.path_policy import Workspace
from clio.tools.search.file_index import list_files

_MAX_NAMES = 20_000
_MAX_OFFERED = 3


def resolve(workspace: Workspace, text: str) -> Path:
    """The absolute path meant. Raises ToolRetry where the text cannot be a path."""
    try:
        return workspace.resolve(text)
    except (ValueError, RuntimeError) as error:  # RuntimeError: `~name` of a user this machine does not have
        raise ToolRetry(f"{text!r} is not a usable path: {error}") from None


def missing(workspace: Workspace, path: Path) -> ToolRetry:
    """The error for a path that does not exist, with the nearest ones that do."""
    shown = workspace.display(path)
    offers = nearest(workspace, path)
    if offers:
        return ToolRetry(f"{shown!r} does not exist; did you mean {' or '.join(map(repr, offers))}?")
    return ToolRetry(f"{shown!r} does not exist; see what does with list_files or find_files")


def nearest(workspace: Workspace, path: Path) -> list[str]:
    """Up to three existing paths like this one: the same name elsewhere first, then names spelled alike."""
    if not workspace.contains(path):
        return []
    wanted = workspace.display(path)
    known = list_files(workspace.root, hidden=True)[:_MAX_NAMES]
    same = [name for name in known if name.rsplit("/", 1)[-1].lower() == path.name.lower()]
    if same:
        return sorted(same, key=lambda name: -_shared(name, wanted))[:_MAX_OFFERED]
    by_name: dict[str, list[str]] = {}
    for name in known:
        by_name.setdefault(name.rsplit("/", 1)[-1], []).append(name)
    alike = get_close_matches(path.name, by_name, n=_MAX_OFFERED, cutoff=0.7)
    found = [name for base in alike for name in sorted(by_name[base], key=lambda name: -_shared(name, wanted))]
    return found[:_MAX_OFFERED]


def _shared(name: str, wanted: str) -> int:
    """How many folders two paths have in common."""
    return len(set(name.split("/")[:-1]) & set(wanted.split("/")[:-1]))
