"""Words of questions and memories: tokens, stop words, stems, synonyms, identifiers, misspellings. Pure."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

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
# "ion", which is dropped after s and t only, has a rule of its own.
_STEP_4 = "al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize".split()
_MAX_STEMMED_LETTERS = 64

NO_TITLE = r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bProf)(?<!\bSt)(?<!\bSr)(?<!\bSra)(?<!\bDra)(?<!\bNr)"
"""Before a point that ends a sentence, and is not part of a title: "Dr. Haas"."""


@lru_cache(maxsize=65_536)
def porter_stem(word: str) -> str:
    """Return the Porter stem of a lower-case word.

    Words in other scripts, of at most two letters or of more than 64 are unchanged.
    Source: Porter 1980, "An algorithm for suffix stripping"; the same stems as SQLite's full-text search.
    """
    if not 2 < len(word) <= _MAX_STEMMED_LETTERS or not (word.isascii() and word.isalnum()):
        return word
    word = _step_1b(_step_1a(word))
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(_replace_ending(word, _STEP_2), _STEP_3)
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


def _replace_ending(word: str, endings: dict[str, str]) -> str:
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


_LONG_NAME = LazyRegex(r"[A-Za-z0-9]{4,80}")
_WORD_BOUNDARY = LazyRegex(r"[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z]{3}\d")
_NAME_PART = LazyRegex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MIN_PART_LETTERS = 3


def split_identifiers(text: str) -> list[str]:
    """Return the lower-case parts of compound names such as `loadConfig`, if they have three letters or more.

    Plain words have no parts.
    """
    return [
        part.lower()
        for name in _LONG_NAME.findall(text)
        if _WORD_BOUNDARY.search(name)
        for part in _NAME_PART.findall(name)
        if len(part) >= _MIN_PART_LETTERS
    ]


MIN_MISSPELLING_LETTERS = 5
"""In shorter words, one edit too often gives another real word."""


def is_misspelling(one: str, other: str, min_letters: int = MIN_MISSPELLING_LETTERS) -> bool:
    """Whether two words are equal, or long enough and one inserted, deleted, replaced or swapped letter apart."""
    if one == other:
        return True
    return min(len(one), len(other)) >= min_letters and _one_edit_apart(one, other)


class SpellingIndex:
    """Words that can be found by a misspelling; a lookup takes time proportional to the length of the word.

    min_letters: in shorter words no letter may be wrong.
    """

    def __init__(self, words: Iterable[str] = (), min_letters: int = MIN_MISSPELLING_LETTERS) -> None:
        self._min_letters = min_letters
        self._by_rest: dict[str, set[str]] = {}
        self._words: set[str] = set()
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Add a word; shorter words are ignored."""
        if word not in self._words and len(word) >= self._min_letters:
            self._words.add(word)
            for rest in _delete_each_letter(word):
                self._by_rest.setdefault(rest, set()).add(word)

    def find_similar(self, word: str) -> set[str]:
        """Return the words of which this one may be a misspelling."""
        if len(word) < self._min_letters:
            return set()
        found: set[str] = set()
        for rest in _delete_each_letter(word) & self._by_rest.keys():
            found |= self._by_rest[rest]
        return {known for known in found if is_misspelling(known, word, self._min_letters)}


@lru_cache(maxsize=16_384)
def _delete_each_letter(word: str) -> frozenset[str]:
    return frozenset((word, *(word[:index] + word[index + 1 :] for index in range(len(word)))))


def _one_edit_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[:2] == b[1::-1] and a[2:] == b[2:])


_WORD = LazyRegex(r"[^\W_]+")
# Scripts written without spaces: a run of them is split into overlapping pairs of characters.
_UNSPACED = LazyRegex(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)")
_VOWEL = LazyRegex(r"[aeiouy]")


class WordTables(Struct, frozen=True):
    """The word tables in `words.json`; each string has several words.

    Attributes:
        everyday_words, request_words, number_words: say little about the subject of a request, so a memory is not
            recalled for them alone.
        synonym_groups: part of stored vectors; after a change all vectors are computed again.
        question_synonym_groups: more of them, for questions only.
        kind_members: a question about the kind is answered by text that names a member; the reverse does not hold.
        embedding_common_words: weigh little in vectors; after a change all vectors are computed again.
    """

    stop_words: tuple[str, ...]
    everyday_words: tuple[str, ...]
    request_words: tuple[str, ...]
    number_words: tuple[str, ...]
    synonym_groups: tuple[str, ...]
    question_synonym_groups: tuple[str, ...]
    kind_members: dict[str, str]
    embedding_common_words: tuple[str, ...]


WORD_TABLES = msgspec.json.decode(Path(__file__).with_name("words.json").read_bytes(), type=WordTables)


def split_words(lines: Iterable[str]) -> frozenset[str]:
    """Return the words of all lines."""
    return frozenset(word for line in lines for word in line.split())


STOP_WORDS = split_words(WORD_TABLES.stop_words)


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order, case-folded, in any script.

    Underscores separate words; numbers are one word.
    """
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if word.isascii():
            found.append(word)
        else:
            for number, run in enumerate(_UNSPACED.split(word)):
                if run:
                    found.extend(_split_into_pairs(run) if number % 2 else [run])
    return found


def is_stop_word_stem(stem: str) -> bool:
    """Whether a stem is that of a stop word."""
    return stem in _stop_word_stems()


@cache
def _stop_word_stems() -> frozenset[str]:
    return frozenset(map(stem_word, STOP_WORDS))


def extract_terms(text: str) -> list[str]:
    """Return the stems of the words that are not stop words; of all words if all are stop words."""
    found = tokenize(text)
    return [stem_word(word) for word in found if word not in STOP_WORDS] or [stem_word(word) for word in found]


@lru_cache(maxsize=65_536)
def stem_word(word: str) -> str:
    """Return the word without common English endings (plural, -ed, -ing, -ly, final e); other words are unchanged.

    The result is not a dictionary form; compare it with other stems only.
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _strip_plural(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 2 and _VOWEL.search(rest) and not word.endswith("eed"):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            word = word[:-1] + "y" if ending == "ed" and word.endswith("i") else word
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("ie") and len(word) > 4:
        return f"{word[:-2]}y"  # the plural of "cookie" has the form of that of "query"
    return word[:-1] if word.endswith("e") and len(word) > 2 else word


def compute_rarity(documents: Iterable[Collection[str]], terms: Collection[str]) -> dict[str, float]:
    """Return a positive weight for each wanted term, larger for rare ones.

    The weight is ln(1 + (N + 1) / (1 + n)) for N documents, n of which contain the term.
    """
    counts = dict.fromkeys(terms, 0)
    document_count = 0
    for document in documents:
        document_count += 1
        for term in counts:
            counts[term] += term in document
    return {term: math.log(1 + (document_count + 1) / (1 + count)) for term, count in counts.items()}


def compute_coverage(weights: Mapping[str, float], document: Collection[str]) -> float:
    """Return the share, by weight, of the wanted terms that a document contains, 0.0 to 1.0."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in document) / total if total else 0.0


def has_phrase(text: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the text contains the words of the phrase next to each other and in order."""
    if not phrase:
        return False
    first, length = phrase[0], len(phrase)
    return any(word == first and list(text[start : start + length]) == list(phrase) for start, word in enumerate(text))


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _split_into_pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


_MIN_DISTINCTIVE_DIGITS = 3


def is_common_term(word: str) -> bool:
    """Whether a stem occurs in requests of every kind, or is a single letter or a number of one or two digits."""
    if not word.isascii():
        return False
    return word in _common_stems() or len(word) == 1 or (word.isdigit() and len(word) < _MIN_DISTINCTIVE_DIGITS)


@cache
def _common_stems() -> frozenset[str]:
    tables = WORD_TABLES
    words = split_words((*tables.everyday_words, *tables.request_words, *tables.number_words))
    return frozenset(map(stem_word, words))


def is_request_term(stem: str) -> bool:
    """Whether a stem is that of a noun or verb of requests of every kind, such as "file" or "add"."""
    return stem in _request_stems()


@cache
def _request_stems() -> frozenset[str]:
    return frozenset(map(stem_word, split_words(WORD_TABLES.request_words)))


@cache
def _make_synonym_table(groups: tuple[str, ...]) -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in groups:
        group = frozenset(stem_word(word) for word in line.split())
        for word in group:
            table[word] = table.get(word, frozenset()) | group
    return table


@cache
def _members_by_kind() -> dict[str, frozenset[str]]:
    return {
        stem_word(kind): frozenset(map(stem_word, members.split()))
        for kind, members in WORD_TABLES.kind_members.items()
    }


SYNONYMS = _make_synonym_table(WORD_TABLES.synonym_groups)


def expand_query_word(word: str) -> frozenset[str]:
    """Return the stem of a question's word and the stems of its synonyms, including those used for questions only."""
    groups = WORD_TABLES.synonym_groups + WORD_TABLES.question_synonym_groups
    return _make_synonym_table(groups).get(word, frozenset((word,)))


def list_members_of_kind(word: str) -> frozenset[str]:
    """Return the stems of the members of a kind, as Vim is an editor; empty for most words."""
    return frozenset[str]().union(*(_members_by_kind().get(stem, frozenset()) for stem in expand_query_word(word)))


def get_canonical_stem(word: str) -> str:
    """Return the stem that represents all synonyms of a stem: the first of its group, or itself without a group."""
    return _first_stem_by_stem().get(word, word)


@cache
def _first_stem_by_stem() -> dict[str, str]:
    first: dict[str, str] = {}
    for line in WORD_TABLES.synonym_groups:
        stems = [stem_word(word) for word in line.split()]
        for word in stems:
            first.setdefault(word, stems[0])
    return first


MAX_QUESTION_CHARS = 4_000
"""Only the beginning and end of a longer text are analysed: the question is there, and a pasted log takes time."""
FILLER_WORDS = STOP_WORDS | frozenset(
    "am s t d m ll re ve don doesn didn isn aren wasn couldn shouldn wouldn won let us mine yours myself ours".split()
)
"""Words of a question that say nothing about its subject: stop words, and what is left of "don't" and "sister's"."""
_QUESTION_START = LazyRegex(r"\W*(what|when|where|which|who|whose|whom|why|how)\b", re.IGNORECASE)


_HOW_MANY = LazyRegex(r"\W*how (?:many|much) (?P<noun>[a-z]+)", re.IGNORECASE)


class QuestionWord(Struct, frozen=True, kw_only=True):
    """One word of a question.

    Attributes:
        text: the word as written.
        stem: its stem.
        synonyms: its stem and those of its synonyms.
        forms: the synonyms, and the stems of members if the word names a kind of thing.
        is_common: it occurs in requests of every kind.
    """

    text: str
    stem: str
    synonyms: frozenset[str]
    forms: frozenset[str]
    is_common: bool


def shorten_question(question: str) -> str:
    """Return the part of a question that is analysed: all of it, or the beginning and end of a long one."""
    half = MAX_QUESTION_CHARS // 2
    return question if len(question) <= MAX_QUESTION_CHARS else f"{question[:half]}\n{question[-half:]}"


def parse_question_words(question: str, *, keep_single: bool = False) -> list[QuestionWord]:
    """Return the meaningful words of a question in order; of several synonyms only the first.

    keep_single: if the question is one word, return it even if it is a stop word, such as `just` or `make`.
    """
    text = shorten_question(question)
    found: dict[str, QuestionWord] = {}
    known_stems: set[str] = set()
    words = tokenize(text)
    fillers = FILLER_WORDS if len(words) > 1 or not keep_single else frozenset[str]()
    for word in (*words, *split_identifiers(text)):
        stem = stem_word(word)
        if word in fillers or stem in found or stem in known_stems:
            continue
        synonyms = expand_query_word(stem)
        found[stem] = QuestionWord(
            text=word,
            stem=stem,
            synonyms=synonyms,
            forms=synonyms | list_members_of_kind(stem),
            is_common=is_common_term(stem),
        )
        known_stems |= synonyms
    return list(found.values())


def find_counted_stem(question: str) -> str:
    """Return the stem of the word whose number a question asks for, "request" in "how many requests"; else ""."""
    found = _HOW_MANY.match(question)
    return stem_word(found["noun"].casefold()) if found else ""


def is_question(question: str) -> bool:
    """Whether the text begins with a question word such as "what" or "how"."""
    return _QUESTION_START.match(question) is not None
