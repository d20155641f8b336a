"""Typed memories in the order they answer a query, by the typed-memory document's formula, each with its signals."""

from msgspec import Struct

from clio.memory.typed.record import MemoryRecord
from clio.memory.typed.shelf import Shelf
from clio.text.scoring import is_relevant, load_score, recall_score, recency_of
from clio.text.vocabulary import terms


class Ranked(Struct, frozen=True, kw_only=True):
    """One answer. hits: how many words of the query it has. similarity: the Jaccard index of its terms and the query's.

    recency: 1.0 used within the hour, 0.0 from 30 days.
    """

    record: MemoryRecord
    score: float
    hits: int = 0
    similarity: float = 0.0
    recency: float = 0.0


def rank(
    shelf: Shelf, query: str | frozenset[str], limit: int, now: float, *, wanted: str = "", unwanted: str = ""
) -> tuple[Ranked, ...]:
    """The best `limit` live memories that share a word with the query; the newest first where scores are the same.

    query: words, or the stems of words.
    """
    asked = set(terms(query)) if isinstance(query, str) else query
    found: list[Ranked] = []
    for id, hits in shelf.matches(asked).items():
        record = shelf.records[id]
        if (wanted and record.type != wanted) or record.type == unwanted:
            continue
        similarity = hits / (len(asked) + shelf.size(id) - hits)
        recency = recency_of(now - record.accessed)
        if is_relevant(hits, similarity):
            score = recall_score(hits, similarity, record.importance, recency)
            found.append(Ranked(record=record, score=score, hits=hits, similarity=similarity, recency=recency))
    return _best(found, limit)


def load_all(shelf: Shelf, limit: int, now: float, *, wanted: str = "", unwanted: str = "") -> tuple[Ranked, ...]:
    """The best `limit` without a query; where no type is asked for, all preferences and the best `limit` others."""
    found = [
        Ranked(record=record, score=load_score(record.importance, recency), recency=recency)
        for record in shelf.live()
        if (not wanted or record.type == wanted) and record.type != unwanted
        for recency in (recency_of(now - record.accessed),)
    ]
    if wanted or unwanted:
        return _best(found, limit)
    preferences = [hit for hit in found if hit.record.type == "preference"]
    others = [hit for hit in found if hit.record.type != "preference"]
    return _best(preferences, len(preferences)) + _best(others, limit)


def _best(found: list[Ranked], limit: int) -> tuple[Ranked, ...]:
    return tuple(sorted(found, key=_order)[:limit])


def _order(hit: Ranked) -> tuple[float, float, str]:
    return -hit.score, -hit.record.updated, hit.record.id
