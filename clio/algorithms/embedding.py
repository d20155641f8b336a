"""Texts as points: 384 numbers made by hashing stems and pieces of words, the same in every process, without a model.

Two texts are nearer the more stems they share; pieces of four letters let a misspelt or bent word count in part, and a
word of a group of synonyms counts as its first. It knows nothing of meaning beyond that.
Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning (signed hashing).
"""

import math
import zlib
from array import array
from collections import Counter

from clio.algorithms.lexical import terms
from clio.algorithms.synonyms import canonical

DIMENSIONS = 384
_PIECE, _PIECES_SHARE = 4, 0.25
_COMMON_WEIGHT = 0.45
_PLACES = 2  # of each feature: two features then seldom meet in both
_COMMON = frozenset(
    """
    add make use run get set need want look see show thing way time work try know think new file code line chang
    creat updat start stop read write call tell give take find put good right first last next also still let
    follow place sure done ok okay someth anyth everyth lot bit kind part case point name valu
    """.split()
)


def embed(text: str) -> "array[float]":
    """A unit vector of 384 numbers; all zero for a text without a word."""
    vector = array("f", bytes(4 * DIMENSIONS))
    for word, count in Counter(map(canonical, terms(text))).items():
        weight = (1.0 + math.log(count)) * (_COMMON_WEIGHT if word in _COMMON else 1.0)
        _put(vector, word, weight)
        pieces = _pieces(word)
        for piece in pieces:
            _put(vector, piece, weight * _PIECES_SHARE / math.sqrt(len(pieces)))
    norm = math.sqrt(sum(value * value for value in vector))
    return array("f", [value / norm for value in vector]) if norm else vector


def _pieces(word: str) -> list[str]:
    if len(word) <= _PIECE:
        return []
    bounded = f"^{word}$"
    return [bounded[at : at + _PIECE] for at in range(len(bounded) - _PIECE + 1)]


def _put(vector: "array[float]", feature: str, weight: float) -> None:
    data = feature.encode("utf-8", "replace")
    for place in range(_PLACES):
        number = zlib.crc32(data, place * 0x9E3779B1 & 0xFFFFFFFF)
        vector[number % DIMENSIONS] += weight if number & 0x80000000 else -weight
