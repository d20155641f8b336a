"""Worktrees of background agents: their changes as a diff, merged into the checkout by the user, or discarded."""

import re
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct

from clio.errors import UserError
from clio.git.repository import find_root, get_git_path, run_git
from clio.git.worktrees import Worktree, find_worktree, list_worktrees, make_branch_name
from clio.text.translation import tr

AGENT_PREFIX = "agent-"
_MAX_LISTED = 5
_REPOSITORY_INSIDE = re.compile(r"^(?:(?:new|deleted) file mode|(?:old|new) mode|index \S+) 160000$", re.MULTILINE)
"""Lines of a diff about a folder that is a repository of its own; the diff contains only the hash of its commit."""


class AgentWork(Struct, frozen=True, kw_only=True):
    """What is in the worktree of an agent: the files that differ from the commit it began with, and their diff."""

    number: int
    worktree: Worktree
    files: tuple[str, ...]
    patch: str


def find_next_agent_number(start: Path) -> int:
    """Return the number after those of all agents whose worktree or branch exists. Raises UserError without git."""
    root = find_root(start)
    names = [worktree.name for worktree in list_worktrees(root)]
    branches = run_git(root, "for-each-ref", "--format=%(refname:short)", f"refs/heads/{make_branch_name('')}")
    names += [branch.removeprefix(make_branch_name("")) for branch in branches.splitlines()]
    numbers = [name.removeprefix(AGENT_PREFIX) for name in names if name.startswith(AGENT_PREFIX)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0) + 1


def list_agent_worktrees(start: Path) -> list[tuple[int, Worktree]]:
    """Return the worktrees of agents with their numbers. Raises UserError without a repository."""
    found = [(one.name.removeprefix(AGENT_PREFIX), one) for one in list_worktrees(start)]
    return [(int(number), one) for number, one in found if one.name.startswith(AGENT_PREFIX) and number.isdecimal()]


def has_agent_folders(project: Path) -> bool:
    """Whether folders beside the project look like worktrees of agents; asks no git."""
    try:
        return any(project.parent.glob(f"{project.name}-{AGENT_PREFIX}*"))
    except OSError:
        return False


def read_agent_work(start: Path, number: int) -> AgentWork:
    """Return what an agent has changed, committed or not, new files included. Raises UserError."""
    worktree = find_worktree(start, f"{AGENT_PREFIX}{number}")
    if worktree.missing:
        raise UserError(
            tr("the folder of agent {number} is missing; /agents discard {number} removes its entry", number=number)
        )
    base = run_git(worktree.path, "merge-base", "HEAD", _read_head(start))
    with tempfile.TemporaryDirectory() as folder:
        # A copied index, so that looking changes nothing in the worktree.
        index = Path(folder) / "index"
        # With its time: git looks into a file that was changed in the second in which the index was written.
        shutil.copy2(get_git_path(worktree.path, "index"), index)
        run_git(worktree.path, "add", "--all", index=index)
        patch = run_git(worktree.path, "diff", "--cached", "--binary", "--no-renames", base, index=index)
        files = run_git(worktree.path, "diff", "--cached", "--name-only", "--no-renames", "-z", base, index=index)
    names = tuple(name for name in files.split("\0") if name)
    return AgentWork(number=number, worktree=worktree, files=names, patch=f"{patch}\n" if patch else "")


def merge_agent_work(start: Path, number: int) -> AgentWork:
    """Apply the changes of an agent to the checkout, all of them or none, and remove its worktree and branch.

    Nothing is committed. Raises UserError if they do not fit, and then nothing has changed.
    """
    work = read_agent_work(start, number)
    root = find_root(start)
    if _REPOSITORY_INSIDE.search(work.patch):
        raise UserError(
            tr(
                "nothing was merged: agent {number} has changed a folder that is a repository of its own, and a merge "
                "would lose its files; merge by hand from {path}",
                number=number,
                path=work.worktree.path,
            )
        )
    if work.patch:
        try:
            run_git(root, "apply", "--check", "--whitespace=nowarn", "-", stdin=work.patch)
        except UserError as error:
            raise UserError(
                tr(
                    "nothing was merged: the changes of agent {number} do not fit the files here ({error}); commit or "
                    "undo your own changes to {files}, or merge by hand from {path}",
                    number=number,
                    error=str(error).strip(),
                    files=_list_names(work.files),
                    path=work.worktree.path,
                )
            ) from None
        run_git(root, "apply", "--whitespace=nowarn", "-", stdin=work.patch)
    _remove(root, work.worktree)
    return work


def discard_agent_work(start: Path, number: int) -> Worktree:
    """Delete the worktree of an agent, its branch and its changes. Raises UserError."""
    worktree = find_worktree(start, f"{AGENT_PREFIX}{number}")
    _remove(find_root(start), worktree)
    return worktree


def remove_unchanged_worktree(start: Path, number: int) -> bool:
    """Delete the worktree of an agent that has changed nothing; return whether it was deleted."""
    work = read_agent_work(start, number)
    if work.files:
        return False
    _remove(find_root(start), work.worktree)
    return True


def _remove(root: Path, worktree: Worktree) -> None:
    if worktree.missing:
        run_git(root, "worktree", "prune")
    else:
        run_git(root, "worktree", "remove", "--force", str(worktree.path))
    if worktree.branch:
        run_git(root, "branch", "--delete", "--force", worktree.branch)


def _read_head(start: Path) -> str:
    return run_git(find_root(start), "rev-parse", "HEAD")


def _list_names(names: tuple[str, ...]) -> str:
    more = tr(" and {count} more", count=len(names) - _MAX_LISTED) if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more
