"""/recall: one question to everything that is remembered, and its answers as text and as JSON."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clio.commands.arguments import Given, count_of, nearest, read
from clio.commands.command import Command, CommandResult, Shell, Suggestion, Table, code, refuse
from clio.commands.memory.memory_text import SHORT_ID, date, names_repository, remembers, short_age, short_key
from clio.commands.session_commands import around
from clio.errors import UsageError
from clio.memory.temporal.when import parse_when
from clio.memory.unified.hits import DEFAULT_LIMIT, FUSIONS, LAYERS, Fusion, Layer, UnifiedAnswer, UnifiedHit
from clio.text.formatting import truncate

if TYPE_CHECKING:
    from clio.sessions.state import Trim


_TEXT_CHARS = 130
_TITLE_CHARS = 30
_SESSION_ID = 13
"""Characters of a session's id: the time it began, to the millisecond."""
_FROM = {"user": "you said", "assistant": "clio said", "tool": "a tool"}


def hit_table(hits: Sequence[UnifiedHit], query: str, now: float, *, why: bool) -> Table:
    """The answers as a person looks them over; `now` in seconds since the epoch. why: each with all its reasons."""
    rows = tuple(
        (origin(hit), _what(hit, query) + (f" – {reasons_text(hit)}" if why else ""), *_ends(hit, now)) for hit in hits
    )
    return Table(columns=("from", "what", "age", "id"), rows=rows, wide=1)


def origin(hit: UnifiedHit) -> str:
    """What it is, in one or two words."""
    return _FROM.get(hit.kind, hit.kind) if hit.layer == "L0" else hit.kind.replace("limit", "hard limit")


def reasons_text(hit: UnifiedHit) -> str:
    """All signals of a score with their numbers, in the order they were counted."""
    return f"{hit.score:.2f}: " + ", ".join(f"{reason.words} ({reason.value:g})" for reason in hit.reasons)


def first_because(hit: UnifiedHit) -> str:
    """Why the first one is first, in a few words."""
    told = [reason.words for reason in hit.reasons if reason.name in ("words", "title", "meaning", "recency", "same")]
    return f"Best first; the first one {', '.join(told)}."


def opening(hit: UnifiedHit, trims: "Iterable[Trim]") -> str:
    """The command that shows it whole; empty where there is none. trims: of the running session."""
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


def answer_data(query: str, answer: UnifiedAnswer, trims: "Sequence[Trim]") -> dict[str, Any]:
    """The answer in JSON's own types; times in seconds since the epoch. trims: of the running session."""
    return {
        "query": query,
        "hits": [_data(hit, opening(hit, trims)) for hit in answer.hits],
        "more": answer.more,
        "left_out": list(answer.left_out),
        "ms": dict(answer.ms),
    }


def _data(hit: UnifiedHit, command: str) -> dict[str, Any]:
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


def _what(hit: UnifiedHit, query: str) -> str:
    text = around(hit.text, query, _TEXT_CHARS)
    title = " ".join(hit.where.title.split()) if hit.where and hit.source == "session" else ""
    if title and not " ".join(hit.text.split()).startswith(title.rstrip("…")[:_TITLE_CHARS]):
        text = f"[{truncate(title, _TITLE_CHARS)}] {text}"
    return f"{text} ({hit.label})" if hit.label else text


def _ends(hit: UnifiedHit, now: float) -> tuple[str, str]:
    match hit.source:
        case "memory" | "preference":
            id = hit.id[-SHORT_ID:]
        case "session":
            id = _session(hit)[:_SESSION_ID]
        case "document":
            id = hit.id[-24:]
        case _:
            id = short_key(hit.id)[:16]
    return short_age(now, hit.when), id


def _session(hit: UnifiedHit) -> str:
    return hit.where.session if hit.where else ""


def _word(key: str) -> str:
    return f'"{key}"' if any(character.isspace() for character in key) else key


def missing(answer: UnifiedAnswer) -> str:
    """What the answer lacks, and how many more there are."""
    parts = [f"{answer.more:,} more, see --limit" if answer.more else "", *answer.left_out]
    told = "; ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def nothing(query: str) -> str:
    """The sentence where nothing has the words."""
    return f"Nothing that is remembered says {code(query)}."


_VALUED = ("--layer", "--at", "--limit", "--fusion")
_NAMED_LAYERS: dict[str, Layer] = {
    "sessions": "L0",
    "said": "L0",
    "memories": "L1",
    "knowledge": "L1",
    "preferences": "L2",
    "styles": "L2",
}


@remembers
@names_repository
def recall(shell: Shell, argument: str) -> CommandResult:
    """Sessions, documents, memories, project knowledge, notes, preferences and styles in one list, the best first."""
    given = read(argument, switches=("--why",), valued=_VALUED)
    query = given.typed if given.typed.startswith('"') else given.text  # double quotes: the words stand together
    if not query.strip():
        return refuse("Recall what? Write /recall with a few words; --layer, --at and --why narrow and explain")
    now = time.time()
    at = parse_when(given.options["--at"], now) if "--at" in given.options else None
    answer = shell.memory.unified.recall(
        query,
        layers=_layers(given),
        at=at,
        limit=count_of(given.options["--limit"], "--limit") if "--limit" in given.options else DEFAULT_LIMIT,
        fusion=_fusion(given),
        current=shell.session.id or None,
    )
    trims = shell.session.trims
    data = answer_data(query, answer, trims) | {"at": at}
    then = f"As of {date(at)}. " if at is not None else ""
    if not answer.hits:
        return CommandResult(text=f"{then}{nothing(query)}{missing(answer)}", data=data)
    best = answer.hits[0]
    command = opening(best, trims)
    way = f" Open it: {code(command)}." if command else ""
    return CommandResult(
        text=f"{then}{first_because(best)}{way}{missing(answer)}",
        table=hit_table(answer.hits, query, now, why="--why" in given.options),
        data=data,
    )


def suggest(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Options, and what may stand behind one of them."""
    before = argument.split(" ")[:-1]
    match before[-1] if before else "":
        case "--layer":
            yield Suggestion(text="L0", note="what was said: sessions, trimmed turns, documents")
            yield Suggestion(text="L1", note="memories, project knowledge, notes")
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
    "--layer": "L0 what was said, L1 what was kept, L2 what you like",
    "--at": "as of a date",
    "--limit": "so many at most",
    "--fusion": "convex, or rrf",
    "--why": "each with all its reasons",
}


def _layers(given: Given) -> tuple[Layer, ...]:
    """The layers asked for, commas between. Raises UsageError for one there is not."""
    said = [part.strip() for part in given.options.get("--layer", "").split(",") if part.strip()]
    names: dict[str, Layer] = {**_NAMED_LAYERS, "l0": "L0", "l1": "L1", "l2": "L2"}
    for part in said:
        if part.casefold() not in names:
            raise UsageError(f"There is no layer {part!r}; {nearest(part, [*LAYERS, *_NAMED_LAYERS])}")
    return tuple(dict.fromkeys(names[part.casefold()] for part in said)) or LAYERS


def _fusion(given: Given) -> Fusion:
    name = given.options.get("--fusion", "convex").casefold()
    if name not in FUSIONS:
        raise UsageError(f"--fusion is convex or rrf, not {name!r}")
    return name


RECALL: tuple[Command, ...] = (
    Command(
        name="recall",
        argument="WORDS [--layer L] [--at DATE] [--limit N] [--fusion F] [--why]",
        summary="everything that is remembered, in one list: what was said, kept, liked",
        handler=recall,
        suggest_word=suggest,
    ),
)
