"""One ranking for everything that may be brought back before a request: evidence first, strength as a multiplier.

The order of steps: alias gate, words, vectors (joined convexly), strength, near-duplicates out, and abstention: what
the question gives no reason for is not brought up, however important it is. Pure; filters of scope and validity come
before.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clio.algorithms.lexical import terms
from clio.algorithms.minhash import jaccard
from clio.algorithms.synonyms import expanded

Source = Literal["memory", "preference", "turn", "document", "knowledge", "note"]
VECTOR_SHARE = 0.2
"""Of the relevance, where a vector speaks; the rest are words. More lets a weak embedder drag good words down."""
VECTOR_LIMIT = 1.0
NEAR_DUPLICATE = 0.8
LEAST_COVERAGE = 0.34
"""Of the question's words by weight, or of the memory's own, for words alone to be a reason."""
_SURE_COVERAGE = 0.6
_OWN_WEIGHT = 0.8  # a long question that mentions all a short memory says is nearly as good as the other way round
_UNHEARD = 0.4  # a word that nothing remembered has says little about which memory is meant
_LONG_WORD = 5
_STRENGTH_FLOOR = 0.4  # strength halves at most: evidence decides, strength orders


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that could be brought up.

    keywords: other names it goes by. strength: 0.0 to 1.0, how much it weighs after all fading.
    distance: of its vector from the question's, where it has one. signals: what else is to be said of it by name.
    created: seconds since the epoch. label: what must be said with it, such as "example changed since".
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


class Scored(Struct, frozen=True, kw_only=True):
    """A candidate with the reason for it. score: comparable within one ranking. signals: everything that went in."""

    candidate: Candidate
    score: float
    signals: dict[str, float]
    reason: str


def rank(question: str, candidates: Sequence[Candidate], *, now: float) -> list[Scored]:
    """Those the question gives a reason for, best first; the newer of two that say nearly the same stays."""
    asked = list(dict.fromkeys(terms(question)))
    bags = [frozenset(terms(candidate.text)) for candidate in candidates]
    weights = _weights(asked, bags)
    found = [
        scored
        for candidate, bag in zip(candidates, bags, strict=True)
        if (scored := _score(candidate, bag, asked, weights, now)) is not None
    ]
    found.sort(key=lambda one: (-one.score, -one.candidate.created, one.candidate.id))
    return _without_repetitions(found)


def _weights(asked: Sequence[str], bags: Sequence[frozenset[str]]) -> dict[str, float]:
    """A weight for each word asked for, more for one that few candidates have in any form, less for one none has."""
    total = len(bags)
    counts = {word: sum(1 for bag in bags if not expanded(word).isdisjoint(bag)) for word in asked}
    return {
        word: math.log(1 + (total + 1) / (1 + count)) * (1.0 if count else _UNHEARD) for word, count in counts.items()
    }


def _score(
    candidate: Candidate, bag: frozenset[str], asked: Sequence[str], weights: Mapping[str, float], now: float
) -> Scored | None:
    gate = _gate(candidate.keywords, asked)
    hits = [word for word in asked if _has(bag, word)]
    total = sum(weights.values())
    coverage = sum(weights[word] for word in hits) / total if total else 0.0
    own = sum(1 for word in bag if any(word in expanded(said) for said in hits)) / len(bag) if bag else 0.0
    words = max(coverage, _OWN_WEIGHT * own)
    near = candidate.distance is not None and candidate.distance < VECTOR_LIMIT
    if not (gate or near or _is_evidence(words, len(hits), len(asked))):
        return None
    relevance = 1.0 if gate else words
    if candidate.distance is not None:
        cosine = max(0.0, 1.0 - candidate.distance**2 / 2)
        relevance = (1 - VECTOR_SHARE) * relevance + VECTOR_SHARE * cosine
        relevance = max(relevance, cosine / 2) if near else relevance
    strength = _STRENGTH_FLOOR + (1 - _STRENGTH_FLOOR) * min(max(candidate.strength, 0.0), 1.0)
    signals = {"hits": float(len(hits)), "coverage": round(words, 3), "strength": round(candidate.strength, 3)}
    if candidate.distance is not None:
        signals["distance"] = round(candidate.distance, 3)
    if gate:
        signals["alias"] = 1.0
    return Scored(
        candidate=candidate,
        score=round(relevance * strength, 6),
        signals=signals | dict(candidate.signals),
        reason=_reason(candidate, gate, hits, near, now),
    )


def _is_evidence(words: float, hits: int, asked: int) -> bool:
    """Whether words alone are a reason: most of the weight on one word, or a third of it on two."""
    if not hits:
        return False
    return words >= (LEAST_COVERAGE if hits > 1 or asked == 1 else _SURE_COVERAGE)


def _gate(keywords: Iterable[str], asked: Sequence[str]) -> str:
    """The keyword all of whose words were said, one letter wrong allowed in long ones; empty where there is none."""
    for keyword in keywords:
        parts = terms(keyword)
        if parts and all(any(_alike(part, word) for word in asked) for part in parts):
            return keyword
    return ""


def _has(bag: frozenset[str], word: str) -> bool:
    return not expanded(word).isdisjoint(bag)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(one) >= _LONG_WORD and len(other) >= _LONG_WORD and _one_edit_apart(one, other))


def _one_edit_apart(one: str, other: str) -> bool:
    """Whether one letter put in, taken out, changed, or two neighbours swapped make one of the other."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:] and len(a) > 1)


def _without_repetitions(found: Sequence[Scored]) -> list[Scored]:
    kept: list[Scored] = []
    bags: list[frozenset[str]] = []
    for one in found:
        bag = frozenset(terms(one.candidate.text))
        if all(jaccard(bag, other) < NEAR_DUPLICATE for other in bags):
            kept.append(one)
            bags.append(bag)
    return kept


def _reason(candidate: Candidate, gate: str, hits: Sequence[str], near: bool, now: float) -> str:
    parts: list[str] = []
    if gate:
        parts.append(f"goes by {gate!r}")
    elif hits:
        parts.append(f"says {', '.join(hits[:5])}")
    if near and candidate.distance is not None:
        parts.append(f"means much the same (distance {candidate.distance:.2f})")
    if candidate.created:
        parts.append(_age(now - candidate.created))
    return "; ".join(parts)


def _age(seconds: float) -> str:
    days = int(max(seconds, 0.0) // 86_400)
    return "said today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"
