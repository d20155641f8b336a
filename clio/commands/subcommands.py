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
from clio.text.formatting import format_count
from clio.time_expressions import parse_when

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
        sessions_s=None if age is None else _parse_age(age),
    )


def _parse_age(age: str) -> float:
    found = _AGE.fullmatch(age.strip().lower())
    if found is None or not int(found[1]):
        raise UsageError(f"--sessions-older-than takes an age such as 90d, 6m or 1y, not {age!r}")
    return int(found[1]) * _UNITS[(found[2] or "d")[0]] * _DAY_S


def _refuse_gc(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal("Disk space is freed from the command line: leave with /quit, then write clio gc")


GC = Command(
    name="gc",
    argument="[--yes] [--caches] [--sessions-older-than AGE]",
    summary="disk usage of .clio and ~/.clio; --yes deletes what is not needed",
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
            raise UsageError(
                f"Import from which agent? Write clio import {'|'.join(AGENTS)}, then {next(iter(options))}"
            )
        return ImportRequest()
    name, *more = given.words
    if name.lower() not in AGENTS:
        raise UsageError(f"clio cannot import from {name!r}; {suggest_name(name.lower(), AGENTS, 'clio import ')}")
    if len(more) > 1:
        raise UsageError(f"Only one path is accepted, not also {more[1]!r}; put quotes around a path with spaces")
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


def _make_agent_command(name: Agent, summary: str) -> Command:
    return Command(name=name, argument=_OPTIONS, summary=summary, handler=_refuse_import)


IMPORT = Command(
    name="import",
    summary="list what other agents stored about this project; imports nothing",
    handler=_refuse_import,
    subcommands=(
        _make_agent_command("claude", "sessions of Claude Code and its sub-agents, then its notes one by one"),
        _make_agent_command("codex", "sessions of Codex, then its notes one by one"),
        _make_agent_command("gemini", "chats of Gemini CLI, then its saved memories"),
        _make_agent_command("aider", "chats of aider: .aider.chat.history.md"),
        _make_agent_command("clio", "sessions of the clio, or Perl original, in the project PATH"),
    ),
)


def show_worktrees(ctx: CommandContext, argument: str) -> CommandResult:
    """List the worktrees, with uncommitted changes."""
    if argument:
        return make_refusal(f"clio worktree list takes no further word, not {argument!r}")
    found = list_worktrees(_get_start_folder(ctx))
    if not found:
        return CommandResult(text="No worktrees created by clio here; `clio --worktree NAME` creates one.", data=[])
    rows = tuple((one.name, one.branch or "(detached)", _describe_state(one), str(one.path)) for one in found)
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
    start = _get_start_folder(ctx)
    removed = delete_worktree(start, words[0])
    stays = ""
    if removed.branch:
        own = count_own_commits(start, removed)
        unique_commits = f" with {format_count(own, 'commit')} no other branch has" if own else ""
        delete = "" if own else f"; `git branch -d {removed.branch}` deletes it"
        stays = f" The branch {quote_code(removed.branch)} stays{unique_commits}{delete}."
    return CommandResult(
        text=f"Removed the worktree {quote_code(removed.name)}.{stays}",
        data={"removed": removed.name, "branch": removed.branch},
    )


def _get_start_folder(ctx: CommandContext) -> Path:
    return ctx.loaded.start_folder or ctx.loaded.project


def _describe_state(one: Worktree) -> str:
    if one.missing:
        return "folder is missing"
    number = count_worktree_changes(one)
    words = "clean" if not number else f"{format_count(number, 'file')} not committed"
    return f"{words}, locked" if one.locked else words


WORKTREE = Command(
    name="worktree",
    summary="the worktrees created by clio for this repository",
    handler=show_worktrees,
    subcommands=(
        Command(name="list", summary="all worktrees, with uncommitted changes", handler=show_worktrees),
        Command(
            name="remove",
            argument="NAME",
            summary="delete a worktree's folder, if nothing would be lost; its branch stays",
            handler=remove_worktree,
        ),
    ),
)
