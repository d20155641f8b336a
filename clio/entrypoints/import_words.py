"""What an import found and did, in sentences and tables, and in JSON's own types."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from clio.commands.command import CommandResult, Table
from clio.commands.memory.memory_text import count
from clio.commands.subcommands import ImportRequest
from clio.config.paths import display
from clio.entrypoints.export_file import size
from clio.importing.intake import Fate
from clio.importing.places import Fact, Found
from clio.importing.run import Imports, Report, is_read
from clio.ui.footer.status import format_seconds

_SHOWN = 5
_FATES: tuple[tuple[Fate, str], ...] = (
    ("new", "new"),
    ("grown", "grown since"),
    ("known", "here already"),
    ("old", "from before that day"),
    ("empty", "without a word said"),
    ("busy", "being written by another clio: run the import again"),
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an import has to tell. kept: of the facts, as they were added. known: facts that were known before."""

    wanted: ImportRequest
    found: Found
    report: Report
    facts: Sequence[Fact] = ()
    kept: Sequence[Fact] = ()
    known: int = 0
    secrets: int = 0


def survey_result(founds: Sequence[Found], known: Imports, facts: dict[str, int], home: Path) -> CommandResult:
    """What there is of every agent; nothing was imported."""
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for found in founds:
        ours = [file for file in found.files if file.ours]
        done = sum(is_read(known, file) for file in ours)
        where = ", ".join(display(place, project=None, user_home=home) for place in found.where) or "not here"
        noted = facts.get(found.agent, 0)
        sizes = sum(file.size for file in ours)
        told = (f"{len(ours):,}", f"{done:,}", f"{len(found.files) - len(ours):,}", f"{noted:,}")
        rows.append((found.agent, where, *told, size(sizes) if ours else "–"))
        data.append(
            {
                "agent": found.agent,
                "where": [str(place) for place in found.where],
                "files": len(ours),
                "imported": done,
                "of_other_projects": len(found.files) - len(ours),
                "facts": noted,
                "bytes": sizes,
            }
        )
    columns = ("agent", "where", "files here", "imported", "elsewhere", "facts", "size")
    waiting = [str(row["agent"]) for row in data if row["files"] != row["imported"] or row["facts"]]
    text = f"clio import {waiting[0]} takes in what {waiting[0]} has of this project." if waiting else ""
    if not any(row["files"] or row["facts"] for row in data):
        text = (
            "No other agent keeps anything of this project where it usually does; clio import AGENT PATH looks there."
        )
    return CommandResult(text=text, table=Table(columns=columns, rows=tuple(rows), wide=1), data=data)


def outcome_result(outcome: Outcome) -> CommandResult:
    """What was taken in, and what was not."""
    report, wanted = outcome.report, outcome.wanted
    lines = [_taken(outcome), *_left_out(outcome)]
    if said := report.tally.sentence():
        lines.append(said)
    unreadable = [*outcome.found.unusable, *report.tally.unreadable]
    lines += [f"Not read: {path} ({reason})." for path, reason in unreadable[:_SHOWN]]
    if len(unreadable) > _SHOWN:
        lines.append(f"Not read: {len(unreadable) - _SHOWN:,} further files.")
    if report.stopped:
        lines.append(f"Stopped with {count(report.left, 'file', 'files')} left; the same command goes on from there.")
    elif report.fates["new"] and not wanted.dry_run:
        lines.append("clio sessions list shows them, clio recall WORDS searches them; clio -r ID goes on in a copy.")
    return CommandResult(text="\n".join(lines), data=_data(outcome, unreadable))


def facts_result(outcome: Outcome) -> CommandResult:
    """What became of the facts, with those that wait to be looked at."""
    listed = outcome.facts if len(outcome.kept) < len(outcome.facts) else ()
    shown = "\n".join(f"- {' '.join(fact.text.split())}" for fact in listed)
    return CommandResult(text=_facts(outcome), verbatim=shown)


def _taken(outcome: Outcome) -> str:
    report, agent = outcome.report, outcome.found.agent
    parts = [f"{report.fates[fate]:,} {words}" for fate, words in _FATES if report.fates[fate]]
    if report.unchanged:
        parts.append(f"{count(report.unchanged, 'file', 'files')} unchanged since the last import")
    if not parts:
        return f"There is nothing of {agent}'s to take in here."
    would = "It would be, from" if outcome.wanted.dry_run else "From"
    done = ""
    if report.messages:
        secrets = f", {count(outcome.secrets, 'secret', 'secrets')} replaced" if outcome.secrets else ""
        amount = f"{count(report.messages, 'message', 'messages')}{secrets}"
        done = f" ({amount}; {size(report.read_bytes)} in {format_seconds(report.seconds)})"
    return f"{would} {agent}: {', '.join(parts)}{done}."


def _left_out(outcome: Outcome) -> list[str]:
    others = sum(not file.ours for file in outcome.found.files)
    if not others:
        return []
    return [
        f"{count(others, 'file', 'files')} of other projects {'was' if others == 1 else 'were'} left; --all takes them."
    ]


def _facts(outcome: Outcome) -> str:
    kept, agent, number = outcome.kept, outcome.found.agent, count(len(outcome.facts), "fact")
    known = f" {count(outcome.known, 'fact was', 'facts were')} known already." if outcome.known else ""
    if kept:
        came = f"{count(len(kept), 'fact')} of {agent}'s came into the project knowledge"
        return f"{came}; /memory list shows them.{known}"
    way = f"clio import {agent} in a terminal asks about each, --facts yes takes all"
    return f"{agent} wrote down {number} that could be project knowledge; none was taken: {way}.{known}"


def _data(outcome: Outcome, unreadable: Sequence[tuple[str, str]]) -> dict[str, object]:
    report = outcome.report
    kept = {fact.mark for fact in outcome.kept}
    return {
        "agent": outcome.found.agent,
        "where": [str(place) for place in outcome.found.where],
        "dry_run": outcome.wanted.dry_run,
        "stopped": report.stopped,
        "sessions": {fate: report.fates[fate] for fate, _ in _FATES},
        "files": report.files,
        "unchanged": report.unchanged,
        "left": report.left,
        "of_other_projects": sum(not file.ours for file in outcome.found.files),
        "messages": report.messages,
        "bytes": report.read_bytes,
        "secrets": outcome.secrets,
        "not_understood": dict(report.tally.kinds),
        "torn": report.tally.torn,
        "too_long": report.tally.large,
        "mended": report.tally.mended,
        "calls_without_result": report.tally.unanswered,
        "results_without_call": report.tally.unasked,
        "unreadable": [{"path": path, "reason": reason} for path, reason in unreadable],
        "facts": [{"text": fact.text, "source": str(fact.source), "kept": fact.mark in kept} for fact in outcome.facts],
        "facts_known": outcome.known,
    }


def question(fact: Fact, number: int, total: int, project: Path, home: Path) -> str:
    """One fact as a person is shown it before they say whether it is kept."""
    return f"{number} of {total} · {display(fact.source, project=project, user_home=home)}\n{fact.text}"
