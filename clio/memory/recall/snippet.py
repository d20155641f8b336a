"""The piece of a text that shows why it was found. Pure."""

import re
from collections.abc import Collection, Sequence

from clio.algorithms.lexical import stem, words

SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")


def snippet(text: str, phrase: Sequence[str], wanted: Collection[str]) -> str:
    """Up to 300 characters around the exact phrase, else where the most different wanted stems are near each other."""
    centre = _phrase_at(text, phrase)
    if centre is None:
        centre = _densest(text, set(wanted))
    start = max(min(centre - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS), 0)
    end = start + SNIPPET_CHARS
    shown = " ".join(text[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(text) else "")


def _phrase_at(text: str, phrase: Sequence[str]) -> int | None:
    pattern = r"[\W_]*".join(re.escape(word) for word in phrase)
    found = re.search(pattern, text, re.IGNORECASE) if pattern else None
    return found.start() if found else None


def _densest(text: str, wanted: set[str]) -> int:
    places = [(match.start(), hits) for match in _WORD.finditer(text) if (hits := wanted & _stems(match[0]))]
    best, centre = 0, 0
    for number, (start, _) in enumerate(places):
        near = [hits for at, hits in places[number : number + 50] if at < start + SNIPPET_CHARS * 2 // 3]
        count = len(set[str]().union(*near))
        if count > best:
            best, centre = count, start
    return centre


def _stems(word: str) -> set[str]:
    return {stem(part) for part in words(word)}
