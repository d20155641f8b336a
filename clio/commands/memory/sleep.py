"""/memory sleep and /memory log: consolidation by hand, and what it did."""

from typing import Any

import msgspec

from clio.algorithms.stored_time import format_stored_time
from clio.commands.arguments import read
from clio.commands.command import Command, Shell
from clio.commands.follow_ups import SleepNow
from clio.commands.markdown_code import code
from clio.commands.memory.access import remembers, suggest_options
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError
from clio.memory.sleep.report import MAX_REPORTS, Report

_BY = {"hand": "by hand", "idle": "while you were away", "exit": "as clio was left"}


@remembers
def sleep(shell: Shell, argument: str) -> CommandResult:
    """Ask for a night: it takes seconds where much is new, so the entrypoint carries it out."""
    given = read(argument, switches=("--dry-run",))
    if given.words:
        return refuse(f"/memory sleep does not know {given.text!r}; it takes --dry-run")
    return CommandResult(follow_up=SleepNow(dry_run="--dry-run" in given.options))


@remembers
def log(shell: Shell, argument: str) -> CommandResult:
    """What the last nights did, each change on its line, the newest first."""
    words = read(argument).words
    if len(words) > 1 or (words and not words[0].isdecimal()):
        raise UsageError(f"/memory log takes how many nights to show, not {argument!r}")
    reports = shell.memory.sleep.last(min(int(words[0]), MAX_REPORTS) if words else 1)
    data = [report_data(report) for report in reports]
    if not reports:
        return CommandResult(text="clio has not slept here yet; `/memory sleep` does it now.", data=data)
    return CommandResult(text="\n\n".join(map(_told, reports)), data=data)


def night_result(report: Report) -> CommandResult:
    """What one night did, for the screen and for JSON."""
    lines = [report.line]
    if report.dry_run:
        lines += _changes(report)
    lines += [f"warning: {sentence}" for sentence in report.trouble]
    return CommandResult(text="\n".join(lines), data=report_data(report))


def report_data(report: Report) -> dict[str, Any]:
    """A report in JSON's own types: all its fields, and its line."""
    fields = {name: msgspec.to_builtins(getattr(report, name)) for name in report.__struct_fields__}
    return {"line": report.line, **fields}


def _told(report: Report) -> str:
    when = format_stored_time("%d %b %H:%M", report.at)
    line = report.line.removeprefix("slept: ").partition(" · ")[0]
    head = f"**{when}**, {_BY[report.by]}, {report.seconds:.1f} s: {line}"
    read_ = [f"- {report.sessions:,} sessions read" + (f", {report.unread:,} unreadable" if report.unread else "")]
    if report.turns_archived or report.turns_deleted:
        read_.append(f"- ratings: {report.turns_archived:,} turns archived, {report.turns_deleted:,} deleted for good")
    trouble = [f"- warning: {sentence}" for sentence in report.trouble]
    return "\n".join([head, "", *read_, *_changes(report), *trouble])


def _changes(report: Report) -> list[str]:
    """The changes as a list; what stands in them is data, so nothing of it is markup."""
    listed = [f"- {code(change)}" for change in report.changes]
    return ["", *listed] if report.dry_run and listed else listed


SLEEP_ROWS: tuple[Command, ...] = (
    Command(
        name="sleep",
        argument="[--dry-run]",
        summary="learn from earlier sessions now, or say what would be",
        handler=sleep,
        suggest_word=suggest_options(("--dry-run", "write nothing, say what would be done")),
    ),
    Command(name="log", argument="[N]", summary="what the last night did, or the last N nights", handler=log),
)
