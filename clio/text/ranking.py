"""Scores of memories for a query, how rankings are joined, and the limits of automatic recall. Pure."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

HITS, SIMILARITY, IMPORTANCE, RECENCY = 0.3, 0.3, 0.2, 0.2
RELEVANT_SIMILARITY = 0.1
"""Below it, and without one hit, a memory is no answer, whatever its importance."""
_FRESH_S, _STALE_S = 3600.0, 30 * 86_400.0
_EMPTY_RECENCY, _EMPTY_IMPORTANCE = 0.6, 0.4


def recall_score(hits: float, similarity: float, importance: float, recency: float) -> float:
    """0.3·hits + 0.3·similarity + 0.2·importance + 0.2·recency; hits are counted, so the score has no upper bound."""
    return HITS * hits + SIMILARITY * similarity + IMPORTANCE * importance + RECENCY * recency


def load_score(importance: float, recency: float) -> float:
    """0.6·recency + 0.4·importance: the order in which memories are loaded without a query."""
    return _EMPTY_RECENCY * recency + _EMPTY_IMPORTANCE * importance


def recency_of(seconds_since_access: float) -> float:
    """1.0 within the hour, then falling evenly to 0.0 at 30 days."""
    if seconds_since_access <= _FRESH_S:
        return 1.0
    return max(0.0, 1.0 - seconds_since_access / _STALE_S)


def is_relevant(hits: float, similarity: float) -> bool:
    """Whether a memory has anything to do with the query at all."""
    return hits > 0 or similarity >= RELEVANT_SIMILARITY


def keyword_hits(query_words: Iterable[str], content_words: Collection[str]) -> int:
    """How many different query words stand in the content; "tests" finds "test", "bus" does not find "bu"."""
    return sum(1 for word in dict.fromkeys(query_words) if word in content_words or singular(word) in content_words)


def singular(word: str) -> str:
    """The word without its plural s, if it has more than three letters; "bus" stays."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


BRAIN_SHARE = 0.25
RECALLED_TOKENS, RECALLED_WINDOW = 300, 32_768
"""clio's own budget: so many tokens on a window of that size, in proportion on others; the document has a quarter."""
LEAST_RECALLED, MOST_RECALLED = 100, 1_200
LARGEST_BUDGET = 65_535
NEAREST = 3
GATE = 1.0
"""Strict: a memory at this distance stays out."""

T = TypeVar("T")


def share_of_window(window_tokens: int) -> int:
    """A quarter of the window, at most 65,535 tokens."""
    return min(int(window_tokens * BRAIN_SHARE), LARGEST_BUDGET)


def brain_budget(window_tokens: int) -> int:
    """What clio gives automatic recall: 300 tokens on a window of 32,768, in proportion on others, 100 to 1,200."""
    share = window_tokens * RECALLED_TOKENS // RECALLED_WINDOW
    return min(max(share, LEAST_RECALLED), MOST_RECALLED, share_of_window(window_tokens))


def session_budget(window_tokens: int, reserve_tokens: int) -> int:
    """What preamble and conversation may take: the window without what is kept for the answer."""
    return window_tokens - reserve_tokens


def must_eject(tokens: int, budget: int) -> bool:
    """Whether a conversation of that size has to lose its oldest turns."""
    return tokens > budget


def distance_of(cosine: float) -> float:
    """The distance of two unit vectors with that cosine."""
    return math.sqrt(max(0.0, 2.0 - 2.0 * cosine))


def distances(query: Sequence[float], items: Sequence[Sequence[float]]) -> list[float]:
    """The Euclidean distance of each item from the query."""
    return [math.dist(query, item) for item in items]


def gate(found: Sequence[float], nearest: int = NEAREST, limit: float = GATE) -> list[int]:
    """Places of the nearest that lie below the limit, nearest first; those at the same distance keep their order."""
    closest = sorted(range(len(found)), key=lambda place: found[place])[:nearest]
    return [place for place in closest if found[place] < limit]


def eject_pairs(tokens: Sequence[int], preamble_tokens: int, budget: int) -> int:
    """How many messages leave, always two by two from the oldest, until the rest fits beside the preamble.

    The preamble stays whatever its size; the conversation may become empty.
    """
    left, total = 0, preamble_tokens + sum(tokens)
    while must_eject(total, budget) and left < len(tokens):
        pair = tokens[left : left + 2]
        total -= sum(pair)
        left += len(pair)
    return left


def evict_oldest(entries: Sequence[T], size: Callable[[Sequence[T]], int], max_tokens: int) -> Sequence[T]:
    """The entries without the oldest ones, counted anew after each, until `size` of them is within the budget."""
    kept = entries
    while kept and size(kept) > max_tokens:
        kept = kept[1:]
    return kept


RRF_K = 60
TIERS: Mapping[str, float] = {"working": 1.0, "semantic": 0.7, "procedural": 0.6, "behavioral": 0.6}
LEAST_CONTEXT_SCORE = 0.3
_RELEVANCE, _RECENCY, _HALF_LIFE_HOURS = 0.7, 0.3, 168.0


def bm25(
    documents: Sequence[Sequence[str]], query: Sequence[str], *, k1: float = 1.5, b: float = 0.75, min_idf: float = 0.0
) -> list[float]:
    """A score for each document, given as its words; idf = ln((N − n + ½) / (n + ½) + 1).

    min_idf: words of the query that are commoner than that count nothing.
    """
    total = len(documents)
    mean = sum(map(len, documents)) / total if total else 0.0
    scores = [0.0] * total
    for word in dict.fromkeys(query):
        counts = [document.count(word) for document in documents]
        having = sum(1 for count in counts if count)
        idf = math.log((total - having + 0.5) / (having + 0.5) + 1.0)
        if not having or idf < min_idf:
            continue
        for place, count in enumerate(counts):
            if count:
                norm = k1 * (1.0 - b + b * len(documents[place]) / mean)
                scores[place] += idf * count * (k1 + 1.0) / (count + norm)
    return scores


def rrf(ranks: Sequence[int], k: int = RRF_K) -> float:
    """Σ 1 / (k + rank) over the lists an item stands in, its ranks counted from 1."""
    return sum(1.0 / (k + rank) for rank in ranks)


def rrf_k(count: int) -> int:
    """A k for lists of `count` items: n/2 but at least 10 below 50, rising from 30 to 60 until 500, then 60."""
    if count < 50:
        return max(10, count // 2)
    return min(RRF_K, 30 + (count - 50) // 15) if count < 500 else RRF_K


def context_score(relevance: float, tier: str, age_hours: float) -> float:
    """0.7·relevance·tier + 0.3·0.5^(hours / 168); below 0.3 a memory is left out. An unknown tier counts half."""
    recency = 0.5 ** (max(age_hours, 0.0) / _HALF_LIFE_HOURS)
    return _RELEVANCE * relevance * TIERS.get(tier, 0.5) + _RECENCY * recency


def is_context_worthy(score: float) -> bool:
    """Whether the score reaches 0.3."""
    return score >= LEAST_CONTEXT_SCORE
