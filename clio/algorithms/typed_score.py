"""How well a typed memory answers a query, by the typed-memory document's formula. Pure."""

from collections.abc import Collection, Iterable

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
