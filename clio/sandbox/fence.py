"""What a sandboxed command may read and write."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.paths import FOLDER_NAME
from clio.readonly_git import read_git_path
from clio.text.lazy_regex import LazyRegex

SandboxLevel = Literal["bwrap", "landlock", "seatbelt", "off"]
"""The mechanism that confines a command."""


class Fence(Struct, frozen=True, kw_only=True):
    """Limits of a command: it reads everything and writes only below `write`. Paths are absolute, exist and have no
    links.

    Attributes:
        root: the workspace, the first of `write`.
        sealed: files and folders below `write` that are read-only nevertheless.
        watched: paths that cannot be sealed because they may not exist; compared before and after a command.
        hidden: folders with sockets of other programs, shown empty if the level can do that.
        tmp: a folder of this run that commands see as /tmp, if the level can do that.
        shown: folders of the machine's /tmp that stay readable nevertheless.
        network: whether the network can be reached.
    """

    root: Path
    write: tuple[Path, ...]
    sealed: tuple[Path, ...] = ()
    watched: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    tmp: Path
    shown: tuple[Path, ...] = ()
    network: bool = False


class EnclosedCommand(Struct, frozen=True, kw_only=True):
    """A program and its arguments, confined.

    Attributes:
        keeper: its first process only waits for the command itself.
        script: a Python file of clio whose `main` takes `argv`.
        given: bytes to read from the descriptor whose number replaces the first `FILTER_PLACEHOLDER` in `argv`.
        tmp: a folder to remove after the command.
        env: further variables.
    """

    argv: tuple[str, ...]
    keeper: bool = False
    script: str = ""
    given: bytes = b""
    tmp: Path | None = None
    env: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts it, for callers that do not load `script` themselves."""
        return (sys.executable, "-I", "-S", "-B", self.script, *self.argv) if self.script else self.argv


FILTER_PLACEHOLDER = "@given"


def list_folders_between(upper: Path, lower: Path) -> tuple[Path, ...]:
    """Return the folders strictly between two paths, topmost first."""
    return tuple(folder for folder in reversed(lower.parents) if upper in folder.parents)


TMP_FOLDERS = Path("/tmp")
PRIVATE_TMP_WARNING = "the sandbox has a private /tmp, which is deleted when clio exits"
"""Shown to the user with the approval of a command that names /tmp."""
PRIVATE_TMP_NOTE = (
    "[commands have a private /tmp in the sandbox: your other tools and the user can't see its files. Put what they "
    "need into the project, or repeat the call with outside=true, which asks the user]"
)
"""Added once to a result for the model."""
_NAMED = LazyRegex(r"(?<![\w./~-])/tmp(?![\w.-])[^\s'\"`;|&<>()]*")
_PROGRAMS = ("bin", "sbin")
_BESIDE = ("lib", "lib64", "share", "pyvenv.cfg")


def find_tmp_paths(command: str) -> list[Path]:
    """Return the paths in /tmp that a command line names in plain words."""
    return [Path(found.group()) for found in _NAMED.finditer(command)]


def list_tmp_program_folders(env: Mapping[str, str], tmp: Path = TMP_FOLDERS) -> tuple[Path, ...]:
    """Return the folders below /tmp that contain the user's programs, by PATH and VIRTUAL_ENV, topmost first.

    For a `bin` folder whose programs need files beside it, such as a venv's, that is its parent; for a venv created by
    a Python in /tmp, the folder of that Python as well. Never /tmp as a whole. Paths are given both as named and with
    links resolved.
    """
    named = [env.get("VIRTUAL_ENV", ""), *env.get("PATH", "").split(":")]
    found = {place for name in named if name for place in _list_visible(Path(name), tmp)}
    return tuple(sorted(place for place in found if not any(other in place.parents for other in found)))


def _list_visible(folder: Path, tmp: Path) -> Iterator[Path]:
    try:
        resolved = folder.resolve(strict=True)
        python = resolved.parent / "bin" / "python" if folder.name in _PROGRAMS else resolved / "bin" / "python"
        places = [folder, resolved, *([python.resolve().parent] if python.is_symlink() else [])]
    except (OSError, RuntimeError):
        return
    for place in places:
        whole = place.parent if _stands_beside(place) else place
        for one in (whole, place):
            if tmp in one.parents and ".." not in one.parts:
                yield one
                break


def _stands_beside(place: Path) -> bool:
    return place.name in _PROGRAMS and any((place.parent / name).exists() for name in _BESIDE)


CACHES = (
    "~/.cache",
    "~/.npm",
    "~/.cargo/registry",
    "~/.cargo/git",
    "~/.gradle/caches",
    "~/.m2/repository",
    "~/go/pkg",
    "~/Library/Caches",
)
"""Caches of package managers and compilers, whose content can be downloaded or built again; XDG_CACHE_HOME is added.

Only these two of ~/.cargo: ~/.cargo/bin is on the search path, and ~/.cargo/config.toml names programs to run.
"""
_SOCKET_FOLDERS = ("~/.docker/run", "~/.docker/desktop", "~/.orbstack/run", "~/.colima", "~/.rd")
"""Sockets of programs that run any command for a client. Those in /run and /tmp are hidden as well."""
_MAX_MODULES = 200
"""Worktrees and submodules whose files are protected, per pattern."""


def make_fence(
    root: Path,
    *,
    user_home: Path,
    clio_home: Path,
    env: Mapping[str, str],
    tmp: Path,
    caches: bool = True,
    more: Iterable[str] = (),
    network: bool = False,
) -> Fence:
    """Create the fence of a workspace.

    Args:
        user_home: the user's home folder.
        more: further writable folders; `~` is the home folder.
    """
    root = root.resolve()
    named = [*more, *((env.get("XDG_CACHE_HOME", ""), *CACHES) if caches else ())]
    write = [root, *(_resolve_place(name, root, user_home) for name in named if name)]
    git = list(iter_git_folders(root))
    write += [folder for folder in git if root not in folder.parents]
    sealed = [clio_home, root / FOLDER_NAME, *(path for folder in git for path in _list_sealed(folder))]
    if (root / ".git").is_file():
        sealed.append(root / ".git")
    # "/" is never made writable: that would replace the mounts around it, such as /dev, or open them.
    allowed = tuple(path for path in _resolve_existing(write) if path.parent != path)
    links = (path for path in (root / ".git", root / FOLDER_NAME) if path.is_symlink())
    return Fence(
        root=root,
        write=allowed,
        sealed=tuple(
            path for path in _resolve_existing(sealed) if any(_contains_path(folder, path) for folder in allowed)
        ),
        watched=(*links, *(path for folder in git for path in _list_watched(folder))),
        hidden=list_socket_folders(user_home),
        tmp=tmp.resolve(),
        shown=list_tmp_program_folders(env),
        network=network,
    )


def list_socket_folders(user_home: Path) -> tuple[Path, ...]:
    """Return the existing folders that contain sockets of other programs. user_home: the user's home folder."""
    return _resolve_existing(_resolve_place(name, user_home, user_home) for name in _SOCKET_FOLDERS)


def _resolve_place(name: str, root: Path, user_home: Path) -> Path:
    if name == "~" or name.startswith("~/"):
        return user_home / name[2:]
    return root / name


def _resolve_existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that exist, links resolved, without duplicates."""
    found: dict[Path, None] = {}
    for path in paths:
        try:
            found[path.resolve(strict=True)] = None
        except (OSError, RuntimeError):
            continue
    return tuple(found)


def _contains_path(folder: Path, path: Path) -> bool:
    return folder == path or folder in path.parents


def iter_git_folders(root: Path) -> Iterator[Path]:
    """Yield the folders of the workspace's repository: `.git`, or a worktree's own and the one shared by all worktrees.

    A worktree's folders count only if they name the workspace in return: the `.git` file may come from an untrusted
    repository and name any folder.
    """
    git = root / ".git"
    try:
        if git.is_dir():
            yield git.resolve()
        elif git.is_file():
            own = (root / read_git_path(git).removeprefix("gitdir:").strip()).resolve(strict=True)
            back = Path(read_git_path(own / "gitdir"))
            if (own / back).resolve() == git:
                yield (own / read_git_path(own / "commondir")).resolve(strict=True)
                yield own
    except (OSError, UnicodeDecodeError, ValueError):
        return


def _list_sealed(git: Path) -> Iterator[Path]:
    """Yield the paths in a repository's folder that name programs for git to run, or where git looks for them."""
    main = git / "commondir"
    yield from (git / "config", git / "config.worktree", git / "hooks")
    if main.is_file():
        yield from (main, git / "gitdir")
    yield from sorted(git.glob("worktrees/*/config.worktree"))[:_MAX_MODULES]
    yield from sorted(git.glob("worktrees/*/commondir"))[:_MAX_MODULES]
    for pattern in ("modules/**/config", "modules/**/hooks"):
        yield from sorted(git.glob(pattern))[:_MAX_MODULES]


def _list_watched(git: Path) -> Iterator[Path]:
    """Yield such paths that do not exist yet: git reads its settings from the folder that `commondir` names."""
    for name in ("commondir", "config.worktree", "hooks"):
        if not (git / name).exists():
            yield git / name
