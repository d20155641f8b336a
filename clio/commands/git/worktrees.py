"""`clio worktree`: the worktrees there are, and deleting one that holds nothing uncommitted."""

from pathlib import Path

from clio.commands.arguments import read
from clio.commands.command import Command, Shell
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.git.worktrees import Worktree, count_changes, count_own_commits, list_worktrees, remove_worktree


def show(shell: Shell, argument: str) -> CommandResult:
    """All of them, with what is not committed there."""
    if argument:
        return refuse(f"clio worktree list takes no further word, not {argument!r}")
    found = list_worktrees(_start(shell))
    if not found:
        return CommandResult(text="There is no worktree of clio's here; `clio --worktree NAME` makes one.", data=[])
    rows = tuple((one.name, one.branch or "(detached)", _state(one), str(one.path)) for one in found)
    data = [
        {"name": one.name, "branch": one.branch, "path": str(one.path), "state": row[2]}
        for one, row in zip(found, rows, strict=True)
    ]
    return CommandResult(table=Table(columns=("name", "branch", "state", "folder"), rows=rows, wide=3), data=data)


def remove(shell: Shell, argument: str) -> CommandResult:
    """Delete the folder of one; the branch stays."""
    words = read(argument).words
    if len(words) != 1:
        return refuse("clio worktree remove takes the name of one worktree; clio worktree list shows them")
    start = _start(shell)
    gone = remove_worktree(start, words[0])
    stays = ""
    if gone.branch:
        own = count_own_commits(start, gone)
        held = f" with {own} commit{'s' * (own != 1)} no other branch has" if own else ""
        delete = "" if own else f"; `git branch -d {gone.branch}` deletes it"
        stays = f" The branch {code(gone.branch)} stays{held}{delete}."
    return CommandResult(
        text=f"The worktree {code(gone.name)} is gone.{stays}", data={"removed": gone.name, "branch": gone.branch}
    )


def _start(shell: Shell) -> Path:
    return shell.loaded.start or shell.loaded.project


def _state(one: Worktree) -> str:
    if one.gone:
        return "its folder is gone"
    number = count_changes(one)
    words = "clean" if not number else f"{number} file{'s' * (number != 1)} not committed"
    return f"{words}, locked" if one.locked else words


WORKTREE = Command(
    name="worktree",
    summary="the worktrees clio made beside this checkout",
    handler=show,
    subcommands=(
        Command(name="list", summary="all of them, and what is not committed there", handler=show),
        Command(
            name="remove",
            argument="NAME",
            summary="delete the folder of one, if nothing in it would be lost; its branch stays",
            handler=remove,
        ),
    ),
)
