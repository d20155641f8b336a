"""What a person's few words about an answer complain of: by rules in English, else by their meaning."""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from clio.memory.feedback.rating_phrases import CATEGORIES, EXAMPLES, Category, classify, similar_categories
from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder, Row

_LEAST_SPREAD = 0.01
"""An embedder that sees less between reasons sees none."""


class _Kind(Struct, frozen=True):
    """One reason as an embedder sees it. alien, own: mean cosines to it of other reasons' examples, and of its own."""

    centroid: Sequence[float]
    alien: float
    own: float


_kinds: dict[str, Mapping[Category, _Kind]] = {}  # by the embedder's name: the examples never change while clio runs


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
        likeness = _likeness(embedder.embed([text])[0], _kinds_by(embedder))
    except (EmbeddingFailed, OSError):  # a reason is a detail of the feedback, which is kept all the same
        return None
    best = max(CATEGORIES, key=lambda name: likeness[name])
    return best if best in similar_categories(likeness) else None


def _likeness(vector: Sequence[float], kinds: Mapping[Category, _Kind]) -> dict[str, float]:
    """How like a reason's examples a text is: 0.0 as those of other reasons are, 1.0 as its own are.

    Bare cosines would not do: with one embedder 0.4 is much, with another everything is above 0.7.
    """
    return {
        name: (_cosine(vector, kind.centroid) - kind.alien) / max(kind.own - kind.alien, _LEAST_SPREAD)
        for name, kind in kinds.items()
    }


def _kinds_by(embedder: Embedder) -> Mapping[Category, _Kind]:
    """The reasons as this embedder sees them; made once for each."""
    known = _kinds.get(embedder.name)
    if known is None:
        rows = iter(embedder.embed([example for name in CATEGORIES for example in EXAMPLES[name]]))
        vectors = {name: [next(rows) for _ in EXAMPLES[name]] for name in CATEGORIES}
        known = _kinds[embedder.name] = {name: _kind(name, vectors) for name in CATEGORIES}
    return known


def _kind(name: str, vectors: Mapping[str, Sequence[Row]]) -> _Kind:
    own = vectors[name]
    centroid = _mean(own)
    alien = [_cosine(row, centroid) for other, rows in vectors.items() if other != name for row in rows]
    # Each example against the mean of the others: with itself in the mean it would seem liker than any new text can be.
    left_out = [_cosine(row, _mean([*own[:place], *own[place + 1 :]])) for place, row in enumerate(own)]
    return _Kind(centroid, math.fsum(alien) / len(alien), math.fsum(left_out) / len(left_out))


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) / len(rows) for values in zip(*rows, strict=True)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
