"""The piece of a text that shows why it was found. Pure."""

import re

from clio.memory.recall.words import Query, folded_words
from clio.text.vocabulary import porter

SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")
_NEAR_WORDS = 50


def snippet(text: str, passage: str, query: Query) -> str:
    """Up to 300 characters of a text around the place in its best passage where the query stands as it was typed.

    Else the place where most of its words are near each other.
    """
    centre = max(text.find(passage), 0) + _centre(passage, query)
    start = max(min(centre - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS), 0)
    end = start + SNIPPET_CHARS
    shown = " ".join(text[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(text) else "")


def _centre(text: str, query: Query) -> int:
    places = [(match.start(), [porter(word) for word in folded_words(match[0])]) for match in _WORD.finditer(text)]
    phrase = _phrase_at(places, query.words)
    return _densest(places, {stem for term in query.terms for stem in term.stems}) if phrase is None else phrase


def _phrase_at(places: list[tuple[int, list[str]]], phrase: tuple[str, ...]) -> int | None:
    flat = [(start, stem) for start, stems in places for stem in stems]
    for at, (start, stem) in enumerate(flat):
        if phrase and stem == phrase[0] and tuple(stem for _, stem in flat[at : at + len(phrase)]) == phrase:
            return start
    return None


def _densest(places: list[tuple[int, list[str]]], wanted: set[str]) -> int:
    hits = [(start, found) for start, stems in places if (found := wanted.intersection(stems))]
    best, centre = 0, 0
    for number, (start, _) in enumerate(hits):
        near = [found for at, found in hits[number : number + _NEAR_WORDS] if at < start + SNIPPET_CHARS * 2 // 3]
        count = len(set[str]().union(*near))
        if count > best:
            best, centre = count, start
    return centre
