"""Worktrees of background agents: their changes as a diff, merged into the checkout by the user, or discarded."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct

from clio.errors import UserError
from clio.git.repository import find_root, get_git_path, run_git
from clio.git.worktrees import Worktree, find_worktree, list_worktrees, make_branch_name
from clio.security.actions import resolve_links
from clio.security.protected_files import explain_protected_file
from clio.text.translation import tr

AGENT_PREFIX = "agent-"
_MAX_LISTED = 5
_LINK_MODE = "120000"
_REPOSITORY_INSIDE = re.compile(r"^(?:(?:new|deleted) file mode|(?:old|new) mode|index \S+) 160000$", re.MULTILINE)
"""Lines of a diff about a folder that is a repository of its own; the diff contains only the hash of its commit."""


class AgentWork(Struct, frozen=True, kw_only=True):
    """What is in the worktree of an agent: the files that differ from the commit it began with, and their diff.

    links: the new and changed symbolic links, with what they point to.
    """

    number: int
    worktree: Worktree
    files: tuple[str, ...]
    patch: str
    links: dict[str, str] = {}


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
        raw = run_git(
            worktree.path, "diff", "--cached", "--raw", "--no-renames", "--no-abbrev", "-z", base, index=index
        )
        # A row is ":OLD-MODE NEW-MODE OLD-HASH NEW-HASH STATUS", and the name follows it.
        rows = list(zip(raw.split("\0")[::2], raw.split("\0")[1::2], strict=False))
        links = {
            name: run_git(worktree.path, "cat-file", "blob", row.split()[3], index=index)
            for row, name in rows
            if row.split()[1] == _LINK_MODE
        }
    return AgentWork(
        number=number,
        worktree=worktree,
        files=tuple(name for _, name in rows),
        patch=f"{patch}\n" if patch else "",
        links=links,
    )


def explain_risky_changes(work: AgentWork, start: Path, clio_home: Path) -> list[tuple[str, str]]:
    """Return the files that a merge would bring and that the model may not write unasked either, each with the reason.

    They are files that other programs run or obey by themselves, and links that lead out of the checkout.
    """
    root = find_root(start)
    real_root = resolve_links(root)
    found: list[tuple[str, str]] = []
    for name in work.files:
        path = real_root / name
        # The folder as it is here: a link in place of one leads to where git would write.
        why = explain_protected_file(resolve_links(path.parent) / path.name, real_root, clio_home)
        if not why and name in work.links:
            why = _explain_link(path, work.links[name], real_root)
        if why:
            found.append((name, why))
    return found


def _explain_link(path: Path, target: str, root: Path) -> str:
    """Why a link that an agent made must be looked at, as the end of a sentence; "" if it stays among the files."""
    # Without looking at the disk: the link and what it points to may both be new.
    real = Path(os.path.normpath(path.parent / target))
    if not real.is_relative_to(root):
        return tr("is a link to {target}, outside of the project", target=target)
    if why := explain_protected_file(real, root, None):
        return tr("is a link to {target}, which {why}", target=target, why=why)
    return ""


def merge_agent_work(start: Path, number: int, seen: AgentWork | None = None) -> AgentWork:
    """Apply the changes of an agent to the checkout, all of them or none, and remove its worktree and branch.

    Nothing is committed. Raises UserError if they do not fit, and then nothing has changed.

    seen: what the user was asked about; other changes are not merged.
    """
    work = read_agent_work(start, number)
    if seen is not None and work.patch != seen.patch:
        raise UserError(
            tr(
                "nothing was merged: what agent {number} has changed is no longer what you were asked about; run "
                "/agents merge {number} again",
                number=number,
            )
        )
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
