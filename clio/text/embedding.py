"""Texts as vectors of 384 numbers: the interface of embedders, the default one that needs no model, and windows.

Windows are the pieces that documents are cut into.
"""

import math
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from clio.text.vocabulary import SYNONYMS, WORD_TABLES, extract_terms, get_canonical_stem, split_words, stem_word

EMBEDDING_DIMENSIONS = 384
ROW_BYTES = 4 * EMBEDDING_DIMENSIONS
"""Size of a stored vector: its numbers as float32."""
_FEATURE_DIMENSIONS = EMBEDDING_DIMENSIONS - 1  # the last number is the component all vectors share
_NGRAM_CHARS, _NGRAM_WEIGHT = 4, 0.5  # parts of words make "migrate" and "migration" similar
_COMMON_WORD_WEIGHT = 0.45  # of a word that says little about the subject
_LETTERS = re.compile(r"[A-Za-z]+")  # finding camelCase in the same pattern takes n² steps on a long word
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")  # between the words of a camelCase identifier
_POSITIONS_PER_FEATURE = 2  # positions per feature: two features rarely collide in both
_SHARED_COMPONENT_SQUARE = 0.08
"""Square of the component that all vectors share.

It makes 1.0 the distance below which two texts are about the same subject, the limit that the working-memory document
(see docs/architecture.md) sets for archived turns.
"""
_COMMON_STEMS = frozenset(
    get_canonical_stem(stem_word(word)) for word in split_words(WORD_TABLES.embedding_common_words)
)


def compute_embedding_fingerprint() -> str:
    """Return eight hex digits that change whenever the same text would get another vector."""
    tables = sorted((word, sorted(group)) for word, group in SYNONYMS.items()), sorted(_COMMON_STEMS)
    weights = (
        EMBEDDING_DIMENSIONS,
        _NGRAM_CHARS,
        _NGRAM_WEIGHT,
        _COMMON_WORD_WEIGHT,
        _POSITIONS_PER_FEATURE,
        _SHARED_COMPONENT_SQUARE,
        _LETTERS.pattern,
        _CAMEL_BOUNDARY.pattern,
    )
    return f"{zlib.crc32(repr((tables, weights)).encode()):08x}"


def embed_text(text: str) -> "array[float]":
    """Return a unit vector of 384 numbers; all zeros for a text without words."""
    vector = array("f", bytes(4 * EMBEDDING_DIMENSIONS))
    for word, count in Counter(map(get_canonical_stem, _extract_words(text))).items():
        weight = (1.0 + math.log(count)) * (_COMMON_WORD_WEIGHT if word in _COMMON_STEMS else 1.0)
        _add_feature(vector, word, weight)
        ngrams = _split_into_ngrams(word)
        for ngram in ngrams:
            _add_feature(vector, ngram, weight * _NGRAM_WEIGHT / math.sqrt(len(ngrams)))
    norm = math.sqrt(sum(value * value for value in vector))
    if not norm:
        return vector
    scale = 1.0 / (norm * math.sqrt(1.0 + _SHARED_COMPONENT_SQUARE))
    unit = array("f", [value * scale for value in vector])
    unit[_FEATURE_DIMENSIONS] = math.sqrt(_SHARED_COMPONENT_SQUARE / (1.0 + _SHARED_COMPONENT_SQUARE))
    return unit


def _extract_words(text: str) -> list[str]:
    """Return the stems of a text, and those of the parts of its camelCase identifiers."""
    camel_case = [word for word in _LETTERS.findall(text) if _CAMEL_BOUNDARY.search(word)]
    return extract_terms(text) + (
        extract_terms(" ".join(_CAMEL_BOUNDARY.sub(" ", word) for word in camel_case)) if camel_case else []
    )


def _split_into_ngrams(word: str) -> list[str]:
    if len(word) <= _NGRAM_CHARS:
        return []
    bounded = f"^{word}$"
    return [bounded[start : start + _NGRAM_CHARS] for start in range(len(bounded) - _NGRAM_CHARS + 1)]


def _add_feature(vector: "array[float]", feature: str, weight: float) -> None:
    data = feature.encode("utf-8", "replace")
    for seed in range(_POSITIONS_PER_FEATURE):
        # Multiples of the golden ratio give independent hashes. The highest bit is the sign, so that collisions of
        # different features cancel out instead of adding up.
        hash_value = zlib.crc32(data, seed * 0x9E3779B1 & 0xFFFFFFFF)
        vector[hash_value % _FEATURE_DIMENSIONS] += weight if hash_value & 0x80000000 else -weight


WINDOW_TOKENS, OVERLAP_TOKENS = 512, 128
MIN_CHUNK_CHARS = 50
DEFAULT_TOP_K = 3
_MAX_RELATIVE_DISTANCE = 1.10


def compute_windows(length: int, size: int = WINDOW_TOKENS, overlap: int = OVERLAP_TOKENS) -> list[tuple[int, int]]:
    """Return (start, end) of the windows of `size` tokens that cover `length` tokens.

    Neighbouring windows share `overlap` tokens; the last one ends at `length`. Raises ValueError unless
    0 ≤ overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"an overlap of {overlap} does not fit into windows of {size}")
    found: list[tuple[int, int]] = []
    start = 0
    while start < length:
        end = min(start + size, length)
        found.append((start, end))
        if end == length:
            break
        start += size - overlap
    return found


def is_long_enough(chunk: str) -> bool:
    """Whether a chunk has more than 50 characters, not counting white space at its ends."""
    return len(chunk.strip()) > MIN_CHUNK_CHARS


def filter_near_best(distances: Sequence[float]) -> list[float]:
    """Return the distances that are at most 1.10 × the smallest, in the given order."""
    limit = min(distances, default=0.0) * _MAX_RELATIVE_DISTANCE
    return [distance for distance in distances if distance <= limit + 1e-12]


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

    It hashes words and parts of words, so it finds texts with similar words, not with similar meaning.
    """

    piece_words = 24
    remote = False

    @property
    def name(self) -> str:
        return f"hashed-{EMBEDDING_DIMENSIONS}-{compute_embedding_fingerprint()}"

    def embed(self, texts: Sequence[str]) -> list[Row]:
        return [embed_text(text) for text in texts]
