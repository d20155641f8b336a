"""The table of /memory with all its sub-commands, and /memory prune, consolidate, log, on and off."""

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import parse_number, parse_options
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    ConsolidateNow,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.edits import (
    add_memory,
    compact_memory,
    edit_memory,
    forget_memories,
    make_memory_data,
    move_memory,
    recall_typed_memories,
    remember_text,
    restore_memory,
    undo_memory_change,
)
from clio.commands.memory.memory_text import (
    format_memory_line,
    format_short_age,
    requires_memory,
    suggest_ids,
    suggest_options,
    suggest_words,
)
from clio.commands.memory.portability import OPEN_ROWS, PORTABILITY_ROWS
from clio.commands.memory.recall import search_memories, show_recall_reasons
from clio.commands.memory.share_commands import SHARE_ROWS
from clio.commands.memory.views import (
    HISTORY_ROWS,
    list_memories,
    offer_memories,
    show_memory,
    show_memory_stats,
)
from clio.errors import UsageError
from clio.memory.consolidation.consolidation import MAX_REPORTS, Report
from clio.memory.store.record import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    PROJECT_KINDS,
    TYPED_KINDS,
    MemoryRecord,
    get_kind_label,
    get_short_id,
)
from clio.memory.store.typed_store import Scope
from clio.text.formatting import format_stored_time
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    pass


@requires_memory
def prune_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Show old or uncertain memories; move them to the archive after the user agrees."""
    given = parse_options(argument, switches=("--dry-run", "--yes"), valued=("--days", "--below"))
    if given.words:
        return make_refusal(
            tr(
                "/memory prune: unknown argument {text!r}; it takes --days N, --below X, --dry-run and --yes",
                text=given.text,
            )
        )
    days = parse_number(given.options.get("--days", f"{MAX_AGE_DAYS:g}"), "--days", low=0, high=100_000)
    below = parse_number(given.options.get("--below", f"{MIN_CONFIDENCE:g}"), "--below", low=0, high=1)
    sure = "--yes" in given.options and "--dry-run" not in given.options
    store = ctx.memory.store
    scopes: dict[str, Scope] = {record.id: store.scope_of(record.id) for record in store.records(with_notes=False)}
    pruned = store.prune(max_age_days=days, min_confidence=below, dry_run=not sure)
    data = {
        "removed": [
            make_memory_data(record, scopes[record.id]) | {"because": pruned.why[record.id]}
            for record in pruned.removed
        ],
        "kept": pruned.kept,
        "dry_run": not sure,
    }
    bounds = tr("unconfirmed for {days:g} days or below {below:.0%} confidence", days=days, below=below)
    if not pruned.removed:
        return CommandResult(
            text=tr(
                "Nothing to prune: none of {memories} is {bounds}.",
                memories=tr_count(pruned.kept, "memory"),
                bounds=bounds,
            ),
            data=data,
        )
    what = tr_count(len(pruned.removed), "memory")
    if sure:
        text = tr("Moved to the archive: {what}; {kept:,} left · `/memory undo`", what=what, kept=pruned.kept)
        return CommandResult(text=text, data=data)
    table = _make_prune_table(pruned.removed, pruned.why, time.time())
    if "--dry-run" in given.options:
        text = tr(
            "Would move to the archive: {what}, {bounds}; {kept:,} would stay.",
            what=what,
            bounds=bounds,
            kept=pruned.kept,
        )
        return CommandResult(text=text, table=table, data=data)
    return CommandResult(
        text=tr("To archive: {what}, {bounds}.", what=what, bounds=bounds),
        table=table,
        data=data,
        follow_up=Confirm(
            question=tr("Move {what} to the archive?", what=what),
            then=f"/memory prune --days {days:g} --below {below:g} --yes",
        ),
    )


def _make_prune_table(entries: Iterable[MemoryRecord], why: Mapping[str, str], now: float) -> Table:
    rows = tuple(
        (
            get_short_id(entry),
            tr(get_kind_label(entry.kind)),
            format_memory_line(entry),
            f"{entry.confidence:.0%}",
            format_short_age(now, entry.updated),
            why[entry.id],
        )
        for entry in entries
    )
    return Table(
        columns=(tr("id"), tr("kind"), tr("what"), tr("conf."), tr("age"), tr("why")),
        rows=rows,
        wide_column=2,
        is_truncated=True,
    )


_BY = {"hand": "requested", "idle": mark("while idle"), "exit": mark("at exit")}


@requires_memory
def request_consolidation(ctx: CommandContext, argument: str) -> CommandResult:
    """Request a consolidation: it can take seconds, so the entrypoint runs it."""
    given = parse_options(argument, switches=("--dry-run",))
    if given.words:
        return make_refusal(tr("/memory consolidate: unknown argument {text!r}; it takes --dry-run", text=given.text))
    return CommandResult(follow_up=ConsolidateNow(dry_run="--dry-run" in given.options))


@requires_memory
def show_consolidation_log(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what the last consolidations did, one change a line, newest first."""
    words = parse_options(argument).words
    if len(words) > 1 or (words and not words[0].isdecimal()):
        raise UsageError(tr("/memory log takes how many reports to show, not {argument!r}", argument=argument))
    reports = ctx.memory.consolidation.log.last(min(int(words[0]), MAX_REPORTS) if words else 1)
    data = [make_report_data(report) for report in reports]
    if not reports:
        return CommandResult(
            text=tr("Nothing has been consolidated here yet; `/memory consolidate` does it now."), data=data
        )
    return CommandResult(text="\n\n".join(map(_format_report, reports)), data=data)


def make_consolidation_result(report: Report) -> CommandResult:
    """Return what one consolidation did, for the screen and for JSON."""
    lines = [report.line]
    if report.dry_run:
        lines += _list_changes(report)
    lines += [tr("warning: {sentence}", sentence=sentence) for sentence in report.errors]
    return CommandResult(text="\n".join(lines), data=make_report_data(report))


def make_report_data(report: Report) -> dict[str, Any]:
    """Return all fields of a report in JSON types, and its line."""
    fields = {name: msgspec.to_builtins(getattr(report, name)) for name in report.__struct_fields__}
    return {"line": report.line, **fields}


def _format_report(report: Report) -> str:
    when = format_stored_time("%d %b %H:%M", report.at)
    line = report.line.partition(": ")[2].partition(" · ")[0]
    head = f"{when}, {tr(_BY[report.by])}, {report.seconds:.1f} s: {line}"
    read_ = [
        tr("- {sessions} read", sessions=tr_count(report.sessions, "session"))
        + (tr(", {unread:,} unreadable", unread=report.unread) if report.unread else "")
    ]
    if report.turns_archived or report.turns_deleted:
        read_.append(
            tr(
                "- ratings: {turns_archived} archived, {turns_deleted:,} deleted permanently",
                turns_archived=tr_count(report.turns_archived, "turn"),
                turns_deleted=report.turns_deleted,
            )
        )
    trouble = [tr("- warning: {sentence}", sentence=sentence) for sentence in report.errors]
    return "\n".join([head, "", *read_, *_list_changes(report), *trouble])


def _list_changes(report: Report) -> list[str]:
    """Return the changes as a list, quoted as code, because they contain arbitrary text."""
    listed = [f"- {quote_code(change)}" for change in report.changes]
    return ["", *listed] if report.dry_run and listed else listed


SLEEP_ROWS: tuple[Command, ...] = (
    Command(
        name="consolidate",
        aliases=("sleep",),
        argument="[--dry-run]",
        summary=mark("learn from earlier sessions now, or report what would be learned"),
        handler=request_consolidation,
        suggest_word=suggest_options(("--dry-run", mark("write nothing, report what would be done"))),
    ),
    Command(
        name="log",
        argument="[N]",
        summary=mark("what the last consolidation did, or the last N"),
        handler=show_consolidation_log,
    ),
)


_OUTSIDE = mark(
    "Memory is turned off and on inside a conversation. `clio --incognito` starts one without memory, "
    "`clio --no-ltm` one without project memory in the prompt."
)


@requires_memory
def turn_off(ctx: CommandContext, argument: str) -> CommandResult:
    """Recall and save nothing until memory is turned on again, or clio exits."""
    if argument:
        return make_refusal(tr("/memory off takes no argument"))
    if not ctx.session.id:
        return make_refusal(tr(_OUTSIDE))
    ctx.memory.is_off = True
    text = tr(
        "Memory is off: nothing is recalled or saved until `/memory on`. Memories the model has already "
        "received stay in this session, and the session itself is still saved."
    )
    return CommandResult(text=text, data={"on": False})


@requires_memory
def turn_on(ctx: CommandContext, argument: str) -> CommandResult:
    """Recall and save memories again."""
    if argument:
        return make_refusal(tr("/memory on takes no argument"))
    if not ctx.session.id:
        return make_refusal(tr(_OUTSIDE))
    ctx.memory.is_off = False
    return CommandResult(text=tr("Memory is on."), data={"on": True})


_KINDS = suggest_words(
    ("fact", mark("only facts")),
    *((kind, tr("only {plural}", plural=f"{kind}s")) for kind in PROJECT_KINDS if kind != "discovery"),
    ("event", mark("only events")),
    ("note", mark("only notes, with and without a key")),
    ("preference", mark("only preferences")),
    ("archive", mark("forgotten, replaced and pruned memories")),
    ("--scope project", mark("only project memory")),
    ("--scope user", mark("only your own")),
)

_DRAFTS = suggest_words(
    ("fact ", mark("about the project: TEXT")),
    ("solution ", "ERROR => SOLUTION"),
    ("pattern ", mark("a convention of the code: TEXT")),
    ("workflow ", "NAME: STEP -> STEP -> …"),
    ("failure ", "WHAT FAILED => PREVENTION"),
    ("rule ", mark("PATH: TEXT, or TEXT alone for the whole project")),
    ("event ", mark("what happened: TEXT")),
    ("note ", mark("anything else: TEXT")),
    ("preference ", mark("what you like: TEXT")),
)

MEMORY = (
    Command(
        name="memory",
        summary=mark("what is saved about this project and about you"),
        handler=offer_memories,
        subcommands=(
            Command(
                name="list",
                argument="[KIND…|archive] [--scope S] [--limit N] [--all]",
                summary=mark("all memories, kind by kind"),
                handler=list_memories,
                suggest=_KINDS,
            ),
            Command(
                name="search",
                argument="QUERY",
                summary=mark("search memories of all kinds"),
                handler=search_memories,
            ),
            Command(
                name="show",
                argument="ID",
                summary=mark("details of one memory"),
                handler=show_memory,
                suggest_word=suggest_ids(*PROJECT_KINDS),
            ),
            Command(
                name="add",
                argument="[KIND] TEXT [--scope S] [--confidence X] [--example PATH]…",
                summary=mark("save a memory of any kind; by default a project fact"),
                handler=add_memory,
                suggest=_DRAFTS,
            ),
            Command(
                name="edit",
                argument="ID [TEXT] [--confidence X] [--example PATH]…",
                summary=mark("change a memory; without a text, in the editor"),
                handler=edit_memory,
                suggest_word=suggest_ids(*PROJECT_KINDS),
            ),
            Command(
                name="forget",
                argument="ID… [--yes]",
                summary=mark("move memories to the archive"),
                handler=forget_memories,
                suggest_word=suggest_ids(*PROJECT_KINDS, *TYPED_KINDS, several=True),
            ),
            Command(
                name="remember",
                argument="TEXT [--type T] [--importance X] [--scope S] [--keyword W]… [--example PATH]…",
                summary=mark("save a fact, an event, a note or a preference"),
                handler=remember_text,
                suggest_word=suggest_options(
                    ("--type", mark("fact, event, preference or note (default note)")),
                    ("--importance", mark("from 0 to 1 (default 0.5)")),
                    ("--scope", mark("project or user")),
                    ("--keyword", mark("another keyword")),
                    ("--example", mark("a file it is about")),
                ),
            ),
            Command(
                name="recall",
                argument="[QUERY] [--type T] [--limit N]",
                summary=mark("the memories that match a query, best first"),
                handler=recall_typed_memories,
                suggest_word=suggest_options(
                    ("--type", mark("only fact, preference, event or note; !fact for all others")),
                    ("--limit", mark("at most this many (default 10)")),
                ),
            ),
            Command(
                name="move",
                argument="ID project|user",
                summary=mark("move a memory to the project, or to all your projects"),
                handler=move_memory,
                suggest_word=suggest_ids(*TYPED_KINDS),
            ),
            Command(
                name="restore",
                argument="ID",
                summary=mark("bring a memory back from the archive"),
                handler=restore_memory,
                suggest_word=suggest_ids(),
            ),
            Command(name="compact", summary=mark("archive expired memories, merge duplicates"), handler=compact_memory),
            Command(
                name="stats",
                aliases=("count",),
                summary=mark("how many memories there are, their age and confidence"),
                handler=show_memory_stats,
            ),
            Command(
                name="prune",
                argument="[--days N] [--below X] [--dry-run] [--yes]",
                summary=mark("archive old or uncertain memories"),
                handler=prune_memories,
                suggest_word=suggest_options(
                    ("--days", mark("not confirmed for this many days (default 90)")),
                    ("--below", mark("confidence below this (default 0.3)")),
                    ("--dry-run", mark("only show what would be archived")),
                ),
            ),
            Command(
                name="why", summary=mark("which memories the last turn used, and why"), handler=show_recall_reasons
            ),
            Command(
                name="off",
                summary=mark("recall and save nothing until /memory on"),
                handler=turn_off,
                is_for_conversations=True,
            ),
            Command(
                name="on", summary=mark("recall and save memories again"), handler=turn_on, is_for_conversations=True
            ),
            Command(name="undo", summary=mark("undo the last change of memory"), handler=undo_memory_change),
            *OPEN_ROWS,
            *HISTORY_ROWS,
            *SLEEP_ROWS,
            *PORTABILITY_ROWS,
            *SHARE_ROWS,
        ),
    ),
)
