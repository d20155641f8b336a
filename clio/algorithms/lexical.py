"""Words and how well they fit: tokenising, stop words, a light stemmer, weighted overlap. Pure; no index, no I/O."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from clio.algorithms.late_pattern import LatePattern

_WORD = LatePattern(r"[^\W_]+")
# Scripts written without spaces: a run of them is read as overlapping pairs of characters.
_UNSPACED = LatePattern(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)")
_ASCII_WORD = LatePattern(r"[A-Za-z0-9]+")
_VOWEL = LatePattern(r"[aeiouy]")

_STOP_WORDS = """
a about all also an and any are as at be been but by can could did do does done for from get got had has have he her
here him his how i if in into is it its just like me my no not now of on one or our out please she should so some
than that the their them then there these they this those to too up us was we were what when where which who why
will with would yes you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """The words of a text in order, case-folded; underscores separate, numbers stay whole, any script."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if word.isascii():
            found.append(word)
        else:
            for number, run in enumerate(_UNSPACED.split(word)):
                if run:
                    found.extend(_pairs(run) if number % 2 else [run])
    return found


def terms(text: str) -> list[str]:
    """The words that say something, stemmed; all of them where every word is a stop word."""
    found = words(text)
    return [stem(word) for word in found if word not in STOP_WORDS] or [stem(word) for word in found]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The word without common English endings: plural, -ed, -ing, -ly, final e. Others are returned as they are.

    Not a dictionary form; only good for comparing with another stem.
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_plural(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 2 and _VOWEL.search(rest) and not word.endswith("eed"):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            word = word[:-1] + "y" if ending == "ed" and word.endswith("i") else word
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    return word[:-1] if word.endswith("e") and len(word) > 2 else word


def rarity(documents: Iterable[Collection[str]], wanted: Collection[str]) -> dict[str, float]:
    """A positive weight for each wanted term, more for a rare one: ln(1 + (N + 1) / (1 + documents that have it))."""
    counts = dict.fromkeys(wanted, 0)
    total = 0
    for document in documents:
        total += 1
        for term in counts:
            counts[term] += term in document
    return {term: math.log(1 + (total + 1) / (1 + count)) for term, count in counts.items()}


def coverage(wanted: Mapping[str, float], document: Collection[str]) -> float:
    """The share, by weight, of the wanted terms a document has: 0.0 to 1.0."""
    total = sum(wanted.values())
    return sum(weight for term, weight in wanted.items() if term in document) / total if total else 0.0


def has_phrase(text: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the words of the phrase stand in the text, whole, next to each other and in order."""
    if not phrase:
        return False
    first, length = phrase[0], len(phrase)
    return any(word == first and list(text[at : at + length]) == list(phrase) for at, word in enumerate(text))


def rough_tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of each ASCII word's length, rounded up; one for each other sign.

    ASCII punctuation and white space count nothing. Source: the preferences document.
    """
    ascii_words = sum(-(-len(word) // 4) for word in _ASCII_WORD.findall(text))
    return ascii_words + sum(1 for char in text if not char.isascii() and not char.isspace())


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
