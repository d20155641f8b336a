"""A query taken to pieces, and a text made ready for the index: the same words on both sides. Pure."""

import re

from msgspec import Struct

from clio.algorithms.lexical import STOP_WORDS, words

MAX_QUERY_CHARS = 4_000
MAX_TERMS = 32
_QUOTED = re.compile(r'"([^"]*)"')
_SCOPE = re.compile(r"(?<!\S)in:(output|title)(?!\S)", re.IGNORECASE)
_HUMP = re.compile(r"[^\W_]*(?:[^\W\d_A-Z][A-Z]|[A-Z]{2}[a-z]|[a-z]\d|\d[a-z])[^\W_]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")


class Query(Struct, frozen=True, kw_only=True):
    """What is searched for.

    words: as they stand, in order. terms: those that say something, each once. phrases: what stood in quotes.
    scope: which text is searched.
    """

    words: tuple[str, ...]
    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    scope: str = "text"


def parse(text: str) -> Query:
    """A query from what somebody typed, whatever it is; one without a word finds nothing."""
    text = text[:MAX_QUERY_CHARS]
    scopes = _SCOPE.findall(text)
    text = _SCOPE.sub(" ", text)
    phrases = tuple(tuple(words(quoted)) for quoted in _QUOTED.findall(text))
    found = words(indexable(text))
    said = [word for word in found if word not in STOP_WORDS] or found
    return Query(
        words=tuple(words(text)),
        terms=tuple(dict.fromkeys(said))[:MAX_TERMS],
        phrases=tuple(phrase for phrase in phrases if phrase),
        scope=scopes[-1].lower() if scopes else "text",
    )


def indexable(text: str) -> str:
    """The text with the parts of its CamelCase words behind it, and scripts without spaces as pairs of characters."""
    parts = [part for word in _HUMP.findall(text) for part in _PART.findall(word)]
    if not text.isascii():
        text = _UNSPACED.sub(lambda run: " ".join(run[0][at : at + 2] for at in range(len(run[0]) - 1)), text)
    return f"{text} {' '.join(parts)}" if parts else text
