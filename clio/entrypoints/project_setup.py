"""`clio init` creates `.clio/` in the project from the packaged example; `--worktree NAME` starts in a worktree."""

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import FOLDER_NAME, clio_home, display_path, user_home
from clio.config.project_links import SHARED_NAME, has_shared_memory, team_memory_folder
from clio.config.trust import TrustStore
from clio.entrypoints.subcommand import ask_on_terminal
from clio.errors import StorageError, UsageError, UserError
from clio.git.repository import check_programs
from clio.git.worktrees import make_branch_name, open_worktree
from clio.storage.files import GITIGNORE_ALL, make_ignored_folder, write_atomic
from clio.storage.locks import format_os_error
from clio.ui.footer import read_branch
from clio.ui.safe_text import escape_controls

_PACKAGE = Path(__file__).parent.parent
_INSTRUCTIONS = "instructions.md"
_AGENTS_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
_IGNORE_LINE = f"{FOLDER_NAME}/"
_EQUIVALENT_LINES = {
    FOLDER_NAME,
    _IGNORE_LINE,
    f"/{FOLDER_NAME}",
    f"/{_IGNORE_LINE}",
    f"{_IGNORE_LINE}*",
    f"/{_IGNORE_LINE}*",
}

FILE_SUMMARIES: dict[str, str] = {
    "README.md": "what is in this folder",
    "config.yaml": "settings, all commented out",
    "mcp.yaml": "MCP servers, all commented out",
    _INSTRUCTIONS: "instructions for conversations in this project",
    ".gitignore": "keeps this folder out of git; git add -f to share",
}
"""Each file that `clio init` may write, with a short description."""


class SetupFile(Struct, frozen=True, kw_only=True):
    """One file of `.clio/`. action: "new" will be written, "kept" exists already, "needless" is not needed here."""

    name: str
    action: Literal["new", "kept", "needless"]
    why: str


def plan_setup(project: Path) -> tuple[SetupFile, ...]:
    """Return what creating `.clio/` in this project would do. Raises UserError if a file is in the way."""
    folder = project / FOLDER_NAME
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{str(folder)!r} is a file where a folder is needed; move it away")
    return tuple(_plan_file(project, name) for name in FILE_SUMMARIES if name != ".gitignore" or not folder.is_dir())


def write_setup(project: Path, files: tuple[SetupFile, ...]) -> None:
    """Write the new files. A file created meanwhile stays as it is. Raises OSError."""
    folder = project / FOLDER_NAME
    make_ignored_folder(folder, folder)
    for file in files:
        if file.action == "new":
            _write_new(folder / file.name, GITIGNORE_ALL if file.name == ".gitignore" else read_example(file.name))


def read_example(name: str) -> bytes:
    """Return a file of the packaged example. Raises FileNotFoundError if the installation is incomplete."""
    for root in (_PACKAGE / "_example", _PACKAGE.parent / ".clio.example"):
        if (root / name).is_file():
            return (root / name).read_bytes()
    raise FileNotFoundError(f"no example named {name!r}: the installation is incomplete, reinstall clio")


def is_folder_ignored(project: Path) -> bool:
    """Whether the project's own `.gitignore` already ignores `.clio/`."""
    return any(line.strip() in _EQUIVALENT_LINES for line in _read_lines(project / ".gitignore"))


def add_gitignore_line(project: Path) -> None:
    """Add `.clio/` to the project's `.gitignore`, keeping its line endings. Raises OSError."""
    path = (project / ".gitignore").resolve()  # write to the target, so that a link stays a link
    old = path.read_bytes() if path.exists() else b""
    end = b"\r\n" if b"\r\n" in old else b"\n"
    before = old if not old or old.endswith(b"\n") else old + end
    write_atomic(path, before + _IGNORE_LINE.encode() + end, path.stat().st_mode & 0o777 if path.exists() else 0o644)


def _plan_file(project: Path, name: str) -> SetupFile:
    if os.path.lexists(project / FOLDER_NAME / name):
        return SetupFile(name=name, action="kept", why="already exists, unchanged")
    agents_file = next((other for other in _AGENTS_FILES if (project / other).is_file()), None)
    if name == _INSTRUCTIONS and agents_file:
        return SetupFile(name=name, action="needless", why=f"not needed, because {agents_file} exists")
    return SetupFile(name=name, action="new", why=FILE_SUMMARIES[name])


def _write_new(path: Path, data: bytes) -> None:
    """Write a new file, whole or not at all."""
    temp = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        write_atomic(temp, data, 0o644 if path.name == ".gitignore" else 0o600)
        if not os.path.lexists(path):
            temp.rename(path)
    except OSError as error:
        error.filename = str(path)  # the message must not name the temporary file
        raise
    finally:
        temp.unlink(missing_ok=True)


def _read_lines(path: Path) -> Iterator[str]:
    try:
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return


_VERBS = {"new": "written", "kept": "kept", "needless": "left out"}


def run_init(loaded: LoadedConfig, env: Mapping[str, str], *, yes: bool, dry_run: bool) -> int:
    """Write the missing files of `.clio/`; return 0, also if none was missing.

    yes: add the line to `.gitignore` without asking. dry_run: only print what would be done.
    Raises UserError if no `.clio/` may be created here, StorageError if it cannot be written.
    """
    project, home_folder = loaded.project, user_home(env)
    if loaded.config.incognito:
        raise UsageError("incognito mode writes nothing; leave out --incognito to create .clio/")
    if project / FOLDER_NAME == clio_home(env).resolve():
        raise UserError("the .clio/ of the home folder is clio's own; run clio init in a project")
    try:
        files = plan_setup(project)
        if not dry_run:
            write_setup(project, files)
        sys.stdout.write(
            f"{escape_controls(display_path(project / FOLDER_NAME, project=None, user_home=home_folder))}/\n"
        )
        for file in files:
            verb = "would be written" if dry_run and file.action == "new" else _VERBS[file.action]
            sys.stdout.write(f"  {file.name:<16} {verb:<{16 if dry_run else 9}} {file.why}\n")
        _offer_gitignore_line(loaded, yes=yes, dry_run=dry_run)
    except OSError as error:
        raise StorageError(format_os_error(error)) from None
    return 0


def _offer_gitignore_line(loaded: LoadedConfig, *, yes: bool, dry_run: bool) -> None:
    """Offer to add `.clio/` to `.gitignore`, which is changed only after a yes."""
    project = loaded.project
    if not read_branch(project):
        return
    if has_shared_memory(team_memory_folder(project)):
        sys.stdout.write(f".gitignore was not changed: {FOLDER_NAME}/{SHARED_NAME}/ is shared through git\n")
    elif is_folder_ignored(project):
        sys.stdout.write(f".gitignore already contains {FOLDER_NAME}/\n")
    elif dry_run:
        sys.stdout.write(f".gitignore does not contain {FOLDER_NAME}/; you would be asked whether to add it\n")
    elif yes or (ask_on_terminal(f"Add {FOLDER_NAME}/ to .gitignore? [y/N] ") or "").strip().lower() in ("y", "yes"):
        add_gitignore_line(project)
        sys.stdout.write(f"added {FOLDER_NAME}/ to .gitignore\n")
    else:
        sys.stdout.write(f".gitignore was not changed; clio init --yes adds {FOLDER_NAME}/\n")


def enter_worktree(options: Options, name: str) -> Options:
    """Return the options with the worktree's directory as `cwd`; print the directory. Raises UserError."""

    def allow(root: Path) -> None:
        loaded = load_config(options, os.environ)
        check_programs(root, TrustStore(loaded.home), loaded.main_project, "a new worktree")

    folder, made = open_worktree(options.cwd, name, allow)
    done = "new worktree" if made else "worktree"
    sys.stderr.write(escape_controls(f"clio: {done} {folder}, branch {make_branch_name(name)}\n"))
    return structs.replace(options, cwd=folder)
