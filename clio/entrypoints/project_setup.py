"""`clio init` creates `.clio/` in the project from the packaged example; `--worktree NAME` starts in a worktree."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import FOLDER_NAME
from clio.config.project_links import SHARED_NAME, has_shared_memory, team_memory_folder
from clio.config.trust import TrustStore
from clio.entrypoints.setup_files import (
    VERBS,
    add_gitignore_line,
    check_may_set_up,
    display_folder,
    is_folder_ignored,
    plan_setup,
    write_setup,
)
from clio.entrypoints.subcommand import ask_on_terminal
from clio.errors import StorageError
from clio.git.repository import check_programs
from clio.git.worktrees import make_branch_name, open_worktree
from clio.storage.locks import format_os_error
from clio.text.translation import tr
from clio.ui.footer import read_branch
from clio.ui.safe_text import escape_controls
from clio.ui.terminal_text import print_error, print_text


def run_init(loaded: LoadedConfig, env: Mapping[str, str], *, yes: bool, dry_run: bool) -> int:
    """Write the missing files of `.clio/`; return 0, also if none was missing.

    yes: add the line to `.gitignore` without asking. dry_run: only print what would be done.
    Raises UserError if no `.clio/` may be created here, StorageError if it cannot be written.
    """
    project = loaded.project
    check_may_set_up(loaded, env)
    try:
        files = plan_setup(project)
        if not dry_run:
            write_setup(project, files)
        print_text(f"{escape_controls(display_folder(project, env))}/")
        for file in files:
            verb = tr("would be written") if dry_run and file.action == "new" else tr(VERBS[file.action])
            print_text(f"  {file.name:<15}  {verb:<{16 if dry_run else 8}}  {file.why}")
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
        print_text(
            tr(
                ".gitignore was not changed: {folder_name}/{shared_name}/ is shared through git",
                folder_name=FOLDER_NAME,
                shared_name=SHARED_NAME,
            )
        )
    elif is_folder_ignored(project):
        print_text(tr(".gitignore already contains {folder_name}/", folder_name=FOLDER_NAME))
    elif dry_run:
        print_text(
            tr(
                ".gitignore does not contain {folder_name}/; you would be asked whether to add it",
                folder_name=FOLDER_NAME,
            )
        )
    elif yes or (ask_on_terminal(f"Add {FOLDER_NAME}/ to .gitignore? [y/N] ") or "").strip().lower() in ("y", "yes"):
        add_gitignore_line(project)
        print_text(tr("added {folder_name}/ to .gitignore", folder_name=FOLDER_NAME))
    else:
        print_text(tr(".gitignore was not changed; clio init --yes adds {folder_name}/", folder_name=FOLDER_NAME))


def enter_worktree(options: Options, name: str) -> Options:
    """Return the options with the worktree's directory as `cwd`; print the directory. Raises UserError."""

    def allow(root: Path) -> None:
        loaded = load_config(options, os.environ)
        check_programs(root, TrustStore(loaded.home), loaded.main_project, tr("a new worktree"))

    folder, made = open_worktree(options.cwd, name, allow)
    done = tr("new worktree") if made else tr("worktree")
    print_error(
        escape_controls(
            tr("{done} {folder}, branch {branch_name}", done=done, folder=folder, branch_name=make_branch_name(name))
        )
    )
    return structs.replace(options, cwd=folder)
