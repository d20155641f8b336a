"""What a sandboxed command may read and write, and whether its failure was caused by that limit."""

import os
import re
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.paths import FOLDER_NAME
from clio.readonly_git import read_git_path
from clio.storage.files import read_regular
from clio.storage.locks import error_cause
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
    write = [root, *(_place(name, root, user_home) for name in named if name)]
    git = list(iter_git_folders(root))
    write += [folder for folder in git if root not in folder.parents]
    sealed = [clio_home, root / FOLDER_NAME, *(path for folder in git for path in _list_sealed(folder))]
    if (root / ".git").is_file():
        sealed.append(root / ".git")
    # "/" is never made writable: that would replace the mounts around it, such as /dev, or open them.
    allowed = tuple(path for path in _existing(write) if path.parent != path)
    links = (path for path in (root / ".git", root / FOLDER_NAME) if path.is_symlink())
    return Fence(
        root=root,
        write=allowed,
        sealed=tuple(path for path in _existing(sealed) if any(_holds(folder, path) for folder in allowed)),
        watched=(*links, *(path for folder in git for path in _list_watched(folder))),
        hidden=list_socket_folders(user_home),
        tmp=tmp.resolve(),
        shown=list_tmp_program_folders(env),
        network=network,
    )


def list_socket_folders(user_home: Path) -> tuple[Path, ...]:
    """Return the existing folders that contain sockets of other programs. user_home: the user's home folder."""
    return _existing(_place(name, user_home, user_home) for name in _SOCKET_FOLDERS)


def _place(name: str, root: Path, user_home: Path) -> Path:
    if name == "~" or name.startswith("~/"):
        return user_home / name[2:]
    return root / name


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that exist, links resolved, without duplicates."""
    found: dict[Path, None] = {}
    for path in paths:
        try:
            found[path.resolve(strict=True)] = None
        except (OSError, RuntimeError):
            continue
    return tuple(found)


def _holds(folder: Path, path: Path) -> bool:
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


_MAX_BYTES = 1_000_000
"""Larger files are only compared, not restored."""
_MAX_FILES = 300
"""Files remembered per folder."""


class SavedFile(Struct, frozen=True):
    """The state of one path: a file's bytes and mode, a link's target, or missing."""

    content: bytes | None = None
    mode: int = 0
    link: str | None = None


class FileGuard:
    """Remembers files, and the files directly inside folders, to restore them. Those over 1 MB are only compared.

    Args:
        paths: may be missing; a path created later counts as changed.
        places: folders that must not be moved.
    """

    def __init__(self, paths: Iterable[Path], places: Iterable[Path] = ()) -> None:
        self._paths = tuple(paths)
        self._places = {place: _identity(place) for place in places}
        self._before = {path: _look(path) for path in self._files()}

    def changed(self) -> list[Path]:
        """Return the paths whose state has changed."""
        now = {*self._files(), *self._before}
        return sorted(path for path in now if _look(path) != self._before.get(path, SavedFile()))

    def undo(self) -> list[tuple[Path, Path | None]]:
        """Restore everything. Returns each changed path and the file that holds its new content, None if it was
        removed.

        New content is moved aside and never deleted, because the user may have changed the file in the meantime. Raises
        OSError.
        """
        done = [found for place in self._places if (found := self._move_back(place))]
        for path in self.changed():
            if not path.parent.is_dir():
                continue  # restored together with its folder, which was removed as a whole
            aside = _set_aside(path)
            _restore(path, self._before.get(path, SavedFile()))
            done.append((path, aside))
        return done

    def _move_back(self, place: Path) -> tuple[Path, Path | None] | None:
        """Rename a folder back if it is found beside its old path."""
        identity = self._places[place]
        if identity is None or _identity(place) == identity:
            return None
        moved = next((path for path in place.parent.iterdir() if _identity(path) == identity), None)
        if moved is None:
            return None
        aside = _set_aside(place)
        moved.rename(place)
        return place, aside

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            if path.is_dir() and not path.is_symlink():
                try:
                    files = sorted(path.iterdir())[:_MAX_FILES]
                except OSError:
                    continue
                yield from (file for file in files if ".set-aside-" not in file.name and not file.is_dir())
            else:
                yield path


def restore_guarded_files(guard: FileGuard, root: Path) -> str:
    """Restore everything and return a line about it, paths relative to the workspace; "" if nothing changed."""
    try:
        undone = guard.undo()
    except OSError as error:
        return f"[the sandbox could not restore files that commands may not change: {error_cause(error)}]"
    if not undone:
        return ""
    shown = ", ".join(_format_path(path, aside, root) for path, aside in undone)
    return f"[the sandbox reverted changes to protected files: {shown}]"


def _format_path(path: Path, aside: Path | None, root: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return f"{name} (moved to {aside.name})" if aside else name


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _set_aside(path: Path) -> Path | None:
    if not os.path.lexists(path):
        return None
    aside = path.with_name(f"{path.name}.set-aside-{time.time_ns()}")
    path.rename(aside)
    if aside.is_file() and not aside.is_symlink():
        aside.chmod(0o600)  # so that git does not run a hook that was moved aside
    return aside


def _look(path: Path) -> SavedFile:
    try:
        if path.is_symlink():
            return SavedFile(link=str(path.readlink()))
        if path.is_dir():
            return SavedFile()  # its files are compared one by one
        status = path.stat()
        if status.st_size > _MAX_BYTES:
            return SavedFile(content=b"%d %d" % (status.st_size, status.st_mtime_ns), mode=-1)
        return SavedFile(content=read_regular(path, _MAX_BYTES), mode=status.st_mode & 0o777)
    except OSError:
        return SavedFile()


def _restore(path: Path, seen: SavedFile) -> None:
    if seen.link is not None:
        path.symlink_to(seen.link)
    elif seen.content is not None and seen.mode >= 0:
        part = path.with_name(f"{path.name}.set-aside-part")
        part.write_bytes(seen.content)
        part.chmod(seen.mode)
        part.replace(path)


_FILES = LazyRegex(
    r"Read-only file system|\bEROFS\b|Permission denied|\bEACCES\b|Operation not permitted|\bEPERM\b"
    r"|Device or resource busy|\bEBUSY\b|Invalid cross-device link",
    re.IGNORECASE,
)
NETWORK = LazyRegex(
    r"Network is unreachable|\bENETUNREACH\b|Could not resolve|Couldn't resolve|\bEAI_AGAIN\b|\bENOTFOUND\b"
    r"|Temporary failure in name resolution|Name or service not known|No address associated with hostname"
    r"|dial (?:tcp|udp)|getaddrinfo|error sending request|Failed to establish a new connection",
    re.IGNORECASE,
)
LOOPBACK = LazyRegex(r"Connection refused|\bECONNREFUSED\b|Failed to connect|Couldn't connect", re.IGNORECASE)
_TMP = LazyRegex(r"/tmp/[^\n]*No such file|No such file[^\n]*/tmp/", re.IGNORECASE)


def describe_denial(output: str, level: SandboxLevel, *, network: bool) -> str:
    """Return one line with the likely cause and the way out; "" if nothing points to the sandbox."""
    if level == "off":
        return ""
    if not network and NETWORK.search(output):
        cause = "it has no network"
    elif not network and level != "landlock" and LOOPBACK.search(output):
        cause = "each command has a network of its own, so a server is reached only by the command that started it"
    elif not network and level == "landlock" and _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and open no sockets"
    elif _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and neither .git/config, .git/hooks nor .clio"
    elif level == "bwrap" and _TMP.search(output):
        cause = "it has a /tmp of its own, where only commands in the sandbox put files"
    else:
        return ""
    return (
        f"[this may be the sandbox ({level}): {cause}. If the command needs more, call it again with outside=true: "
        "the user is then asked]"
    )


_READ_ONLY = LazyRegex(r"read-only file system|\berofs\b")
_DENIED = LazyRegex(r"permission denied|\beacces\b|operation not permitted|\beperm\b")
_QUOTED = LazyRegex(r"(?<!\w)['\"‘“`](?P<path>[^'\"’”`]+)['\"’”`]")
_BEFORE_REASON = LazyRegex(
    r"(?P<path>[^\n:]+): (?:read-only file system|permission denied|operation not permitted)", flags=re.IGNORECASE
)
_SHELL = LazyRegex(r"(?:^|/)(?:ba|da|a|z|k)?sh: ")
_SPEAKER = LazyRegex(r"(?:[^\s:]*/)?(?P<name>[\w.+-]+)(?:: | (?:ERR!|error|warn)\b)")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_LAST_CHARS = 20_000
"""How much of the end of an output is searched for a denial, in characters."""
_LINE_CHARS = 1_000


def find_denied_action(
    output: str,
    level: SandboxLevel,
    *,
    root: Path,
    network: bool,
    withheld: Iterable[str] = (),
    speakers: Collection[str] | None = None,
) -> str:
    """Return what a failed command needed and was denied, such as "needs the network"; "" for an ordinary failure.

    A denied file counts only if the user could write or read it; otherwise the system itself denied it. Examines the
    end of the output, in English (see `unasked_environment`).

    Args:
        output: what the command printed.
        level: what confined it.
        root: where it ran.
        network: whether it had the network.
        withheld: names of variables it was not given; a program with network access names the one it lacks.
        speakers: only lines that begin with the name of one of these programs or of a shell count, for when the exit
            code does not tell whether a part of the command failed. None for every line.
    """
    if level == "off":
        return ""
    for line in reversed(output[-_LAST_CHARS:].splitlines()):
        if len(line) > _LINE_CHARS or (speakers is not None and not _is_error_of(line, speakers)):
            continue
        small = line.lower()
        if _READ_ONLY.search(small):
            path = _path_in(line, root)
            if path is None or _can_write(path):
                return f"needs to write {_shorten_path(path, root)}" if path else "needs to write files"
        elif not network and (NETWORK.search(line) or LOOPBACK.search(line)):
            return "needs the network"
        elif _DENIED.search(small) and (need := _denied(line, level, root, network=network)):
            return need
        elif network and (name := next((name for name in withheld if name in line), "")):
            return f"needs the variable {name}"
    return ""


def _is_error_of(line: str, programs: Collection[str]) -> bool:
    """Whether a line is an error message of one of these programs or of a shell, and not text that they print."""
    speaker = _SPEAKER.match(line)
    return speaker is not None and (speaker["name"] in programs or speaker["name"] in _SHELLS)


def _denied(line: str, level: SandboxLevel, root: Path, *, network: bool) -> str:
    if sys.platform == "win32":
        return ""
    privileged = os.geteuid() == 0  # a confined command has none of root's privileges
    path = _path_in(line, root)
    if path is None:
        if not network and "socket" in line.lower():
            return "needs the network"
        return "needs rights it does not get" if privileged or level != "bwrap" else ""
    exists = os.path.lexists(path)
    if exists and path.is_file() and not os.access(path, os.X_OK) and _SHELL.search(line):
        return ""  # not a program
    if privileged and exists:
        return f"needs to read or write {_shorten_path(path, root)}"
    return f"needs to write {_shorten_path(path, root)}" if level != "bwrap" and _can_write(path) else ""


def _path_in(line: str, root: Path) -> Path | None:
    """Return the file an error message names; of several, the first that exists or whose folder exists."""
    names = [found["path"] for found in _QUOTED.finditer(line)]
    if before := _BEFORE_REASON.search(line):
        text = before["path"].strip()
        names += [text, text.rsplit(" ", 1)[-1]]
    paths = [root / name for name in names if "\0" not in name and len(name) < 1000]
    return next((path for path in paths if os.path.lexists(path)), None) or next(
        (path for path in paths if path.parent.is_dir()), None
    )


def _can_write(path: Path) -> bool:
    """Whether the user could write or create a file."""
    return os.access(path if path.exists() else path.parent, os.W_OK)


def _shorten_path(path: Path, root: Path) -> str:
    return repr(str(path.relative_to(root) if path.is_relative_to(root) else path))
