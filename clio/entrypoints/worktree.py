"""`clio --worktree NAME`: start in a worktree beside the checkout, made where there is none."""

import os
import sys
from pathlib import Path

from msgspec import structs

from clio.config.command_line import Options
from clio.config.layers import load
from clio.config.trust import Trust
from clio.git.repository import check_programs
from clio.git.worktrees import make_branch_name, open_worktree
from clio.ui.plain import visible


def enter(options: Options, name: str) -> Options:
    """The same options with the worktree's folder to start in; one line says which. Raises UserError."""

    def allow(root: Path) -> None:
        loaded = load(options, os.environ)
        check_programs(root, Trust(loaded.home), loaded.owner, "a new worktree")

    folder, made = open_worktree(options.cwd, name, allow)
    done = "new worktree" if made else "worktree"
    sys.stderr.write(visible(f"clio: {done} {folder}, branch {make_branch_name(name)}\n"))
    return structs.replace(options, cwd=folder)
