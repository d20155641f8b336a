"""What everything that is remembered answered, as a person reads it and in JSON's own types."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clio.commands.markdown_code import code
from clio.commands.memory.words import SHORT_ID, short_age, short_key
from clio.commands.sessions.search import around
from clio.commands.tables import Table
from clio.memory.unified.hits import UnifiedAnswer, UnifiedHit

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
        text = f"[{title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1].rstrip() + '…'}] {text}"
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
