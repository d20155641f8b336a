"""/memory stats, prune, why, export, import: the project knowledge as a whole."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clio.commands.arguments import read
from clio.commands.base import CommandResult, Confirm, Shell, Table, code, refuse
from clio.commands.free_text import as_number
from clio.commands.memory_access import entry_data, remembers
from clio.commands.memory_words import (
    WHO,
    ago,
    bare_line,
    block_bar,
    count,
    date,
    entries_of,
    short_age,
)
from clio.errors import UserError
from clio.memory.ltm_prune import MAX_AGE_DAYS, MIN_CONFIDENCE, why_pruned
from clio.memory.records import Entry, LtmStats, Provenance
from clio.storage.atomic import write_atomic

if TYPE_CHECKING:
    from clio.memory.inject import Injected

BAR_CELLS = 9
"""So that all columns of the statistics fit forty columns of a terminal."""
MAX_IMPORT_BYTES = 50_000_000
_STATES = {"fresh": "unchanged", "drifted": "changed", "gone": "gone", "unbound": "none named"}


@remembers
def stats(shell: Shell, argument: str) -> CommandResult:
    """The project knowledge in numbers and small bars."""
    if argument:
        return refuse("/memory stats takes nothing")
    found = shell.memory.ltm_stats()
    notes = len(shell.memory.list_notes())
    data = msgspec.to_builtins(found) | {"notes": notes}
    archive = f" and {found.archived:,} in the archive ({_size(found.archive_bytes)})" if found.archived else ""
    text = f"{entries_of(found.total)} ({_size(found.file_bytes)}){archive}, {count(notes, 'note')}."
    if found.newest:
        now = time.time()
        text += f" Last confirmed {ago(now, found.newest)}, the oldest {ago(now, found.oldest)}."
    if found.last_pruned:
        text += f" Last pruned {date(found.last_pruned)}."
    rows = tuple(_stat_rows(found)) if found.total else ()
    table = Table(columns=("", "", "", ""), rows=rows, wide=3) if rows else None
    return CommandResult(text=text, table=table, data=data)


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


@remembers
def why(shell: Shell, argument: str) -> CommandResult:
    """What memory gave the model in the last turn, why, and what its limits left out."""
    if argument:
        return refuse("/memory why takes nothing; it shows what the last turn was given")
    given = shell.memory.why()
    begins = "The next session would begin with:\n\n" if not shell.session.id else ""
    if begins and not given:  # outside of a conversation there is no turn to tell of
        shell.memory.prefix_fragments()
        given = shell.memory.why()
    data = [_injected_data(one) for one in given]
    if not given:
        off = "" if shell.config.ltm else " Project knowledge is off (--no-ltm)."
        text = "Memory would give a new session nothing." if begins else "Memory has given the model nothing so far."
        return CommandResult(text=text + off, data=data)
    now = time.time()
    rows = tuple(
        (
            item.entry.id,
            bare_line(item.entry),
            item.reason,
            short_age(now, item.entry.confirmed),
            f"{item.tokens:,}",
        )
        for one in given
        for item in one.items
    )
    table = Table(columns=("id", "what", "why", "age", "tokens"), rows=rows, wide=1, cut=True)
    return CommandResult(text=begins + "\n".join(f"- {_account(shell, one)}" for one in given), table=table, data=data)


@remembers
def export(shell: Shell, argument: str) -> CommandResult:
    """The project knowledge as an ltm.json, secrets replaced: into a file, or shown."""
    given = read(argument, switches=("--force",))
    if len(given.words) > 1:
        return refuse(f"/memory export takes one path, not {given.text!r}; put quotes around one with blanks in it")
    document = _redacted(shell, msgspec.json.decode(shell.memory.export_knowledge()))
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8")
    if not given.words:
        return CommandResult(verbatim=text, data=document)
    path = Path(given.words[0]).expanduser()
    if path.is_dir():
        return refuse(f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'ltm.json')!r}")
    if path.exists() and "--force" not in given.options:
        return refuse(f"{str(path)!r} exists; --force replaces it")
    if not path.parent.is_dir():
        return refuse(f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first")
    written = text.encode("utf-8") + b"\n"
    write_atomic(path, written)
    number = len(shell.memory.knowledge().entries)
    return CommandResult(
        text=f"Wrote {entries_of(number)} to {code(str(path))} ({_size(len(written))}).",
        data={"path": str(path), "entries": number, "bytes": len(written)},
    )


@remembers
def import_(shell: Shell, argument: str) -> CommandResult:
    """Take in the entries of another ltm.json, also one of the Perl CLIO's.

    Nobody at this clio has said them: where the file names no one, the model has.
    """
    given = read(argument)
    if len(given.words) != 1:
        return refuse("Which file? Write /memory import PATH; quotes go around a path with blanks in it")
    path = Path(given.words[0]).expanduser()
    text = _text_of(path)
    added, confirmed = shell.memory.import_knowledge(text, Provenance(session=shell.session.id))
    skipped = max(_items(text) - added - confirmed, 0)
    parts = [f"{added:,} new", f"{confirmed:,} confirmed", f"{skipped:,} skipped, being known already"]
    undo = " `/memory undo` takes that back." if added or confirmed else ""
    return CommandResult(
        text=f"From {code(str(path))}: {', '.join(parts)}.{undo}",
        data={"path": str(path), "added": added, "confirmed": confirmed, "skipped": skipped},
    )


def _stat_rows(found: LtmStats) -> Iterable[tuple[str, str, str, str]]:
    """Group, label, number, bar; the bars of one group are drawn to one scale."""
    fifths = [(f"{20 * place}–{20 * place + 20}%", bar.count) for place, bar in enumerate(found.confidences)]
    ages = [(bar.label.removeprefix("within "), bar.count) for bar in found.ages]
    groups: list[tuple[str, list[tuple[str, int]]]] = [
        ("kind", list(found.counts.items())),
        ("age up to", [(label, number) for label, number in ages if number or label != "undated"]),
        ("sure", fifths),
        ("examples", [(_STATES[state], number) for state, number in found.freshness.items() if number]),
        ("said by", [(WHO.get(who, who), number) for who, number in found.asserted.items()]),
    ]
    for place, (group, bars) in enumerate(groups):
        if place:
            yield ("", "", "", "")
        most = max((number for _, number in bars), default=0)
        for line, (label, number) in enumerate(bars):
            yield ("" if line else group, label, f"{number:,}", block_bar(number / max(most, 1), BAR_CELLS))


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


def _account(shell: Shell, one: "Injected") -> str:
    source = one.fragment.source.removeprefix(f"{shell.loaded.project}/")
    used = sum(item.tokens for item in one.items)
    left = f"; {one.left_out:,} left out" if one.left_out else ""
    cap = f"{used:,} of at most {one.fragment.cap_tokens:,} tokens"
    return f"{code(one.fragment.name)} from {code(source)}: {one.fragment.reason}, {cap}{left}."


def _injected_data(one: "Injected") -> dict[str, Any]:
    return {
        "name": one.fragment.name,
        "source": one.fragment.source,
        "reason": one.fragment.reason,
        "cap_tokens": one.fragment.cap_tokens,
        "left_out": one.left_out,
        "items": [
            {"entry": entry_data(item.entry), "score": item.score, "reason": item.reason, "tokens": item.tokens}
            for item in one.items
        ],
    }


def _redacted(shell: Shell, value: object) -> Any:
    """A JSON value with the secrets in its texts replaced, entries being older than what redacts them today."""
    if isinstance(value, str):
        return shell.redactor.redact(value).text
    if isinstance(value, list):
        return [_redacted(shell, item) for item in cast(list[object], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return {shell.redactor.redact(name).text: _redacted(shell, item) for name, item in pairs}
    return value


def _text_of(path: Path) -> str:
    if not path.exists():
        raise UserError(f"There is no file {str(path)!r} to import; give the path of an ltm.json")
    if not path.is_file():
        raise UserError(f"{str(path)!r} is no file; give the path of an ltm.json")
    if path.stat().st_size > MAX_IMPORT_BYTES:
        raise UserError(f"{str(path)!r} has {_size(path.stat().st_size)}, which no ltm.json needs; is it another file?")
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _items(text: str) -> int:
    """How many entries a document that was imported without an error names, whatever their kind."""
    patterns: dict[str, Any] = msgspec.json.decode(text.encode("utf-8", "replace")).get("patterns", {})
    return sum(
        sum(
            len(cast(list[object], rules)) for rules in cast(dict[str, object], one).values() if isinstance(rules, list)
        )
        if isinstance(one, dict)
        else len(cast(list[object], one))
        for one in patterns.values()
        if isinstance(one, list | dict)
    )


def _size(number: int) -> str:
    return f"{number:,} bytes" if number < 1_000 else f"{number / 1_000:,.1f} kB"
