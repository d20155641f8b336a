"""The table of /memory with all its sub-commands, and /recall, /memory prune, consolidate, log, on and off."""

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
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.edits import (
    add,
    compact,
    edit,
    forget,
    move,
    remember,
    restore,
    suggest_archived,
    suggest_forgettable,
    suggest_memories,
    undo,
)
from clio.commands.memory.edits import recall as recall_of_edits
from clio.commands.memory.memory_text import (
    PLURALS,
    SHORT_ID,
    format_date,
    format_memory_line,
    format_short_age,
    label_foreign_memory,
    project_memory_data,
    requires_memory,
    short_key,
    suggest_memory_id,
    suggest_options,
    suggest_words,
)
from clio.commands.memory.open_page import OPEN_ROWS
from clio.commands.memory.portability import CONTROL_ROWS, SHARE_ROWS
from clio.commands.memory.views import TIME_ROWS, offer_memories, search, show, show_list, stats, why
from clio.commands.session_commands import find_snippet
from clio.errors import UsageError
from clio.memory.consolidation.consolidation import MAX_REPORTS, Report
from clio.memory.retrieval.scoring import DEFAULT_LIMIT, FUSIONS, LAYERS, Fusion, Layer, RecallAnswer, RecallHit
from clio.memory.store.record import MAX_AGE_DAYS, MIN_CONFIDENCE, MemoryRecord, get_kind_label
from clio.text.formatting import format_count, format_stored_time, truncate
from clio.time_expressions import parse_when

if TYPE_CHECKING:
    from clio.sessions.state import Trim


_TEXT_CHARS = 130
_TITLE_CHARS = 30
_SESSION_ID = 13
"""Characters of a session's id: the time it began, to the millisecond."""
_FROM = {"user": "you said", "assistant": "clio said", "tool": "a tool"}


def hit_table(hits: Sequence[RecallHit], query: str, now: float, *, why: bool) -> Table:
    """Return the hits as a table; `now` in seconds since the epoch. why: with all reasons of each."""
    rows = tuple(
        (origin(hit), _what(hit, query) + (f" – {reasons_text(hit)}" if why else ""), *_ends(hit, now)) for hit in hits
    )
    return Table(columns=("from", "what", "age", "id"), rows=rows, wide_column=1)


def origin(hit: RecallHit) -> str:
    """Return what kind of memory a hit is, in one or two words."""
    return (
        _FROM.get(hit.kind, hit.kind) if hit.layer == "L0" else get_kind_label(hit.kind).replace("limit", "hard limit")
    )


def reasons_text(hit: RecallHit) -> str:
    """Return all signals of a score with their numbers, in the order they were counted."""
    return f"{hit.score:.2f}: " + ", ".join(f"{reason.words} ({reason.value:g})" for reason in hit.reasons)


def first_because(hit: RecallHit) -> str:
    """Return why the first hit is first, in a few words."""
    reasons = [
        reason.words for reason in hit.reasons if reason.name in ("words", "title", "meaning", "recency", "same")
    ]
    return f"Best match: {', '.join(reasons)}." if reasons else ""


def opening(hit: RecallHit, trims: "Iterable[Trim]") -> str:
    """Return the command that shows a hit in full; "" if there is none. trims: of the running session."""
    match hit.source:
        case "memory":
            return f"/memory history {hit.id[-SHORT_ID:]}"
        case "knowledge":
            return f"/memory show {hit.id}"
        case "note":
            return f"/note show {_word(hit.id)}"
        case "preference":
            return f"/prefs show {hit.id[-SHORT_ID:]}"
        case "session":
            return f"/session switch {_session(hit)[:_SESSION_ID]}"
        case "trimmed":
            handle = next((trim.handle for trim in trims if hit.id in trim.dropped), "")
            return f"/context expand {handle}" if handle else ""
        case _:
            return ""


def answer_data(query: str, answer: RecallAnswer, trims: "Sequence[Trim]") -> dict[str, Any]:
    """Return the answer in JSON types; times in seconds since the epoch. trims: of the running session."""
    return {
        "query": query,
        "hits": [_data(hit, opening(hit, trims)) for hit in answer.hits],
        "more": answer.more,
        "left_out": list(answer.left_out),
        "ms": dict(answer.ms),
    }


def _data(hit: RecallHit, command: str) -> dict[str, Any]:
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


def _what(hit: RecallHit, query: str) -> str:
    text = find_snippet(hit.text, query, _TEXT_CHARS)
    title = " ".join(hit.where.title.split()) if hit.where and hit.source == "session" else ""
    if title and not " ".join(hit.text.split()).startswith(title.rstrip("…")[:_TITLE_CHARS]):
        text = f"[{truncate(title, _TITLE_CHARS)}] {text}"
    return f"{text} ({hit.label})" if hit.label else text


def _ends(hit: RecallHit, now: float) -> tuple[str, str]:
    match hit.source:
        case "memory" | "preference":
            id = hit.id[-SHORT_ID:]
        case "session":
            id = _session(hit)[:_SESSION_ID]
        case "document":
            id = hit.id[-24:]
        case _:
            id = short_key(hit.id)[:16]
    return format_short_age(now, hit.when), id


def _session(hit: RecallHit) -> str:
    return hit.where.session if hit.where else ""


def _word(key: str) -> str:
    return f'"{key}"' if any(character.isspace() for character in key) else key


def missing(answer: RecallAnswer) -> str:
    """Return what was left out of the answer, and how many more hits there are."""
    parts = [f"{answer.more:,} more, see --limit" if answer.more else "", *answer.left_out]
    text = "; ".join(part for part in parts if part)
    return f" ({text})" if text else ""


def nothing(query: str) -> str:
    """Return the sentence for a query without hits."""
    return f"No memories match {quote_code(query)}."


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
def recall(ctx: CommandContext, argument: str) -> CommandResult:
    """Search sessions, documents, memories, notes, preferences and styles; best match first."""
    given = parse_options(argument, switches=("--why",), valued=_VALUED)
    query = (
        given.words_as_typed if given.words_as_typed.startswith('"') else given.text
    )  # double quotes: search for these words in this order
    if not query.strip():
        return make_refusal("Recall what? Write /recall WORDS; --layer and --at narrow the search, --why explains it")
    now = time.time()
    at = parse_when(given.options["--at"], now) if "--at" in given.options else None
    answer = ctx.memory.retriever.search(
        query,
        layers=_layers(given),
        at=at,
        limit=parse_count(given.options["--limit"], "--limit") if "--limit" in given.options else DEFAULT_LIMIT,
        fusion=_fusion(given),
        current=ctx.session.id or None,
    )
    trims = ctx.session.trims
    data = answer_data(query, answer, trims) | {"at": at}
    then = f"As of {format_date(at)}. " if at is not None else ""
    if not answer.hits:
        later = "" if at is None else " Without `--at` the search covers what is known now."
        return CommandResult(text=f"{then}{nothing(query)}{missing(answer)}{later}", data=data)
    best = answer.hits[0]
    command = opening(best, trims)
    way = f" Open it: {quote_code(command)}." if command else ""
    return CommandResult(
        text=f"{then}{first_because(best)}{way}{missing(answer)}",
        table=hit_table(answer.hits, query, now, why="--why" in given.options),
        data=data,
    )


def suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete options and their values."""
    before = argument.split(" ")[:-1]
    match before[-1] if before else "":
        case "--layer":
            yield Suggestion(text="L0", note="sessions, trimmed turns, documents")
            yield Suggestion(text="L1", note="memories and notes")
            yield Suggestion(text="L2", note="preferences, hard limits, styles")
        case "--fusion":
            yield Suggestion(text="convex", note="by scores, weighed")
            yield Suggestion(text="rrf", note="by ranks only")
        case "--at":
            yield Suggestion(text="yesterday", note="or a date, or 30d")
        case _:
            for name, note in _NOTES.items():
                if name not in before:
                    yield Suggestion(text=name, note=note)


_NOTES = {
    "--layer": "L0 sessions and documents, L1 memories, L2 preferences",
    "--at": "as of a date",
    "--limit": "at most this many",
    "--fusion": "convex, or rrf",
    "--why": "with all reasons of each",
}


def _layers(given: ParsedArguments) -> tuple[Layer, ...]:
    """Return the requested layers, separated by commas. Raises UsageError for an unknown one."""
    names_given = [part.strip() for part in given.options.get("--layer", "").split(",") if part.strip()]
    names: dict[str, Layer] = {**_NAMED_LAYERS, "l0": "L0", "l1": "L1", "l2": "L2"}
    for part in names_given:
        if part.casefold() not in names:
            raise UsageError(f"There is no layer {part!r}; {suggest_name(part, [*LAYERS, *_NAMED_LAYERS])}")
    return tuple(dict.fromkeys(names[part.casefold()] for part in names_given)) or LAYERS


def _fusion(given: ParsedArguments) -> Fusion:
    name = given.options.get("--fusion", "convex").casefold()
    if name not in FUSIONS:
        raise UsageError(f"--fusion is convex or rrf, not {name!r}")
    return name


RECALL: tuple[Command, ...] = (
    Command(
        name="recall",
        argument="WORDS [--layer L] [--at DATE] [--limit N] [--fusion F] [--why]",
        summary="search all memory: sessions, documents, memories, preferences",
        handler=recall,
        suggest_word=suggest,
    ),
)


@requires_memory
def prune(ctx: CommandContext, argument: str) -> CommandResult:
    """Show old or uncertain memories; move them to the archive after the user agrees."""
    given = parse_options(argument, switches=("--dry-run", "--yes"), valued=("--days", "--below"))
    if given.words:
        return make_refusal(
            f"/memory prune does not know {given.text!r}; it takes --days N, --below X, --dry-run and --yes"
        )
    days = parse_number(given.options.get("--days", f"{MAX_AGE_DAYS:g}"), "--days", low=0, high=100_000)
    below = parse_number(given.options.get("--below", f"{MIN_CONFIDENCE:g}"), "--below", low=0, high=1)
    sure = "--yes" in given.options and "--dry-run" not in given.options
    pruned = ctx.memory.store.prune(max_age_days=days, min_confidence=below, dry_run=not sure)
    data = {
        "removed": [project_memory_data(entry) | {"because": pruned.why[entry.id]} for entry in pruned.removed],
        "kept": pruned.kept,
        "dry_run": not sure,
    }
    bounds = f"unconfirmed for {days:g} days or less sure than {below:.0%}"
    if not pruned.removed:
        return CommandResult(
            text=f"Nothing to prune: none of {format_count(pruned.kept, 'memory')} is {bounds}.", data=data
        )
    what = format_count(len(pruned.removed), "memory")
    if sure:
        text = f"Moved to the archive: {what}; {pruned.kept:,} left · `/memory undo`"
        return CommandResult(text=text, data=data)
    table = _prune_table(pruned.removed, pruned.why, time.time())
    if "--dry-run" in given.options:
        text = f"Would move to the archive: {what}, {bounds}; {pruned.kept:,} would stay."
        return CommandResult(text=text, table=table, data=data)
    return CommandResult(
        text=f"{what[0].upper()}{what[1:]} {'is' if len(pruned.removed) == 1 else 'are'} {bounds}.",
        table=table,
        data=data,
        follow_up=Confirm(
            question=f"Move {what} to the archive?", then=f"/memory prune --days {days:g} --below {below:g} --yes"
        ),
    )


def _prune_table(entries: Iterable[MemoryRecord], why: Mapping[str, str], now: float) -> Table:
    rows = tuple(
        (
            entry.id,
            format_memory_line(entry),
            f"{entry.confidence:.0%}",
            format_short_age(now, entry.updated),
            why[entry.id],
        )
        for entry in entries
    )
    return Table(columns=("id", "what", "sure", "age", "why"), rows=rows, wide_column=1, is_truncated=True)


_BY = {"hand": "requested", "idle": "while idle", "exit": "at exit"}


@requires_memory
def sleep(ctx: CommandContext, argument: str) -> CommandResult:
    """Request a consolidation: it can take seconds, so the entrypoint runs it."""
    given = parse_options(argument, switches=("--dry-run",))
    if given.words:
        return make_refusal(f"/memory consolidate does not know {given.text!r}; it takes --dry-run")
    return CommandResult(follow_up=ConsolidateNow(dry_run="--dry-run" in given.options))


@requires_memory
def log(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what the last consolidations did, one change a line, newest first."""
    words = parse_options(argument).words
    if len(words) > 1 or (words and not words[0].isdecimal()):
        raise UsageError(f"/memory log takes how many reports to show, not {argument!r}")
    reports = ctx.memory.consolidation.last(min(int(words[0]), MAX_REPORTS) if words else 1)
    data = [report_data(report) for report in reports]
    if not reports:
        return CommandResult(text="Nothing was consolidated here yet; `/memory consolidate` does it now.", data=data)
    return CommandResult(text="\n\n".join(map(_format_report, reports)), data=data)


def consolidation_result(report: Report) -> CommandResult:
    """Return what one consolidation did, for the screen and for JSON."""
    lines = [report.line]
    if report.dry_run:
        lines += _changes(report)
    lines += [f"warning: {sentence}" for sentence in report.errors]
    return CommandResult(text="\n".join(lines), data=report_data(report))


def report_data(report: Report) -> dict[str, Any]:
    """Return all fields of a report in JSON types, and its line."""
    fields = {name: msgspec.to_builtins(getattr(report, name)) for name in report.__struct_fields__}
    return {"line": report.line, **fields}


def _format_report(report: Report) -> str:
    when = format_stored_time("%d %b %H:%M", report.at)
    line = report.line.removeprefix("consolidated: ").partition(" · ")[0]
    head = f"**{when}**, {_BY[report.by]}, {report.seconds:.1f} s: {line}"
    read_ = [f"- {report.sessions:,} sessions read" + (f", {report.unread:,} unreadable" if report.unread else "")]
    if report.turns_archived or report.turns_deleted:
        read_.append(
            f"- ratings: {report.turns_archived:,} turns archived, {report.turns_deleted:,} deleted permanently"
        )
    trouble = [f"- warning: {sentence}" for sentence in report.errors]
    return "\n".join([head, "", *read_, *_changes(report), *trouble])


def _changes(report: Report) -> list[str]:
    """Return the changes as a list, quoted as code, because they contain arbitrary text."""
    listed = [f"- {quote_code(change)}" for change in report.changes]
    return ["", *listed] if report.dry_run and listed else listed


SLEEP_ROWS: tuple[Command, ...] = (
    Command(
        name="consolidate",
        aliases=("sleep",),
        argument="[--dry-run]",
        summary="learn from earlier sessions now, or report what would be learned",
        handler=sleep,
        suggest_word=suggest_options(("--dry-run", "write nothing, report what would be done")),
    ),
    Command(name="log", argument="[N]", summary="what the last consolidation did, or the last N", handler=log),
)


_OUTSIDE = "Memory is turned off inside a conversation; `clio --incognito` starts one without memory."


@requires_memory
def turn_off(ctx: CommandContext, argument: str) -> CommandResult:
    """Recall and save nothing until memory is turned on again, or clio exits."""
    if argument:
        return make_refusal("/memory off takes nothing")
    if not ctx.session.id:
        return make_refusal(_OUTSIDE)
    ctx.memory.is_off = True
    text = (
        "Memory is off: nothing is recalled or saved until `/memory on`. Memories that the model has received stay in "
        "this session; the session itself is still saved."
    )
    return CommandResult(text=text, data={"on": False})


@requires_memory
def turn_on(ctx: CommandContext, argument: str) -> CommandResult:
    """Recall and save memories again."""
    if argument:
        return make_refusal("/memory on takes nothing")
    if not ctx.session.id:
        return make_refusal(_OUTSIDE)
    ctx.memory.is_off = False
    return CommandResult(text="Memory is on.", data={"on": True})


_KINDS = suggest_words(
    ("fact", "only facts"),
    *((kind, f"only {plural}") for kind, plural in PLURALS.items() if kind != "discovery"),
    ("event", "only events"),
    ("note", "only notes, with and without a key"),
    ("preference", "only preferences"),
    ("archive", "forgotten and pruned memories"),
    ("--scope project", "only of the project"),
    ("--scope user", "only yours"),
)
_DRAFTS = suggest_words(
    ("fact ", "about the project: TEXT"),
    ("solution ", "ERROR => SOLUTION"),
    ("pattern ", "a convention of the code: TEXT"),
    ("workflow ", "NAME: STEP -> STEP -> …"),
    ("failure ", "WHAT FAILED => PREVENTION"),
    ("rule ", "PATH: TEXT, or TEXT for everywhere"),
)

MEMORY = (
    Command(
        name="memory",
        summary="what is saved about this project and about you",
        handler=offer_memories,
        subcommands=(
            Command(
                name="list",
                argument="[KIND|archive] [--scope S] [--all]",
                summary="all memories, kind by kind",
                handler=show_list,
                suggest=_KINDS,
            ),
            Command(
                name="search",
                argument="QUERY",
                summary="search project memory and notes",
                handler=search,
            ),
            Command(
                name="show",
                argument="ID",
                summary="details of one memory",
                handler=show,
                suggest_word=suggest_memory_id,
            ),
            Command(
                name="add",
                argument="[KIND] TEXT [--confidence X] [--example PATH]…",
                summary="save a project fact, solution, pattern, workflow, failure or rule",
                handler=add,
                suggest=_DRAFTS,
            ),
            Command(
                name="edit",
                argument="ID [TEXT] [--confidence X] [--example PATH]…",
                summary="change a memory; without a text, in the editor",
                handler=edit,
                suggest_word=suggest_memory_id,
            ),
            Command(
                name="forget",
                argument="ID… [--yes]",
                summary="move memories to the archive",
                handler=forget,
                suggest_word=suggest_forgettable,
            ),
            Command(
                name="remember",
                argument="TEXT [--type T] [--importance X] [--scope S]",
                summary="save a fact, an event, a note or a preference",
                handler=remember,
                suggest_word=suggest_options(
                    ("--type", "fact, event, preference, else note"),
                    ("--importance", "from 0 to 1, else 0.5"),
                    ("--scope", "project or user"),
                    ("--keyword", "a further keyword"),
                    ("--example", "a file it is about"),
                ),
            ),
            Command(
                name="recall",
                argument="[QUERY] [--type T] [--limit N]",
                summary="the memories that match a query, best first",
                handler=recall_of_edits,
                suggest_word=suggest_options(
                    ("--type", "only fact, preference, event or note; !fact is all others"),
                    ("--limit", "at most this many, -1 for all, else 10"),
                ),
            ),
            Command(
                name="move",
                argument="ID project|user",
                summary="move a memory to the project, or to all your projects",
                handler=move,
                suggest_word=suggest_memories,
            ),
            Command(
                name="restore",
                argument="ID",
                summary="bring a memory back from the archive",
                handler=restore,
                suggest_word=suggest_archived,
            ),
            Command(name="compact", summary="archive expired memories, merge duplicates", handler=compact),
            Command(
                name="stats",
                aliases=("count",),
                summary="how many memories there are, their age and confidence",
                handler=stats,
            ),
            Command(
                name="prune",
                argument="[--days N] [--below X] [--dry-run] [--yes]",
                summary="archive old or uncertain memories",
                handler=prune,
                suggest_word=suggest_options(
                    ("--days", "older than this many days unconfirmed, else 90"),
                    ("--below", "confidence below this, else 0.3"),
                    ("--dry-run", "only show what would be archived"),
                ),
            ),
            Command(name="why", summary="which memories the last turn used, and why", handler=why),
            Command(name="off", summary="recall and save nothing until /memory on", handler=turn_off),
            Command(name="on", summary="recall and save memories again", handler=turn_on),
            Command(name="undo", summary="undo the last change of memory", handler=undo),
            *OPEN_ROWS,
            *TIME_ROWS,
            *SLEEP_ROWS,
            *CONTROL_ROWS,
            *SHARE_ROWS,
        ),
    ),
)
