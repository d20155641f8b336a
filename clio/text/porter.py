"""Porter's stemmer, word for word as SQLite's full-text search has it, so that both sides of a match agree. Pure."""

from functools import lru_cache

from clio.text.lazy_regex import LazyRegex

_C, _V = "[^aeiou]", "[aeiouy]"
_CONSONANTS, _VOWELS = f"{_C}[^aeiouy]*", f"{_V}[aeiou]*"
_MEASURE_1 = LazyRegex(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_MEASURE_IS_1 = LazyRegex(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?$")
_MEASURE_2 = LazyRegex(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
_HAS_VOWEL = LazyRegex(f"^(?:{_CONSONANTS})?{_V}")
_ENDS_CVC = LazyRegex(f"^{_CONSONANTS}{_V}[^aeiouwxy]$")

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize".split()
)  # "ion" is dropped after s and t only
_LONGEST = 64


@lru_cache(maxsize=65_536)
def porter(word: str) -> str:
    """The stem of a lower-case word; words of other scripts, of two letters or of over 64 are returned as they are."""
    if not 2 < len(word) <= _LONGEST or not (word.isascii() and word.isalnum()):
        return word
    word = _step_1b(_step_1a(word))
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _STEP_2), _STEP_3)
    return _step_5(_step_4(word))


def _step_1a(word: str) -> str:
    if (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _MEASURE_1.match(word[:-3]) else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _HAS_VOWEL.match(rest):
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeiouylsz":
                return rest[:-1]
            return rest + "e" if _MEASURE_IS_1.match(rest) and _ENDS_CVC.match(rest) else rest
    return word


def _replaced(word: str, endings: dict[str, str]) -> str:
    for length in range(7, 2, -1):
        ending = word[-length:]
        if len(word) > length and ending in endings:
            rest = word[:-length]
            return rest + endings[ending] if _MEASURE_1.match(rest) else word
    return word


def _step_4(word: str) -> str:
    for ending in sorted(_STEP_4, key=len, reverse=True):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest if _MEASURE_2.match(rest) else word
    if word.endswith(("sion", "tion")) and _MEASURE_2.match(word[:-3]):
        return word[:-3]
    return word


def _step_5(word: str) -> str:
    rest = word[:-1]
    if word.endswith("e") and (
        _MEASURE_2.match(rest) or (_MEASURE_1.match(rest) and not (_MEASURE_IS_1.match(rest) and _ENDS_CVC.match(rest)))
    ):
        word = rest
    return word[:-1] if word.endswith("ll") and _MEASURE_2.match(word[:-1]) else word
