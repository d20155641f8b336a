"""/memory prune: what is old or doubtful goes to the archive, once it was seen."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm
from clio.commands.free_text import as_number
from clio.commands.memory.access import entry_data, remembers
from clio.commands.memory.words import (
    bare_line,
    entries_of,
    short_age,
)
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.memory.ltm.prune import MAX_AGE_DAYS, MIN_CONFIDENCE, why_pruned
from clio.memory.records import Entry

if TYPE_CHECKING:
    pass


@remembers
def prune(shell: Shell, argument: str) -> CommandResult:
    """Show what is old or doubtful; move it to the archive once the person agrees."""
    given = read(argument, switches=("--dry-run", "--yes"), valued=("--days", "--below"))
    if given.words:
        return refuse(f"/memory prune does not know {given.text!r}; it takes --days N, --below X, --dry-run and --yes")
    days = as_number(given.options.get("--days", f"{MAX_AGE_DAYS:g}"), "--days", low=0, high=100_000)
    below = as_number(given.options.get("--below", f"{MIN_CONFIDENCE:g}"), "--below", low=0, high=1)
    sure = "--yes" in given.options and "--dry-run" not in given.options
    pruned = shell.memory.prune(max_age_days=days, min_confidence=below, dry_run=not sure)
    now = time.time()
    why = {
        entry.id: why_pruned(entry, now=now, max_age_days=days, min_confidence=below) or "old"
        for entry in pruned.removed
    }
    data = {
        "removed": [entry_data(entry) | {"because": why[entry.id]} for entry in pruned.removed],
        "kept": pruned.kept,
        "dry_run": not sure,
    }
    bounds = f"unconfirmed for {days:g} days or less sure than {below:.0%}"
    if not pruned.removed:
        return CommandResult(text=f"Nothing to prune: none of {entries_of(pruned.kept)} is {bounds}.", data=data)
    what = entries_of(len(pruned.removed))
    if sure:
        text = f"Moved to the archive: {what}; {pruned.kept:,} kept. `/memory undo` brings them back."
        return CommandResult(text=text, data=data)
    table = _prune_table(pruned.removed, why, now)
    if "--dry-run" in given.options:
        text = f"To the archive would go {what}, {bounds}; {pruned.kept:,} would stay."
        return CommandResult(text=text, table=table, data=data)
    return CommandResult(
        text=f"{what[0].upper()}{what[1:]} {'is' if len(pruned.removed) == 1 else 'are'} {bounds}.",
        table=table,
        data=data,
        follow_up=Confirm(
            question=f"Move {what} to the archive?", then=f"/memory prune --days {days:g} --below {below:g} --yes"
        ),
    )


def _prune_table(entries: Iterable[Entry], why: dict[str, str], now: float) -> Table:
    rows = tuple(
        (
            entry.id,
            bare_line(entry),
            f"{entry.confidence:.0%}",
            short_age(now, entry.confirmed),
            "doubtful" if why[entry.id] == "uncertain" else why[entry.id],
        )
        for entry in entries
    )
    return Table(columns=("id", "what", "sure", "age", "why"), rows=rows, wide=1, cut=True)
