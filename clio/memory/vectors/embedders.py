"""What turns texts into vectors. Whatever it is, a vector has 384 numbers and length one."""

from collections.abc import Sequence
from typing import Protocol

from clio.algorithms.embedding import DIMENSIONS, embed


class Embedder(Protocol):
    """Turns texts into unit vectors of 384 numbers.

    name: of what makes them, fit for a folder's name; vectors of different names are never compared.
    """

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector a text, in their order. What asks a server may take long, and raise ProviderError or OSError."""
        ...


class HashedEmbedder:
    """The default: no model, no data, no waiting; see `clio.algorithms.embedding`."""

    name = f"hashed-{DIMENSIONS}-1"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [embed(text) for text in texts]
