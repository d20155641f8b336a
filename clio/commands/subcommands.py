"""`clio gc`, `clio import` and `clio worktree`: their arguments and usage."""

import re
import time
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import Command, CommandContext, CommandResult, Table, make_refusal, quote_code
from clio.errors import UsageError
from clio.git.worktrees import Worktree, count_own_commits, count_worktree_changes, list_worktrees
from clio.git.worktrees import remove_worktree as delete_worktree
from clio.importing.reading import AGENTS, Agent
from clio.memory.store.versions import parse_when
from clio.text.formatting import format_count

_DAY_S = 86_400.0
_AGE = re.compile(r"(\d{1,5})\s*(d|days?|w|weeks?|m|months?|y|years?)?")
_UNITS = {"d": 1, "w": 7, "m": 30, "y": 365}


class GcRequest(Struct, frozen=True, kw_only=True):
    """What to delete. yes: without asking. sessions_s: also sessions older than so many seconds; None for none."""

    yes: bool = False
    caches: bool = False
    sessions_s: float | None = None


def parse_gc(text: str) -> GcRequest:
    """Parse the arguments of `clio gc`. Raises UsageError."""
    given = parse_options(text, switches=("--yes", "--caches"), valued=("--sessions-older-than",))
    if given.words:
        raise UsageError(f"clio gc takes options alone, not {given.words[0]!r}; clio gc --help lists them")
    age = given.options.get("--sessions-older-than")
    return GcRequest(
        yes="--yes" in given.options,
        caches="--caches" in given.options,
        sessions_s=None if age is None else _seconds(age),
    )


def _seconds(age: str) -> float:
    found = _AGE.fullmatch(age.strip().lower())
    if found is None or not int(found[1]):
        raise UsageError(f"--sessions-older-than takes an age such as 90d, 6m or 1y, not {age!r}")
    return int(found[1]) * _UNITS[(found[2] or "d")[0]] * _DAY_S


def _refuse_gc(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal("Disk space is freed from the command line: leave with /quit, then write clio gc")


GC = Command(
    name="gc",
    argument="[--yes] [--caches] [--sessions-older-than AGE]",
    summary="what takes how much in .clio and ~/.clio; --yes frees what may go",
    handler=_refuse_gc,
)


Facts = Literal["ask", "yes", "no"]

_SWITCHES = ("--all", "--again", "--dry-run")
_VALUED = ("--since", "--facts")
_ANSWERS: tuple[Facts, ...] = ("ask", "yes", "no")
_OPTIONS = "[PATH] [--all] [--since DATE] [--facts yes|no] [--again] [--dry-run]"


class ImportRequest(Struct, frozen=True, kw_only=True):
    """What to import.

    Attributes:
        agent: None only lists what is available.
        every: sessions of other projects too.
        again: files that have not changed since the last import too.
        since: seconds since the epoch.
        facts: what to do with the agent's own notes.
    """

    agent: Agent | None = None
    path: Path | None = None
    every: bool = False
    again: bool = False
    dry_run: bool = False
    since: float = 0.0
    facts: Facts = "ask"


def parse_import(text: str) -> ImportRequest:
    """Parse the arguments of `clio import`. Raises UsageError for unknown ones, UserError for a date."""
    given = parse_options(text, switches=_SWITCHES, valued=_VALUED)
    options = given.options
    if not given.words:
        if options:
            raise UsageError(f"Whose? Write clio import with one of {', '.join(AGENTS)}, then {next(iter(options))}")
        return ImportRequest()
    name, *more = given.words
    if name.lower() not in AGENTS:
        raise UsageError(f"clio cannot import from {name!r}; {suggest_name(name.lower(), AGENTS, 'clio import ')}")
    if len(more) > 1:
        raise UsageError(f"One path at a time, and {more[1]!r} is a second one; quotes go around a path with blanks")
    facts = options.get("--facts", "ask").lower()
    if facts not in _ANSWERS:
        raise UsageError(f"--facts takes yes or no, not {options['--facts']!r}; without it you are asked")
    return ImportRequest(
        agent=cast(Agent, name.lower()),
        path=Path(more[0]).expanduser() if more else None,
        every="--all" in options,
        again="--again" in options,
        dry_run="--dry-run" in options,
        since=parse_when(options["--since"], time.time(), starts=True) if "--since" in options else 0.0,
        facts=facts,
    )


def _refuse_import(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal("Sessions are imported from the command line: leave with /quit, then write clio import")


def _agent(name: Agent, summary: str) -> Command:
    return Command(name=name, argument=_OPTIONS, summary=summary, handler=_refuse_import)


IMPORT = Command(
    name="import",
    summary="what other agents keep of this project; imports nothing",
    handler=_refuse_import,
    subcommands=(
        _agent("claude", "sessions of Claude Code and its sub-agents, then its notes one by one"),
        _agent("codex", "sessions of Codex, then its notes one by one"),
        _agent("gemini", "chats of Gemini CLI, then what it was told to remember"),
        _agent("aider", "chats of aider: .aider.chat.history.md"),
        _agent("clio", "sessions of the clio, or Perl original, in the project PATH"),
    ),
)


def show_worktrees(ctx: CommandContext, argument: str) -> CommandResult:
    """List the worktrees, with uncommitted changes."""
    if argument:
        return make_refusal(f"clio worktree list takes no further word, not {argument!r}")
    found = list_worktrees(_start(ctx))
    if not found:
        return CommandResult(text="There is no worktree of clio's here; `clio --worktree NAME` makes one.", data=[])
    rows = tuple((one.name, one.branch or "(detached)", _state(one), str(one.path)) for one in found)
    data = [
        {"name": one.name, "branch": one.branch, "path": str(one.path), "state": row[2]}
        for one, row in zip(found, rows, strict=True)
    ]
    return CommandResult(
        table=Table(columns=("name", "branch", "state", "folder"), rows=rows, wide_column=3), data=data
    )


def remove_worktree(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete the directory of a worktree; its branch stays."""
    words = parse_options(argument).words
    if len(words) != 1:
        return make_refusal("clio worktree remove takes the name of one worktree; clio worktree list shows them")
    start = _start(ctx)
    gone = delete_worktree(start, words[0])
    stays = ""
    if gone.branch:
        own = count_own_commits(start, gone)
        held = f" with {format_count(own, 'commit')} no other branch has" if own else ""
        delete = "" if own else f"; `git branch -d {gone.branch}` deletes it"
        stays = f" The branch {quote_code(gone.branch)} stays{held}{delete}."
    return CommandResult(
        text=f"The worktree {quote_code(gone.name)} is gone.{stays}", data={"removed": gone.name, "branch": gone.branch}
    )


def _start(ctx: CommandContext) -> Path:
    return ctx.loaded.start_folder or ctx.loaded.project


def _state(one: Worktree) -> str:
    if one.gone:
        return "its folder is gone"
    number = count_worktree_changes(one)
    words = "clean" if not number else f"{format_count(number, 'file')} not committed"
    return f"{words}, locked" if one.locked else words


WORKTREE = Command(
    name="worktree",
    summary="the worktrees clio made beside this checkout",
    handler=show_worktrees,
    subcommands=(
        Command(name="list", summary="all of them, and what is not committed there", handler=show_worktrees),
        Command(
            name="remove",
            argument="NAME",
            summary="delete the folder of one, if nothing in it would be lost; its branch stays",
            handler=remove_worktree,
        ),
    ),
)
