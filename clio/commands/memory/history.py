"""/memory history and /memory changes: how memories came to be what they are."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from clio.commands.arguments import nearest, read
from clio.commands.command import Command, CommandResult, Shell, Suggestion, Table, refuse
from clio.commands.memory.memory_text import (
    PLURALS,
    WHO,
    count,
    date,
    names_repository,
    remembers,
    suggest_entry,
    suggest_options,
)
from clio.commands.memory.verbs import suggest_memories
from clio.errors import UsageError
from clio.memory.handles import find_handle
from clio.memory.ltm.versions import EntryVersion
from clio.memory.records import KINDS, Provenance
from clio.memory.temporal.changes import DOINGS, Changed, changes_of
from clio.memory.temporal.when import parse_when
from clio.memory.typed.record import TYPES
from clio.memory.typed.versions import Version

SHOWN = 60
_SINCE = "30d"
_TAIL = 8
_ENDED = {
    "superseded": "replaced",
    "changed": "changed",
    "edited": "edited",
    "merged": "said anew",
    "reinforced": "rated anew",
    "promoted": "was a variant",
    "undone": "undone",
    "old": "pruned",
    "uncertain": "pruned",
}


@remembers
@names_repository
def history(shell: Shell, argument: str) -> CommandResult:
    """Everything a memory or an entry ever said, with what it replaced and what replaced it, the newest first."""
    words = read(argument).words
    if len(words) != 1:
        return refuse("Which memory? Write /memory history ID; /memory recall and /memory list show the ids")
    if words[0][1:2] == "-":
        return _entry_history(shell, words[0])
    found = _newest_first(shell.memory.memories.versions(words[0]))
    rows = tuple(
        (
            version.record.id[-_TAIL:],
            _scored(version.record.content, version.record.score),
            date(version.since),
            _fate(version),
            _who(version.record.provenance),
        )
        for version in found
    )
    return CommandResult(table=_table(rows), data=[_version_data(version) for version in found])


@remembers
@names_repository
def changes(shell: Shell, argument: str) -> CommandResult:
    """What was learned, changed, superseded, archived and restored since a time, the newest first."""
    given = read(argument, switches=("--all",), valued=("--since", "--kind"))
    if given.words:
        return refuse(f"/memory changes takes only options, not {given.text!r}; see /help memory")
    since = parse_when(given.options.get("--since", _SINCE), time.time(), starts=True)
    wanted = _wanted(given.options.get("--kind"))
    memory = shell.memory
    told = changes_of(memory.memories.versions(), memory.knowledge_versions())
    found = [one for one in told if one.at >= since and wanted in ("", one.what, one.kind)]
    data = [_change_data(one) for one in found]
    if not found:
        of = f" of {wanted!r}" if wanted else ""
        return CommandResult(text=f"Nothing{of} was learned or changed since {date(since)}.", data=data)
    shown = found if "--all" in given.options else found[:SHOWN]
    text = f"{count(len(found), 'change')} since {date(since)}"
    text += f", {len(shown)} shown; `--all` shows all." if len(shown) < len(found) else "."
    rows = tuple(_change_row(one) for one in shown)
    columns = ("when", "", "id", "what", "said by")
    return CommandResult(text=text, table=Table(columns=columns, rows=rows, wide=3), data=data)


def _entry_history(shell: Shell, typed: str) -> CommandResult:
    """Everything an entry of the project knowledge ever said; of an archived one too."""
    versions = shell.memory.knowledge_versions()
    handle = find_handle(typed, dict.fromkeys(version.entry.id for version in versions))
    found = _newest_first([version for version in versions if version.entry.id == handle])
    rows = tuple(
        (handle, version.entry.line, date(version.since), _fate(version), _who(version.entry.provenance))
        for version in found
    )
    data = [_ending(version) | {"entry": msgspec.to_builtins(version.entry)} for version in found]
    return CommandResult(table=_table(rows), data=data)


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table(columns=("id", "what", "since", "", "said by"), rows=rows, wide=1)


def _newest_first(versions: Sequence[Any]) -> list[Any]:
    """What holds before what ended, and the last to begin before the others; variants behind what holds."""
    numbered = list(enumerate(versions))
    ordered = sorted(numbered, key=lambda pair: (_holds(pair[1]), pair[1].since, pair[0]), reverse=True)
    return [version for _, version in ordered]


def _holds(version: Version | EntryVersion) -> int:
    if version.until is not None:
        return 0
    return 1 if isinstance(version, Version) and version.record.is_variant else 2


def _fate(version: Version | EntryVersion) -> str:
    """How it stands with a version, in a word; empty where it holds."""
    if version.until is None:
        return "others say" if _holds(version) == 1 else ""
    named = _ENDED.get(version.because, version.because)
    return f"{named} {date(version.until)[:10]}" if version.left else named


def _version_data(version: Version) -> dict[str, Any]:
    return _ending(version) | msgspec.to_builtins(version.record)


def _ending(version: Version | EntryVersion) -> dict[str, Any]:
    return {"from": version.since, "until": version.until, "because": version.because}


def _wanted(name: str | None) -> str:
    """A kind of change, of memory or of entry. Raises UsageError."""
    if name is None:
        return ""
    wanted = name.strip().lower()
    known = (*DOINGS, *TYPES, *KINDS)
    singular = {plural: kind for kind, plural in PLURALS.items()} | {f"{kind}s": kind for kind in TYPES}
    found = singular.get(wanted, wanted)
    if found not in known:
        raise UsageError(f"There is no kind {name!r} of changes; {nearest(wanted, known)}")
    return found


def _change_row(change: Changed) -> tuple[str, ...]:
    return date(change.at), _doing(change), change.id[-_TAIL:], _told(change), WHO.get(change.by, "–")


def _doing(change: Changed) -> str:
    if change.what == "variant":
        return "others say"
    if change.what == "archived":
        return _ENDED.get(change.because, change.because)
    return change.what


def _told(change: Changed) -> str:
    text = _scored(change.text, change.score)
    if not change.before or change.before == change.text:
        return text
    return f"{text} (before: {change.before})"


def _scored(text: str, score: float | None) -> str:
    return text if score is None else f"{text} ({score:g} of 10)"


def _who(provenance: Provenance | None) -> str:
    return WHO[provenance.asserted_by] if provenance else "–"


def _change_data(change: Changed) -> dict[str, Any]:
    return cast(dict[str, Any], msgspec.to_builtins(change))


def _suggest(shell: Shell, argument: str) -> Iterable[Suggestion]:
    yield from suggest_memories(shell, argument)
    yield from suggest_entry(shell, argument)


def _suggest_options(shell: Shell, argument: str) -> Iterable[Suggestion]:
    before = argument.split(" ")[:-1]
    if before[-1:] == ["--kind"]:
        return (Suggestion(text=name) for name in (*DOINGS, *TYPES, *KINDS))
    return _OPTIONS(shell, argument)


_OPTIONS = suggest_options(
    ("--since", 'a day such as 2026-05-01, or so long ago: 30d, 2w, "last month"'),
    ("--kind", "only one sort: learned, changed, archived, …, fact, preference, discovery, …"),
    ("--all", f"more than {SHOWN}"),
)

TIME_ROWS: tuple[Command, ...] = (
    Command(
        name="history",
        argument="ID",
        summary="what a memory or an entry said, and when",
        handler=history,
        suggest_word=_suggest,
    ),
    Command(
        name="changes",
        argument="[--since WHEN] [--kind K] [--all]",
        summary="what was learned, changed and archived",
        handler=changes,
        suggest_word=_suggest_options,
    ),
)
