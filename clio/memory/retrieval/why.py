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
from clio.text.formatting import format_stored_time
from clio.text.scoring import DAY_S
from clio.text.translation import mark, tr, tr_count
from clio.tokens import DEFAULT_RATIO, text_units

_MAX_SHOWN_WORDS = 6
_CONFIRMED = mark("confirmed more than once")
_SHOW_DATE_AFTER_S = 60 * DAY_S
"""Age from which a date is shown instead of a number of days."""


class Reason(Struct, frozen=True):
    """One factor of a score: its name, its value, and a short description, of which `words` is the English text."""

    name: str
    value: float
    text: str
    values: dict[str, object] = {}

    @property
    def words(self) -> str:
        """The description in English, for the model and for programs."""
        return self.text.format(**self.values)

    def translate(self) -> str:
        """Return the description in the user's language."""
        return tr(self.text, **self.values)


def list_reasons(item: Scored) -> Iterator[Reason]:
    """Yield all factors of a score."""
    candidate = item.candidate
    yield Reason("words", round(item.fit.share, 3), *_describe_words(item))
    if candidate.engine is not None:
        yield Reason("context", round(candidate.engine.share, 3), mark("by its context"))
        if title := round(candidate.engine.title, 2):
            yield Reason("title", title, mark("session title matches too"))
    if item.meaning is not None:
        near = _CLOSE if item.meaning > 0.45 else mark("distant in meaning")
        yield Reason("meaning", round(item.meaning, 3), mark("same meaning") if item.meaning > 0.75 else near)
    if candidate.asks:
        yield Reason("asks", ONLY_ASKS, mark("only a question"))
    yield Reason("recency", round(compute_recency(candidate, item.now), 3), *_describe_age(item))
    tier, factor = get_tier(candidate)
    yield Reason("tier", factor, tier)
    if candidate.strength is not None:
        weight = compute_strength_weight(candidate.strength)
        yield Reason("strength", round(weight, 3), mark("strength {strength:.2f}"), {"strength": candidate.strength})
    if candidate.is_corroborated:
        yield Reason("corroborated", CORROBORATED, candidate.trust or _CONFIRMED)
    if item.rank is not None:
        yield Reason("rank", round(item.rank, 4), mark("by rank within each source"))
    if item.also:
        first = item.also[0].title or item.also[0].session[:8]
        text = mark("also in “{first}” and in {count} more") if len(item.also) > 1 else mark("also in “{first}”")
        yield Reason("same", float(len(item.also)), text, {"first": first, "count": len(item.also) - 1})


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
    words, values = _describe_words(item)
    reasons = [tr(words, **values)] if item.fit.found.hits or item.fit.found.alias else []
    if is_near(candidate):
        reasons.append(tr(_CLOSE))
    importance = candidate.signals.get("importance")
    about = [tr("importance {importance:g}", importance=importance)] if importance is not None else []
    age, values = _describe_age(item)
    about += [tr(age, **values)] if candidate.when else []
    if candidate.trust or candidate.is_corroborated:
        about.append(tr(candidate.trust or _CONFIRMED))
    return "; ".join([*reasons, *([", ".join(about)] if about else [])])


_CLOSE = mark("close in meaning")
_Phrase = tuple[str, dict[str, object]]
"""A sentence for `tr`, and its values."""


def _describe_words(item: Scored) -> _Phrase:
    """Return which words of the query the text contains."""
    found = item.fit.found
    if item.fit.exact:
        return mark("matches word for word"), {}
    others = [hit for hit in found.hits if hit not in found.alias.casefold().split()]
    words = ", ".join(others[:_MAX_SHOWN_WORDS])
    if found.alias:
        text = mark("named {name}, matches {words}") if others else mark("named {name}")
        return text, {"name": found.alias, "words": words}
    if (more := len(others) - _MAX_SHOWN_WORDS) > 0:
        return mark("matches {words} and {count} more"), {"words": words, "count": more}
    return (mark("matches {words}"), {"words": words}) if others else (mark("no word matches"), {})


def _describe_age(item: Scored) -> _Phrase:
    when = item.candidate.when
    if not when:
        return mark("undated"), {}
    age = item.now - when
    if age > _SHOW_DATE_AFTER_S:
        return mark("from {date}"), {"date": format_stored_time("%Y-%m-%d", when)}
    days = int(max(age, 0.0) // DAY_S)
    if days > 1:
        return mark("{days} days old"), {"days": days}
    return mark("1 day old") if days else mark("from today"), {}


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
_NOTES: dict[State, str] = {"given before": mark("; already given"), "in request": mark("; already in the request")}


def report_recalled(item: Scored, state: State, tokens: int = 0) -> WhyItem:
    """Return the account of a recalled memory. tokens: its size as it was given; 0 to estimate it from its text."""
    candidate = item.candidate
    return WhyItem(
        source=candidate.source,
        id=candidate.id,
        text=candidate.text,
        reason=describe_match(item) + (tr(_NOTES[state]) if state in _NOTES else ""),
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
                text=tr_count(block.left_out, "more memory", "more memories"),
                reason=tr("for another folder, or over the size limit of the block"),
                included=False,
                count=block.left_out,
            )


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text at the default ratio, rounded up."""
    return math.ceil(text_units(text) / DEFAULT_RATIO)
