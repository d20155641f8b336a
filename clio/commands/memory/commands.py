"""The table of /memory with all its sub-commands, and /recall, /memory prune, consolidate, log, on and off."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import ParsedArguments, parse_count, parse_number, parse_options, suggest_name
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
from clio.commands.memory.history_views import HISTORY_ROWS
from clio.commands.memory.memory_text import (
    format_date,
    format_memory_line,
    format_short_age,
    label_foreign_memory,
    requires_memory,
    shorten_key,
    suggest_ids,
    suggest_options,
    suggest_words,
)
from clio.commands.memory.open_page import OPEN_ROWS
from clio.commands.memory.portability import PORTABILITY_ROWS
from clio.commands.memory.share_commands import SHARE_ROWS
from clio.commands.memory.views import (
    list_memories,
    offer_memories,
    search_memories,
    show_memory,
    show_memory_stats,
    show_recall_reasons,
)
from clio.commands.session_commands import find_snippet
from clio.errors import UsageError
from clio.memory.consolidation.consolidation import MAX_REPORTS, Report
from clio.memory.retrieval.retriever import (
    DEFAULT_LIMIT,
    WEAK_SHARE,
    RecallAnswer,
    RecallHit,
    leave_out_futile_lookups,
)
from clio.memory.retrieval.scoring import FUSIONS, LAYERS, Fusion, Layer
from clio.memory.store.record import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    PROJECT_KINDS,
    SHORT_ID,
    TYPED_KINDS,
    MemoryRecord,
    get_kind_label,
    get_short_id,
)
from clio.memory.store.typed_store import Scope
from clio.text.formatting import format_stored_time, truncate
from clio.text.translation import mark, tr, tr_count
from clio.text.vocabulary import parse_question_words, stem_word, tokenize
from clio.time_expressions import parse_when

if TYPE_CHECKING:
    from clio.sessions.state import Trim


_TEXT_CHARS = 130
_TITLE_CHARS = 30
_SESSION_ID = 13
"""Characters of a session's id: the time it began, to the millisecond."""
_FROM = {"user": mark("you said"), "assistant": mark("clio said"), "tool": "a tool"}


def make_hit_table(hits: Sequence[RecallHit], query: str, now: float, *, why: bool) -> Table:
    """Return the hits as a table; `now` in seconds since the epoch. why: with all reasons of each."""
    rows = tuple(
        (
            describe_origin(hit),
            _format_hit_text(hit, query) + (f" – {format_reasons(hit)}" if why else ""),
            *_format_age_and_id(hit, now),
        )
        for hit in hits
    )
    return Table(columns=(tr("from"), tr("what"), tr("age"), tr("id")), rows=rows, wide_column=1)


def describe_origin(hit: RecallHit) -> str:
    """Return what kind of memory a hit is, in one or two words."""
    return (
        tr(_FROM.get(hit.kind, hit.kind))
        if hit.layer == "L0"
        else tr(get_kind_label(hit.kind).replace("limit", "hard limit"))
    )


def format_reasons(hit: RecallHit) -> str:
    """Return all signals of a score with their numbers, in the order they were counted."""
    signals = [f"{'tier ' if one.name == 'tier' else ''}{one.translate()} ({one.value:g})" for one in hit.reasons]
    return f"{hit.score:.2f}: {', '.join(signals)}"


def describe_best_reasons(hit: RecallHit) -> str:
    """Return why the first hit is first, in a few words."""
    reasons = [
        reason.translate() for reason in hit.reasons if reason.name in ("words", "title", "meaning", "recency", "same")
    ]
    return tr("First result: {reasons}.", reasons=", ".join(reasons)) if reasons else ""


def format_open_command(hit: RecallHit, trims: "Iterable[Trim]", *, is_past: bool = False) -> str:
    """Return the command that shows a hit in full; "" if there is none.

    trims: of the running session. is_past: the hits are what was true earlier; a memory may have been replaced since.
    """
    match hit.source:
        case "memory":
            return f"/memory {'history' if is_past else 'show'} {hit.id[-SHORT_ID:]}"
        case "knowledge":
            return f"/memory {'history' if is_past else 'show'} {hit.id}"
        case "note":
            return f"/note show {_quote_key(hit.id)}"
        case "preference":
            return f"/prefs show {hit.id[-SHORT_ID:]}"
        case "session":
            return f"/session switch {_get_session_id(hit)[:_SESSION_ID]}"
        case "trimmed":
            handle = next((trim.handle for trim in trims if hit.id in trim.dropped), "")
            return f"/context expand {handle}" if handle else ""
        case _:
            return ""


def make_answer_data(
    query: str, answer: RecallAnswer, trims: "Sequence[Trim]", at: float | None = None
) -> dict[str, Any]:
    """Return the answer in JSON types; times in seconds since the epoch. trims: of the running session."""
    commands = [format_open_command(hit, trims, is_past=at is not None) for hit in answer.hits]
    return {
        "query": query,
        "at": at,
        "hits": [_make_hit_data(hit, command) for hit, command in zip(answer.hits, commands, strict=True)],
        "more": answer.more,
        "left_out": list(answer.left_out),
        "ms": dict(answer.ms),
    }


def _make_hit_data(hit: RecallHit, command: str) -> dict[str, Any]:
    where = hit.where
    return {
        "layer": hit.layer,
        "source": hit.source,
        "kind": hit.kind,
        "id": hit.id,
        "text": hit.text,
        "when": hit.when,
        "score": hit.score,
        "session": where.session if where else "",
        "message": where.message if where else "",
        "title": where.title if where else "",
        "note": hit.label,
        "open": command,
        "reasons": [{"name": one.name, "value": one.value, "words": one.words} for one in hit.reasons],
        "also": [{"session": one.session, "message": one.message, "title": one.title} for one in hit.also],
    }


def _format_hit_text(hit: RecallHit, query: str) -> str:
    text = find_snippet(hit.text, query, _TEXT_CHARS)
    title = " ".join(hit.where.title.split()) if hit.where and hit.source == "session" else ""
    if title and not " ".join(hit.text.split()).startswith(title.rstrip("…")[:_TITLE_CHARS]):
        text = f"[{truncate(title, _TITLE_CHARS)}] {text}"
    return f"{text} ({hit.label})" if hit.label else text


def _format_age_and_id(hit: RecallHit, now: float) -> tuple[str, str]:
    match hit.source:
        case "memory" | "preference":
            id = hit.id[-SHORT_ID:]
        case "session":
            id = _get_session_id(hit)[:_SESSION_ID]
        case "document":
            id = hit.id[-24:]
        case _:
            id = shorten_key(hit.id)[:16]
    return format_short_age(now, hit.when), id


def _get_session_id(hit: RecallHit) -> str:
    return hit.where.session if hit.where else ""


def _quote_key(key: str) -> str:
    return f'"{key}"' if any(character.isspace() for character in key) else key


_TOOL_CALL = re.compile(r"(?:ran|read|searched|listed|fetched|looked for files|opened) ")
"""The beginning of the line that stands for a call in the search of sessions."""


def leave_out_noise(answer: RecallAnswer, query: str) -> RecallAnswer:
    """Return the answer without hits that are far weaker than the best, and without lookups that found nothing.

    Such a lookup contains the words of the query only because someone searched for them before. After a memory with all
    words of the query, calls of tools that only have the same words are left out too.
    """
    if not answer.hits:
        return answer
    best = answer.hits[0]
    least = best.score * WEAK_SHARE
    hits = [hit for hit in leave_out_futile_lookups(answer.hits, query) if hit.score >= least]
    wanted = {word.stem for word in parse_question_words(query) if not word.is_common}
    if best.layer != "L0" and wanted and wanted <= {stem_word(word) for word in tokenize(best.text)}:
        hits = [hit for hit in hits if hit.kind != "assistant" or not _TOOL_CALL.match(hit.text)]
    left = len(answer.hits) - len(hits)
    said = tr("{weak_hits} not shown, see --all", weak_hits=tr_count(left, "weak hit")) if left else ""
    return msgspec.structs.replace(answer, hits=tuple(hits), left_out=(*([said] if said else []), *answer.left_out))


def describe_left_out(answer: RecallAnswer) -> str:
    """Return what was left out of the answer, and how many more hits there are."""
    parts = [tr("{more:,} more, see --limit", more=answer.more) if answer.more else "", *answer.left_out]
    text = "; ".join(part for part in parts if part)
    return f" ({text})" if text else ""


def describe_no_match(query: str) -> str:
    """Return the sentence for a query without hits."""
    return tr("No memories match {query}.", query=quote_code(query))


_VALUED = ("--layer", "--at", "--limit", "--fusion")
_NAMED_LAYERS: dict[str, Layer] = {
    "sessions": "L0",
    "said": "L0",
    "memories": "L1",
    "knowledge": "L1",
    "preferences": "L2",
    "styles": "L2",
}


@requires_memory
@label_foreign_memory
def search_all_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Search sessions, documents, memories, notes, preferences and styles; best match first."""
    given = parse_options(argument, switches=("--why", "--all"), valued=_VALUED)
    query = (
        given.words_as_typed if given.words_as_typed.startswith('"') else given.text
    )  # double quotes: search for these words in this order
    if not query.strip():
        return make_refusal(
            tr("Recall what? Write /recall WORDS; --layer and --at narrow the search, --why explains it")
        )
    now = time.time()
    at = parse_when(given.options["--at"], now) if "--at" in given.options else None
    answer = ctx.memory.retriever.search(
        query,
        layers=_parse_layers(given),
        at=at,
        limit=parse_count(given.options["--limit"], "--limit") if "--limit" in given.options else DEFAULT_LIMIT,
        fusion=_parse_fusion(given),
        current=ctx.session.id or None,
    )
    if "--all" not in given.options:
        answer = leave_out_noise(answer, query)
    trims = ctx.session.trims
    data = make_answer_data(query, answer, trims, at)
    then = tr("As of {date}. ", date=format_date(at)) if at is not None else ""
    if not answer.hits:
        later = "" if at is None else tr(" Without `--at` the search covers what is known now.")
        return CommandResult(text=f"{then}{describe_no_match(query)}{describe_left_out(answer)}{later}", data=data)
    best = answer.hits[0]
    command = data["hits"][0]["open"]
    way = tr(" Open it: {command}.", command=quote_code(command)) if command else ""
    return CommandResult(
        text=f"{then}{describe_best_reasons(best)}{way}{describe_left_out(answer)}",
        table=make_hit_table(answer.hits, query, now, why="--why" in given.options),
        data=data,
    )


def _parse_layers(given: ParsedArguments) -> tuple[Layer, ...]:
    """Return the requested layers, separated by commas. Raises UsageError for an unknown one."""
    names_given = [part.strip() for part in given.options.get("--layer", "").split(",") if part.strip()]
    names: dict[str, Layer] = {**_NAMED_LAYERS, "l0": "L0", "l1": "L1", "l2": "L2"}
    for part in names_given:
        if part.casefold() not in names:
            raise UsageError(
                tr(
                    "There is no layer {part!r}; {suggest_name}",
                    part=part,
                    suggest_name=suggest_name(part, [*LAYERS, *_NAMED_LAYERS]),
                )
            )
    return tuple(dict.fromkeys(names[part.casefold()] for part in names_given)) or LAYERS


def _parse_fusion(given: ParsedArguments) -> Fusion:
    name = given.options.get("--fusion", "convex").casefold()
    if name not in FUSIONS:
        raise UsageError(tr("--fusion is convex or rrf, not {name!r}", name=name))
    return name


_LAYER_NOTES = {
    "L0": mark("sessions, trimmed turns, documents"),
    "L1": mark("memories and notes"),
    "L2": mark("preferences, hard limits, styles"),
}

RECALL: tuple[Command, ...] = (
    Command(
        name="recall",
        argument="WORDS [--layer L] [--at DATE] [--limit N] [--fusion F] [--all] [--why]",
        summary=mark("search all memory: sessions, documents, memories, preferences"),
        handler=search_all_memory,
        suggest_word=suggest_options(
            ("--layer", mark("L0 sessions and documents, L1 memories, L2 preferences"), _LAYER_NOTES),
            ("--at", mark("as of a date"), {"yesterday": mark("or a date, or 30d")}),
            ("--limit", mark("at most this many")),
            ("--fusion", mark("convex, or rrf"), {"convex": mark("by weighted scores"), "rrf": mark("by ranks only")}),
            ("--why", mark("with all reasons of each")),
            ("--all", mark("include matches far weaker than the best")),
        ),
    ),
)


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
    reports = ctx.memory.consolidation.last(min(int(words[0]), MAX_REPORTS) if words else 1)
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
)

MEMORY = (
    Command(
        name="memory",
        summary=mark("what is saved about this project and about you"),
        handler=offer_memories,
        subcommands=(
            Command(
                name="list",
                argument="[KIND…|archive] [--scope S] [--all]",
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
                argument="[KIND] TEXT [--confidence X] [--example PATH]…",
                summary=mark("save a fact, solution, pattern, workflow, failure or rule"),
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
