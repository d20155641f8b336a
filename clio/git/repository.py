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
from clio.config.trust import TrustStore, format_asked_value
from clio.errors import UserError
from clio.readonly_git import NO_HOOKS, PLAIN_OUTPUT, SAFE_SWITCHES, readonly_git_command, readonly_git_environment
from clio.storage.files import open_regular
from clio.text.translation import tr

GIT_TIMEOUT_S = 60.0
GIT_READ_TIMEOUT_S = 15.0
"""For commands that only read and start no other program.

A limit is needed because a repository's ignore patterns can make git run for minutes.
"""
MAX_OUTPUT_BYTES = 8_000_000
"""Limit for one output; a larger diff is cut."""
# These make git use another repository or index than those of the folder.
_REDIRECTING_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
)
_PATHSPEC_VARIABLES = ("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS")


def run_git(
    folder: Path,
    *arguments: str,
    index: Path | None = None,
    stdin: str | None = None,
    accepted_codes: tuple[int, ...] = (),
    filters: bool = False,
    hooks: bool = False,
) -> str:
    """Return what git prints, without the last newline; invalid UTF-8 is kept as surrogate escapes.

    Args:
        index: used instead of the repository's own. Objects git writes meanwhile, such as the empty blob of a file
            marked with `add --intent-to-add`, go to a folder beside it and not into the repository.
        accepted_codes: exit codes besides 0 that are not errors.
        filters, hooks: run those of the repository, which the user has allowed. If both are false, git starts no
            other program.

    Raises:
        UserError: git failed (with its own message), is missing, exceeds its time limit, or would use another
            repository.
    """
    env = make_git_environment() if filters or hooks else readonly_git_environment(make_git_environment())
    if index is not None:
        # Objects are written beside the copied index, so that looking at a diff leaves nothing in the repository.
        env |= _make_index_environment(index, get_git_path(folder, "objects").absolute())
    timeout_s = GIT_TIMEOUT_S if filters or hooks else GIT_READ_TIMEOUT_S
    try:
        command = ["git", *PLAIN_OUTPUT, *SAFE_SWITCHES, *(() if hooks else NO_HOOKS), *arguments]
        result = subprocess.run(
            command if filters or hooks else readonly_git_command(folder, *arguments),
            cwd=folder,
            env=env,
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise UserError(tr("git is not installed; install it, or work without it")) from error
    except subprocess.TimeoutExpired as error:
        raise UserError(
            tr(
                "git {arguments} took longer than {timeout_s:.0f} s and was stopped; patterns with many "
                "stars in .gitignore or .gitattributes can cause that",
                arguments=arguments[0],
                timeout_s=timeout_s,
            )
        ) from error
    except OSError as error:
        raise UserError(
            tr(
                "git {arguments} cannot be run in {folder!r}: {strerror}",
                arguments=arguments[0],
                folder=str(folder),
                strerror=error.strerror,
            )
        ) from error
    if result.returncode and result.returncode not in accepted_codes:
        message = decode_output(result.stderr).strip().removeprefix("fatal: ").removeprefix("error: ")
        raise UserError(
            tr(
                "git {arguments} failed: {value}",
                arguments=arguments[0],
                value=message or tr("exit {returncode}", returncode=result.returncode),
            )
        )
    return result.stdout[:MAX_OUTPUT_BYTES].decode("utf-8", "surrogateescape").removesuffix("\n")


def _make_index_environment(index: Path, objects: Path) -> dict[str, str]:
    """Return variables that make git write another index and objects, while it also reads the repository's objects."""
    new_objects = index.with_name("objects")
    new_objects.mkdir(exist_ok=True)
    alternates = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    quoted = '"' + str(objects).replace("\\", "\\\\").replace('"', '\\"') + '"'
    return {
        "GIT_INDEX_FILE": str(index),
        "GIT_OBJECT_DIRECTORY": str(new_objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, (quoted, alternates))),
    }


def make_git_environment() -> dict[str, str]:
    """Return the environment to run git in: no terminal prompts, no locks for reading, paths taken literally.

    Raises UserError if a variable leads git to another repository or index than the folder's own.
    """
    variable = next((name for name in _REDIRECTING_VARIABLES if os.environ.get(name)), None)
    if variable is not None:
        raise UserError(
            tr(
                "{variable} is set in the environment, so git would not work on this folder's own "
                "repository; start clio without it: env -u {variable} clio",
                variable=variable,
            )
        )
    env = {name: value for name, value in os.environ.items() if name not in _PATHSPEC_VARIABLES}
    return {
        **env,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
    }


def decode_output(output: bytes) -> str:
    """Decode output for display; bytes that are not UTF-8 become U+FFFD."""
    return output.decode("utf-8", "replace")


def find_root(folder: Path) -> Path:
    """Return the top of the working tree that contains the folder. Raises UserError if there is none."""
    try:
        inside = run_git(folder, "rev-parse", "--is-inside-work-tree")
    except UserError as error:
        if "not a git repository" not in str(error):
            raise
        raise UserError(
            tr("{folder!r} is not in a git repository; `git init` creates one", folder=str(folder))
        ) from error
    if inside != "true":
        raise UserError(
            tr("{folder!r} is a bare repository without a working tree; use a checkout of it", folder=str(folder))
        )
    return Path(run_git(folder, "rev-parse", "--show-toplevel"))


def get_git_path(folder: Path, name: str) -> Path:
    """Return the path of a file in the git directory, such as MERGE_MSG; for a worktree, its own one."""
    return folder / run_git(folder, "rev-parse", "--git-path", name)


Operation = Literal["", "merge", "cherry-pick", "revert", "rebase"]
_OPERATION_FILES: tuple[tuple[str, Operation], ...] = (
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
)


class ChangedFile(Struct, frozen=True, kw_only=True):
    """One changed file.

    Attributes:
        path: relative to the top of the working tree.
        staged, worked: git's letter for its change in the index and in the working tree (M, A, D, R or T); "" for no
            change.
        tracked: git knows it.
        conflict: it has a merge conflict.
        is_submodule_dirty: it is a submodule with changes inside only, which no commit of this repository can contain.
        renamed_from: its previous path if it was renamed.
    """

    path: str
    staged: str = ""
    worked: str = ""
    tracked: bool = True
    conflict: bool = False
    is_submodule_dirty: bool = False
    renamed_from: str = ""


class RepositoryState(Struct, frozen=True, kw_only=True):
    """The state of a working tree.

    Attributes:
        root: its top.
        prefix: the project's folder below it, "" or ending in a slash.
        branch: "" if HEAD is detached.
        has_no_commit: the repository is new.
        operation: what git is in the middle of, such as "merge"; "" for nothing.
        filters: files were compared after the repository's own filters, and submodules were examined.
    """

    root: Path
    prefix: str
    branch: str
    has_no_commit: bool
    operation: Operation
    files: tuple[ChangedFile, ...]
    filters: bool = False

    @property
    def staged(self) -> tuple[ChangedFile, ...]:
        """What a plain `git commit` would commit."""
        return tuple(file for file in self.files if file.staged)

    @property
    def tracked(self) -> tuple[ChangedFile, ...]:
        """Changed files in the project's folder that git tracks."""
        return tuple(file for file in self.unstaged if file.tracked)

    @property
    def unstaged(self) -> tuple[ChangedFile, ...]:
        """Files in the project's folder that can be committed and are not staged."""
        return tuple(
            file
            for file in self.files
            if file.worked and not file.is_submodule_dirty and file.path.startswith(self.prefix)
        )

    @property
    def conflicts(self) -> tuple[ChangedFile, ...]:
        """Files with a merge conflict."""
        return tuple(file for file in self.files if file.conflict)


def read_state(folder: Path, *, filters: bool = False) -> RepositoryState:
    """Return the state of the working tree that contains a folder. Raises UserError if there is none, or git fails.

    Args:
        filters: run the repository's own programs, which the user has allowed, so that files are compared as a commit
            would store them.
    """
    root = find_root(folder)
    prefix = run_git(folder, "rev-parse", "--show-prefix")
    submodule_options = ["--ignore-submodules=none"] if filters else []
    listing = run_git(
        root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", *submodule_options, filters=filters
    )
    head, branch, files = "", "", list[ChangedFile]()
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.startswith("# branch.oid "):
            head = entry.removeprefix("# branch.oid ")
        elif entry.startswith("# branch.head "):
            branch = entry.removeprefix("# branch.head ")
        elif file := _parse_status_line(entry):
            files.append(ChangedFile(path=file.path, staged=file.staged, worked=file.worked, renamed_from=next(entries))
                         if entry[0] == "2" else file)  # fmt: skip
    return RepositoryState(
        root=root,
        prefix=prefix,
        branch="" if branch == "(detached)" else branch,
        has_no_commit=head == "(initial)",
        operation=_find_operation(root),
        files=tuple(files),
        filters=filters,
    )


def check_identity(folder: Path) -> None:
    """Raise UserError if git has no author name and address for a commit."""
    try:
        run_git(folder, "var", "GIT_COMMITTER_IDENT")
        run_git(folder, "var", "GIT_AUTHOR_IDENT")
    except UserError as error:
        raise UserError(
            tr(
                "git has no name and email for commits; set them with `git config user.name NAME` "
                "and `git config user.email ADDRESS`"
            )
        ) from error


def _parse_status_line(entry: str) -> ChangedFile | None:
    """Parse a line of `git status --porcelain=v2`."""
    kind = entry[:2]
    if kind == "? ":
        return None if entry.endswith("/") else ChangedFile(path=entry[2:], worked="A", tracked=False)
    if kind not in ("1 ", "2 ", "u "):
        return None
    # Split only as often as there are fields before the path, which may contain spaces.
    fields = entry.split(" ", {"1 ": 8, "2 ": 9, "u ": 10}[kind])
    staged, worked = (letter.replace(".", "") for letter in fields[1])
    if kind == "u ":
        return ChangedFile(path=fields[-1], worked="U", conflict=True)
    submodule = fields[2]
    # "SC..": a submodule whose commit changed, which can be committed; "S.MU": only changes inside it.
    is_dirty = submodule[0] == "S" and submodule[1] != "C"
    return ChangedFile(path=fields[-1], staged=staged, worked=worked, is_submodule_dirty=is_dirty)


def _find_operation(root: Path) -> Operation:
    for name, operation in _OPERATION_FILES:
        if get_git_path(root, name).exists():
            return operation
    return ""


_PROGRAM_SETTINGS = (
    r"^(filter\..*\.(clean|smudge|process)|hook\..*\.command|trailer\..*\.(command|cmd)|gpg\.(.*\.)?(program|"
    r"defaultkeycommand)|core\.(hookspath|sshcommand|gitproxy|askpass)|credential\.(.*\.)?helper|"
    r"remote\..*\.(vcs|uploadpack)|protocol\..*\.allow)$"
)
_MAX_HOOKS = 100
_MAX_HOOK_BYTES = 100_000_000


def list_repository_programs(root: Path) -> tuple[TrustRequest, ...]:
    """Return all programs that a repository and its submodules name in settings and as hooks. Raises UserError."""
    repositories = [root, *_list_submodules(root)]
    found = [
        request
        for repository in repositories
        for request in (*_find_program_settings(repository, root), *_find_hooks(repository, root))
    ]
    return tuple({request.fingerprint: request for request in found}.values())


def list_untrusted_programs(root: Path, trust: TrustStore, owner: Path) -> tuple[TrustRequest, ...]:
    """Return those of them that the user has not trusted for the folder `owner`. Raises UserError."""
    trusted = trust.fingerprints(owner)
    return tuple(request for request in list_repository_programs(root) if request.fingerprint not in trusted)


def check_programs(root: Path, trust: TrustStore, owner: Path, purpose: str) -> None:
    """Raise UserError if git would start a program of the repository that the user has not trusted.

    purpose: what git would start it for, such as "a worktree".
    """
    waiting = list_untrusted_programs(root, trust, owner)
    if waiting:
        names = ", ".join(request.key for request in waiting[:3]) + (", …" if len(waiting) > 3 else "")
        raise UserError(
            tr(
                "git would start programs for {purpose} that this repository itself names ({names}); "
                "`clio config trust` lists them and allows them",
                purpose=purpose,
                names=names,
            )
        )


def _find_program_settings(repository: Path, root: Path) -> Iterator[TrustRequest]:
    where = _display_path(repository / ".git", root)
    for scope in ("--local", "--worktree"):
        listed = run_git(
            repository,
            "config",
            scope,
            "--includes",
            "--null",
            "--get-regexp",
            _PROGRAM_SETTINGS,
            accepted_codes=(1, 128),
        )
        for setting in listed.split("\0"):
            key, _, value = setting.partition("\n")
            if key:
                yield _make_program_trust_request(key, value, where, value)


def _find_hooks(repository: Path, root: Path) -> Iterator[TrustRequest]:
    # hooks=True only keeps core.hooksPath as it is configured; rev-parse runs no hook.
    folder = repository / run_git(repository, "rev-parse", "--git-path", "hooks", hooks=True)
    configured = run_git(
        repository, "config", "--local", "--includes", "--get", "core.hooksPath", accepted_codes=(1, 128)
    )
    # Git's folder of a worktree is in that of the main checkout, where the hooks are.
    common = repository / run_git(repository, "rev-parse", "--git-common-dir")
    if not configured and not any(folder.resolve().is_relative_to(parent.resolve()) for parent in (common, repository)):
        return  # named by the user's own settings, not by the repository
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix != ".sample" and os.access(path, os.X_OK))
    except OSError:
        return
    for path in files[:_MAX_HOOKS]:
        if path.is_file():
            yield _make_program_trust_request(
                tr("hook {path}", path=path.name), str(path), _display_path(path, root), _hash_hook(path)
            )


def _list_submodules(root: Path) -> Iterator[Path]:
    """Yield the folders of other repositories that git examines."""
    for entry in run_git(root, "ls-files", "--stage", "-z").split("\0"):
        submodule = root / entry.partition("\t")[2]
        if entry.startswith("160000 ") and (submodule / ".git").exists():
            yield submodule


def _make_program_trust_request(key: str, value: str, where: str, content: str) -> TrustRequest:
    digest = hashlib.sha256(json.dumps([key, content]).encode("ascii")).hexdigest()
    name = key if key.isprintable() else json.dumps(key)
    return TrustRequest(
        key=f"git {name}", value=format_asked_value(key, value), where=where, fingerprint=f"git:{digest}"
    )


def _hash_hook(path: Path) -> str:
    """Return a digest of a hook's content; of a very large one, what changes whenever it is written."""
    try:
        with open_regular(path, max_bytes=None) as file:
            status = os.fstat(file.fileno())
            if status.st_size > _MAX_HOOK_BYTES:
                return f"{status.st_size} {status.st_dev} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _display_path(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
