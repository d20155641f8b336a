"""One ranking for everything that may be brought back before a request: evidence first, strength as a multiplier.

The order of steps: alias gate, words, vectors (joined convexly), what falls far behind the best out, strength,
repetitions out. What the question gives no reason for is not brought up, however important it is. Pure; filters of
scope and validity come before. What comes of it is measured by `bench/ranker.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.retrieval.evidence import Evidence, evidence, stems_of, weighed

Source = Literal["memory", "preference", "turn", "document", "knowledge", "note"]
VECTOR_SHARE = 0.2
"""Of the relevance, where a vector speaks; the rest are words. More lets a weak embedder drag good words down."""
VECTOR_LIMIT = 1.0
NEAR_DUPLICATE = 0.8
LEAST_OF_BEST = 0.5
"""Of the relevance of the best: where one memory answers, what only shares a word with the question stays out."""
_ALIAS_FLOOR = 0.7
_SHOWN = 5
_STRENGTH_FLOOR = 0.4  # strength takes away at most so much: evidence decides, strength orders


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that could be brought up.

    keywords: other names it goes by. strength: 0.0 to 1.0, how much it weighs after all fading.
    distance: of its vector from the question's, where it has one. signals: what else is to be said of it by name.
    created: seconds since the epoch. label: what must be said with it, such as "example changed since".
    message: id of the message it was made from, where that is known.
    """

    source: Source
    id: str
    text: str
    kind: str = ""
    role: str = ""
    said_by: str = ""
    keywords: tuple[str, ...] = ()
    created: float = 0.0
    strength: float = 1.0
    distance: float | None = None
    signals: Mapping[str, float] = {}
    label: str = ""
    message: str = ""


class Scored(Struct, frozen=True, kw_only=True):
    """A candidate with the reason for it. score: comparable within one ranking. signals: everything that went in.

    said: stems of its text that the question asks for.
    """

    candidate: Candidate
    score: float
    signals: dict[str, float]
    reason: str
    said: frozenset[str] = frozenset()


def rank(question: str, candidates: Sequence[Candidate], *, now: float, most: int = 50) -> list[Scored]:
    """Up to so many that the question gives a reason for, best first; of two that say the same the better one stays.

    What is as good is ordered by its time, the newest first.
    """
    bags = [stems_of(candidate.text) for candidate in candidates]
    asked = weighed(question, bags)
    found = [
        scored
        for candidate, bag in zip(candidates, bags, strict=True)
        if (scored := _scored(candidate, evidence(asked, bag, candidate.keywords), now)) is not None
    ]
    best = max((one.signals["relevance"] for one in found), default=0.0)
    found = [one for one in found if _is_near(one.candidate) or one.signals["relevance"] >= LEAST_OF_BEST * best]
    found.sort(key=lambda one: (-one.score, -one.candidate.created, one.candidate.id))
    return _without_repetitions(found, most)


def _scored(candidate: Candidate, found: Evidence, now: float) -> Scored | None:
    near = _is_near(candidate)
    if not (found.enough or near):
        return None
    relevance = _ALIAS_FLOOR + (1 - _ALIAS_FLOOR) * found.words if found.alias else found.words
    if candidate.distance is not None:
        cosine = max(0.0, 1.0 - candidate.distance**2 / 2)
        relevance = (1 - VECTOR_SHARE) * relevance + VECTOR_SHARE * cosine
        relevance = max(relevance, cosine / 2) if near else relevance
    strength = _STRENGTH_FLOOR + (1 - _STRENGTH_FLOOR) * min(max(candidate.strength, 0.0), 1.0)
    signals = {
        "hits": float(found.count),
        "relevance": round(relevance, 3),
        "strength": round(candidate.strength, 3),
    }
    if candidate.distance is not None:
        signals["distance"] = round(candidate.distance, 3)
    return Scored(
        candidate=candidate,
        score=round(relevance * strength, 6),
        signals=dict(candidate.signals) | signals,
        reason=_reason(candidate, found, now),
        said=found.said,
    )


def _is_near(candidate: Candidate) -> bool:
    return candidate.distance is not None and candidate.distance < VECTOR_LIMIT


def _without_repetitions(found: Sequence[Scored], most: int) -> list[Scored]:
    """Without what a better one says nearly word for word; another number, path or "not" is another thing to say."""
    if len(found) < 2:
        return list(found[:most])
    from clio.text.similarity import compute_jaccard, find_differences

    kept: list[Scored] = []
    for one in found:
        if len(kept) == most:
            break
        text, bag = one.candidate.text, stems_of(one.candidate.text)
        if not any(
            compute_jaccard(bag, stems_of(other.candidate.text)) >= NEAR_DUPLICATE
            and not find_differences(other.candidate.text, text)
            for other in kept
        ):
            kept.append(one)
    return kept


def _reason(candidate: Candidate, found: Evidence, now: float) -> str:
    """One short sentence, such as: says staging, port; importance 0.8, 12 days old."""
    why: list[str] = []
    if found.alias:
        why.append(f"goes by {found.alias}")
    elif found.hits:
        why.append(f"says {', '.join(found.hits[:_SHOWN])}")
    if _is_near(candidate):
        why.append("is near in meaning")
    importance = candidate.signals.get("importance")
    about = [f"importance {importance:g}"] if importance is not None else []
    about += [_age(now - candidate.created)] if candidate.created else []
    return "; ".join([*why, *([", ".join(about)] if about else [])])


def _age(seconds: float) -> str:
    days = int(max(seconds, 0.0) // 86_400)
    return "said today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"
