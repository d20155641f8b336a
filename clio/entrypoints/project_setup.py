"""`clio init` begins a `.clio/` in the project; `--worktree NAME` starts in a worktree beside the checkout."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from clio.config.example import add_line, carry_out, names_folder, plan
from clio.config.layers import load
from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.config.paths import FOLDER_NAME, clio_home, display, user_home
from clio.config.project_links import SHARED_NAME, is_shared, shared_folder
from clio.config.trust import Trust
from clio.entrypoints.subcommand import ask
from clio.errors import StorageError, UsageError, UserError
from clio.git.repository import check_programs
from clio.git.worktrees import make_branch_name, open_worktree
from clio.storage.locks import sentence
from clio.ui.footer import read_branch
from clio.ui.safe_text import visible

_VERBS = {"new": "written", "kept": "kept", "needless": "left out"}


def run(loaded: Loaded, env: Mapping[str, str], *, yes: bool, dry_run: bool) -> int:
    """Write the missing files of `.clio/`; return 0, also where nothing was missing.

    yes: add the line to `.gitignore` without asking. dry_run: only say what would be done.
    Raises UserError where there must be none, StorageError where it cannot be written.
    """
    project, person = loaded.project, user_home(env)
    if loaded.config.incognito:
        raise UsageError("an incognito clio writes nothing; leave out --incognito to begin a .clio/")
    if project / FOLDER_NAME == clio_home(env).resolve():
        raise UserError("the .clio/ of the home folder is clio's own; go to a project and run clio init there")
    try:
        pieces = plan(project)
        if not dry_run:
            carry_out(project, pieces)
        sys.stdout.write(f"{visible(display(project / FOLDER_NAME, project=None, user_home=person))}/\n")
        for piece in pieces:
            verb = "would be written" if dry_run and piece.fate == "new" else _VERBS[piece.fate]
            sys.stdout.write(f"  {piece.name:<16} {verb:<{16 if dry_run else 9}} {piece.why}\n")
        _offer_line(loaded, yes=yes, dry_run=dry_run)
    except OSError as error:
        raise StorageError(sentence(error)) from None
    return 0


def _offer_line(loaded: Loaded, *, yes: bool, dry_run: bool) -> None:
    """Offer to add clio's folder to `.gitignore`, which is changed only after a yes."""
    project = loaded.project
    if not read_branch(project):
        return
    if is_shared(shared_folder(project)):
        sys.stdout.write(f".gitignore was not changed: {FOLDER_NAME}/{SHARED_NAME}/ is shared through git\n")
    elif names_folder(project):
        sys.stdout.write(f".gitignore names {FOLDER_NAME}/ already\n")
    elif dry_run:
        sys.stdout.write(f".gitignore does not name {FOLDER_NAME}/; you would be asked whether to add it\n")
    elif yes or (ask(f"Add {FOLDER_NAME}/ to .gitignore? [y/N] ") or "").strip().lower() in ("y", "yes"):
        add_line(project)
        sys.stdout.write(f".gitignore names {FOLDER_NAME}/ now\n")
    else:
        sys.stdout.write(f".gitignore was not changed; clio init --yes adds {FOLDER_NAME}/\n")


def enter(options: Options, name: str) -> Options:
    """Return the options with the worktree's folder as `cwd`; print which folder. Raises UserError."""

    def allow(root: Path) -> None:
        loaded = load(options, os.environ)
        check_programs(root, Trust(loaded.home), loaded.owner, "a new worktree")

    folder, made = open_worktree(options.cwd, name, allow)
    done = "new worktree" if made else "worktree"
    sys.stderr.write(visible(f"clio: {done} {folder}, branch {make_branch_name(name)}\n"))
    return structs.replace(options, cwd=folder)
