"""How near a turn is to the topics of a style."""

from collections.abc import Sequence

from clio.memory.vectors.embedders import Embedder


def topic_similarity(topics: Sequence[str], text: str, embedder: Embedder | None) -> float | None:
    """0.0 to 1.0; None where there are no topics or no words."""
    return None
