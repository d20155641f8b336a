"""/memory list, show, stats, history and changes: the commands that read memory."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clio.commands.arguments import join_arguments, parse_count, parse_options, suggest_name
from clio.commands.command import (
    Choose,
    Command,
    CommandContext,
    CommandResult,
    Table,
    make_refusal,
)
from clio.commands.memory.edits import make_memory_data, make_record_data, parse_scope
from clio.commands.memory.memory_text import (
    AUTHOR_LABELS,
    FRESHNESS_LABELS,
    ListedMemory,
    add_score,
    describe_author,
    describe_session_of,
    draw_bar,
    explain_marks,
    find_memory,
    format_date,
    format_time_ago,
    label_foreign_memory,
    make_memory_table,
    make_note_data,
    make_project_memory_data,
    make_project_memory_fields,
    make_row,
    parse_kind,
    requires_memory,
    sort_newest_first,
    suggest_ids,
    suggest_options,
)
from clio.errors import UsageError, UserError
from clio.memory.retrieval.prompt_prefix import describe_trust
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
from clio.memory.store.versions import CHANGE_KINDS, MemoryChange, Version
from clio.text.formatting import format_bytes
from clio.text.scoring import describe_preference
from clio.text.translation import english, mark, tr, tr_count
from clio.time_expressions import parse_when

if TYPE_CHECKING:
    pass


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


@requires_memory
@label_foreign_memory
def list_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory list`: all memories of the project and the user, kind by kind; or those of one kind or scope.

    With `--limit N` only the newest.
    """
    given = parse_options(argument, switches=("--all",), valued=("--scope", "--kind", "--type", "--limit"))
    limit = parse_count(given.options["--limit"], "--limit") if "--limit" in given.options else None
    named = (*given.words, *(given.options[name] for name in ("--kind", "--type") if name in given.options))
    scope = parse_scope(given.options.get("--scope"))
    is_archive = any(word.lower() in _ARCHIVE for word in named)
    of_kinds = [word for word in named if word.lower() not in _ARCHIVE]
    kinds = _parse_several_kinds(of_kinds) if of_kinds else ALL_KINDS
    if is_archive:
        return _list_archive(ctx, scope, kinds, limit=limit, everything="--all" in given.options)
    memory = ctx.memory
    known: list[tuple[MemoryRecord, Scope]] = [
        (record, memory.store.scope_of(record.id))
        for record in sort_newest_first(memory.store.records(with_notes=False))
    ]
    chosen: list[tuple[MemoryRecord, Scope]] = [
        (record, owner) for record, owner in known if record.kind in kinds and scope in (None, owner)
    ]
    # The state of the work, which clio writes itself before a trim, is no memory of the user's; `/note list` shows it.
    all_notes = [note for note in memory.store.notes() if note.key != PROGRESS_KEY]
    notes = all_notes if KEYED_NOTE in kinds and scope != "user" else []
    total = len(chosen) + len(notes)
    if limit is not None:
        times = [(record.updated, record.id) for record, _ in chosen] + [(note.updated, note.key) for note in notes]
        newest = {id for _, id in sorted(times, reverse=True)[:limit]}
        chosen = [one for one in chosen if one[0].id in newest]
        notes = [note for note in notes if note.key in newest]
    freshness = memory.store.freshness([record for record, _ in chosen])
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
    is_whole = limit is not None or "--all" in given.options
    of_each = len(listed) if is_whole else _limit_of_each_kind(listed)
    shown = [one for _, group in groupby(listed, key=attrgetter("kind")) for one in islice(group, of_each)]
    count = tr_count(total, "memory")
    command = f"/memory list{' ' + join_arguments(named) if named else ''}"
    command += f"{f' --scope {scope}' if scope else ''} --all"
    told = f"{count}."
    if len(shown) < len(listed):
        told = tr(
            "{count}, {count2} shown, at most {of_each} of each kind; `{command}` shows all.",
            count=count,
            count2=len(shown),
            of_each=of_each,
            command=command,
        )
    elif len(shown) < total:
        text = mark("{count}, the newest {count2} shown; `{command}` shows all.")
        told = tr(text, count=count, count2=len(shown), command=command)
    parts = [told, explain_marks("".join(one.mark for one in shown))]
    text = " ".join(part for part in parts if part)
    return CommandResult(text=text, table=make_memory_table(shown, now=time.time()), data=data)


def _get_shown_freshness(ctx: CommandContext, record: MemoryRecord, freshness: Mapping[str, Freshness]) -> Freshness:
    """Return the state to mark: one file that never existed, and has no hash therefore, counts as gone."""
    state = freshness[record.id]
    has_missing = state in ("unbound", "fresh") and bool(ctx.memory.store.list_missing_files(record.files))
    return "gone" if has_missing else state


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
        liking = f"{record.score:g}, {tr(describe_preference(record.score, is_rule=record.explicit))}"
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


def _list_archive(
    ctx: CommandContext, scope: Scope | None, kinds: Sequence[str], *, limit: int | None, everything: bool
) -> CommandResult:
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
    shown = entries if everything else entries[: limit or MAX_LISTED]
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


def _limit_of_each_kind(listed: Sequence[ListedMemory]) -> int:
    """Return how many rows of each kind are shown: as many as fit `MAX_LISTED` rows, so that no kind hides another."""
    counts = Counter(one.kind for one in listed).values()
    return max(each for each in range(1, MAX_LISTED + 1) if sum(min(count, each) for count in counts) <= MAX_LISTED)


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

_FRESHNESS_LABELS = {"fresh": "unchanged", "drifted": "changed", "gone": "missing", "unbound": mark("none named")}


@requires_memory
@label_foreign_memory
def show_memory_stats(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory stats`: numbers of memories of all kinds as bars: kind, age, confidence, files and author."""
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
            tr("files"),
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


MAX_CHANGES_SHOWN = 60
"""Rows of `/memory changes` without `--all`."""

_DEFAULT_SINCE = "30d"

# How a version ended, as the change log stores it → as the table shows it.
_ENDED = {
    "superseded": "replaced",
    "changed": "changed",
    "edited": mark("edited"),
    "forgotten": mark("forgotten"),
    "faded": mark("faded"),
    "outweighed": mark("outweighed"),
    "merged": mark("repeated"),
    "reinforced": mark("reinforced"),
    "promoted": mark("was a variant"),
    "undone": "undone",
    "old": mark("pruned"),
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
            version.record.render_line(tr)
            if version.record.kind in PROJECT_KINDS
            else add_score(version.record.content, version.record.score, is_rule=version.record.explicit),
            format_date(version.since),
            _describe_end(version),
            tr(AUTHOR_LABELS[version.record.provenance.asserted_by]) if version.record.provenance else "–",
        )
        for version in found
    )
    table = Table(columns=(tr("id"), tr("what"), tr("since"), "", tr("stated by")), rows=rows, wide_column=1)
    return CommandResult(table=table, data=[_make_version_data(version) for version in found])


@requires_memory
@label_foreign_memory
def list_memory_changes(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory changes`: memories learned, changed, superseded, archived and restored since a time."""
    given = parse_options(argument, switches=("--all",), valued=("--since", "--kind", "--type"))
    if given.words:
        return make_refusal(tr("/memory changes takes --since WHEN, --kind K and --all, not {text!r}", text=given.text))
    since = parse_when(given.options.get("--since", _DEFAULT_SINCE), time.time(), starts=True)
    named = given.options.get("--kind") or given.options.get("--type")
    kinds = _parse_change_kind(named)
    memory = ctx.memory
    found = [
        one
        for one in memory.store.changes()
        if one.at >= since and (not kinds or not _list_change_names(one).isdisjoint(kinds))
    ]
    data = [cast(dict[str, Any], msgspec.to_builtins(one)) for one in found]
    if not found:
        kind = tr(" of the kind {options!r}", options=named) if kinds else ""
        return CommandResult(
            text=tr("No change of memory{kind} since {date}.", kind=kind, date=format_date(since)), data=data
        )
    shown = found if "--all" in given.options else found[:MAX_CHANGES_SHOWN]
    text = tr("{changes} since {date}", changes=tr_count(len(found), "change"), date=format_date(since))
    text += tr(", {count} shown; `--all` shows all.", count=len(shown)) if len(shown) < len(found) else "."
    rows = tuple(_make_change_row(one) for one in shown)
    columns = (tr("when"), "", tr("id"), tr("what"), tr("stated by"))
    return CommandResult(text=text, table=Table(columns=columns, rows=rows, wide_column=3), data=data)


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
    return f"{ended} {format_date(version.until)[:10]}" if version.is_final else ended


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
    text = add_score(change.text, change.score, is_rule=change.is_rule)
    if change.before and change.before != change.text:
        text = tr("{text} (before: {before})", text=text, before=change.before)
    action, author = describe_action(change), tr(AUTHOR_LABELS.get(change.by, "–"))
    return format_date(change.at), action, change.id[-SHORT_ID:], text, author


def describe_action(change: MemoryChange) -> str:
    """Return what a change did, in one or two words; of an archived memory why it was archived."""
    if change.what == "archived":
        return tr(_ENDED.get(change.because, change.because))
    return tr(_ACTION_NAMES.get(change.what, change.what))


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
