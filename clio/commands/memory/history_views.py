"""/memory history and /memory changes: what memory knew when, and what changed."""

import time
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Table,
    make_refusal,
)
from clio.commands.memory.memory_text import (
    AUTHOR_LABELS,
    add_score,
    find_memory,
    format_date,
    label_foreign_memory,
    make_project_memory_fields,
    requires_memory,
    suggest_ids,
    suggest_options,
)
from clio.errors import UsageError, UserError
from clio.memory.store.record import (
    PROJECT_KINDS,
    SHORT_ID,
    TYPED_KINDS,
    MemoryRecord,
    Provenance,
    find_kind,
    get_short_id,
)
from clio.memory.store.versions import CHANGE_KINDS, MemoryChange, Version
from clio.text.translation import mark, tr, tr_count
from clio.time_expressions import parse_when

MAX_CHANGES_SHOWN = 60
"""Rows of `/memory changes` without `--all`."""
_DEFAULT_SINCE = "30d"
# How a version ended, as the change log stores it → as the table shows it.
_ENDED = {
    "superseded": "replaced",
    "changed": "changed",
    "edited": "edited",
    "merged": mark("repeated"),
    "reinforced": mark("reinforced"),
    "promoted": mark("was a variant"),
    "undone": "undone",
    "old": "pruned",
    "uncertain": "pruned",
    "joined": mark("merged"),
}


@requires_memory
@label_foreign_memory
def show_memory_history(ctx: CommandContext, argument: str) -> CommandResult:
    """Show every version of a memory, of what it replaced and of what replaced it, newest first."""
    words = parse_options(argument).words
    if len(words) != 1:
        return make_refusal(tr("Which memory? Write /memory history ID; /memory recall and /memory list show the ids"))
    try:
        found = _sort_versions(ctx.memory.store.history(words[0]))
    except UserError:
        found = _sort_versions(ctx.memory.store.history(find_memory(ctx, words[0], "/memory history").id))
    rows = tuple(
        (
            get_short_id(version.record),
            _format_version_text(version.record),
            format_date(version.since),
            _describe_end(version),
            _format_author(version.record.provenance),
        )
        for version in found
    )
    table = Table(columns=(tr("id"), tr("what"), tr("since"), "", tr("stated by")), rows=rows, wide_column=1)
    return CommandResult(table=table, data=[_make_version_data(version) for version in found])


@requires_memory
@label_foreign_memory
def list_memory_changes(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory changes`: memories learned, changed, superseded, archived and restored since a time."""
    given = parse_options(argument, switches=("--all",), valued=("--since", "--kind"))
    if given.words:
        return make_refusal(tr("/memory changes takes --since WHEN, --kind K and --all, not {text!r}", text=given.text))
    since = parse_when(given.options.get("--since", _DEFAULT_SINCE), time.time(), starts=True)
    kinds = _parse_change_kind(given.options.get("--kind"))
    memory = ctx.memory
    found = [
        one
        for one in memory.store.changes()
        if one.at >= since and (not kinds or not _list_change_names(one).isdisjoint(kinds))
    ]
    data = [cast(dict[str, Any], msgspec.to_builtins(one)) for one in found]
    if not found:
        kind = tr(" of the kind {options!r}", options=given.options["--kind"]) if kinds else ""
        return CommandResult(
            text=tr("No change of memory{kind} since {date}.", kind=kind, date=format_date(since)), data=data
        )
    shown = found if "--all" in given.options else found[:MAX_CHANGES_SHOWN]
    text = tr("{changes} since {date}", changes=tr_count(len(found), "change"), date=format_date(since))
    text += tr(", {count} shown; `--all` shows all.", count=len(shown)) if len(shown) < len(found) else "."
    rows = tuple(_make_change_row(one) for one in shown)
    columns = (tr("when"), "", tr("id"), tr("what"), tr("stated by"))
    return CommandResult(text=text, table=Table(columns=columns, rows=rows, wide_column=3), data=data)


def _format_version_text(record: MemoryRecord) -> str:
    return record.render_line(tr) if record.kind in PROJECT_KINDS else add_score(record.content, record.score)


def _sort_versions(versions: Sequence[Version]) -> list[Version]:
    """Sort versions: those still valid first, variants after them; then by start, most recent first."""
    numbered = list(enumerate(versions))
    ordered = sorted(numbered, key=lambda pair: (_rank_validity(pair[1]), pair[1].since, pair[0]), reverse=True)
    return [version for _, version in ordered]


def _rank_validity(version: Version) -> int:
    """Return 2 for a version that is still valid, 1 if it is a variant, 0 for one that ended."""
    if version.until is not None:
        return 0
    return 1 if version.record.is_variant else 2


def _describe_end(version: Version) -> str:
    """Return how a version ended, with the day if the memory was archived; "" for the valid version."""
    if version.until is None:
        return tr("others say") if _rank_validity(version) == 1 else ""
    ended = tr(_ENDED.get(version.because, version.because))
    return f"{ended} {format_date(version.until)[:10]}" if version.left else ended


def _make_version_data(version: Version) -> dict[str, Any]:
    ending = {"from": version.since, "until": version.until, "because": version.because}
    if version.record.kind in PROJECT_KINDS:
        return ending | {"entry": make_project_memory_fields(version.record)}
    return ending | msgspec.to_builtins(version.record)


def _parse_change_kind(name: str | None) -> tuple[str, ...]:
    """Return the kinds of change or of memory that an option names; () for None. Raises UsageError.

    "fact" names project facts and facts, as in `/memory list`; "forgotten" and "pruned" are kinds of archiving.
    """
    if name is None:
        return ()
    typed = name.strip().lower()
    found = find_kind(typed, (*TYPED_KINDS, *PROJECT_KINDS)) or _STORED_ACTIONS.get(typed, typed)
    if found not in (*CHANGE_KINDS, *_REASONS, *TYPED_KINDS, *PROJECT_KINDS):
        raise UsageError(
            tr(
                "There is no kind {name!r} of changes; {suggest_name}",
                name=name,
                suggest_name=suggest_name(typed, _CHANGE_FILTERS),
            )
        )
    return ("fact", "discovery") if found == "fact" else (found,)


_ACTION_NAMES = {
    "learned": mark("learned"),
    "restored": mark("restored"),
    "dropped": mark("dropped"),
    "superseded": mark("replaced"),
    "variant": mark("others say"),
}
"""How the table names the actions of `MemoryChange`, where it uses another word."""
_STORED_ACTIONS = {"replaced": "superseded"}
_REASONS = ("forgotten", "faded", "pruned", "merged", "outweighed")
"""Names that the table gives to reasons for archiving, which `--kind` takes too."""
_CHANGE_FILTERS = (
    *("replaced" if kind == "superseded" else kind for kind in CHANGE_KINDS),
    *_REASONS,
    *TYPED_KINDS,
    *(kind for kind in PROJECT_KINDS if kind != "discovery"),
)
"""The values of `/memory changes --kind` that are suggested; "superseded" and "discovery" are accepted too."""


def _list_change_names(change: MemoryChange) -> set[str]:
    """Return the names by which `--kind` selects a change."""
    reasons = {change.because, _ENDED.get(change.because, change.because)} if change.what == "archived" else set[str]()
    return {change.what, change.kind} | reasons


def _make_change_row(change: MemoryChange) -> tuple[str, ...]:
    """Return time, action, id, text and author of a change."""
    if change.what == "archived":
        action = tr(_ENDED.get(change.because, change.because))
    else:
        action = tr(_ACTION_NAMES.get(change.what, change.what))
    text = add_score(change.text, change.score)
    if change.before and change.before != change.text:
        text = tr("{text} (before: {before})", text=text, before=change.before)
    return format_date(change.at), action, change.id[-SHORT_ID:], text, tr(AUTHOR_LABELS.get(change.by, "–"))


def _format_author(provenance: Provenance | None) -> str:
    return tr(AUTHOR_LABELS[provenance.asserted_by]) if provenance else "–"


HISTORY_ROWS: tuple[Command, ...] = (
    Command(
        name="history",
        argument="ID",
        summary=mark("the versions of a memory"),
        handler=show_memory_history,
        suggest_word=suggest_ids(*PROJECT_KINDS, *TYPED_KINDS),
    ),
    Command(
        name="changes",
        argument="[--since WHEN] [--kind K] [--all]",
        summary=mark("what was learned, changed and archived"),
        handler=list_memory_changes,
        suggest_word=suggest_options(
            ("--since", mark('a day such as 2026-05-01, or an age: 30d, 2w, "last month"')),
            (
                "--kind",
                mark("only one kind: learned, replaced, archived, …, fact, preference, solution, …"),
                dict.fromkeys(_CHANGE_FILTERS, ""),
            ),
            ("--all", tr("more than {shown}", shown=MAX_CHANGES_SHOWN)),
        ),
    ),
)
