"""The interface of embedders, which turn texts into unit vectors of 384 numbers, and the default embedder."""

from array import array
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from clio.text.embedding import EMBEDDING_DIMENSIONS, compute_embedding_fingerprint, embed_text

Row: TypeAlias = "array[float]"
"""One vector: 384 numbers of typecode "f", of length one; all zeros for a text without a word."""


class Embedder(Protocol):
    """Turns texts into unit vectors of 384 numbers."""

    @property
    def name(self) -> str:
        """The name of the model, usable as a folder name. Vectors of differently named embedders are never compared."""
        ...

    @property
    def piece_words(self) -> int:
        """The number of words up to which one vector represents a text well; longer texts are split."""
        ...

    @property
    def remote(self) -> bool:
        """Whether it sends requests to a server, which takes time and may fail."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """Return one vector per text, in order. Raises EmbeddingFailed, mostly if a server does not answer."""
        ...


class EmbeddingFailed(Exception):
    """An embedder could not make vectors. The message is a sentence with the reason, for the user.

    Callers continue with the hashed embedder or without vectors.
    """


class HashedEmbedder:
    """The default embedder, which needs no model, no data and no network.

    It hashes words and parts of words, so it finds texts with similar words, not with similar meaning; see
    `clio.text.embedding`.
    """

    piece_words = 24
    remote = False

    @property
    def name(self) -> str:
        return f"hashed-{EMBEDDING_DIMENSIONS}-{compute_embedding_fingerprint()}"

    def embed(self, texts: Sequence[str]) -> list[Row]:
        return [embed_text(text) for text in texts]
