"""A query taken to pieces, and texts made ready for the index: the same words on both sides. Pure.

The index folds and stems by itself (FTS5, `porter unicode61`); what stands here does the same to the few texts that are
weighed exactly, and adds what FTS5 cannot do: the parts of CamelCase words, pairs of characters for scripts written
without spaces, other forms of irregular words.
"""

import re
import unicodedata
from itertools import pairwise

from msgspec import Struct

from clio.memory.recall.word_forms import other_forms
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import STOP_WORDS, porter

MAX_QUERY_CHARS = 2_000
MAX_TERMS = 24
_STOP_WORDS = STOP_WORDS | frozenset(
    # What contractions leave behind: "don't" is the words don and t.
    "s t d m ll re ve don doesn didn isn aren wasn weren won wouldn couldn shouldn haven hasn hadn many much".split()
)
_QUOTED = LazyRegex(r'"([^"]*)"')
_SCOPE = LazyRegex(r"(?<!\S)in:(output|title)(?!\S)", re.IGNORECASE)
_WORD = LazyRegex(r"[^\W_]+")
_COMPOUND = LazyRegex(r"[^\W_]+(?:[_.-][^\W_]+)+")
_HUMP = LazyRegex(r"[a-z][A-Z]|[A-Z][A-Z][a-z]")
_ASCII_WORD = LazyRegex(r"[A-Za-z0-9]{4,80}")
_PART = LazyRegex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = LazyRegex(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_MARKS = LazyRegex(r"[\u0300-\u036f]")


class Term(Struct, frozen=True, kw_only=True):
    """A word that is searched for. forms: it and its other forms. stems: those stemmed, its own first."""

    forms: tuple[str, ...]
    stems: tuple[str, ...]


class Query(Struct, frozen=True, kw_only=True):
    """What is searched for.

    words: stems of all words as they stand, in order. terms: those that say something, each once.
    pairs: places in `terms` that stood next to each other. phrases: what stood in quotes, as words.
    scope: which text is searched.
    """

    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    scope: str = "text"


def parse(text: str) -> Query:
    """A query from what somebody typed, whatever it is; one without a word has no terms."""
    text = text[:MAX_QUERY_CHARS]
    scopes = _SCOPE.findall(text)
    text = _SCOPE.sub(" ", text)
    phrases = [tuple(folded_words(quoted)) for quoted in _QUOTED.findall(text)]
    spoken = folded_words(text)
    said = [word for word in spoken if word not in _STOP_WORDS] or spoken
    terms: dict[str, Term] = {}
    for word in [*said, *_compounds(text)]:
        terms.setdefault(porter(word), _term(word))
    kept = dict(list(terms.items())[:MAX_TERMS])
    places = {stem: place for place, stem in enumerate(kept)}
    stems = [porter(word) for word in said]
    near = [(places[a], places[b]) for a, b in pairwise(stems) if a in places and b in places]
    return Query(
        words=tuple(porter(word) for word in spoken),
        terms=tuple(kept.values()),
        pairs=tuple(dict.fromkeys(pair for pair in near if pair[0] != pair[1])),
        phrases=tuple(phrase for phrase in phrases if phrase),
        scope=scopes[-1].lower() if scopes else "text",
    )


def folded_words(text: str) -> list[str]:
    """The words of a text in order: lower case, without accents, scripts without spaces as pairs of characters."""
    return _WORD.findall(text.lower() if text.isascii() else _folded(text))


def stems(text: str) -> list[str]:
    """The words of a text in order, stemmed as the index stems them; then the parts of its compound words."""
    return [porter(word) for word in folded_words(indexable(text))]


def indexable(text: str) -> str:
    """The text as it is put into the index: the parts of CamelCase words behind it, scripts without spaces in pairs."""
    humps = _humps(text)
    if not text.isascii():
        text = _in_pairs(text)
    return f"{text}\n{' '.join(humps)}" if humps else text


def _compounds(text: str) -> list[str]:
    """What else a compound of the query may be written as: `parse_args` as `parseargs`, `parseArgs` in parts."""
    joined = ["".join(_WORD.findall(word)).lower() for word in _COMPOUND.findall(text)]
    return [*map(str.lower, _humps(text)), *joined]


def _humps(text: str) -> list[str]:
    """The parts of the CamelCase words."""
    if not _HUMP.search(text):
        return []
    compounds = dict.fromkeys(word for word in _ASCII_WORD.findall(text) if _HUMP.search(word))
    return [part for word in compounds for part in _PART.findall(word)]


def _term(word: str) -> Term:
    forms = (word, *other_forms(word))
    return Term(forms=forms, stems=tuple(dict.fromkeys(porter(form) for form in forms)))


def _folded(text: str) -> str:
    text = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return _in_pairs(unicodedata.normalize("NFC", text).lower())


def _in_pairs(text: str) -> str:
    return _UNSPACED.sub(lambda run: " ".join(run[0][at : at + 2] for at in range(len(run[0]) - 1)).join("  "), text)
