"""The files of `clio init` and `/init`: `.clio/` from the packaged example, and the line in `.gitignore`."""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.commands.command import CommandResult, Confirm, Table
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, clio_home, display_path, user_home
from clio.config.project_links import has_shared_memory, team_memory_folder
from clio.errors import StorageError, UsageError, UserError
from clio.storage.files import GITIGNORE_ALL, make_ignored_folder, read_regular, write_atomic
from clio.storage.locks import format_os_error
from clio.text.translation import mark, tr
from clio.ui.footer import read_branch

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
    "README.md": mark("what is in this folder"),
    "config.yaml": mark("settings, all commented out"),
    "mcp.yaml": mark("MCP servers, all commented out"),
    _INSTRUCTIONS: mark("instructions for conversations in this project"),
    ".gitignore": mark("keeps this folder out of git; git add -f to share"),
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
        raise UserError(tr("{folder!r} is a file where a folder is needed; move it away", folder=str(folder)))
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
    raise FileNotFoundError(tr("no example named {name!r}: the installation is incomplete, reinstall clio", name=name))


def is_folder_ignored(project: Path) -> bool:
    """Whether the project's own `.gitignore` already ignores `.clio/`."""
    return any(line.strip() in _EQUIVALENT_LINES for line in _read_lines(project / ".gitignore"))


def add_gitignore_line(project: Path) -> None:
    """Add `.clio/` to the project's `.gitignore`, keeping its line endings. Raises OSError."""
    path = (project / ".gitignore").resolve()  # write to the target, so that a link stays a link
    old = read_regular(path) if path.exists() else b""
    end = b"\r\n" if b"\r\n" in old else b"\n"
    before = old if not old or old.endswith(b"\n") else old + end
    write_atomic(path, before + _IGNORE_LINE.encode() + end, path.stat().st_mode & 0o777 if path.exists() else 0o644)


def _plan_file(project: Path, name: str) -> SetupFile:
    if os.path.lexists(project / FOLDER_NAME / name):
        return SetupFile(name=name, action="kept", why=tr("already exists, unchanged"))
    agents_file = next((other for other in _AGENTS_FILES if (project / other).is_file()), None)
    if name == _INSTRUCTIONS and agents_file:
        return SetupFile(
            name=name, action="needless", why=tr("not needed, because {agents_file} exists", agents_file=agents_file)
        )
    return SetupFile(name=name, action="new", why=tr(FILE_SUMMARIES[name]))


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
        yield from read_regular(path).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return


VERBS = {"new": "written", "kept": "kept", "needless": mark("left out")}
"""What is said of a file, by its action."""


def set_up_project(loaded: LoadedConfig, env: Mapping[str, str], *, yes: bool) -> CommandResult:
    """Write the missing files of `.clio/` from a conversation, and offer to add it to `.gitignore`.

    yes: add the line now. Raises as `run_init`.
    """
    project = loaded.project
    check_may_set_up(loaded, env)
    try:
        if yes:
            add_gitignore_line(project)
            return CommandResult(text=tr("added {folder_name}/ to .gitignore", folder_name=FOLDER_NAME))
        files = plan_setup(project)
        write_setup(project, files)
        may_offer = bool(read_branch(project)) and not has_shared_memory(team_memory_folder(project))
        offers = may_offer and not is_folder_ignored(project)
    except OSError as error:
        raise StorageError(format_os_error(error)) from None
    rows = tuple((file.name, tr(VERBS[file.action]), file.why) for file in files)
    question = tr("Add {folder_name}/ to .gitignore?", folder_name=FOLDER_NAME)
    return CommandResult(
        table=Table(columns=(f"{display_folder(project, env)}/", "", ""), rows=rows, wide_column=2),
        follow_up=Confirm(question=question, then="/init --yes") if offers else None,
    )


def check_may_set_up(loaded: LoadedConfig, env: Mapping[str, str]) -> None:
    """Raise UsageError or UserError if no `.clio/` may be created here."""
    if loaded.config.incognito:
        raise UsageError(tr("incognito mode writes nothing; leave out --incognito to create .clio/"))
    if loaded.project / FOLDER_NAME == clio_home(env).resolve():
        raise UserError(tr("the .clio/ of the home folder is clio's own; run clio init in a project"))


def display_folder(project: Path, env: Mapping[str, str]) -> str:
    """Return the path of the project's `.clio` as the user would write it."""
    return display_path(project / FOLDER_NAME, project=None, user_home=user_home(env))
