"""What a question says, word by word, each with the forms in which a memory may have it. Pure."""

import re

from msgspec import Struct

from clio.algorithms.everyday import is_everyday
from clio.algorithms.identifiers import parts
from clio.algorithms.late_pattern import LatePattern
from clio.algorithms.lexical import STOP_WORDS, stem, words
from clio.algorithms.synonyms import of_its_kind, other_words

MAX_CHARS = 4_000
"""Of a question, from its beginning and its end, so that a pasted log costs nothing; what is asked stands there."""
_FILLERS = STOP_WORDS | frozenset(
    "am s t d m ll re ve don doesn didn isn aren wasn couldn shouldn wouldn won let us mine yours myself ours".split()
)
_FIRST = LatePattern(r"\W*(what|when|where|which|who|whose|whom|why|how)\b", re.IGNORECASE)


class Asked(Struct, frozen=True, kw_only=True):
    """One word of a question. said: as it stands there. same: its stem and those of other words for it.

    forms: those, and the stems of things of that kind. everyday: it stands in requests of every kind.
    """

    said: str
    stem: str
    same: frozenset[str]
    forms: frozenset[str]
    everyday: bool


def asked(question: str) -> list[Asked]:
    """The words that say something in the order they were said; of words for the same thing only the first."""
    half = MAX_CHARS // 2
    text = question if len(question) <= MAX_CHARS else f"{question[:half]}\n{question[-half:]}"
    found: dict[str, Asked] = {}
    taken: set[str] = set()
    for word in (*words(text), *parts(text)):
        root = stem(word)
        if word in _FILLERS or root in found or root in taken:
            continue
        same = other_words(root)
        found[root] = Asked(said=word, stem=root, same=same, forms=same | of_its_kind(root), everyday=is_everyday(root))
        taken |= same
    return list(found.values())


def is_asking(question: str) -> bool:
    """Whether it begins as a question after something does, which makes its one word its subject."""
    return _FIRST.match(question) is not None
