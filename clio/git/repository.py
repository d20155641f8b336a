"""Run git for the user; read a working tree's state, and the programs the repository's settings would start."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.loaded import TrustRequest
from clio.config.trust import TrustStore, format_value
from clio.errors import UserError
from clio.readonly_git import NO_HOOKS, PLAIN_OUTPUT, SAFE_SWITCHES, readonly_git_command, readonly_git_environment

LIMIT_S = 60.0
LOOK_LIMIT_S = 15.0
"""For what only reads and starts no other program. The patterns of a repository can make git take for ever."""
MAX_BYTES = 8_000_000
"""Of one output; a diff that is larger is cut."""
# With one of these, git would work on another repository than the one the folder lies in, or on another index.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
_HOW_PATHS_ARE_READ = ("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS")


def run_git(
    folder: Path,
    *arguments: str,
    index: Path | None = None,
    stdin: str | None = None,
    wrong: tuple[int, ...] = (),
    filters: bool = False,
    hooks: bool = False,
) -> str:
    """What git prints, without its last newline; bytes that are no UTF-8 stay what they are, as surrogates.

    index: used in the place of the repository's own; what git writes then, such as the empty blob that stands for a
        file not yet added, goes into a folder beside it, and nothing into the repository.
    filters, hooks: those of the repository run, where the person has let them; else no program is started.
    wrong: exit codes that are an answer and not an error.
    Raises UserError with git's own words, or where git is missing, takes longer than its limit, or is led elsewhere.
    """
    env = make_git_environment() if filters or hooks else readonly_git_environment(make_git_environment())
    if index is not None:
        env |= _written_beside(index, get_git_path(folder, "objects").absolute())
    limit_s = LIMIT_S if filters or hooks else LOOK_LIMIT_S
    try:
        open_to = ["git", *PLAIN_OUTPUT, *SAFE_SWITCHES, *(() if hooks else NO_HOOKS), *arguments]
        done = subprocess.run(
            open_to if filters or hooks else readonly_git_command(folder, *arguments),
            cwd=folder,
            env=env,
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise UserError("git is not installed here; install it, or work without it") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"git {arguments[0]} took longer than {limit_s:.0f} s and was stopped; patterns with many stars in "
            ".gitignore or .gitattributes can cause that"
        ) from error
    except OSError as error:
        raise UserError(f"git {arguments[0]} cannot be run in {str(folder)!r}: {error.strerror}") from error
    if done.returncode and done.returncode not in wrong:
        said = decode_output(done.stderr).strip().removeprefix("fatal: ").removeprefix("error: ")
        raise UserError(f"git {arguments[0]} failed: {said or f'exit {done.returncode}'}")
    return done.stdout[:MAX_BYTES].decode("utf-8", "surrogateescape").removesuffix("\n")


def _written_beside(index: Path, objects: Path) -> dict[str, str]:
    """The variables that make git write another index and other objects, and read the repository's objects too."""
    own = index.with_name("objects")
    own.mkdir(exist_ok=True)
    others = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    quoted = '"' + str(objects).replace("\\", "\\\\").replace('"', '\\"') + '"'
    return {
        "GIT_INDEX_FILE": str(index),
        "GIT_OBJECT_DIRECTORY": str(own),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, (quoted, others))),
    }


def make_git_environment() -> dict[str, str]:
    """The environment git is run in: nothing is asked at the terminal, no lock is taken to read, paths mean themselves.

    Raises UserError where a variable leads git to another repository or index than the folder's own.
    """
    led = next((name for name in _ELSEWHERE if os.environ.get(name)), None)
    if led is not None:
        raise UserError(
            f"{led} is set in the environment, so git would not work on this folder's own repository; "
            f"start clio without it: env -u {led} clio"
        )
    env = {name: value for name, value in os.environ.items() if name not in _HOW_PATHS_ARE_READ}
    return {
        **env,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
    }


def decode_output(output: bytes) -> str:
    """Output for a person: bytes that are no UTF-8 are marked."""
    return output.decode("utf-8", "replace")


def find_root(folder: Path) -> Path:
    """The top of the working tree the folder lies in. Raises UserError where it lies in none."""
    try:
        inside = run_git(folder, "rev-parse", "--is-inside-work-tree")
    except UserError as error:
        if "not a git repository" not in str(error):
            raise
        raise UserError(f"{str(folder)!r} lies in no git repository; `git init` makes one, if you want that") from error
    if inside != "true":
        raise UserError(f"{str(folder)!r} has no working tree, it is a bare repository; go to a checkout of it")
    return Path(run_git(folder, "rev-parse", "--show-toplevel"))


def get_git_path(folder: Path, name: str) -> Path:
    """Where a file of the repository's own lies, such as MERGE_MSG; of a worktree, its own one."""
    return folder / run_git(folder, "rev-parse", "--git-path", name)


Operation = Literal["", "merge", "cherry-pick", "revert", "rebase"]
_HEADS: tuple[tuple[str, Operation], ...] = (
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


class RepositoryState(Struct, frozen=True, kw_only=True):
    """A working tree. root: its top. prefix: the project's folder below it, "" or ending in a slash.

    branch: "" where HEAD is detached. unborn: there is no commit yet. doing: what git is in the middle of.
    filters: files were compared as the repository's own filters make them, and submodules were looked into.
    """

    root: Path
    prefix: str
    branch: str
    unborn: bool
    doing: Operation
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


def read_state(folder: Path, *, filters: bool = False) -> RepositoryState:
    """The state of the working tree a folder lies in. Raises UserError where there is none, or git fails.

    filters: the person has let the repository's own programs run, so that all is seen as a commit would take it.
    """
    root = find_root(folder)
    prefix = run_git(folder, "rev-parse", "--show-prefix")
    into = ["--ignore-submodules=none"] if filters else []
    listing = run_git(
        root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", *into, filters=filters
    )
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
    return RepositoryState(
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
        run_git(folder, "var", "GIT_COMMITTER_IDENT")
        run_git(folder, "var", "GIT_AUTHOR_IDENT")
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


def _doing(root: Path) -> Operation:
    for name, doing in _HEADS:
        if get_git_path(root, name).exists():
            return doing
    return ""


_NAMING = (
    r"^(filter\..*\.(clean|smudge|process)|hook\..*\.command|trailer\..*\.(command|cmd)|gpg\.(.*\.)?(program|"
    r"defaultkeycommand)|core\.(hookspath|sshcommand|gitproxy|askpass)|credential\.(.*\.)?helper|"
    r"remote\..*\.(vcs|uploadpack)|protocol\..*\.allow)$"
)
_MAX_HOOKS = 100
_MAX_BYTES = 1_000_000


def list_repository_programs(root: Path) -> tuple[TrustRequest, ...]:
    """All that a repository names, in its settings and its submodules' and as hooks. Raises UserError."""
    places = [root, *_submodules(root)]
    found = [value for place in places for value in (*_settings(place, root), *_hooks(place, root))]
    return tuple({value.fingerprint: value for value in found}.values())


def list_untrusted_programs(root: Path, trust: TrustStore, owner: Path) -> tuple[TrustRequest, ...]:
    """Those of them the folder `owner` is not trusted with. Raises UserError."""
    known = trust.fingerprints(owner)
    return tuple(value for value in list_repository_programs(root) if value.fingerprint not in known)


def check_programs(root: Path, trust: TrustStore, owner: Path, doing: str) -> None:
    """Raises UserError where something would be started that waits for trust. doing: such as "a worktree"."""
    waiting = list_untrusted_programs(root, trust, owner)
    if waiting:
        names = ", ".join(value.key for value in waiting[:3]) + (", …" if len(waiting) > 3 else "")
        raise UserError(
            f"git would start programs for {doing} that this repository itself names ({names}); "
            "`clio config trust` shows them and lets them"
        )


def _settings(place: Path, root: Path) -> Iterator[TrustRequest]:
    where = _shown(place / ".git", root)
    for scope in ("--local", "--worktree"):
        listed = run_git(place, "config", scope, "--includes", "--null", "--get-regexp", _NAMING, wrong=(1, 128))
        for setting in listed.split("\0"):
            key, _, value = setting.partition("\n")
            if key:
                yield _program(key, value, where, value)


def _hooks(place: Path, root: Path) -> Iterator[TrustRequest]:
    folder = place / run_git(place, "rev-parse", "--git-path", "hooks", hooks=True)
    own = run_git(place, "config", "--local", "--includes", "--get", "core.hooksPath", wrong=(1, 128))
    common = place / run_git(place, "rev-parse", "--git-common-dir")
    if not own and not any(folder.resolve().is_relative_to(top.resolve()) for top in (common, place)):
        return  # a folder that the person's own settings name
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix != ".sample" and os.access(path, os.X_OK))
    except OSError:
        return
    for path in files[:_MAX_HOOKS]:
        if path.is_file():
            yield _program(f"hook {path.name}", str(path), _shown(path, root), _digest(path))


def _submodules(root: Path) -> Iterator[Path]:
    """The folders of other repositories that git looks into."""
    for entry in run_git(root, "ls-files", "--stage", "-z").split("\0"):
        place = root / entry.partition("\t")[2]
        if entry.startswith("160000 ") and (place / ".git").exists():
            yield place


def _program(key: str, value: str, where: str, real: str) -> TrustRequest:
    mark = hashlib.sha256(json.dumps([key, real]).encode("ascii")).hexdigest()
    named = key if key.isprintable() else json.dumps(key)
    return TrustRequest(key=f"git {named}", value=format_value(key, value), where=where, fingerprint=f"git:{mark}")


def _digest(path: Path) -> str:
    """What a hook holds; of a very large one, its size."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return f"{path.stat().st_size} bytes"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
