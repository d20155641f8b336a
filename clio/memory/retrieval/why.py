"""Why a memory is in a request or among the results of a search, and the report of a turn for `/memory why`."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from clio.memory.retrieval.prompt_prefix import CORROBORATED, Injected
from clio.memory.retrieval.scoring import (
    ONLY_ASKS,
    Scored,
    compute_recency,
    compute_strength_weight,
    get_tier,
    is_near,
)
from clio.memory.store.record import MemoryRecord
from clio.text.formatting import format_count, format_stored_time
from clio.text.scoring import DAY_S
from clio.tokens import DEFAULT_RATIO, text_units

_MAX_SHOWN_WORDS = 6
_CONFIRMED = "confirmed more than once"
_SHOW_DATE_AFTER_S = 60 * DAY_S
"""Age from which a date is shown instead of a number of days."""


class Reason(Struct, frozen=True):
    """One factor of a score: its name, its value, and a short description for the user."""

    name: str
    value: float
    words: str


def list_reasons(item: Scored) -> Iterator[Reason]:
    """Yield all factors of a score."""
    candidate = item.candidate
    yield Reason("words", round(item.fit.share, 3), describe_words(item))
    if candidate.engine is not None:
        yield Reason("context", round(candidate.engine.share, 3), "by its context")
        if title := round(candidate.engine.title, 2):
            yield Reason("title", title, "session title matches too")
    if item.meaning is not None:
        near = "same" if item.meaning > 0.75 else "close in" if item.meaning > 0.45 else "distant in"
        yield Reason("meaning", round(item.meaning, 3), f"{near} meaning")
    if candidate.asks:
        yield Reason("asks", ONLY_ASKS, "only a question")
    yield Reason("recency", round(compute_recency(candidate, item.now), 3), _describe_age(item))
    tier, factor = get_tier(candidate)
    yield Reason("tier", factor, tier)
    if candidate.strength is not None:
        weight = compute_strength_weight(candidate.strength)
        yield Reason("strength", round(weight, 3), f"strength {candidate.strength:.2f}")
    if candidate.is_corroborated:
        yield Reason("corroborated", CORROBORATED, candidate.trust or _CONFIRMED)
    if item.rank is not None:
        yield Reason("rank", round(item.rank, 4), "by rank within each source")
    if item.also:
        first = item.also[0].title or item.also[0].session[:8]
        more = f" and in {len(item.also) - 1} more" if len(item.also) > 1 else ""
        yield Reason("same", float(len(item.also)), f"also in “{first}”{more}")


def collect_signals(item: Scored) -> dict[str, float]:
    """Return all numbers of a score and of its candidate, by name."""
    candidate = item.candidate
    if item.because:
        return dict(candidate.signals)
    found = {"hits": float(len(item.fit.found.places)), "evidence": round(item.evidence, 3)}
    found |= {reason.name: reason.value for reason in list_reasons(item) if reason.name != "same"}
    if candidate.strength is not None:
        found["strength"] = round(candidate.strength, 3)
    if candidate.distance is not None:
        found["distance"] = round(candidate.distance, 3)
    return dict(candidate.signals) | found


def describe_match(item: Scored) -> str:
    """Return why something is recalled as a short phrase: matches staging, port; importance 0.8, 12 days old."""
    if item.because:
        return item.because
    candidate = item.candidate
    reasons = [describe_words(item)] if item.fit.found.hits or item.fit.found.alias else []
    if is_near(candidate):
        reasons.append("close in meaning")
    importance = candidate.signals.get("importance")
    about = [f"importance {importance:g}"] if importance is not None else []
    about += [_describe_age(item)] if candidate.when else []
    if candidate.trust or candidate.is_corroborated:
        about.append(candidate.trust or _CONFIRMED)
    return "; ".join([*reasons, *([", ".join(about)] if about else [])])


def describe_words(item: Scored) -> str:
    """Return which words of the query the text contains, as a phrase."""
    found = item.fit.found
    if item.fit.exact:
        return "matches word for word"
    if found.alias:
        others = [hit for hit in found.hits if hit not in found.alias.casefold().split()]
        return f"named {found.alias}" + (f", matches {', '.join(others[:_MAX_SHOWN_WORDS])}" if others else "")
    more = f" and {len(found.hits) - _MAX_SHOWN_WORDS} more" if len(found.hits) > _MAX_SHOWN_WORDS else ""
    return f"matches {', '.join(found.hits[:_MAX_SHOWN_WORDS])}{more}" if found.hits else "no word matches"


def _describe_age(item: Scored) -> str:
    when = item.candidate.when
    if not when:
        return "undated"
    age = item.now - when
    if age > _SHOW_DATE_AFTER_S:
        return f"from {format_stored_time('%Y-%m-%d', when)}"
    days = int(max(age, 0.0) // DAY_S)
    return "from today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"


class WhyItem(Struct, frozen=True, kw_only=True):
    """One memory that was given to the model, or was left out.

    Attributes:
        source: its store.
        age_s: seconds since it was stated; None if unknown.
        tokens: its size in tokens.
        included: whether the model was given it.
        is_redundant: it was left out because the request contains its text already, not because of a limit.
        count: the number of memories it stands for, if they are too many to be listed.
    """

    source: str
    id: str
    text: str
    reason: str
    signals: dict[str, float] = {}
    age_s: float | None = None
    tokens: int = 0
    included: bool = True
    is_redundant: bool = False
    count: int = 1


class WhyReport(Struct, frozen=True, kw_only=True):
    """The report of one turn. at: seconds since the epoch. question: the beginning of the user's text."""

    session: str = ""
    at: float = 0.0
    question: str = ""
    scenario: str | None = None
    items: tuple[WhyItem, ...] = ()


State = Literal["given", "given before", "cut", "in request"]
"""What became of a memory that fits: given to the model now or earlier, over a limit, or in the request already."""
_NOTES: dict[State, str] = {"given before": "; already given", "in request": "; already in the request"}


def report_recalled(item: Scored, state: State, tokens: int = 0) -> WhyItem:
    """Return the account of a recalled memory. tokens: its size as it was given; 0 to estimate it from its text."""
    candidate = item.candidate
    return WhyItem(
        source=candidate.source,
        id=candidate.id,
        text=candidate.text,
        reason=describe_match(item) + _NOTES.get(state, ""),
        signals=collect_signals(item) | {"rank": item.score},
        age_s=max(item.now - candidate.when, 0.0) if candidate.when else None,
        tokens=tokens or estimate_tokens(candidate.text),
        included=state.startswith("given"),
        is_redundant=state == "in request",
    )


def report_preference(record: MemoryRecord, now: float, reason: str, weight: float | None = None) -> WhyItem:
    """Return the account of a preference or hard limit. weight: its weight for the task type; None for a limit."""
    return WhyItem(
        source="preference",
        id=record.id,
        text=record.content,
        reason=reason,
        signals={"score": record.score or 0.0} | ({} if weight is None else {"weight": round(weight, 3)}),
        age_s=max(now - record.seen, 0.0),
        tokens=estimate_tokens(record.content),
    )


def report_project_memory(blocks: Iterable[Injected], now: float) -> Iterator[WhyItem]:
    """Yield the account of each memory in the blocks, and one for those that the limits of a block left out."""
    for block in blocks:
        for item in block.items:
            yield WhyItem(
                source="knowledge",
                id=item.entry.id,
                text=item.entry.line,
                reason=item.reason,
                signals={"worth": item.score, "confidence": item.entry.confidence},
                age_s=max(now - item.entry.updated, 0.0) if item.entry.updated else None,
                tokens=item.tokens,
            )
        if block.left_out:
            yield WhyItem(
                source="knowledge",
                id="",
                text=format_count(block.left_out, "more memory"),
                reason="for another folder, or over the size limit of the block",
                included=False,
                count=block.left_out,
            )


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text at the default ratio, rounded up."""
    return math.ceil(text_units(text) / DEFAULT_RATIO)
