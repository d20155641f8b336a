"""The diffs of what is to be committed, of a branch, of a range; git starts no program but filters, where allowed."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clio.repository.run import git, git_path
from clio.repository.state import Changed, State

_PLAIN = ("--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")


class Count(Struct, frozen=True, kw_only=True):
    """How many lines of a file a change adds and takes away; None for a file that is not text."""

    path: str
    added: int | None
    removed: int | None


class Difference(Struct, frozen=True, kw_only=True):
    """A diff, and its files with their numbers of lines."""

    text: str
    counts: tuple[Count, ...]


def staged(state: State) -> Difference:
    """What a plain `git commit` would take."""
    return between(state.root, "--cached")


def unstaged(state: State, files: Sequence[Changed]) -> Difference:
    """What a commit of these files, as they are in the working tree, would take. Git's index is not touched."""
    with tempfile.TemporaryDirectory(prefix="clio-index-") as folder:
        index = Path(folder, "index")
        own = git_path(state.root, "index")
        if own.exists():
            shutil.copy2(own, index)  # with its time: git trusts entries older than its index
        if new := [file.path for file in files if not file.tracked]:
            git(state.root, "add", "--intent-to-add", "--force", "--", *new, index=index)
        base = empty_tree(state.root) if state.unborn else "HEAD"
        return between(state.root, base, paths=[file.path for file in files], index=index, filters=state.filters)


def between(
    root: Path, *revisions: str, paths: Sequence[str] = (), index: Path | None = None, filters: bool = False
) -> Difference:
    """The diff `git diff` shows for these arguments. paths: only these, from the top of the working tree."""
    arguments = [*_PLAIN, *revisions, "--", *paths]
    text = git(root, "diff", *arguments, index=index, filters=filters)
    numbers = git(root, "diff", "--numstat", "-z", *arguments, index=index, filters=filters)
    return Difference(text=text, counts=tuple(_counts(numbers)))


def empty_tree(root: Path) -> str:
    """The name of the tree that holds nothing, whatever the repository's kind of hash."""
    return git(root, "hash-object", "-t", "tree", "--stdin", stdin="")


def _counts(listing: str) -> list[Count]:
    """`--numstat -z`: a renamed file has an empty path, then the two names."""
    found: list[Count] = []
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.count("\t") < 2:
            continue
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(entries)
            path = next(entries)
        found.append(
            Count(
                path=path,
                added=int(added) if added.isdecimal() else None,
                removed=int(removed) if removed.isdecimal() else None,
            )
        )
    return found
