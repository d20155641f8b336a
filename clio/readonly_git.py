"""Run read-only git commands so that they start no other program, whatever a repository's settings contain.

The settings of a repository (`.git/config`) can make git start programs, and an unpacked or copied directory brings its
own settings. So this applies whether or not the user trusts the directory.

Features that an option can disable are disabled. There is no option against filters (`filter.NAME.clean`), so each
configured filter is given an empty command; files with a filter are then compared as they are on disk.
"""

import errno
import os
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from clio.storage.files import read_beginning
from clio.text.translation import tr

PLAIN_OUTPUT = ("--no-pager", "-c", "color.ui=false", "-c", "core.quotePath=false")
SAFE_SWITCHES = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "status.submoduleSummary=false"),
    *("-c", "submodule.recurse=false"),
)
"""Options against programs that any git command may start; also used for commands that change something."""
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
"""Needed even for `git status`: it may rewrite the index, which runs the `post-index-change` hook."""
_COMMAND_FLAGS: Mapping[str, tuple[str, ...]] = {
    # git reads a submodule with the submodule's own settings, which have not been checked
    "status": ("--ignore-submodules=dirty",),
    "diff": ("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty"),
    "show": ("--no-ext-diff", "--no-textconv", "--submodule=short"),
    "log": ("--no-ext-diff", "--no-textconv"),
    "blame": ("--no-textconv",),
}
# They do not read files of the working tree, so they run no filter.
_COMMANDS_WITHOUT_FILTERS = frozenset(
    ("cat-file", "check-ignore", "config", "hash-object", "rev-parse", "symbolic-ref", "var")
)
_NONINTERACTIVE_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # For git before 2.45: do not fetch objects that a partial clone lacks, which would start ssh or another helper.
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
}
_LOCATION_VARIABLES = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE")
"""Variables that make git use another repository than that of the directory."""
_UNRESOLVABLE_PREFIXES = ("%", *(f"~{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
"""Beginnings of paths that only git can resolve: `%(prefix)/`, `~user/`."""
# Files that git reads for most commands, relative to the `.git` directory.
_GIT_FILES = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow"),
    *("info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"),
)
_WORKTREE_FILES = ("HEAD", "commondir", "gitdir", "locked")
_LARGE_FILES = frozenset(("index", "packed-refs", "shallow"))
"""Files of `_GIT_FILES` that may be large in a large repository."""
# Four limits far above what ordinary repositories need. Without them a hostile one could keep clio or git busy.
_MAX_FILE_BYTES = 16_000_000
_MAX_SETTING_LINES = 5_000
_MAX_INCLUDES = 10
_MAX_FILTERS = 100
_MAX_WORKTREES = 200
_TIMEOUT_S = 10.0
_MTIME_GRANULARITY_S = 2.0
"""Seconds. A file changed less than this ago may change again and have the same modification time."""


class GitSetting(Struct, frozen=True):
    """One setting as git reads it.

    Attributes:
        scope: "system", "global", "local", "worktree" or "command" (environment); "" if git does not report it.
        origin: such as "file:.git/config", relative to the top of the working tree.
        value: None for a key without `=`.
    """

    scope: str
    origin: str
    key: str
    value: str | None

    @property
    def is_from_repository(self) -> bool:
        """Whether it is from the repository, and not from the user's own configuration or environment."""
        return self.scope not in ("system", "global", "command")


class GitSettings(Struct, frozen=True):
    """The git settings that apply in a directory.

    Attributes:
        files: the files that affect the settings, including missing ones; None if they are unknown.
        fingerprint: differs after any change of these files or of git's variables; None if that cannot be determined.
    """

    items: tuple[GitSetting, ...]
    files: tuple[Path, ...] | None
    fingerprint: tuple[object, ...] | None


_settings_cache: dict[Path, GitSettings] = {}


def readonly_git_command(folder: Path, *words: str) -> list[str]:
    """Return the argument list of a read-only git command in that directory, to be run with `readonly_git_environment`.

    The first call for a directory asks git for its filters, which takes a few ms; later calls do so only if a settings
    file has changed.

    Raises:
        OSError: git cannot be run, a filter cannot be switched off, or the repository refers to a place outside.
    """
    name, *rest = words
    # Checked first, because the git commands that list the settings would themselves block on a named pipe.
    _check_readable(folder)
    filters: list[str] = []
    if name not in _COMMANDS_WITHOUT_FILTERS:
        filters = list_filter_options(folder)
        outside_target = find_outside_target(folder, read_git_settings(folder))
        if outside_target is not None:
            raise OSError(
                errno.EPERM,
                tr(
                    "its {part} points to {target!r}, which is not part of it",
                    part=outside_target[0],
                    target=str(outside_target[1]),
                ),
            )
    return ["git", *PLAIN_OUTPUT, *SAFE_SWITCHES, *NO_HOOKS, *filters, name, *_COMMAND_FLAGS.get(name, ()), *rest]


def readonly_git_environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for `readonly_git_command`: git takes no lock, asks nothing and fetches nothing."""
    return {**env, **_NONINTERACTIVE_VARIABLES}


def _check_readable(folder: Path) -> None:
    """Raise OSError if a git command would read a file of the repository forever or for very long."""
    path = find_blocking_file(folder)
    if path is not None:
        raise OSError(errno.EINVAL, tr("it is not a file, so this is not a repository clio can read"), str(path))


def find_blocking_file(folder: Path) -> Path | None:
    """Return a path that a read-only git command would read forever or for very long; None if there is none.

    Such a path is a pipe or a device where git expects one of its own files or a file named in the settings, or a file
    of settings or patterns larger than `_MAX_FILE_BYTES`.
    """
    top = next((directory for directory in (folder, *folder.parents) if os.path.lexists(directory / ".git")), None)
    if top is None:
        return None
    for path in (top / ".git", top / ".gitignore", top / ".gitattributes"):
        if _may_block(path):
            return path
    for git in _list_git_folders(top):
        for path in _list_own_files(git):
            if _may_block(path, large=path.name in _LARGE_FILES):
                return path
        for name in ("config", "config.worktree"):
            found = _find_blocking_value(git / name, (git, top), set())
            if found is not None:
                return found
    return None


def _list_git_folders(top: Path) -> list[Path]:
    """Return the folders in which git looks for its files: what a `.git` file names, and what `commondir` names."""
    git = top / ".git"
    if git.is_file():
        git = top / _read_line(git).removeprefix("gitdir:").strip()
    found = [git]
    if not _may_block(git / "commondir") and (common := _read_line(git / "commondir")):
        found.append(git / common)
    return found


def _list_own_files(git: Path) -> Iterator[Path]:
    """Yield git's own files in a folder, those of its worktrees included, which may not exist."""
    reference = _read_line(git / "HEAD").removeprefix("ref:").strip() if git.is_dir() else ""
    names = (*_GIT_FILES, reference) if reference and not reference.startswith("/") else _GIT_FILES
    yield from (git / name for name in names)
    try:
        with os.scandir(git / "worktrees") as entries:
            for entry, _ in zip(entries, range(_MAX_WORKTREES), strict=False):
                yield from (Path(entry.path, name) for name in _WORKTREE_FILES)
    except (OSError, ValueError):
        return


def _may_block(path: Path, *, large: bool = False) -> bool:
    """Whether reading a path may never end or take very long: a pipe, a device, or a file above the size limit.

    large: allow files of any size.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False  # missing, or git itself reports what is wrong
    if stat.S_ISREG(status.st_mode):
        return status.st_size > _MAX_FILE_BYTES and not large
    return not stat.S_ISDIR(status.st_mode) and str(path) != os.devnull


def _find_blocking_value(config: Path, bases: tuple[Path, ...], seen: set[Path]) -> Path | None:
    """Return the first pipe or device named by a value in a settings file, or in a file it includes.

    Each value is tried as a path relative to every directory from which git may resolve it. Most values are not paths,
    and no such file exists.

    seen: the files already read; this one is added.
    """
    try:
        if config in seen or len(seen) > _MAX_INCLUDES or not config.is_file():
            return None
        seen.add(config)
        with config.open(encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_MAX_FILE_BYTES).splitlines()[:_MAX_SETTING_LINES]
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition("=")
        value = value.strip().strip('"')
        if not value:
            continue
        for base in (config.parent, *bases):
            path = Path(os.environ.get("HOME", "/"), value[2:]) if value.startswith("~/") else base / value
            if _may_block(path, large=True):
                return path
            if key.split()[-1:] == ["path"]:
                found = _find_blocking_value(path, bases, seen)
                if found is not None:
                    return found
    return None


def describe_blocking_file(folder: Path) -> str | None:
    """Return a sentence about the path that `find_blocking_file` finds; None if it finds none."""
    path = find_blocking_file(folder)
    if path is None:
        return None
    kind = tr("a named pipe") if path.is_fifo() else tr("too large") if path.is_file() else tr("not a regular file")
    return tr("{path!r} is {kind}, so this is not a repository clio can read; move it away", path=str(path), kind=kind)


def run_git(folder: Path, *words: str, timeout_s: float, stdin: str = "") -> str | None:
    """Return the output of a read-only git command; None if git is missing, fails, or takes too long.

    stdin: its standard input. Blocks up to `timeout_s`; under an event loop, call it in a thread.
    """
    try:
        result = subprocess.run(
            readonly_git_command(folder, *words), cwd=folder, env=readonly_git_environment(), input=stdin.encode(),
            capture_output=True, timeout=timeout_s, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.decode("utf-8", "replace") if result.returncode == 0 else None


def list_filter_options(folder: Path) -> list[str]:
    """Return the git options that give every configured filter an empty command.

    Raises OSError if there are too many filters, or one has a name that an option cannot contain.
    """
    names = _list_filter_names(folder)
    if len(names) > _MAX_FILTERS or any("=" in name for name in names):
        raise OSError(errno.EPERM, tr("its settings name filters that cannot be disabled"))
    return [
        word
        for name in names
        for setting in ("clean=", "smudge=", "process=", "required=false")
        for word in ("-c", f"filter.{name}.{setting}")
    ]


def find_outside_target(folder: Path, settings: GitSettings) -> tuple[str, Path] | None:
    """Return the setting that points git outside the directory, and the path it points to; None if there is none.

    The data of a linked worktree, a submodule or a repository made with --separate-git-dir is outside too. It is
    allowed if it names this directory as its working tree, because the author of an unpacked archive cannot write that
    name into a directory outside the archive.
    """
    top = next((directory for directory in (folder, *folder.parents) if os.path.lexists(directory / ".git")), None)
    if top is None:
        return None
    working_tree = Path(os.path.realpath(top))
    git = Path(os.path.realpath(top / ".git"))
    if git.is_file():
        git = Path(os.path.realpath(top / _read_line(git).removeprefix("gitdir:").strip()))
    worktree_settings = [
        setting.value or ""
        for setting in settings.items
        if setting.key == "core.worktree" and setting.is_from_repository
    ]
    worktree = Path(os.path.realpath(git / worktree_settings[-1])) if worktree_settings else working_tree
    if not worktree.is_relative_to(working_tree):
        return "core.worktree", worktree
    linked = _read_line(git / "gitdir")  # in a linked worktree: the path of its `.git` file
    points_back = bool(worktree_settings) or (
        linked != "" and os.path.realpath(git / linked) == str(working_tree / ".git")
    )
    if not git.is_relative_to(working_tree) and not points_back:
        return ".git", git
    common = Path(os.path.realpath(git / (_read_line(git / "commondir") or ".")))
    if common not in (git, git.parent.parent) and not common.is_relative_to(working_tree):
        return "commondir", common
    return None


_MAX_PATH_BYTES = 65_536


def read_git_path(path: Path) -> str:
    """Return the path that one of git's files contains, such as `gitdir` or `commondir`; `.git` has a prefix before it.

    Raises OSError, UnicodeDecodeError.
    """
    return read_beginning(path, _MAX_PATH_BYTES).decode("utf-8").strip()


def _read_line(path: Path) -> str:
    """Return the first line of a small regular file; "" if there is none."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(65_536).partition("\n")[0].strip()
    except OSError:
        return ""


def _list_filter_names(folder: Path) -> tuple[str, ...]:
    return tuple(
        sorted({name for setting in read_git_settings(folder).items if (name := _get_filter_name(setting.key))})
    )


def read_git_settings(folder: Path) -> GitSettings:
    """Return every setting that git reads in a directory; asks git only if one of the files has changed.

    Raises OSError if git cannot be run, takes too long or cannot read its settings.
    """
    cached = _settings_cache.get(folder)
    if cached is not None and cached.files is not None and cached.fingerprint == _compute_fingerprint(cached.files):
        return cached
    _check_readable(folder)
    started_at = time.time()
    items = _list_settings(folder)
    files = _list_files_to_watch(folder, items)
    _settings_cache.pop(folder, None)
    if files is None:
        return GitSettings(items, None, None)
    fingerprint = _compute_fingerprint(files)
    changed = [path.stat().st_ctime for path in files if path.exists()]
    if max(changed, default=0.0) >= started_at - _MTIME_GRANULARITY_S:
        return GitSettings(items, files, None)  # not cached: a further change could go unnoticed
    _settings_cache[folder] = GitSettings(items, files, fingerprint)
    return _settings_cache[folder]


def _list_settings(folder: Path) -> tuple[GitSetting, ...]:
    words = _run_git_config(folder, "--show-scope")
    if words is not None:
        rows = zip(words[::3], words[1::3], words[2::3], strict=False)
    else:  # git before 2.26 does not report the scope
        words = _run_git_config(folder)
        if words is None:
            raise OSError(errno.EINVAL, "git cannot read its settings")
        rows = (("", origin, setting) for origin, setting in zip(words[::2], words[1::2], strict=False))
    split = ((scope, origin, setting.partition("\n")) for scope, origin, setting in rows)
    return tuple(GitSetting(scope, origin, key, value if sign else None) for scope, origin, (key, sign, value) in split)


def _run_git_config(folder: Path, *options: str) -> list[str] | None:
    try:
        done = subprocess.run(
            ["git", "config", "--null", "--show-origin", *options, "--list"],
            cwd=folder, env=readonly_git_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise OSError(errno.ETIMEDOUT, "git takes too long to read its settings") from error
    return None if done.returncode else os.fsdecode(done.stdout).split("\0")


def _get_filter_name(key: str) -> str:
    name = key.removeprefix("filter.").rpartition(".")[0]
    return name if key.startswith("filter.") else ""


def _list_files_to_watch(folder: Path, settings: Iterable[GitSetting]) -> tuple[Path, ...] | None:
    """Return all files that affect the settings if they change or appear; None if they are unknown.

    They are unknown for a directory outside of any working tree.
    """
    directories = (folder, *folder.parents)
    top = next((directory for directory in directories if (directory / ".git").exists()), None)
    if top is None or any(os.environ.get(name) for name in _LOCATION_VARIABLES):
        return None
    home = Path(os.environ.get("HOME", "/"))
    git = top / ".git"
    if git.is_dir() and not os.path.lexists(git / "HEAD"):
        return None  # git skips such a directory and searches further up
    xdg_config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git", "config")
    files = {home / ".gitconfig", xdg_config, *((git / "HEAD", git / "config") if git.is_dir() else (git,))}
    # A directory with a HEAD of its own may be a bare repository, which git would find first.
    files |= {directory / "HEAD" for directory in directories if directory.is_relative_to(top)}
    if any(setting.key == "extensions.worktreeconfig" for setting in settings):
        if not git.is_dir():
            return None  # the worktree's own file may be created elsewhere
        files.add(git / "config.worktree")
    files |= {directory / ".git" for directory in directories if directory.is_relative_to(top) and directory != top}
    for setting in settings:
        kind, _, name = setting.origin.partition(":")
        key, value = setting.key, setting.value or ""
        if kind != "file":
            continue
        included = key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))
        on_branch = key.startswith("includeif.onbranch:") and git.is_file()  # its HEAD is elsewhere
        if not name.startswith((".git/", "/")) or (included and value.startswith(_UNRESOLVABLE_PREFIXES)) or on_branch:
            return None
        files.add(top / name)
        if included:
            files.add((top / name).parent / (home / value[2:] if value.startswith("~/") else value))
    return tuple(sorted(files))


def _compute_fingerprint(files: Iterable[Path]) -> tuple[object, ...]:
    variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith(("GIT_", "HOME", "XDG_"))))
    return (variables, *map(_compute_file_fingerprint, files))


def _compute_file_fingerprint(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
