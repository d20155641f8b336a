"""/memory list, search, show, stats and why: the commands that read memory."""

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import join_arguments, parse_options, suggest_name
from clio.commands.command import (
    Choose,
    CommandContext,
    CommandResult,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.edits import make_memory_data, make_record_data, parse_scope
from clio.commands.memory.memory_text import (
    AUTHOR_LABELS,
    FRESHNESS_LABELS,
    ListedMemory,
    describe_author,
    describe_session_of,
    draw_bar,
    explain_marks,
    extract_around,
    find_memory,
    format_date,
    format_memory_line,
    format_short_age,
    format_time_ago,
    label_foreign_memory,
    make_memory_table,
    make_note_data,
    make_project_memory_data,
    make_row,
    parse_kind,
    requires_memory,
    shorten_key,
    sort_newest_first,
)
from clio.errors import ClioError, UsageError
from clio.memory.preferences.preferences import HARD_LIMITS
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.retrieval.retriever import RecallHit
from clio.memory.retrieval.scoring import WhyItem, WhyReport
from clio.memory.store.record import (
    ALL_KINDS,
    KEYED_NOTE,
    PROGRESS_KEY,
    PROJECT_KINDS,
    SHORT_ID,
    TYPED_KINDS,
    Freshness,
    MemoryRecord,
    MemoryStats,
    find_kind,
    get_kind_label,
    get_short_id,
    has_same_text,
)
from clio.memory.store.typed_store import Scope
from clio.text.formatting import format_bytes, truncate
from clio.text.scoring import HARD_LIMIT_SCORE, describe_score
from clio.text.translation import english, mark, tr, tr_count
from clio.tokens import DEFAULT_RATIO

if TYPE_CHECKING:
    from clio.memory.retrieval.prompt_prefix import Injected


_ARCHIVE = ("archive", "archived")
_LABELS = tuple(dict.fromkeys(map(get_kind_label, ALL_KINDS)))
"""The kinds as the user sees them, in the order of a list."""
_AGE_LABELS = (
    mark("a day"),
    mark("a week"),
    mark("a month"),
    mark("3 months"),
    mark("a year"),
    mark("older"),
    mark("undated"),
)
"""The ages of `MemoryStats`, marked for translation."""
MAX_LISTED = 40
"""Rows shown without `--all`."""
MAX_FOUND = 20
"""Results of a search."""


@requires_memory
@label_foreign_memory
def list_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory list`: all memories of the project and the user, kind by kind; or those of one kind or scope."""
    given = parse_options(argument, switches=("--all",), valued=("--scope", "--kind", "--type"))
    named = (*given.words, *(given.options[name] for name in ("--kind", "--type") if name in given.options))
    scope = parse_scope(given.options.get("--scope"))
    is_archive = any(word.lower() in _ARCHIVE for word in named)
    of_kinds = [word for word in named if word.lower() not in _ARCHIVE]
    kinds = _parse_several_kinds(of_kinds) if of_kinds else ALL_KINDS
    if is_archive:
        return _list_archive(ctx, scope, kinds, everything="--all" in given.options)
    memory = ctx.memory
    known: list[tuple[MemoryRecord, Scope]] = [
        (record, memory.store.scope_of(record.id))
        for record in sort_newest_first(memory.store.records(with_notes=False))
    ]
    chosen: list[tuple[MemoryRecord, Scope]] = [
        (record, owner) for record, owner in known if record.kind in kinds and scope in (None, owner)
    ]
    freshness = memory.store.freshness([record for record, _ in chosen])
    # The state of the work, which clio writes itself before a trim, is no memory of the user's; `/note list` shows it.
    all_notes = [note for note in memory.store.notes() if note.key != PROGRESS_KEY]
    notes = all_notes if KEYED_NOTE in kinds and scope != "user" else ()
    data = {
        "entries": [
            make_project_memory_data(record, freshness[record.id])
            for record, _ in chosen
            if record.kind in PROJECT_KINDS
        ],
        "notes": len(all_notes),
        "memories": sum(record.kind in TYPED_KINDS for record, _ in known),
        "typed": [make_record_data(record, owner) for record, owner in chosen if record.kind in TYPED_KINDS],
        "keyed_notes": [make_note_data(note) for note in notes],
    }
    rows = [make_row(record, owner, _get_shown_freshness(ctx, record, freshness)) for record, owner in chosen]
    listed = sorted([*rows, *map(make_row, notes)], key=lambda one: (_LABELS.index(english(one.kind)), -one.at))
    if not listed:
        return CommandResult(text=_describe_empty_list(kinds, bool(known or all_notes)), data=data)
    shown = listed if "--all" in given.options else _limit_rows(listed)
    count = tr_count(len(listed), "memory")
    command = f"/memory list{' ' + join_arguments(named) if named else ''}"
    command += f"{f' --scope {scope}' if scope else ''} --all"
    parts = [
        tr("{count}, {count2} shown; `{command}` shows all.", count=count, count2=len(shown), command=command)
        if len(shown) < len(listed)
        else f"{count}.",
        explain_marks("".join(one.mark for one in shown)),
    ]
    text = " ".join(part for part in parts if part)
    return CommandResult(text=text, table=make_memory_table(shown, now=time.time()), data=data)


def _get_shown_freshness(ctx: CommandContext, record: MemoryRecord, freshness: Mapping[str, Freshness]) -> Freshness:
    """Return the state to mark: one file that never existed, and has no hash therefore, counts as gone."""
    state = freshness[record.id]
    has_missing = state in ("unbound", "fresh") and bool(ctx.memory.store.list_missing_files(record.files))
    return "gone" if has_missing else state


@requires_memory
@label_foreign_memory
def search_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory search`: memories of all kinds that match a query, best first. They count as used."""
    query = parse_options(argument).text.strip()
    if not query:
        return make_refusal(tr("Search for what? Write /memory search WORDS; /session search looks in conversations"))
    found = ctx.memory.retriever.search(query, layers=("L1", "L2"), limit=MAX_FOUND)
    hits = [hit for hit in found.hits if hit.source != "style"]
    ctx.memory.store.mark_used([hit.id for hit in hits if hit.source == "knowledge"])
    data = {"query": query, "hits": [_make_hit_data(hit) for hit in hits]}
    sessions = tr("`/session search {query}` searches conversations.", query=" ".join(query.replace("`", " ").split()))
    if not hits:
        return CommandResult(
            text=tr("No memory matches {query}. {sessions}", query=quote_code(query), sessions=sessions), data=data
        )
    return CommandResult(
        text=tr("Best matches first. {sessions}", sessions=sessions), table=_make_hit_table(query, hits), data=data
    )


@requires_memory
@label_foreign_memory
def show_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory show`: all details of one memory of any kind; of a solution also others to the same error.

    A memory of the project counts as used.
    """
    ids = parse_options(argument).words
    if len(ids) != 1:
        return make_refusal(tr("Which memory? Write /memory show ID; /memory list shows the ids"))
    record, store = find_memory(ctx, ids[0], "/memory show"), ctx.memory.store
    ago = f" ({format_time_ago(time.time(), record.updated)})" if record.updated else ""
    confirmed = format_date(record.updated) + ago
    if record.key:
        rows = ((tr("text"), record.content), (tr("saved"), confirmed))
        table = Table(columns=(record.key, tr(KEYED_NOTE)), rows=rows, wide_column=1)
        return CommandResult(table=table, data=make_note_data(record))
    is_project = record.kind in PROJECT_KINDS
    state = store.freshness((record,))[record.id]
    others: list[MemoryRecord] = []
    before: list[MemoryRecord] = []
    if is_project:
        store.mark_used((record.id,))
        others = [one for one in store.records((record.kind,)) if _is_other_solution(record, one)]
        before = [one for one in store.ltm.archived() if _is_other_solution(record, one) or one.id == record.id]
        data = make_project_memory_data(record, state) | {
            "beside": [make_project_memory_data(other) for other in others],
            "archived": [make_project_memory_data(former) for former in before],
        }
    else:
        data = make_record_data(record, store.scope_of(record.id)) | {"freshness": state}
    author = describe_author(record) if is_project or record.provenance else ""
    if is_project and ctx.loaded.has_foreign_memory:
        author = tr("{author}, according to the repository", author=author)
    rows = [
        *_list_fields(record),
        *_list_examples(ctx, record, state),
        *([] if is_project else _list_typed_fields(record, store.scope_of(record.id))),
        (tr("confidence"), f"{record.confidence:.0%}"),
        (tr("times"), str(record.times) if record.times > 1 else ""),
        (tr("trust"), describe_trust(record, tr)),
        (tr("used"), tr_count(record.access_count, "time") if record.access_count and not is_project else ""),
        (tr("stated by"), author),
        (tr("session"), describe_session_of(ctx, record.provenance.session) if record.provenance else ""),
        (tr("first stated"), format_date(record.created)),
        (tr("confirmed"), confirmed if record.updated or is_project else ""),
        *((tr("other solution"), f"{other.id}: {other.solution or other.render_line(tr)}") for other in others),
        *((tr("contradicted"), tr("in {rival}", rival=rival)) for rival in record.rivals),
        *((tr("in the archive"), former.render_line(tr)) for former in before),
    ]
    columns = (get_short_id(record), tr(get_kind_label(record.kind)))
    return CommandResult(
        table=Table(columns=columns, rows=tuple(filter(itemgetter(1), rows)), wide_column=1), data=data
    )


def _list_typed_fields(record: MemoryRecord, scope: Scope) -> list[tuple[str, str]]:
    """Return the labelled fields of a fact, event, note or preference beside its text; one may be empty."""
    liking = ""
    if record.score is not None:
        limit = record.score <= HARD_LIMIT_SCORE
        liking = f"{record.score:g}, {tr('hard limit') if limit else tr(describe_score(record.score))}"
    return [
        (tr("reason"), record.reason),
        (tr("scope"), tr(scope)),
        (tr("score"), liking),
        (tr("task types"), ", ".join(record.scenarios)),
        (tr("keywords"), ", ".join(record.keywords)),
        (tr("importance"), f"{record.importance:g}"),
    ]


def _list_examples(ctx: CommandContext, record: MemoryRecord, state: Freshness) -> list[tuple[str, str]]:
    """Return the rows of the files that a memory is about, and whether they have changed since or do not exist."""
    label = FRESHNESS_LABELS[state]
    if label and len(record.files) == 1:
        return [(tr("example"), f"{record.files[0]} ({tr(label)})")]
    rows = [(tr("example"), path) for path in record.files]
    rows += [(tr("examples"), tr(label))] if label else []
    missing = () if state == "gone" else ctx.memory.store.list_missing_files(record.files)
    return [*rows, *((tr("missing"), f"✗ {path}") for path in missing)]


def offer_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Let the user choose a memory to show; where no list can be drawn, list them as `/memory list` does."""
    shown = list_memories(ctx, argument)
    if argument or shown.table is None or (whole := list_memories(ctx, "--all").table) is None:
        return shown
    texts = {row[0]: row[whole.wide_column or 0] for row in whole.rows}
    title = tr("{memories}: show which one?", memories=tr_count(len(texts), "memory"))
    choice = Choose(title=title, table=whole, values=tuple(texts), then="/memory show", preview=texts.__getitem__)
    return msgspec.structs.replace(shown, follow_up=choice) if len(texts) == len(whole.rows) else shown


def _list_archive(ctx: CommandContext, scope: Scope | None, kinds: Sequence[str], *, everything: bool) -> CommandResult:
    """List archived memories of these kinds, the last archived first. scope: only those of this scope."""
    store = ctx.memory.store
    of_user = {record.id for record in store.user.archived()}
    archived: list[tuple[MemoryRecord, Scope]] = [
        (record, "user" if record.id in of_user else "project") for record in store.archived()
    ]
    entries: list[tuple[MemoryRecord, Scope]] = [
        (record, owner) for record, owner in archived if scope in (None, owner) and record.kind in kinds
    ]
    data = {"archived": [make_memory_data(entry, owner) for entry, owner in entries]}
    if not entries:
        if archived:
            return CommandResult(text=tr("The archive has memories, but none of that kind or scope."), data=data)
        return CommandResult(
            text=tr("The archive is empty: nothing has been forgotten, replaced or pruned."), data=data
        )
    shown = entries if everything else entries[:MAX_LISTED]
    rest = (
        tr(", {count} shown; `/memory list archive --all` shows all", count=len(shown))
        if len(shown) < len(entries)
        else ""
    )
    text = tr(
        "{memories} in the archive{rest}. `/memory restore ID` brings one back.",
        memories=tr_count(len(entries), "memory"),
        rest=rest,
    )
    rows = [make_row(entry, owner) for entry, owner in shown]
    return CommandResult(text=text, table=make_memory_table(rows, now=time.time()), data=data)


def _limit_rows(listed: Sequence[ListedMemory]) -> list[ListedMemory]:
    """Return at most `MAX_LISTED` rows: if there are more, the same number of each kind."""
    if len(listed) <= MAX_LISTED:
        return list(listed)
    by_kind: dict[str, list[ListedMemory]] = {}
    for one in listed:
        by_kind.setdefault(one.kind, []).append(one)
    # The same number of each kind, or hundreds of facts would hide the few rules.
    each = MAX_LISTED // len(by_kind)
    return [one for group in by_kind.values() for one in group[:each]]


def _parse_several_kinds(words: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds that words name, as one name ("keyed note") or each by itself. Raises UsageError."""
    try:
        return _parse_kinds(" ".join(words))
    except UsageError:
        if len(words) == 1:
            raise
    return tuple(dict.fromkeys(kind for word in words for kind in _parse_kinds(word)))


def _parse_kinds(word: str) -> tuple[str, ...]:
    """Return the kinds a word names: "facts" are project facts and facts, "notes" includes keyed notes.

    Raises UsageError.
    """
    name = word.strip().lower().replace("-", " ").replace("_", " ")
    for names, kinds in (
        ((tr("project fact"), tr("project facts")), ("discovery",)),
        ((KEYED_NOTE, tr("keyed notes")), (KEYED_NOTE,)),
    ):
        if name in names:
            return kinds
    if typed := find_kind(name, TYPED_KINDS):
        return ("discovery", "fact") if typed == "fact" else ("note", KEYED_NOTE) if typed == "note" else (typed,)
    # Tables name the kinds in the user's language.
    label = next((label for label in _LABELS if tr(label).lower() == name), name)
    if label != name:
        return _parse_kinds(label)
    try:
        return (parse_kind(word),)
    except UsageError as error:
        raise UsageError(
            tr(
                "There is no kind {word!r} of memory; {suggest_name}",
                word=word,
                suggest_name=suggest_name(name, _LABELS),
            )
        ) from error


def _describe_empty_list(kinds: Sequence[str], has_others: bool) -> str:
    """Return the sentence for an empty list. has_others: memories of other kinds or scopes exist."""
    if len(kinds) == len(ALL_KINDS):
        return (
            tr("No memories of that scope.")
            if has_others
            else tr("No memories yet; `/memory add TEXT` saves the first one.")
        )
    match kinds[0]:
        case "preference":
            command = "/prefs add TEXT"
        case "note" | "event":
            command = f"/memory remember TEXT --type {kinds[0]}"
        case "keyed note":
            command = "/note set KEY TEXT"
        case "discovery":
            command = "/memory add TEXT"
        case kind:
            command = f"/memory add {kind} …"
    return tr("No {kind_label} yet; `{command}` saves one.", kind_label=tr(get_kind_label(kinds[0])), command=command)


def _make_hit_table(query: str, hits: Sequence[RecallHit]) -> Table:
    now = time.time()
    rows = tuple(
        (
            _get_shown_id(hit),
            tr(get_kind_label(hit.kind)),
            extract_around(hit.text, query),
            format_short_age(now, hit.when),
        )
        for hit in hits
    )
    return Table(columns=(tr("id"), tr("kind"), tr("what"), tr("age")), rows=rows, wide_column=2)


def _get_shown_id(hit: RecallHit) -> str:
    """Return the id as `/memory show` accepts it."""
    match hit.source:
        case "note":
            return shorten_key(hit.id)
        case "memory" | "preference":
            return hit.id[-SHORT_ID:]
        case _:
            return hit.id


def _make_hit_data(hit: RecallHit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "id": "" if hit.source == "note" else hit.id,
        "key": hit.id if hit.source == "note" else "",
        "text": hit.text,
        "score": hit.score,
        "timestamp": hit.when,
    }


def _list_fields(entry: MemoryRecord) -> list[tuple[str, str]]:
    """Return the labelled texts of a memory; a text may be empty."""
    match entry.kind:
        case "solution":
            return [(tr("error"), entry.content), (tr("solution"), entry.solution)]
        case "failure":
            more = [(tr("prevention"), other) for other in entry.also]
            return [
                (tr("failed"), entry.content),
                (tr("impact"), entry.impact),
                (tr("prevention"), entry.solution),
                *more,
            ]
        case "workflow":
            steps = [(tr("step {number}", number=number), step) for number, step in enumerate(entry.steps, 1)]
            rate = "" if entry.success_rate is None else f"{entry.success_rate:.0%}"
            name = "" if entry.content == " → ".join(entry.steps) else entry.content
            return [(tr("name"), name), *steps, (tr("success rate"), rate)]
        case "rule":
            return [
                (tr("rule"), entry.content),
                (tr("applies to"), entry.context if entry.context not in ("", "*") else tr("all")),
            ]
        case _:
            return [(tr("text"), entry.content)]


def _is_other_solution(entry: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether `other` is another solution of the same error."""
    if entry.kind != "solution" or other.kind != "solution" or other.id == entry.id:
        return False
    return has_same_text(entry.content, other.content)


BAR_CELLS = 9
"""Columns of a bar, so that the statistics fit a terminal of forty columns."""
_FRESHNESS_LABELS = {"fresh": "unchanged", "drifted": "changed", "gone": "gone", "unbound": mark("none named")}


@requires_memory
@label_foreign_memory
def show_memory_stats(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory stats`: numbers of memories of all kinds as bars: kind, age, confidence, examples and author."""
    if argument:
        return make_refusal(tr("/memory stats (or count) takes no argument"))
    found = ctx.memory.store.stats()
    total, of_user = found.total, ctx.memory.store.count()["user"]
    by_scope = {"project": total - of_user, "user": of_user}
    data = msgspec.to_builtins(found) | by_scope | {"notes": found.counts[KEYED_NOTE], "all_counts": found.counts}
    archive = (
        tr("; {archived:,} in the archive ({bytes})", archived=found.archived, bytes=format_bytes(found.archive_bytes))
        if found.archived
        else ""
    )
    text = tr(
        "{memories}: {total:,} of the project, {of_user:,} of yours{archive}.",
        memories=tr_count(total, "memory"),
        total=total - of_user,
        of_user=of_user,
        archive=archive,
    )
    if found.newest:
        now = time.time()
        newest, oldest = format_time_ago(now, found.newest), format_time_ago(now, found.oldest)
        text += (
            tr(" Last confirmed {newest}.", newest=newest)
            if newest == oldest
            else tr(" Last confirmed {newest}, the oldest {oldest}.", newest=newest, oldest=oldest)
        )
    if found.last_pruned:
        text += tr(" Last pruned {date}.", date=format_date(found.last_pruned))
    rows = tuple(_make_stat_rows(found)) if total else ()
    table = Table(columns=("", "", "", ""), rows=rows, wide_column=3) if rows else None
    return CommandResult(text=text, table=table, data=data)


@requires_memory
def show_recall_reasons(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory why`: the memories used in the last turn, the reasons, and what the limits left out."""
    if argument:
        return make_refusal(tr("/memory why takes no argument; it shows the memories used in the last turn"))
    report = ctx.memory.last_turn()
    if report is not None:
        return _show_last_turn(ctx, report)
    injected = ctx.memory.why()
    heading = tr("The next session would begin with:\n\n") if not ctx.session.id else ""
    if heading and not injected:  # outside a conversation there was no turn: show what one would begin with
        ctx.memory.prefix_fragments()
        injected = ctx.memory.why()
    data = [_make_injected_data(one) for one in injected]
    if not injected:
        off = "" if ctx.config.ltm else tr(" Project memory is off (--no-ltm).")
        text = (
            tr("A new session would begin without memories.") if heading else tr("No memories have been used so far.")
        )
        return CommandResult(text=text + off, data=data)
    now = time.time()
    rows = tuple(
        (
            item.entry.id,
            format_memory_line(item.entry),
            item.reason,
            format_short_age(now, item.entry.updated),
            f"{item.tokens:,}",
        )
        for one in injected
        for item in one.items
    )
    table = Table(
        columns=(tr("id"), tr("what"), tr("why"), tr("age"), tr("tokens")), rows=rows, wide_column=1, is_truncated=True
    )
    text = heading + "\n".join(f"- {_summarize_fragment(ctx, one)}" for one in injected)
    return CommandResult(text=text, table=table, data=data)


def _show_last_turn(ctx: CommandContext, report: WhyReport) -> CommandResult:
    """Show the memories of the last turn with source, reason, signals and tokens, and those the limits cut.

    Shows at most one screen; memories of this turn come before those of the system prompt. `--json` shows all of them.
    """
    data = msgspec.to_builtins(report)
    asked = f"“{report.question}”" if report.question else tr("the last turn")
    task_type = f" ({report.scenario})" if report.scenario else ""
    if not report.items:
        return CommandResult(
            text=tr("No memories were used for {asked}{task_type}.", asked=quote_code(asked), task_type=task_type),
            data=data,
        )
    ratio = _get_token_ratio(ctx, report.session)
    used = sorted((item for item in report.items if item.included), key=lambda item: item.source == "knowledge")
    # Memories cut by limits come before those that the request already contains: the model lacks only the former.
    cut = sorted((item for item in report.items if not item.included), key=lambda item: item.is_redundant)
    by_limits = sum(item.count for item in cut if not item.is_redundant)
    redundant = sum(item.count for item in cut if item.is_redundant)
    text = tr("For {asked}{task_type}: ", asked=quote_code(asked), task_type=task_type)
    text += (
        tr(
            "{memories}, about {scale_tokens:,} tokens",
            memories=tr_count(len(used), "memory"),
            scale_tokens=_scale_tokens(used, ratio),
        )
        if used
        else tr("no memories")
    )
    text += tr("; {by_limits:,} left out by limits", by_limits=by_limits) if by_limits else ""
    text += tr("; {redundant:,} not repeated: already in the request.", redundant=redundant) if redundant else "."
    prompt = _count_prompt_tokens(ctx)
    if prompt:
        text += tr(
            " Memory in the system prompt, with its headings: {prompt:,} tokens, as `/context` shows.", prompt=prompt
        )
    is_brief = len(used) + len(cut) > _MAX_DETAILED_ROWS
    make_row = _make_brief_why_row if is_brief else _make_why_row
    rows = [make_row(item, report.at, ratio) for item in (*used[:_MAX_USED_ROWS], *cut[:_MAX_CUT_ROWS])]
    rest = used[_MAX_USED_ROWS:] + cut[_MAX_CUT_ROWS:]
    if rest:
        text += tr(" `clio memory why --json` has all with every signal.")
        tokens = _scale_tokens([item for item in rest if item.included], ratio)
        rows.append(("", "", tr("{count:,} more", count=sum(item.count for item in rest)), "", "", f"{tokens:,}"))
    columns = _BRIEF_WHY_COLUMNS if is_brief else (tr("from"), "id", tr("what · why"), "score", "age", "tokens")
    table = Table(columns=columns, rows=tuple(rows), wide_column=2, is_truncated=is_brief)
    return CommandResult(text=text, table=table, data=data)


# Rows of memories used and of memories cut by limits: one line each, they fit a terminal of 24 lines.
_MAX_USED_ROWS, _MAX_CUT_ROWS = 12, 4
_MAX_DETAILED_ROWS = 6
"""Up to this number, each memory has several lines with the whole reason; if there are more, one line each."""
_BRIEF_WHY_COLUMNS = ("from", "id", "what", "why", "score", "tokens")
_BRIEF_REASON_CHARS = 20


def _get_token_ratio(ctx: CommandContext, session_id: str) -> float:
    """Return the token ratio of the model that answered; outside of a conversation the one stored in its session."""
    if ctx.window:
        return ctx.window.ratio
    try:
        return ctx.memory.earlier_session(session_id).token_ratio or DEFAULT_RATIO
    except (ClioError, OSError):
        return DEFAULT_RATIO


def _scale_tokens(items: Sequence[WhyItem], ratio: float) -> int:
    """Return the tokens of the items by the model's token ratio; they were counted at the default one.

    Each is rounded up by itself, so that the rows of the table add up to their total.
    """
    return sum(math.ceil(item.tokens * DEFAULT_RATIO / ratio) for item in items)


def _count_prompt_tokens(ctx: CommandContext) -> int:
    """Return the tokens that `/context` shows for memory in the system prompt; 0 if no window is open."""
    if ctx.window is None:
        return 0
    names = {one.fragment.name for one in ctx.memory.why()} | {HARD_LIMITS}
    return sum(part.tokens for part in ctx.window.measure_usage().parts if part.name in names)


def _make_why_row(item: WhyItem, at: float, ratio: float) -> tuple[str, ...]:
    state = "" if item.included else tr(", in request") if item.is_redundant else ", cut"
    return (
        _SOURCE_NAMES.get(item.source, item.source) + state,
        _shorten_item_id(item),
        f"{' '.join(item.text.split())} · {_format_reason(item)}",
        next((f"{item.signals[name]:.2g}" for name in _SCORES if name in item.signals), ""),
        format_short_age(at, at - item.age_s) if item.age_s is not None else "",
        f"{_scale_tokens([item], ratio):,}" if item.tokens else "",
    )


def _shorten_item_id(item: WhyItem) -> str:
    """Return the id as other commands accept and show it; of a passage the path and line, of a turn its message."""
    match item.source:
        case "memory" | "preference":
            return item.id[-SHORT_ID:]
        case "document":  # docs/hosts.md:12#3f9a
            return item.id.rpartition("#")[0]
        case "session" | "trimmed":  # session/message#piece
            return item.id.partition("/")[2].partition("#")[0][-SHORT_ID:]
        case _:
            return item.id[:SHORT_ID]


def _make_brief_why_row(item: WhyItem, at: float, ratio: float) -> tuple[str, ...]:
    source, id, _, score, _, tokens = _make_why_row(item, at, ratio)
    # Without what other columns show: the first names preferences, and the score of a project memory is its confidence.
    confidence = tr("confidence {confidence:.2f}, stated once", confidence=item.signals.get("confidence", 0.0))
    reason = re.sub(r"^(?:a preference |a (?=hard limit))", "", item.reason)
    reason = reason.removeprefix(f"{confidence.partition(', ')[0]}, ")
    reason = truncate(re.split("[;:]", reason)[0], _BRIEF_REASON_CHARS)
    return source, id, " ".join(item.text.split()), reason, score, tokens


_SOURCE_NAMES = {"knowledge": "project"}
"""How the table names the sources of `WhyItem`; knowledge is the project memory in the system prompt."""
_SCORES = ("rank", "weight", "confidence", "score")
"""The signals shown as score of recalled memories, preferences, project memories and hard limits, in this order."""
_SHOWN_SIGNALS = ("evidence", "strength", "distance", "seed_score")
"""The signals shown in the table; `--json` has all of them."""


def _format_reason(item: WhyItem) -> str:
    """Return the reason, followed by the signals that it does not mention."""
    shown = {name: value for name, value in item.signals.items() if name in _SHOWN_SIGNALS}
    missing = {name: value for name, value in shown.items() if f"{name} " not in item.reason}
    signals = ", ".join(f"{name} {value:.3g}" for name, value in missing.items())
    return f"{item.reason} ({signals})" if signals else item.reason


def _make_stat_rows(found: MemoryStats) -> Iterable[tuple[str, str, str, str]]:
    """Yield group, label, number and bar; the bars of one group have the same scale."""
    kinds = Counter[str]()
    for kind, count in found.counts.items():
        kinds[get_kind_label(kind)] += count
    fifths = [(f"{20 * place}–{20 * place + 20}%", bar.count) for place, bar in enumerate(found.confidences)]
    ages = [(bar.label.removeprefix("within "), bar.count) for bar in found.ages]
    groups: list[tuple[str, list[tuple[str, int]]]] = [
        (tr("kind"), [(tr(kind), number) for kind, number in kinds.items() if number]),
        (tr("age up to"), [(tr(label), number) for label, number in ages if number or label != "undated"]),
        (tr("confidence"), fifths),
        (
            tr("examples"),
            [(tr(_FRESHNESS_LABELS[state]), number) for state, number in found.freshness.items() if number],
        ),
        (tr("stated by"), [(tr(AUTHOR_LABELS.get(who, who)), number) for who, number in found.asserted.items()]),
    ]
    for place, (group, bars) in enumerate(groups):
        if place:
            yield ("", "", "", "")
        most = max((number for _, number in bars), default=0)
        for line, (label, number) in enumerate(bars):
            yield ("" if line else group, label, f"{number:,}", draw_bar(number / max(most, 1), BAR_CELLS))


def _summarize_fragment(ctx: CommandContext, one: "Injected") -> str:
    source = one.fragment.source.removeprefix(f"{ctx.loaded.project}/")
    used = sum(item.tokens for item in one.items)
    left = tr("; {left_out:,} left out", left_out=one.left_out) if one.left_out else ""
    cap = tr("{used:,} of at most {cap_tokens:,} tokens", used=used, cap_tokens=one.fragment.cap_tokens)
    return tr(
        "{name} from {source}: {reason}, {cap}{left}.",
        name=quote_code(one.fragment.name),
        source=quote_code(source),
        reason=one.fragment.reason,
        cap=cap,
        left=left,
    )


def _make_injected_data(one: "Injected") -> dict[str, Any]:
    return {
        "name": one.fragment.name,
        "source": one.fragment.source,
        "reason": one.fragment.reason,
        "cap_tokens": one.fragment.cap_tokens,
        "left_out": one.left_out,
        "items": [
            {
                "entry": make_project_memory_data(item.entry),
                "score": item.score,
                "reason": item.reason,
                "tokens": item.tokens,
            }
            for item in one.items
        ],
    }
