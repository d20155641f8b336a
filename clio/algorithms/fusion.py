"""Ranking by words and joining rankings. Pure.

Sources: Robertson and Zaragoza, BM25; Cormack, Clarke and Büttcher, reciprocal rank fusion; the adaptive-memory
document for the tiers.
"""

import math
from collections.abc import Mapping, Sequence

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
