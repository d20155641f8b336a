"""`clio --worktree NAME`: start in a worktree beside the checkout, made where there is none."""

import sys

from msgspec import structs

from clio.config.options import Options
from clio.repository.worktrees import branch_of, open_worktree


def enter(options: Options, name: str) -> Options:
    """The same options with the worktree's folder to start in; one line says which. Raises UserError."""
    folder, made = open_worktree(options.cwd, name)
    done = "new worktree" if made else "worktree"
    sys.stderr.write(f"clio: {done} {folder}, branch {branch_of(name)}\n")
    return structs.replace(options, cwd=folder)
