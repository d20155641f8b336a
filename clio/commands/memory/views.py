"""/memory list, search, show, stats, why, history and changes: what is saved and how it came about."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clio.commands.arguments import join_arguments, parse_options, parse_text, suggest_name
from clio.commands.command import Command, CommandContext, CommandResult, Suggestion, Table, make_refusal, quote_code
from clio.commands.memory.edits import parse_scope, record_data, suggest_memories
from clio.commands.memory.memory_text import (
    KEYED_NOTE,
    LISTED_KINDS,
    PLURALS,
    STATES,
    WHO,
    ListedMemory,
    ago,
    around,
    bare_line,
    block_bar,
    date,
    entry_data,
    entry_fields,
    kind_label,
    kind_named,
    legend,
    list_entry,
    list_note,
    list_record,
    memory_table,
    names_repository,
    newest_first,
    note_data,
    remembers,
    session_words,
    short_age,
    short_id,
    short_key,
    suggest_entry,
    suggest_options,
    who_said,
)
from clio.errors import UsageError, UserError
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.retrieval.scoring import RecallHit
from clio.memory.retrieval.turn_memory import WhyItem, WhyReport
from clio.memory.store.ltm_objects import find_handle
from clio.memory.store.record import KINDS, TYPES, LtmStats, MemoryRecord, Provenance
from clio.memory.store.typed_store import Scope
from clio.memory.store.versions import DOINGS, Changed, EntryVersion, Version, changes_of, parse_when
from clio.text.formatting import format_bytes, format_count
from clio.text.scoring import describe_score
from clio.tokens import DEFAULT_RATIO

if TYPE_CHECKING:
    from clio.memory.retrieval.prompt_prefix import Injected


_ARCHIVE = ("archive", "archived")
LISTED = 40
"""Rows of a list that was not asked for whole."""
FOUND = 20


@remembers
@names_repository
def show_list(ctx: CommandContext, argument: str) -> CommandResult:
    """All memories of the project and of the user, kind by kind; or those of one kind, of one scope."""
    given = parse_options(argument, switches=("--all",), valued=("--scope",))
    if given.words and given.words[0].lower() in _ARCHIVE and len(given.words) == 1:
        return _archive(ctx, everything="--all" in given.options)
    kinds = _parse_kinds(" ".join(given.words)) if given.words else LISTED_KINDS
    scope = parse_scope(given.options.get("--scope"))
    memory = ctx.memory
    entries = [entry for entry in newest_first(memory.knowledge()) if entry.kind in kinds and scope != "user"]
    freshness = memory.freshness(tuple(entries))
    owners: list[tuple[MemoryRecord, Scope]] = [
        (record, memory.memories.scope_of(record.id)) for record in memory.memories.records()
    ]
    typed: list[tuple[MemoryRecord, Scope]] = [
        (record, owner) for record, owner in owners if record.kind in kinds and scope in (None, owner)
    ]
    typed.sort(key=lambda one: (LISTED_KINDS.index(one[0].kind), -one[0].updated, one[0].id))
    all_notes = memory.list_notes()
    notes = all_notes if KEYED_NOTE in kinds and scope != "user" else ()
    data = {
        "entries": [entry_data(entry, freshness[entry.id]) for entry in entries],
        "notes": len(all_notes),
        "memories": len(owners),
        "typed": [record_data(record, owner) for record, owner in typed],
        "keyed_notes": [note_data(note) for note in notes],
    }
    listed = [
        *(list_entry(entry, freshness[entry.id]) for entry in entries),
        *(list_record(record, owner) for record, owner in typed),
        *(list_note(note) for note in notes),
    ]
    if not listed:
        return CommandResult(text=_nothing(kinds, bool(owners or all_notes or memory.knowledge().entries)), data=data)
    shown = listed if "--all" in given.options else _first(listed)
    what = format_count(len(listed), "memory")
    again = f"/memory list{' ' + join_arguments(given.words) if given.words else ''}"
    again += f"{f' --scope {scope}' if scope else ''} --all"
    parts = [
        f"{what}, {len(shown)} shown; `{again}` shows all." if len(shown) < len(listed) else f"{what}.",
        legend((freshness[one.id] for one in shown if one.id in freshness), "".join(one.mark for one in shown)),
    ]
    text = " ".join(part for part in parts if part)
    return CommandResult(text=text, table=memory_table(shown, now=time.time()), data=data)


@remembers
@names_repository
def search(ctx: CommandContext, argument: str) -> CommandResult:
    """The memories of all kinds that answer a query, the best first. They count as used."""
    query = parse_text(argument).text.strip()
    if not query:
        return make_refusal("Search for what? Write /memory search WORDS; /session search looks in conversations")
    found = ctx.memory.retriever.search(query, layers=("L1", "L2"), limit=FOUND)
    hits = [hit for hit in found.hits if hit.source != "style"]
    ctx.memory.use([hit.id for hit in hits if hit.source == "knowledge"])
    data = {"query": query, "hits": [_hit_data(hit) for hit in hits]}
    sessions = f"`/session search {' '.join(query.replace('`', ' ').split())}` searches conversations."
    if not hits:
        return CommandResult(text=f"No memory matches {quote_code(query)}. {sessions}", data=data)
    return CommandResult(text=f"Best matches first. {sessions}", table=_hit_table(query, hits), data=data)


@remembers
@names_repository
def show(ctx: CommandContext, argument: str) -> CommandResult:
    """Everything that is known about one memory of any kind."""
    wanted = parse_options(argument).words
    if len(wanted) != 1:
        return make_refusal("Which memory? Write /memory show ID; /memory list shows the ids")
    memory = ctx.memory
    try:
        entry = memory.find(wanted[0])
    except UserError:
        if (other := _show_other(ctx, wanted[0])) is not None:
            return other
        raise
    memory.use((entry.id,))
    state = memory.freshness((entry,))[entry.id]
    others = [other for other in memory.knowledge().of(entry.kind) if _rivals(entry, other)]
    before = [former for former in memory.archived() if _rivals(entry, former) or former.id == entry.id]
    rows = [row for row in _fields(entry) if row[1]]
    rows += [("example", example) for example in entry.examples]
    rows += [("it is" if len(entry.examples) == 1 else "they are", STATES[state])] if STATES[state] else []
    rows += [
        ("sure", f"{entry.confidence:.0%}"),
        *([("times", str(entry.times))] if entry.times > 1 else []),
        *([("trust", trust)] if (trust := describe_trust(entry)) else []),
        ("said by", f"{who_said(entry)}, says the repository" if ctx.loaded.has_foreign_memory else who_said(entry)),
        *([("session", session_words(ctx, entry.provenance.session))] if entry.provenance else []),
        ("first said", date(entry.created)),
        ("confirmed", f"{date(entry.updated)} ({ago(time.time(), entry.updated)})" if entry.updated else date(0)),
    ]
    rows += [("beside it", f"{other.id}: {other.solution or other.line}") for other in others]
    rows += [("said otherwise", f"in {rival}") for rival in entry.rivals]
    rows += [("in the archive", former.line) for former in before]
    data = entry_data(entry, state) | {
        "beside": [entry_data(other) for other in others],
        "archived": [entry_data(former) for former in before],
    }
    table = Table(columns=(entry.id, entry.kind), rows=tuple(rows), wide_column=1)
    return CommandResult(table=table, data=data)


def _show_other(ctx: CommandContext, wanted: str) -> CommandResult | None:
    """Everything about a fact, event, note, preference or keyed note; None if there is none of that id or key."""
    memory, now = ctx.memory, time.time()
    with suppress(UserError, ValueError):
        if (note := memory.retrieve_note(wanted)) is not None:
            rows = (("text", note.content), ("saved", f"{date(note.timestamp)} ({ago(now, note.timestamp)})"))
            table = Table(columns=(note.key, KEYED_NOTE), rows=rows, wide_column=1)
            return CommandResult(table=table, data=note_data(note))
    try:
        record = memory.memories.find(wanted)
    except UserError:
        return None
    owner = memory.memories.scope_of(record.id)
    said = record.provenance
    fields = [
        ("text", record.content),
        ("reason", record.reason),
        ("scope", owner),
        ("score", f"{record.score:g}, {describe_score(record.score)}" if record.score is not None else ""),
        ("task types", ", ".join(record.scenarios)),
        ("keywords", ", ".join(record.keywords)),
        ("importance", f"{record.importance:g}"),
        ("sure", f"{record.confidence:.0%}"),
        ("trust", describe_trust(record)),
        ("used", f"{record.access_count} times" if record.access_count else ""),
        ("said by", who_said(record) if said else ""),
        ("session", session_words(ctx, said.session) if said else ""),
        ("first said", date(record.created)),
        ("confirmed", f"{date(record.updated)} ({ago(now, record.updated)})" if record.updated else ""),
    ]
    table = Table(columns=(short_id(record), record.kind), rows=tuple(row for row in fields if row[1]), wide_column=1)
    return CommandResult(table=table, data=record_data(record, owner))


def _archive(ctx: CommandContext, *, everything: bool) -> CommandResult:
    """What was forgotten or pruned, the newest to leave first."""
    entries = ctx.memory.archived()
    data = {"archived": [entry_data(entry) for entry in entries]}
    if not entries:
        return CommandResult(text="The archive is empty: nothing was forgotten or pruned.", data=data)
    shown = entries if everything else entries[:LISTED]
    rest = f", {len(shown)} shown; `/memory list archive --all` shows all" if len(shown) < len(entries) else ""
    text = (
        f"{format_count(len(entries), 'memory')} in the archive{rest}. Saved again in the same words, a "
        "memory is restored."
    )
    return CommandResult(
        text=text, table=memory_table([list_entry(entry) for entry in shown], now=time.time()), data=data
    )


def _first(listed: Sequence[ListedMemory]) -> list[ListedMemory]:
    """Return so many that a list stays readable: the same number of each kind if there are too many."""
    if len(listed) <= LISTED:
        return list(listed)
    by_kind: dict[str, list[ListedMemory]] = {}
    for one in listed:
        by_kind.setdefault(one.kind, []).append(one)
    each = LISTED // len(by_kind)
    return [one for group in by_kind.values() for one in group[:each]]


def _parse_kinds(word: str) -> tuple[str, ...]:
    """Return the kinds a word names: "facts" are project facts and facts, "notes" those with a key too. Raises
    UsageError.
    """
    wanted = word.strip().lower().replace("-", " ").replace("_", " ")
    for names, kinds in (
        (("fact", "facts"), ("discovery", "fact")),
        (("project fact", "project facts"), ("discovery",)),
        (("note", "notes"), ("note", KEYED_NOTE)),
        ((KEYED_NOTE, "keyed notes"), (KEYED_NOTE,)),
        (("event", "events"), ("event",)),
        (("preference", "preferences"), ("preference",)),
    ):
        if wanted in names:
            return kinds
    try:
        return (kind_named(word),)
    except UsageError as error:
        raise UsageError(f"There is no kind {word!r} of memory; {suggest_name(wanted, LISTED_KINDS)}") from error


def _nothing(kinds: Sequence[str], has_others: bool) -> str:
    """Return the sentence for an empty list. has_others: memories of other kinds or scopes exist."""
    if len(kinds) == len(LISTED_KINDS):
        return (
            "No memories of that scope." if has_others else "No memories yet; `/memory add TEXT` saves the first one."
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
    return f"No {kind_label(kinds[0])} yet; `{command}` saves one."


def _hit_table(query: str, hits: Sequence[RecallHit]) -> Table:
    now = time.time()
    rows = tuple((_shown_id(hit), hit.kind, around(hit.text, query), short_age(now, hit.when)) for hit in hits)
    return Table(columns=("id", "kind", "what", "age"), rows=rows, wide_column=2)


def _shown_id(hit: RecallHit) -> str:
    """Return the id as `/memory show` takes it."""
    match hit.source:
        case "note":
            return short_key(hit.id)
        case "memory" | "preference":
            return hit.id[-_ID_CHARS:]
        case _:
            return hit.id


def _hit_data(hit: RecallHit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "id": "" if hit.source == "note" else hit.id,
        "key": hit.id if hit.source == "note" else "",
        "text": hit.text,
        "score": hit.score,
        "timestamp": hit.when,
    }


def _fields(entry: MemoryRecord) -> list[tuple[str, str]]:
    match entry.kind:
        case "solution":
            return [("error", entry.content), ("solution", entry.solution)]
        case "failure":
            more = [("prevention", other) for other in entry.also]
            return [("failed", entry.content), ("impact", entry.impact), ("prevention", entry.solution), *more]
        case "workflow":
            steps = [(f"step {number}", step) for number, step in enumerate(entry.steps, 1)]
            rate = "" if entry.success_rate is None else f"{entry.success_rate:.0%} of the times"
            named = "" if entry.content == " → ".join(entry.steps) else entry.content
            return [("name", named), *steps, ("went well", rate)]
        case "rule":
            return [("rule", entry.content), ("holds for", entry.context if entry.context not in ("", "*") else "all")]
        case _:
            return [("text", entry.content)]


def _rivals(entry: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether the other gives another answer to the same error."""
    if entry.kind != "solution" or other.kind != "solution" or other.id == entry.id:
        return False
    return _plain(entry.content) == _plain(other.content)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


BAR_CELLS = 9
"""So that all columns of the statistics fit forty columns of a terminal."""
_STATES = {"fresh": "unchanged", "drifted": "changed", "gone": "gone", "unbound": "none named"}


@remembers
@names_repository
def stats(ctx: CommandContext, argument: str) -> CommandResult:
    """The memories of all kinds in numbers and small bars; age and confidence are those of project knowledge."""
    if argument:
        return make_refusal("/memory stats takes nothing")
    found = ctx.memory.ltm_stats()
    others = Counter(record.kind for record in ctx.memory.memories.records())
    notes = len(ctx.memory.list_notes())
    counts: dict[str, int] = {**found.counts, **{kind: others[kind] for kind in TYPES}, KEYED_NOTE: notes}
    data = msgspec.to_builtins(found) | {"notes": notes, "all_counts": counts}
    archive = f" and {found.archived:,} in the archive ({format_bytes(found.archive_bytes)})" if found.archived else ""
    text = f"{format_count(sum(counts.values()), 'memory')}{archive}."
    if found.newest:
        now = time.time()
        text += f" Last confirmed {ago(now, found.newest)}, the oldest {ago(now, found.oldest)}."
    if found.last_pruned:
        text += f" Last pruned {date(found.last_pruned)}."
    rows = tuple(_stat_rows(found, counts)) if any(counts.values()) else ()
    table = Table(columns=("", "", "", ""), rows=rows, wide_column=3) if rows else None
    return CommandResult(text=text, table=table, data=data)


@remembers
def why(ctx: CommandContext, argument: str) -> CommandResult:
    """What memory gave the model in the last turn, why, and what its limits left out."""
    if argument:
        return make_refusal("/memory why takes no argument; it shows the memories used in the last turn")
    report = ctx.memory.last_turn()
    if report is not None:
        return _last_turn(ctx, report)
    given = ctx.memory.why()
    begins = "The next session would begin with:\n\n" if not ctx.session.id else ""
    if begins and not given:  # outside of a conversation there is no turn to tell of
        ctx.memory.prefix_fragments()
        given = ctx.memory.why()
    data = [_injected_data(one) for one in given]
    if not given:
        off = "" if ctx.config.ltm else " Project knowledge is off (--no-ltm)."
        text = "A new session would begin without memories." if begins else "No memories were used so far."
        return CommandResult(text=text + off, data=data)
    now = time.time()
    rows = tuple(
        (
            item.entry.id,
            bare_line(item.entry),
            item.reason,
            short_age(now, item.entry.updated),
            f"{item.tokens:,}",
        )
        for one in given
        for item in one.items
    )
    table = Table(columns=("id", "what", "why", "age", "tokens"), rows=rows, wide_column=1, is_truncated=True)
    return CommandResult(text=begins + "\n".join(f"- {_account(ctx, one)}" for one in given), table=table, data=data)


def _last_turn(ctx: CommandContext, report: WhyReport) -> CommandResult:
    """Each thing the last turn was given: from where, why, by which signals, at what cost; and what was cut.

    At most one screen, what is new in this turn before the block of the system prompt; `--json` has all of it.
    """
    data = msgspec.to_builtins(report)
    asked = f"“{report.question}”" if report.question else "the last turn"
    work = f" ({report.scenario})" if report.scenario else ""
    if not report.items:
        return CommandResult(text=f"No memories were used for {quote_code(asked)}{work}.", data=data)
    window = ctx.window
    ratio = window.ratio if window else DEFAULT_RATIO
    inside = sorted((item for item in report.items if item.included), key=lambda item: item.source == "knowledge")
    cut = [item for item in report.items if not item.included]
    left = sum(item.count for item in cut)
    text = (
        f"For {quote_code(asked)}{work}: {format_count(len(inside), 'item')}, about {_tokens(inside, ratio):,} tokens"
    )
    text += f"; {left:,} left out by limits." if left else "."
    prompt = _prompt_tokens(ctx)
    if prompt:
        text += f" Memory in the system prompt, with its headings: {prompt:,} tokens, as `/context` shows."
    shown, cut_shown = inside[:_MAX_INSIDE], cut[:_MAX_CUT]
    rows = [_why_row(item, report.at, ratio) for item in (*shown, *cut_shown)]
    rest = inside[_MAX_INSIDE:] + cut[_MAX_CUT:]
    if rest:
        more = f"{sum(item.count for item in rest):,} more; clio memory why --json has all"
        rows.append(("", "", more, "", "", f"{_tokens([item for item in rest if item.included], ratio):,}"))
    return CommandResult(
        text=text,
        table=Table(columns=("from", "id", "what · why", "score", "age", "tokens"), rows=tuple(rows), wide_column=2),
        data=data,
    )


_MAX_INSIDE, _MAX_CUT = 14, 4
"""Rows for what was given and for what was cut: together they fit a terminal of 24 lines."""


def _tokens(items: Sequence[WhyItem], ratio: float) -> int:
    """Return the tokens of the items by the model's token ratio; they were counted at the default one."""
    return math.ceil(sum(item.tokens for item in items) * DEFAULT_RATIO / ratio)


def _prompt_tokens(ctx: CommandContext) -> int:
    """Return the tokens that `/context` shows for memory in the system prompt; 0 if no window is open."""
    if ctx.window is None:
        return 0
    sources = {one.fragment.source for one in ctx.memory.why()} | {str(ctx.memory.memories.user.path)}
    return sum(part.tokens for part in ctx.window.measure_usage().parts if part.source in sources)


def _why_row(item: WhyItem, at: float, ratio: float) -> tuple[str, ...]:
    return (
        item.source if item.included else f"{item.source}, cut",
        item.id[-_ID_CHARS:] if item.source in ("memory", "preference") else item.id[:_ID_CHARS],
        f"{' '.join(item.text.split())} · {_because(item)}",
        _score_of(item),
        short_age(at, at - item.age_s) if item.age_s is not None else "",
        f"{_tokens([item], ratio):,}" if item.tokens else "",
    )


_ID_CHARS = 8
_SCORES = ("rank", "weight", "worth", "score")
"""What an item was ordered by: a recalled memory, a preference, an entry of the project memory, a hard limit."""
_SHOWN_SIGNALS = ("evidence", "strength", "distance", "seed_score")
"""The signals a person reads; `--json` has all of them."""


def _score_of(item: WhyItem) -> str:
    return next((f"{item.signals[name]:.2g}" for name in _SCORES if name in item.signals), "")


def _because(item: WhyItem) -> str:
    shown = {name: value for name, value in item.signals.items() if name in _SHOWN_SIGNALS}
    unsaid = {name: value for name, value in shown.items() if f"{name} " not in item.reason}
    signals = ", ".join(f"{name} {value:.3g}" for name, value in unsaid.items())
    return f"{item.reason} ({signals})" if signals else item.reason


def _stat_rows(found: LtmStats, counts: Mapping[str, int]) -> Iterable[tuple[str, str, str, str]]:
    """Yield group, label, number, bar; the bars of one group are drawn to one scale."""
    fifths = [(f"{20 * place}–{20 * place + 20}%", bar.count) for place, bar in enumerate(found.confidences)]
    ages = [(bar.label.removeprefix("within "), bar.count) for bar in found.ages]
    groups: list[tuple[str, list[tuple[str, int]]]] = [
        ("kind", [(kind_label(kind), number) for kind, number in counts.items() if number]),
        ("age up to", [(label, number) for label, number in ages if number or label != "undated"]),
        ("sure", fifths),
        ("examples", [(_STATES[state], number) for state, number in found.freshness.items() if number]),
        ("said by", [(WHO.get(who, who), number) for who, number in found.asserted.items()]),
    ]
    if not found.total:
        groups = groups[:1]
    for place, (group, bars) in enumerate(groups):
        if place:
            yield ("", "", "", "")
        most = max((number for _, number in bars), default=0)
        for line, (label, number) in enumerate(bars):
            yield ("" if line else group, label, f"{number:,}", block_bar(number / max(most, 1), BAR_CELLS))


def _account(ctx: CommandContext, one: "Injected") -> str:
    source = one.fragment.source.removeprefix(f"{ctx.loaded.project}/")
    used = sum(item.tokens for item in one.items)
    left = f"; {one.left_out:,} left out" if one.left_out else ""
    cap = f"{used:,} of at most {one.fragment.cap_tokens:,} tokens"
    return f"{quote_code(one.fragment.name)} from {quote_code(source)}: {one.fragment.reason}, {cap}{left}."


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


SHOWN = 60
_SINCE = "30d"
_TAIL = 8
_ENDED = {
    "superseded": "replaced",
    "changed": "changed",
    "edited": "edited",
    "merged": "said again",
    "reinforced": "rated again",
    "promoted": "was a variant",
    "undone": "undone",
    "old": "pruned",
    "uncertain": "pruned",
}


@remembers
@names_repository
def history(ctx: CommandContext, argument: str) -> CommandResult:
    """Everything a memory or an entry ever said, with what it replaced and what replaced it, the newest first."""
    words = parse_options(argument).words
    if len(words) != 1:
        return make_refusal("Which memory? Write /memory history ID; /memory recall and /memory list show the ids")
    if words[0][1:2] == "-":
        return _entry_history(ctx, words[0])
    found = _newest_first(ctx.memory.memories.versions(words[0]))
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
def changes(ctx: CommandContext, argument: str) -> CommandResult:
    """What was learned, changed, superseded, archived and restored since a time, the newest first."""
    given = parse_options(argument, switches=("--all",), valued=("--since", "--kind"))
    if given.words:
        return make_refusal(f"/memory changes takes only options, not {given.text!r}; see /help memory")
    since = parse_when(given.options.get("--since", _SINCE), time.time(), starts=True)
    wanted = _wanted(given.options.get("--kind"))
    memory = ctx.memory
    told = changes_of(memory.memories.versions(), memory.knowledge_versions())
    found = [one for one in told if one.at >= since and wanted in ("", one.what, one.kind)]
    data = [_change_data(one) for one in found]
    if not found:
        of = f" of {wanted!r}" if wanted else ""
        return CommandResult(text=f"Nothing{of} was learned or changed since {date(since)}.", data=data)
    shown = found if "--all" in given.options else found[:SHOWN]
    text = f"{format_count(len(found), 'change')} since {date(since)}"
    text += f", {len(shown)} shown; `--all` shows all." if len(shown) < len(found) else "."
    rows = tuple(_change_row(one) for one in shown)
    columns = ("when", "", "id", "what", "said by")
    return CommandResult(text=text, table=Table(columns=columns, rows=rows, wide_column=3), data=data)


def _entry_history(ctx: CommandContext, typed: str) -> CommandResult:
    """Everything an entry of the project knowledge ever said; of an archived one too."""
    versions = ctx.memory.knowledge_versions()
    handle = find_handle(typed, dict.fromkeys(version.entry.id for version in versions))
    found = _newest_first([version for version in versions if version.entry.id == handle])
    rows = tuple(
        (handle, version.entry.line, date(version.since), _fate(version), _who(version.entry.provenance))
        for version in found
    )
    data = [_ending(version) | {"entry": entry_fields(version.entry)} for version in found]
    return CommandResult(table=_table(rows), data=data)


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table(columns=("id", "what", "since", "", "said by"), rows=rows, wide_column=1)


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
        raise UsageError(f"There is no kind {name!r} of changes; {suggest_name(wanted, known)}")
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


def _suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    yield from suggest_memories(ctx, argument)
    yield from suggest_entry(ctx, argument)


def _suggest_options(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    before = argument.split(" ")[:-1]
    if before[-1:] == ["--kind"]:
        return (Suggestion(text=name) for name in (*DOINGS, *TYPES, *KINDS))
    return _OPTIONS(ctx, argument)


_OPTIONS = suggest_options(
    ("--since", 'a day such as 2026-05-01, or so long ago: 30d, 2w, "last month"'),
    ("--kind", "only one sort: learned, changed, archived, …, fact, preference, discovery, …"),
    ("--all", f"more than {SHOWN}"),
)

TIME_ROWS: tuple[Command, ...] = (
    Command(
        name="history",
        argument="ID",
        summary="the versions of a memory",
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
