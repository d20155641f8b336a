"""`clio import`: what its words mean, and how it is written. `entrypoints/importing.py` carries it out."""

import time
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from clio.commands.arguments import read
from clio.commands.command import Command, Shell
from clio.commands.matching import nearest
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError
from clio.importing.pieces import AGENTS, Agent
from clio.memory.temporal.when import parse_when

Facts = Literal["ask", "yes", "no"]

_SWITCHES = ("--all", "--again", "--dry-run")
_VALUED = ("--since", "--facts")
_ANSWERS: tuple[Facts, ...] = ("ask", "yes", "no")
_OPTIONS = "[PATH] [--all] [--since DATE] [--facts yes|no] [--again] [--dry-run]"


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be imported. agent: None only to look at what is there.

    every: sessions of other projects too. again: files that did not change since they were read. since: seconds since
    the epoch. facts: what becomes of what the agent wrote down for itself.
    """

    agent: Agent | None = None
    path: Path | None = None
    every: bool = False
    again: bool = False
    dry_run: bool = False
    since: float = 0.0
    facts: Facts = "ask"


def wanted_of(text: str) -> Wanted:
    """What the words behind `clio import` ask for. Raises UsageError where they mean nothing, UserError for a date."""
    given = read(text, switches=_SWITCHES, valued=_VALUED)
    options = given.options
    if not given.words:
        if options:
            raise UsageError(f"Whose? Write clio import with one of {', '.join(AGENTS)}, then {next(iter(options))}")
        return Wanted()
    name, *more = given.words
    if name.lower() not in AGENTS:
        raise UsageError(f"clio cannot import from {name!r}; {nearest(name.lower(), AGENTS, 'clio import ')}")
    if len(more) > 1:
        raise UsageError(f"One path at a time, and {more[1]!r} is a second one; quotes go around a path with blanks")
    facts = options.get("--facts", "ask").lower()
    if facts not in _ANSWERS:
        raise UsageError(f"--facts takes yes or no, not {options['--facts']!r}; without it you are asked")
    return Wanted(
        agent=cast(Agent, name.lower()),
        path=Path(more[0]).expanduser() if more else None,
        every="--all" in options,
        again="--again" in options,
        dry_run="--dry-run" in options,
        since=parse_when(options["--since"], time.time(), starts=True) if "--since" in options else 0.0,
        facts=facts,
    )


def _at_the_door(shell: Shell, argument: str) -> CommandResult:
    return refuse("Sessions are imported from the command line: leave with /quit, then write clio import")


def _agent(name: Agent, summary: str) -> Command:
    return Command(name=name, argument=_OPTIONS, summary=summary, handler=_at_the_door)


IMPORT = Command(
    name="import",
    summary="what other agents keep of this project; imports nothing",
    handler=_at_the_door,
    subcommands=(
        _agent("claude", "sessions of Claude Code and its sub-agents, then its notes one by one"),
        _agent("codex", "sessions of Codex, then its notes one by one"),
        _agent("gemini", "chats of Gemini CLI, then what it was told to remember"),
        _agent("aider", "chats of aider: .aider.chat.history.md"),
        _agent("clio", "sessions of the clio, or Perl original, in the project PATH"),
    ),
)
