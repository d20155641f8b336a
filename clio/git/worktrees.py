"""Worktrees that clio creates: a second checkout on a branch of its own, for work done in parallel."""

import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.config.project_links import WORKTREE_MARK
from clio.errors import UsageError, UserError
from clio.git.repository import find_root, get_git_path, run_git
from clio.readonly_git import read_git_path
from clio.storage.files import write_atomic
from clio.text.translation import tr

_WORKTREE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")


class Worktree(Struct, frozen=True, kw_only=True):
    """One checkout as git lists it.

    Attributes:
        branch: "" if HEAD is detached.
        locked, missing: git's reason why it is locked or its folder is missing; "" if neither.
        name: as given to clio; "" for a checkout that clio did not create.
    """

    path: Path
    branch: str = ""
    locked: str = ""
    missing: str = ""
    bare: bool = False
    name: str = ""


def make_branch_name(name: str) -> str:
    """Return the branch for a worktree of that name."""
    return f"clio/{name}"


def check_worktree_name(name: str) -> str:
    """Return the name if it is valid for a folder and a branch. Raises UsageError."""
    if not _WORKTREE_NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise UsageError(
            tr(
                "{name!r} is not a valid name for a worktree; use letters, digits, '-', '_' and '.', such as fix-login",
                name=name,
            )
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
    checkouts = _list_checkouts(root)
    main = _get_main_checkout(checkouts)
    path = get_worktree_path(main, name)
    subfolder = start.resolve().relative_to(root.resolve())
    existing = next((checkout for checkout in checkouts if checkout.path.resolve() == path.resolve()), None)
    if existing is not None:
        _check_reusable(existing, name)
    else:
        allow(root)
        _create_worktree(main, path, name, checkouts)
    # Also in a worktree that the user made with git in this place: from now on clio lists and removes it.
    if not _get_mark_file(path).is_file():
        write_atomic(_get_mark_file(path), f"{name}\n".encode())
    folder = path / subfolder
    return (folder if folder.is_dir() else path), existing is None


def list_worktrees(start: Path) -> list[Worktree]:
    """Return the worktrees clio created for the repository of `start`. Raises UserError if there is no repository."""
    checkouts = _list_checkouts(find_root(start))
    main = _get_main_checkout(checkouts)
    prefix = f"{main.name}-"
    found: list[Worktree] = []
    for checkout in checkouts[1:]:
        if (
            checkout.path.parent == main.parent
            and checkout.path.name.startswith(prefix)
            and _is_created_by_clio(main, checkout)
        ):
            found.append(structs.replace(checkout, name=checkout.path.name.removeprefix(prefix)))
    return found


def find_worktree(start: Path, name: str) -> Worktree:
    """Return the worktree with that name. Raises UsageError for an invalid name, UserError if there is none."""
    check_worktree_name(name)
    known = list_worktrees(start)
    found = next((worktree for worktree in known if worktree.name == name), None)
    if found is None:
        hint = (
            tr("there are: {worktree}", worktree=", ".join(worktree.name for worktree in known))
            if known
            else tr("there are none yet")
        )
        raise UserError(tr("there is no worktree {name!r}; {hint}", name=name, hint=hint))
    return found


def count_worktree_changes(worktree: Worktree) -> int:
    """Return the number of files in it that are changed or new and not committed."""
    return len(run_git(worktree.path, "status", "--porcelain", "--untracked-files=all").splitlines())


def remove_worktree(start: Path, name: str) -> Worktree:
    """Delete its folder and keep its branch. Raises UserError if work would be lost, or it is locked."""
    found = find_worktree(start, name)
    main = _get_main_checkout(_list_checkouts(find_root(start)))
    if found.locked:
        raise UserError(
            tr(
                "the worktree {name!r} is locked ({locked}); unlock it with git worktree unlock {path}",
                name=name,
                locked=found.locked,
                path=found.path,
            )
        )
    if found.missing:
        run_git(main, "worktree", "prune")
        return found
    if start.resolve().is_relative_to(found.path.resolve()):
        raise UserError(tr("you are in the worktree {name!r}; leave it first, such as to {main}", name=name, main=main))
    if number := count_worktree_changes(found):
        files = tr("an uncommitted file") if number == 1 else tr("{number} uncommitted files", number=number)
        raise UserError(
            tr(
                "the worktree {name!r} has {files}; commit or discard the changes in {path}",
                name=name,
                files=files,
                path=found.path,
            )
        )
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
    # A sibling of the checkout: relative paths to other siblings, such as ../lib, stay valid.
    return main.parent / f"{main.name}-{name}"


def _create_worktree(main: Path, path: Path, name: str, checkouts: list[Worktree]) -> None:
    branch = make_branch_name(name)
    if path.exists():
        raise UserError(
            tr("{path} already exists and is not a worktree of this repository; choose another name", path=path)
        )
    if holder := next((checkout for checkout in checkouts if checkout.branch == branch), None):
        raise UserError(
            tr(
                "the branch {branch} is already checked out in {path}; work there, or choose another name",
                branch=branch,
                path=holder.path,
            )
        )
    if not run_git(main, "rev-parse", "--quiet", "--verify", "HEAD^{commit}", accepted_codes=(1, 128)):
        raise UserError(tr("a worktree needs a commit, and this repository has none; make the first one with /commit"))
    exists = run_git(main, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}", accepted_codes=(1,))
    arguments = [str(path), branch] if exists else ["-b", branch, str(path)]
    # A checkout runs the repository's hooks and filters, which `allow` has approved.
    run_git(main, "worktree", "add", "--quiet", *arguments, filters=True, hooks=True)


def _check_reusable(known: Worktree, name: str) -> None:
    if known.path.is_dir() and not known.missing:
        return
    if known.locked:
        raise UserError(
            tr(
                "the worktree {name!r} is locked ({locked}) and its folder {path} is missing; restore "
                "it, or run git worktree unlock {path}",
                name=name,
                locked=known.locked,
                path=known.path,
            )
        )
    raise UserError(
        tr(
            "the folder of the worktree {name!r} is missing; clio worktree remove {name} removes its "
            "entry, and its branch stays",
            name=name,
        )
    )


def _list_checkouts(root: Path) -> list[Worktree]:
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
                    locked=(fields["locked"] or tr("no reason given")) if "locked" in fields else "",
                    missing=(fields["prunable"] or tr("its folder is missing")) if "prunable" in fields else "",
                    bare="bare" in fields,
                )
            )
    return found


def _get_main_checkout(checkouts: list[Worktree]) -> Path:
    main = checkouts[0]
    if main.bare:
        raise UserError(tr("{path} is a bare repository; clio creates worktrees beside a checkout", path=main.path))
    return main.path


def _get_mark_file(path: Path) -> Path:
    return get_git_path(path, WORKTREE_MARK)


def _is_created_by_clio(main: Path, worktree: Worktree) -> bool:
    """Whether clio created it; also determined if its folder is gone."""
    if not worktree.missing:
        return _get_mark_file(worktree.path).is_file()
    # Its own git folder is asked for in the main checkout, since the worktree's folder is missing.
    marks = (main / run_git(main, "rev-parse", "--git-common-dir") / "worktrees").glob(f"*/{WORKTREE_MARK}")
    return any(_read_worktree_folder(mark.parent / "gitdir") == worktree.path for mark in marks)


def _read_worktree_folder(path: Path) -> Path | None:
    """Return the folder of a worktree that git's file names; None if it cannot be read."""
    try:
        return Path(read_git_path(path)).parent
    except (OSError, UnicodeDecodeError):
        return None
