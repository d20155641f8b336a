"""/recall, /memory search and /memory why: search memory, and explain what the last turn was given."""

import math
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import (
    ParsedArguments,
    parse_count,
    parse_options,
    suggest_name,
)
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import (
    format_date,
    format_memory_line,
    format_short_age,
    label_foreign_memory,
    make_project_memory_data,
    requires_memory,
    shorten_key,
    suggest_options,
)
from clio.commands.session_commands import find_snippet
from clio.errors import ClioError, UsageError
from clio.memory.preferences.preferences import HARD_LIMITS
from clio.memory.retrieval.retriever import (
    DEFAULT_LIMIT,
    WEAK_SHARE,
    RecallAnswer,
    RecallHit,
    leave_out_futile_lookups,
)
from clio.memory.retrieval.scoring import FUSIONS, LAYERS, Fusion, Layer, WhyItem, WhyReport
from clio.memory.store.record import (
    SHORT_ID,
    get_kind_label,
)
from clio.text.formatting import truncate
from clio.text.translation import mark, tr, tr_count
from clio.text.vocabulary import parse_question_words, stem_word, tokenize
from clio.time_expressions import parse_when
from clio.tokens import DEFAULT_RATIO

if TYPE_CHECKING:
    from clio.memory.retrieval.prompt_prefix import Injected
    from clio.sessions.state import Trim


_TEXT_CHARS, _FOUND_CHARS = 130, 160

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

MAX_FOUND = 20
"""Results of a search."""


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
    data = {"query": query, "hits": [_make_found_data(hit) for hit in hits]}
    sessions = tr("`/session search {query}` searches conversations.", query=" ".join(query.replace("`", " ").split()))
    if not hits:
        return CommandResult(
            text=tr("No memory matches {query}. {sessions}", query=quote_code(query), sessions=sessions), data=data
        )
    return CommandResult(
        text=tr("Best matches first. {sessions}", sessions=sessions), table=_make_found_table(query, hits), data=data
    )


def _make_found_table(query: str, hits: Sequence[RecallHit]) -> Table:
    now = time.time()
    rows = tuple(
        (
            _get_shown_id(hit),
            tr(get_kind_label(hit.kind)),
            find_snippet(hit.text, query, _FOUND_CHARS),
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


def _make_found_data(hit: RecallHit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "id": "" if hit.source == "note" else hit.id,
        "key": hit.id if hit.source == "note" else "",
        "text": hit.text,
        "score": hit.score,
        "timestamp": hit.when,
    }


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

    Shows at most one screen; what matched the message comes before preferences and the system prompt. `--json` shows
    all of them.
    """
    data = msgspec.to_builtins(report)
    for one in data["items"]:
        del one["phrases"]
    asked = f"“{report.question}”" if report.question else tr("the last turn")
    task_type = tr(" (task type: {name})", name=report.scenario) if report.scenario else ""
    if not report.items:
        return CommandResult(
            text=tr("No memories were used for {asked}{task_type}.", asked=quote_code(asked), task_type=task_type),
            data=data,
        )
    ratio = _get_token_ratio(ctx, report.session)
    used = sorted((item for item in report.items if item.included), key=_get_source_rank)
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
    columns = (
        (tr("from"), tr("id"), tr("what"), tr("why"), tr("score"), tr("tokens"))
        if is_brief
        else (tr("from"), tr("id"), tr("what · why"), tr("score"), tr("age"), tr("tokens"))
    )
    table = Table(columns=columns, rows=tuple(rows), wide_column=2, is_truncated=is_brief)
    return CommandResult(text=text, table=table, data=data)


# Rows of memories used and of memories cut by limits: one line each, they fit a terminal of 24 lines.
_MAX_USED_ROWS, _MAX_CUT_ROWS = 12, 4

_MAX_DETAILED_ROWS = 6
"""Up to this number, each memory has several lines with the whole reason; if there are more, one line each."""

_BRIEF_REASON_CHARS = 20


def _get_token_ratio(ctx: CommandContext, session_id: str) -> float:
    """Return the token ratio of the model that answered; outside of a conversation the one stored in its session."""
    if ctx.window:
        return ctx.window.ratio
    try:
        return ctx.memory.earlier_session(session_id).token_ratio or DEFAULT_RATIO
    except (ClioError, OSError):
        return DEFAULT_RATIO


def _get_source_rank(item: WhyItem) -> int:
    return {"preference": 1, "knowledge": 2}.get(item.source, 0)


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
    state = "" if item.included else tr(", in request") if item.is_redundant else tr(", cut")
    return (
        tr(_SOURCE_NAMES.get(item.source, item.source)) + state,
        _shorten_item_id(item),
        f"{_get_text(item)} · {_format_reason(item)}",
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
    # Without what another column shows: the score of a project memory is its confidence.
    confidence = tr("confidence {confidence:.2f}, stated once", confidence=item.signals.get("confidence", 0.0))
    reason = item.told.removeprefix(f"{confidence.partition(', ')[0]}, ")
    reason = truncate(re.split("[;:]", reason)[0], _BRIEF_REASON_CHARS)
    return source, id, _get_text(item), reason, score, tokens


def _get_text(item: WhyItem) -> str:
    return " ".join(item.text.split()) if item.id else tr_count(item.count, "more memory", "more memories")


_SOURCE_NAMES = {"knowledge": mark("project"), "trimmed": mark("archived turn")}
"""How the table names the sources of `WhyItem`; knowledge is the project memory in the system prompt."""

_SCORES = ("rank", "weight", "confidence")
"""The signals shown as score of recalled memories, preferences and project memories, in this order."""

_SHOWN_SIGNALS = (mark("evidence"), mark("strength"), mark("distance"))
"""The signals shown in the table; `--json` has all of them."""


def _format_reason(item: WhyItem) -> str:
    """Return the reason, followed by the signals that it does not mention."""
    shown = {name: value for name, value in item.signals.items() if name in _SHOWN_SIGNALS}
    missing = {name: value for name, value in shown.items() if f"{name} " not in item.reason}
    signals = ", ".join(f"{tr(name)} {value:.3g}" for name, value in missing.items())
    return f"{item.told} ({signals})" if signals else item.told


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
