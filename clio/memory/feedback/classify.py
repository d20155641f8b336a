"""What a person's few words about an answer complain of: by rules in English, else by their meaning."""

import math
from collections.abc import Mapping, Sequence

from clio.algorithms.feedback import CATEGORIES, Category, classify, similar_categories
from clio.memory.feedback.reason_examples import EXAMPLES
from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder

Centroids = Mapping[Category, Sequence[float]]
_centroids: dict[str, Centroids] = {}  # by the embedder's name: the examples never change while clio runs


def reason_of(text: str, embedder: Embedder | None) -> Category | None:
    """The reason a feedback's words give; None where they give none that is known.

    text: as the person wrote it, up to 300 characters (see `check_words`). embedder: asked only where the English rules
    find nothing; the hashed one compares letters and not meanings, so it is never asked. One that fails says nothing.
    """
    if not text.strip():
        return None
    if found := classify(text):
        return found
    if embedder is None or isinstance(embedder, HashedEmbedder):
        return None
    try:
        vector = embedder.embed([text])[0]
        likeness = {name: _cosine(vector, centroid) for name, centroid in _centroids_by(embedder).items()}
    except (EmbeddingFailed, OSError):  # a reason is a detail of the feedback, which is kept all the same
        return None
    best = max(CATEGORIES, key=lambda name: likeness[name])
    return best if best in similar_categories(likeness) else None


def _centroids_by(embedder: Embedder) -> Centroids:
    """The mean vector of each reason's examples, of length one; made once for each embedder."""
    known = _centroids.get(embedder.name)
    if known is None:
        rows = iter(embedder.embed([example for examples in EXAMPLES.values() for example in examples]))
        made: Centroids = {name: _mean([next(rows) for _ in examples]) for name, examples in EXAMPLES.items()}
        known = _centroids[embedder.name] = made
    return known


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) / len(rows) for values in zip(*rows, strict=True)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
