"""`clio gc`, `clio import` and `clio worktree`: their arguments and usage."""

import re
import time
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import Command, CommandContext, CommandResult, Table, make_refusal, quote_code
from clio.commands.config_commands import CONFIG
from clio.config.command_line import COMMANDS
from clio.errors import UsageError
from clio.git.worktrees import Worktree, count_own_commits, count_worktree_changes, list_worktrees
from clio.git.worktrees import remove_worktree as delete_worktree
from clio.importing.reading import AGENTS, Agent
from clio.text.translation import mark, tr, tr_count
from clio.time_expressions import parse_when

_DAY_S = 86_400.0
_AGE = re.compile(r"(\d{1,5})\s*(d|days?|w|weeks?|m|months?|y|years?)?")
_UNITS = {"d": 1, "w": 7, "m": 30, "y": 365}


class GcRequest(Struct, frozen=True, kw_only=True):
    """What `clio gc` deletes.

    Attributes:
        yes: delete without asking.
        caches: delete caches too.
        sessions_s: delete sessions that are older than this, in seconds; None to delete no sessions.
    """

    yes: bool = False
    caches: bool = False
    sessions_s: float | None = None


def parse_gc(text: str) -> GcRequest:
    """Parse the arguments of `clio gc`. Raises UsageError."""
    given = parse_options(text, switches=("--yes", "--caches"), valued=("--sessions-older-than",))
    if given.words:
        raise UsageError(
            tr("clio gc takes only options, not {words!r}; clio gc --help lists them", words=given.words[0])
        )
    age = given.options.get("--sessions-older-than")
    return GcRequest(
        yes="--yes" in given.options,
        caches="--caches" in given.options,
        sessions_s=None if age is None else _parse_age(age),
    )


def _parse_age(age: str) -> float:
    found = _AGE.fullmatch(age.strip().lower())
    if found is None or not int(found[1]):
        raise UsageError(tr("--sessions-older-than takes an age such as 90d, 6m or 1y, not {age!r}", age=age))
    return int(found[1]) * _UNITS[(found[2] or "d")[0]] * _DAY_S


def _refuse_gc(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal(tr("Disk space can only be freed in a shell: exit with /quit, then run clio gc"))


GC = Command(
    name="gc",
    argument="[--yes] [--caches] [--sessions-older-than AGE]",
    summary=mark("disk usage of .clio and ~/.clio; --yes deletes what is not needed"),
    handler=_refuse_gc,
)


def _refuse_listing(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal(tr("Write clio config show, path, trust, get, set or unset"))


CONFIG_LINE = Command(
    name="config",
    summary=mark("settings: print, get, set and unset them"),
    handler=_refuse_listing,
    # The command line answers the first three itself.
    subcommands=(
        *(
            Command(name=form[1], summary=what, handler=_refuse_listing)
            for form, what in COMMANDS.items()
            if form[0] == "config"
        ),
        *CONFIG[0].subcommands,
    ),
)


def _refuse_auth(ctx: CommandContext, argument: str) -> CommandResult:
    return make_refusal(tr("Keys can only be stored in a shell: exit with /quit, then run clio auth login"))


AUTH = Command(
    name="auth",
    summary=mark("which keys the keyring and the environment have"),
    handler=_refuse_auth,
    subcommands=(
        Command(
            name="login",
            argument="SERVER",
            summary=mark("store a server's API key in the keyring"),
            handler=_refuse_auth,
        ),
        Command(name="logout", argument="SERVER", summary=mark("remove it from the keyring"), handler=_refuse_auth),
        Command(name="status", summary=mark("the keyring in use, and which servers have a key"), handler=_refuse_auth),
    ),
)


FactsAnswer = Literal["ask", "yes", "no"]

_IMPORT_SWITCHES = ("--all", "--again", "--dry-run")
_IMPORT_VALUED_OPTIONS = ("--since", "--facts")
_FACTS_ANSWERS: tuple[FactsAnswer, ...] = ("ask", "yes", "no")
_OPTIONS = mark("[PATH] [--all] [--since DATE] [--facts yes|no] [--again] [--dry-run]")


class ImportRequest(Struct, frozen=True, kw_only=True):
    """What `clio import` imports.

    Attributes:
        agent: None to only list what is available.
        path: file or folder to import from; None for the agent's usual folder.
        every: import the sessions of other projects too.
        again: import files too that have not changed since the last import.
        dry_run: only report what would be imported.
        since: time of the oldest sessions to import, in seconds since the epoch.
        facts: whether to import the agent's own notes.
    """

    agent: Agent | None = None
    path: Path | None = None
    every: bool = False
    again: bool = False
    dry_run: bool = False
    since: float = 0.0
    facts: FactsAnswer = "ask"


def parse_import(text: str) -> ImportRequest:
    """Parse the arguments of `clio import`. Raises UsageError for unknown ones, UserError for a date."""
    given = parse_options(text, switches=_IMPORT_SWITCHES, valued=_IMPORT_VALUED_OPTIONS)
    options = given.options
    if not given.words:
        if options:
            raise UsageError(
                tr(
                    "Import from which agent? Write clio import {agents}, then {next}",
                    agents="|".join(AGENTS),
                    next=next(iter(options)),
                )
            )
        return ImportRequest()
    name, *more = given.words
    if name.lower() not in AGENTS:
        raise UsageError(
            tr(
                "clio cannot import from {name!r}; {suggest_name}",
                name=name,
                suggest_name=suggest_name(name.lower(), AGENTS, tr("clio import ")),
            )
        )
    if len(more) > 1:
        raise UsageError(
            tr("Only one path is accepted, not also {more!r}; put quotes around a path with spaces", more=more[1])
        )
    facts = options.get("--facts", "ask").lower()
    if facts not in _FACTS_ANSWERS:
        raise UsageError(
            tr("--facts takes yes or no, not {options!r}; without it you are asked", options=options["--facts"])
        )
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
    return make_refusal(tr("Sessions can only be imported in a shell: exit with /quit, then run clio import"))


def _make_agent_command(name: Agent, summary: str) -> Command:
    return Command(name=name, argument=tr(_OPTIONS), summary=summary, handler=_refuse_import)


IMPORT = Command(
    name="import",
    summary=mark("list what other agents stored about this project; imports nothing"),
    handler=_refuse_import,
    subcommands=(
        _make_agent_command("claude", mark("sessions of Claude Code and its sub-agents, then its notes one by one")),
        _make_agent_command("codex", mark("sessions of Codex, then its notes one by one")),
        _make_agent_command("gemini", mark("chats of Gemini CLI, then its saved memories")),
        _make_agent_command("aider", mark("chats of aider: .aider.chat.history.md")),
        _make_agent_command("specstory", mark("conversations saved by SpecStory: .specstory/history")),
        _make_agent_command("clio", mark("sessions of the clio, or Perl original, in the project PATH")),
    ),
)


def show_worktrees(ctx: CommandContext, argument: str) -> CommandResult:
    """List the worktrees, with uncommitted changes."""
    if argument:
        return make_refusal(tr("clio worktree list takes no argument, not {argument!r}", argument=argument))
    found = list_worktrees(_get_start_folder(ctx))
    if not found:
        return CommandResult(text=tr("No worktrees created by clio here; `clio --worktree NAME` creates one."), data=[])
    rows = tuple((one.name, one.branch or "(detached)", _describe_state(one), str(one.path)) for one in found)
    data = [
        {"name": one.name, "branch": one.branch, "path": str(one.path), "state": row[2]}
        for one, row in zip(found, rows, strict=True)
    ]
    return CommandResult(
        table=Table(columns=(tr("name"), tr("branch"), tr("state"), tr("folder")), rows=rows, wide_column=3), data=data
    )


def remove_worktree(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete the directory of a worktree; its branch stays."""
    words = parse_options(argument).words
    if len(words) != 1:
        return make_refusal(tr("clio worktree remove takes the name of one worktree; clio worktree list shows them"))
    start = _get_start_folder(ctx)
    removed = delete_worktree(start, words[0])
    stays = ""
    if removed.branch:
        own = count_own_commits(start, removed)
        unique_commits = tr(" with {commits} that no other branch has", commits=tr_count(own, "commit")) if own else ""
        delete = "" if own else tr("; `git branch -d {branch}` deletes it", branch=removed.branch)
        stays = tr(
            " The branch {branch} stays{unique_commits}{delete}.",
            branch=quote_code(removed.branch),
            unique_commits=unique_commits,
            delete=delete,
        )
    return CommandResult(
        text=tr("Removed the worktree {removed}.{stays}", removed=quote_code(removed.name), stays=stays),
        data={"removed": removed.name, "branch": removed.branch},
    )


def _get_start_folder(ctx: CommandContext) -> Path:
    return ctx.loaded.start_folder or ctx.loaded.project


def _describe_state(one: Worktree) -> str:
    if one.missing:
        return tr("folder is missing")
    number = count_worktree_changes(one)
    words = tr("clean") if not number else tr("{files} not committed", files=tr_count(number, "file"))
    return tr("{words}, locked", words=words) if one.locked else words


WORKTREE = Command(
    name="worktree",
    summary=mark("the worktrees created by clio for this repository"),
    handler=show_worktrees,
    subcommands=(
        Command(name="list", summary=mark("all worktrees, with uncommitted changes"), handler=show_worktrees),
        Command(
            name="remove",
            argument="NAME",
            summary=mark("delete a worktree's folder, if nothing would be lost; its branch stays"),
            handler=remove_worktree,
        ),
    ),
)
