"""Which context rules hold in a project, seen from the folder clio was started in."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from clio.memory.inject import best_first
from clio.memory.ltm.kinds import EVERYWHERE, scope
from clio.memory.records import Entry

_WILD = frozenset("*?[")


def matching_rules(rules: Iterable[Entry], project: Path, start: Path) -> tuple[Entry, ...]:
    """The rules that hold everywhere or for a path the project has, those nearest to `start` first.

    Of a glob, the folders before its first wildcard must be there. A path that leads out of the project holds nowhere.
    """
    root = project.resolve()
    here = _parts(start.resolve(), root)
    found: list[tuple[int, Entry]] = []
    for rule in best_first(rules):
        fixed = _fixed_parts(rule.context)
        if fixed is not None and _is_there(root, fixed):
            common = sum(1 for _ in _common(here, fixed))
            found.append((len(here) + len(fixed) - 2 * common, rule))
    return tuple(rule for _, rule in sorted(found, key=lambda pair: pair[0]))


def _fixed_parts(context: str) -> tuple[str, ...] | None:
    """The folders of a path up to its first wildcard, as the project counts them; None where it leads out."""
    where = scope(context)
    if where == EVERYWHERE:
        return ()
    parts = PurePosixPath(where.replace("\\", "/")).parts
    if ".." in parts or where.startswith("/"):
        return None
    wild = next((place for place, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return parts[:wild]


def _is_there(root: Path, parts: tuple[str, ...]) -> bool:
    try:
        path = root.joinpath(*parts).resolve()
        return path.is_relative_to(root) and path.exists()
    except (OSError, ValueError, RuntimeError):
        return False  # a name no file can have, a circle of links


def _parts(start: Path, root: Path) -> tuple[str, ...]:
    return start.relative_to(root).parts if start.is_relative_to(root) else ()


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> Iterable[str]:
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return
        yield mine
