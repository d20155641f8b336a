"""What turns texts into vectors. Whatever it is, a vector has 384 numbers and length one."""

from array import array
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from clio.text.embedding import EMBEDDING_DIMENSIONS, compute_embedding_fingerprint, embed_text

Row: TypeAlias = "array[float]"
"""One vector: 384 numbers of typecode "f"; all zero for a text without a word, else of length one."""


class Embedder(Protocol):
    """Turns texts into unit vectors of 384 numbers."""

    @property
    def name(self) -> str:
        """What makes them, fit for a folder's name; vectors of different names are never compared."""
        ...

    @property
    def piece_words(self) -> int:
        """How many words one vector says well."""
        ...

    @property
    def remote(self) -> bool:
        """Whether it asks a server, which takes time and may fail."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """One vector a text, in their order. A remote one may raise EmbeddingFailed."""
        ...


class EmbeddingFailed(Exception):
    """A server gave no vectors; its text is a sentence that says why. Who asked goes on without it."""


class HashedEmbedder:
    """The default: no model, no data, no waiting; see `clio.text.embedding`."""

    piece_words = 24
    remote = False

    @property
    def name(self) -> str:
        return f"hashed-{EMBEDDING_DIMENSIONS}-{compute_embedding_fingerprint()}"

    def embed(self, texts: Sequence[str]) -> list[Row]:
        return [embed_text(text) for text in texts]
