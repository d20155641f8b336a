"""Worktrees that clio creates: a second checkout on a branch of its own, for work done in parallel."""

import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from clio.config.project_links import WORKTREE_MARK
from clio.errors import UsageError, UserError
from clio.git.repository import find_root, get_git_path, run_git
from clio.storage.files import write_atomic

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")


class Worktree(Struct, frozen=True, kw_only=True):
    """One checkout as git lists it.

    Attributes:
        branch: "" if HEAD is detached.
        locked, gone: git's reason, or "".
        name: as given to clio; "" for a checkout that clio did not create.
    """

    path: Path
    branch: str = ""
    locked: str = ""
    gone: str = ""
    bare: bool = False
    name: str = ""


def make_branch_name(name: str) -> str:
    """Return the branch for a worktree of that name."""
    return f"clio/{name}"


def check_worktree_name(name: str) -> str:
    """Return the name if it is valid for a folder and a branch. Raises UsageError."""
    if not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise UsageError(
            f"{name!r} is not a valid name for a worktree; use letters, digits, '-', '_' and '.', such as fix-login"
        )
    return name


def open_worktree(start: Path, name: str, allow: Callable[[Path], None] = lambda root: None) -> tuple[Path, bool]:
    """Return the folder in the worktree that corresponds to `start`, and whether the worktree was created now.

    Args:
        allow: raises if the repository's hooks and filters, which a checkout starts, must not run.

    Raises:
        UsageError: the name is not valid.
        UserError: there is no repository, or the worktree cannot be created.
    """
    check_worktree_name(name)
    root = find_root(start)
    checkouts = _checkouts(root)
    main = _main(checkouts)
    path = get_worktree_path(main, name)
    below = start.resolve().relative_to(root.resolve())
    known = next((one for one in checkouts if one.path.resolve() == path.resolve()), None)
    if known is not None:
        _check_reusable(known, name)
    else:
        allow(root)
        _make(main, path, name, checkouts)
    if not _mark(path).is_file():
        write_atomic(_mark(path), f"{name}\n".encode())
    folder = path / below
    return (folder if folder.is_dir() else path), known is None


def list_worktrees(start: Path) -> list[Worktree]:
    """Return the worktrees clio created for the repository of `start`. Raises UserError if there is no repository."""
    checkouts = _checkouts(find_root(start))
    main = _main(checkouts)
    prefix = f"{main.name}-"
    found: list[Worktree] = []
    for one in checkouts[1:]:
        if one.path.parent == main.parent and one.path.name.startswith(prefix) and _is_ours(main, one):
            found.append(_named(one, one.path.name.removeprefix(prefix)))
    return found


def find_worktree(start: Path, name: str) -> Worktree:
    """Return the worktree with that name. Raises UsageError for an invalid name, UserError if there is none."""
    check_worktree_name(name)
    known = list_worktrees(start)
    found = next((worktree for worktree in known if worktree.name == name), None)
    if found is None:
        hint = f"there are: {', '.join(worktree.name for worktree in known)}" if known else "there are none yet"
        raise UserError(f"there is no worktree {name!r}; {hint}")
    return found


def count_worktree_changes(worktree: Worktree) -> int:
    """Return the number of files in it that are changed or new and not committed."""
    return len(run_git(worktree.path, "status", "--porcelain", "--untracked-files=all").splitlines())


def remove_worktree(start: Path, name: str) -> Worktree:
    """Delete its folder and keep its branch. Raises UserError if work would be lost, or it is locked."""
    found = find_worktree(start, name)
    main = _main(_checkouts(find_root(start)))
    if found.locked:
        raise UserError(
            f"the worktree {name!r} is locked ({found.locked}); unlock it with git worktree unlock {found.path}"
        )
    if found.gone:
        run_git(main, "worktree", "prune")
        return found
    if start.resolve().is_relative_to(found.path.resolve()):
        raise UserError(f"you are in the worktree {name!r}; leave it first, such as to {main}")
    if number := count_worktree_changes(found):
        files = "an uncommitted file" if number == 1 else f"{number} uncommitted files"
        raise UserError(f"the worktree {name!r} has {files}; commit or discard the changes in {found.path}")
    run_git(main, "worktree", "remove", str(found.path))
    return found


def count_own_commits(start: Path, worktree: Worktree) -> int:
    """Return the number of commits on its branch that no other branch has."""
    if not worktree.branch:
        return 0
    others = ["--exclude", worktree.branch, "--branches", "--remotes"]
    return int(run_git(find_root(start), "rev-list", "--count", worktree.branch, "--not", *others))


def get_worktree_path(main: Path, name: str) -> Path:
    """Return the path of the worktree with that name, beside the checkout."""
    return main.parent / f"{main.name}-{name}"


def _make(main: Path, path: Path, name: str, checkouts: list[Worktree]) -> None:
    branch = make_branch_name(name)
    if path.exists():
        raise UserError(f"{path} is there already and is no worktree of this repository; take another name")
    if holder := next((one for one in checkouts if one.branch == branch), None):
        raise UserError(f"the branch {branch} is checked out in {holder.path} already; go there, or take another name")
    if not run_git(main, "rev-parse", "--quiet", "--verify", "HEAD^{commit}", accepted_codes=(1, 128)):
        raise UserError("there is no commit yet, and a worktree begins with one; make the first commit, with /commit")
    exists = run_git(main, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}", accepted_codes=(1,))
    new = [str(path), branch] if exists else ["-b", branch, str(path)]
    run_git(main, "worktree", "add", "--quiet", *new, filters=True, hooks=True)


def _check_reusable(known: Worktree, name: str) -> None:
    if known.path.is_dir() and not known.gone:
        return
    if known.locked:
        raise UserError(
            f"the worktree {name!r} is locked ({known.locked}) and its folder {known.path} is not there; "
            "bring it back, or git worktree unlock it"
        )
    raise UserError(
        f"the folder of the worktree {name!r} is gone; clio worktree remove {name} forgets it, its branch stays"
    )


def _checkouts(root: Path) -> list[Worktree]:
    """Return all checkouts, the main one first."""
    found: list[Worktree] = []
    for block in run_git(root, "worktree", "list", "--porcelain").split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.splitlines():
            key, _, value = line.partition(" ")
            fields[key] = value
        if "worktree" in fields:
            found.append(
                Worktree(
                    path=Path(fields["worktree"]),
                    branch=fields.get("branch", "").removeprefix("refs/heads/"),
                    locked=(fields["locked"] or "no reason given") if "locked" in fields else "",
                    gone=(fields["prunable"] or "it is gone") if "prunable" in fields else "",
                    bare="bare" in fields,
                )
            )
    return found


def _main(checkouts: list[Worktree]) -> Path:
    main = checkouts[0]
    if main.bare:
        raise UserError(f"{main.path} is a bare repository; clio creates worktrees beside a checkout")
    return main.path


def _mark(path: Path) -> Path:
    return get_git_path(path, WORKTREE_MARK)


def _is_ours(main: Path, one: Worktree) -> bool:
    """Whether clio created it; also determined if its folder is gone."""
    if not one.gone:
        return _mark(one.path).is_file()
    entries = (main / run_git(main, "rev-parse", "--git-common-dir") / "worktrees").glob(f"*/{WORKTREE_MARK}")
    return any(
        Path((mark.parent / "gitdir").read_text(encoding="utf-8").strip()).parent == one.path for mark in entries
    )


def _named(one: Worktree, name: str) -> Worktree:
    return Worktree(path=one.path, branch=one.branch, locked=one.locked, gone=one.gone, name=name)
