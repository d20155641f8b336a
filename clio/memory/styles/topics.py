"""How near a turn is to the topics of a style."""

from collections.abc import Sequence
from functools import lru_cache
from operator import mul

from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.text.vocabulary import STOP_WORDS, has_phrase, stem, words

MAX_WORDS = 300
_MOST_KEPT = 2_000
_kept: dict[tuple[str, str], Row] = {}
_failed: set[tuple[str, str]] = set()


def topic_similarity(topics: Sequence[str], text: str, embedder: Embedder | None) -> float | None:
    """The best over all topics, 0.0 to 1.0; None where there are no topics or no words.

    A topic whose words stand in the text, stemmed and next to each other, is 1.0. Else it is the share of its words
    that are there, or, where an embedder of meaning is configured, the cosine, whichever is more. The default embedder
    compares words, as is done here already; one that fails is done without.
    """
    said = [stem(word) for word in words(text)[:MAX_WORDS]]
    named = [topic for topic in topics if _stems(topic)]
    if not named or not said:
        return None
    heard = frozenset(said)
    best = max(_share(_stems(topic), said, heard) for topic in named)
    if best < 1.0 and embedder is not None and not isinstance(embedder, HashedEmbedder):
        best = max(best, _cosine(named, text, embedder))
    return min(best, 1.0)


@lru_cache(maxsize=_MOST_KEPT)
def _stems(topic: str) -> tuple[str, ...]:
    """Topics are the same at every turn: each is read once."""
    return tuple(stem(word) for word in words(topic))


def _share(topic: Sequence[str], said: Sequence[str], heard: frozenset[str]) -> float:
    """The share of a topic's words that are said; words such as "the" count only where the whole topic is there."""
    if heard.issuperset(topic) and has_phrase(said, topic):
        return 1.0
    return sum(word in heard for word in topic if word not in STOP_WORDS) / len(topic)


def _cosine(topics: Sequence[str], text: str, embedder: Embedder) -> float:
    if (embedder.name, text) in _failed:
        return 0.0
    try:
        asked, *rows = _rows([text, *topics], embedder)
    except EmbeddingFailed:
        # Every style asks about the same text: none but the first one waits for a server that does not answer.
        _failed.clear()
        _failed.add((embedder.name, text))
        return 0.0
    return max(sum(map(mul, asked, row)) for row in rows)


def _rows(texts: Sequence[str], embedder: Embedder) -> list[Row]:
    """The vectors of texts, kept while clio runs: topics are the same at every turn, a turn's text for every style."""
    keys = [(embedder.name, text) for text in texts]
    missing = list(dict.fromkeys(key for key in keys if key not in _kept))
    if missing:
        if len(_kept) + len(missing) > _MOST_KEPT:
            _kept.clear()
            missing = list(dict.fromkeys(keys))
        _kept.update(zip(missing, embedder.embed([text for _, text in missing]), strict=True))
    return [_kept[key] for key in keys]
