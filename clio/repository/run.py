"""git, run for a person: plain output, no pager, no question, and the repository the folder lies in."""

import os
import subprocess
from pathlib import Path

from clio.errors import UserError
from clio.git_looking import NO_HOOKS, PLAIN, SWITCHES, command
from clio.git_looking import environment as looking_environment

LIMIT_S = 60.0
LOOK_LIMIT_S = 15.0
"""For what only reads and starts no other program. The patterns of a repository can make git take for ever."""
MAX_BYTES = 8_000_000
"""Of one output; a diff that is larger is cut."""
# With one of these, git would work on another repository than the one the folder lies in, or on another index.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
_HOW_PATHS_ARE_READ = ("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS")


def git(
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
    env = environment() if filters or hooks else looking_environment(environment())
    if index is not None:
        env |= _written_beside(index, git_path(folder, "objects").absolute())
    limit_s = LIMIT_S if filters or hooks else LOOK_LIMIT_S
    try:
        open_to = ["git", *PLAIN, *SWITCHES, *(() if hooks else NO_HOOKS), *arguments]
        done = subprocess.run(
            open_to if filters or hooks else command(folder, *arguments),
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
        said = readable(done.stderr).strip().removeprefix("fatal: ").removeprefix("error: ")
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


def environment() -> dict[str, str]:
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


def readable(output: bytes) -> str:
    """Output for a person: bytes that are no UTF-8 are marked."""
    return output.decode("utf-8", "replace")


def root_of(folder: Path) -> Path:
    """The top of the working tree the folder lies in. Raises UserError where it lies in none."""
    try:
        inside = git(folder, "rev-parse", "--is-inside-work-tree")
    except UserError as error:
        if "not a git repository" not in str(error):
            raise
        raise UserError(f"{str(folder)!r} lies in no git repository; `git init` makes one, if you want that") from error
    if inside != "true":
        raise UserError(f"{str(folder)!r} has no working tree, it is a bare repository; go to a checkout of it")
    return Path(git(folder, "rev-parse", "--show-toplevel"))


def git_path(folder: Path, name: str) -> Path:
    """Where a file of the repository's own lies, such as MERGE_MSG; of a worktree, its own one."""
    return folder / git(folder, "rev-parse", "--git-path", name)
