"""Which places a command may write, and what in them it may not: caches, repositories, clio's own files."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from clio.config.paths import FOLDER_NAME
from clio.sandbox.fence import Fence
from clio.sandbox.own_tmp import programs_in_tmp

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
"""Where package managers and compilers keep what can be fetched or made again; XDG_CACHE_HOME comes in addition.

Of ~/.cargo only these two: ~/.cargo/bin is on the search path, and ~/.cargo/config.toml names programs.
"""
_DOORS = ("~/.docker/run", "~/.docker/desktop", "~/.orbstack/run", "~/.colima", "~/.rd")
"""Sockets of programs that do anything for whoever reaches them; those in /run and /tmp are hidden with these."""
_MAX_MODULES = 200


def make_fence(
    root: Path,
    *,
    person: Path,
    clio_home: Path,
    env: Mapping[str, str],
    tmp: Path,
    caches: bool = True,
    more: Iterable[str] = (),
    network: bool = False,
) -> Fence:
    """The fence of a workspace. person: the home folder. more: further folders to write, `~` is the home folder."""
    root = root.resolve()
    named = [*more, *((env.get("XDG_CACHE_HOME", ""), *CACHES) if caches else ())]
    write = [root, *(_place(name, root, person) for name in named if name)]
    git = list(git_folders(root))
    write += [folder for folder in git if root not in folder.parents]
    sealed = [clio_home, root / FOLDER_NAME, *(path for folder in git for path in _sealed_of(folder))]
    if (root / ".git").is_file():
        sealed.append(root / ".git")
    # The whole tree is never given: what stands before and after it, such as /dev, would be gone or open.
    allowed = tuple(path for path in _existing(write) if path.parent != path)
    links = (path for path in (root / ".git", root / FOLDER_NAME) if path.is_symlink())
    return Fence(
        root=root,
        write=allowed,
        sealed=tuple(path for path in _existing(sealed) if any(_holds(folder, path) for folder in allowed)),
        watched=(*links, *(path for folder in git for path in _watched_of(folder))),
        hidden=socket_folders(person),
        tmp=tmp.resolve(),
        shown=programs_in_tmp(env),
        network=network,
    )


def socket_folders(person: Path) -> tuple[Path, ...]:
    """The folders that hold other programs' sockets, where they exist. person: the home folder."""
    return _existing(_place(name, person, person) for name in _DOORS)


def _place(name: str, root: Path, person: Path) -> Path:
    if name == "~" or name.startswith("~/"):
        return person / name[2:]
    return root / name


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those that are there, links resolved, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        try:
            found[path.resolve(strict=True)] = None
        except (OSError, RuntimeError):
            continue
    return tuple(found)


def _holds(folder: Path, path: Path) -> bool:
    return folder == path or folder in path.parents


def git_folders(root: Path) -> Iterator[Path]:
    """The folders of the workspace's repository: `.git`, or a worktree's own and the one it shares with the others.

    A worktree's are believed only where they name the workspace in return: what a `.git` file says, anybody may have
    written.
    """
    git = root / ".git"
    try:
        if git.is_dir():
            yield git.resolve()
        elif git.is_file():
            own = (root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve(strict=True)
            back = Path((own / "gitdir").read_text(encoding="utf-8").strip())
            if (own / back).resolve() == git:
                yield (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve(strict=True)
                yield own
    except (OSError, UnicodeDecodeError, ValueError):
        return


def _sealed_of(git: Path) -> Iterator[Path]:
    """What in a repository's folder says which programs git starts, and where it looks for that."""
    main = git / "commondir"
    yield from (git / "config", git / "config.worktree", git / "hooks")
    if main.is_file():
        yield from (main, git / "gitdir")
    yield from sorted(git.glob("worktrees/*/config.worktree"))[:_MAX_MODULES]
    yield from sorted(git.glob("worktrees/*/commondir"))[:_MAX_MODULES]
    for pattern in ("modules/**/config", "modules/**/hooks"):
        yield from sorted(git.glob(pattern))[:_MAX_MODULES]


def _watched_of(git: Path) -> Iterator[Path]:
    """What would do the same and is not there: git takes its settings from the folder that `commondir` names."""
    for name in ("commondir", "config.worktree", "hooks"):
        if not (git / name).exists():
            yield git / name
