"""What a working tree holds that is not committed, and what git is in the middle of."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.errors import UserError
from clio.repository.run import git, git_path, root_of

Doing = Literal["", "merge", "cherry-pick", "revert", "rebase"]
_HEADS: tuple[tuple[str, Doing], ...] = (
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
)


class Changed(Struct, frozen=True, kw_only=True):
    """One file, by its path from the top of the working tree.

    staged, worked: the letter git gives its change in the index and in the working tree: M, A, D, R, T; "" for none.
    tracked: whether git knows it. conflict: a merge left it undecided. was: its path before, where it was renamed.
    inside: of a submodule only what lies in it has changed, which no commit of this repository can hold.
    """

    path: str
    staged: str = ""
    worked: str = ""
    tracked: bool = True
    conflict: bool = False
    inside: bool = False
    was: str = ""


class State(Struct, frozen=True, kw_only=True):
    """A working tree. root: its top. prefix: the project's folder below it, "" or ending in a slash.

    branch: "" where HEAD is detached. unborn: there is no commit yet. doing: what git is in the middle of.
    filters: files were compared as the repository's own filters make them, and submodules were looked into.
    """

    root: Path
    prefix: str
    branch: str
    unborn: bool
    doing: Doing
    files: tuple[Changed, ...]
    filters: bool = False

    @property
    def staged(self) -> tuple[Changed, ...]:
        """What a plain `git commit` would take."""
        return tuple(file for file in self.files if file.staged)

    @property
    def tracked(self) -> tuple[Changed, ...]:
        """Files of the project's folder that git knows and that have changed."""
        return tuple(file for file in self.open if file.tracked)

    @property
    def open(self) -> tuple[Changed, ...]:
        """Files of the project's folder that a commit can take and that are not staged."""
        return tuple(
            file for file in self.files if file.worked and not file.inside and file.path.startswith(self.prefix)
        )

    @property
    def conflicts(self) -> tuple[Changed, ...]:
        """Files a merge left undecided."""
        return tuple(file for file in self.files if file.conflict)


def read_state(folder: Path, *, filters: bool = False) -> State:
    """The state of the working tree a folder lies in. Raises UserError where there is none, or git fails.

    filters: the person has let the repository's own programs run, so that all is seen as a commit would take it.
    """
    root = root_of(folder)
    prefix = git(folder, "rev-parse", "--show-prefix")
    into = ["--ignore-submodules=none"] if filters else []
    listing = git(root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", *into, filters=filters)
    head, branch, files = "", "", list[Changed]()
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.startswith("# branch.oid "):
            head = entry.removeprefix("# branch.oid ")
        elif entry.startswith("# branch.head "):
            branch = entry.removeprefix("# branch.head ")
        elif file := _file(entry):
            files.append(Changed(path=file.path, staged=file.staged, worked=file.worked, was=next(entries))
                         if entry[0] == "2" else file)  # fmt: skip
    return State(
        root=root,
        prefix=prefix,
        branch="" if branch == "(detached)" else branch,
        unborn=head == "(initial)",
        doing=_doing(root),
        files=tuple(files),
        filters=filters,
    )


def check_identity(folder: Path) -> None:
    """Raises UserError where git does not know who commits."""
    try:
        git(folder, "var", "GIT_COMMITTER_IDENT")
        git(folder, "var", "GIT_AUTHOR_IDENT")
    except UserError as error:
        raise UserError(
            "git does not know who commits; say it with `git config user.name NAME` and `git config user.email ADDRESS`"
        ) from error


def _file(entry: str) -> Changed | None:
    """A line of `git status --porcelain=v2`."""
    kind = entry[:2]
    if kind == "? ":
        return None if entry.endswith("/") else Changed(path=entry[2:], worked="A", tracked=False)
    if kind not in ("1 ", "2 ", "u "):
        return None
    fields = entry.split(" ", {"1 ": 8, "2 ": 9, "u ": 10}[kind])
    staged, worked = (letter.replace(".", "") for letter in fields[1])
    if kind == "u ":
        return Changed(path=fields[-1], worked="U", conflict=True)
    submodule = fields[2]
    inside = submodule[0] == "S" and submodule[1] != "C"
    return Changed(path=fields[-1], staged=staged, worked=worked, inside=inside)


def _doing(root: Path) -> Doing:
    for name, doing in _HEADS:
        if git_path(root, name).exists():
            return doing
    return ""
