"""Compare a question with a text by their words, and extract the part of a long text that fits the question best.

Pure functions. A text is given as the set of its word stems (`extract_text_stems`).
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clio.text.vocabulary import (
    MIN_MISSPELLING_LETTERS,
    STOP_WORDS,
    QuestionWord,
    extract_terms,
    is_common_term,
    is_misspelling,
    is_question,
    parse_question_words,
    split_identifiers,
    stem_word,
    tokenize,
)

ENOUGH = 0.34
"""Minimum share of the question's words, by weight, or of the text's own, if they have two words in common."""
_ENOUGH_ONE_WORD = 0.6
"""The same if they have one word in common, or only everyday words."""
_ENOUGH_EVERYDAY = 0.95
"""The same for everyday words if the text is no question."""
_ENOUGH_UNNAMED = 0.5
"""The same if the text has names as keywords and the question contains none of them."""
_MAX_RARE_TEXTS, _ENOUGH_RARE = 2, 0.4
"""Number of texts up to which a word is rare, and the minimum share for one rare word in common."""
_MIN_TOTAL = 50
"""Lower bound for the number of texts, so that rarity means the same in a small store."""
_EVERYDAY_FACTOR = 0.4
_UNKNOWN_FACTOR = 0.4
"""Factor for a word that no text contains: it does not help to find the memory that is meant."""
_OWN_FACTOR = 0.8
"""Factor for the share of the text's words in the question: a long question that contains all of a short text is nearly
as good as a text that contains all of the question.
"""


class Question(Struct, frozen=True, kw_only=True):
    """A question, prepared for comparison with many texts.

    Attributes:
        weights: the weight of each word, in order.
        places: the index of the word that a stem is a form of.
        synonyms: the stems of the words and of their synonyms.
        rare: indices of words that are not everyday words and that few texts contain.
        verb: the stem of the verb that an order begins with, as in "push the branch"; empty without one.
        whole: the sum of the weights.
        is_asking: it begins with a word such as "what" or "where".
    """

    words: tuple[QuestionWord, ...]
    weights: tuple[float, ...]
    places: Mapping[str, int]
    synonyms: frozenset[str]
    rare: frozenset[int]
    verb: str
    whole: float
    is_asking: bool


class Evidence(Struct, frozen=True, kw_only=True):
    """What a question and a text have in common.

    Attributes:
        alias: the keyword of the text that the question contains; empty without one.
        said: stems of the text that are in the question.
        hits: these words as spelt in the question, without everyday words if there are others.
        count: the number of common words.
        words: the share they cover, 0.0 to 1.0.
        enough: it is sufficient reason to recall the text.
    """

    alias: str
    said: frozenset[str]
    hits: tuple[str, ...]
    count: int
    words: float
    enough: bool


@lru_cache(maxsize=4_096)
def extract_text_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words and of the parts of identifiers in it."""
    return frozenset((*extract_terms(text), *map(stem_word, split_identifiers(text))))


@lru_cache(maxsize=4_096)
def extract_all_stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a text, also of stop words, and of the parts of identifiers in it."""
    return extract_text_stems(text).union(map(stem_word, tokenize(text)))


def weigh_against(question: str, bags: Sequence[frozenset[str]]) -> Question:
    """Return the question with words weighted by how few of the given texts contain them."""
    words = parse_question_words(question)
    return weigh_question(question, words, count_texts_with(words, bags), len(bags))


def map_forms_to_words(words: Sequence[QuestionWord]) -> dict[str, int]:
    """Return the index of the question word by each of its forms; the first word if two have the same form."""
    return {form: place for place in reversed(range(len(words))) for form in words[place].forms}


def count_texts_with(words: Sequence[QuestionWord], bags: Iterable[frozenset[str]]) -> Counter[int]:
    """Return, by index of the question word, how many of the texts contain it in any form."""
    places = map_forms_to_words(words)
    return Counter(place for bag in bags for place in {places[word] for word in places.keys() & bag})


def weigh_question(question: str, words: Sequence[QuestionWord], counts: Mapping[int, int], total: int) -> Question:
    """Return the question with weighted words.

    counts: by index of the word, how many of `total` texts contain it.
    """
    total = max(total, _MIN_TOTAL)
    weights = tuple(
        math.log(1 + (total + 1) / (1 + counts.get(place, 0)))
        * (1.0 if counts.get(place) else _UNKNOWN_FACTOR)
        * (_EVERYDAY_FACTOR if word.is_common else 1.0)
        for place, word in enumerate(words)
    )
    rare = frozenset(
        place for place, word in enumerate(words) if not word.is_common and 0 < counts.get(place, 0) <= _MAX_RARE_TEXTS
    )
    return Question(
        words=tuple(words),
        weights=weights,
        places=map_forms_to_words(words),
        synonyms=frozenset(stem for word in words for stem in word.synonyms),
        rare=rare,
        verb=_find_verb(question, words),
        whole=sum(weights),
        is_asking=is_question(question),
    )


def bound_evidence(question: Question, bag: frozenset[str], keywords: Sequence[str]) -> float:
    """Return an upper bound for the share that `find_evidence` finds, 0.0 if it cannot find enough.

    Most texts only share a word with the question, and this is cheaper: every word of the text counts as little as an
    everyday word here, so that what they have in common counts most.
    """
    if keywords:
        return 1.0
    said = question.places.keys() & bag
    if not said:
        return 0.0
    places = {question.places[stem] for stem in said}
    covered = sum(question.weights[place] for place in places) / question.whole if question.whole else 0.0
    words = max(covered, _OWN_FACTOR * min(len(said) / (_EVERYDAY_FACTOR * len(bag)), 1.0))
    significant = [place for place in places if not question.words[place].is_common]
    return words if _is_enough(words, places, significant, question, said) else 0.0


def find_evidence(question: Question, bag: frozenset[str], keywords: Sequence[str]) -> Evidence:
    """Return what the question has in common with a text, given as its stems, or with its keywords."""
    said = frozenset(question.places.keys() & bag)
    places = sorted({question.places[word] for word in said})
    covered = sum(question.weights[place] for place in places) / question.whole if question.whole else 0.0
    words = max(covered, _OWN_FACTOR * _compute_own_share(bag, said))
    significant = [place for place in places if not question.words[place].is_common]
    alias = _find_alias(keywords, question)
    enough = bool(alias) or _is_enough(words, places, significant, question, said)
    if enough and not alias and has_names(keywords):
        # The text has a name, which the question does not contain: one common word is not enough then.
        enough = len(question.words) == 1 or (len(significant) > 1 and words >= _ENOUGH_UNNAMED)
    return Evidence(
        alias=alias,
        said=said,
        hits=tuple(question.words[place].text for place in significant or places),
        count=len(places),
        words=words,
        enough=enough,
    )


def has_names(keywords: Iterable[str]) -> bool:
    """Whether the keywords contain names of several words, and not only single words as tags."""
    return any(" " in keyword.strip() for keyword in keywords)


def _compute_own_share(bag: frozenset[str], said: frozenset[str]) -> float:
    """Return the share of the text's words that the question contains; everyday words count less."""
    whole = _weigh_stems(bag)
    return _weigh_stems(said) / whole if whole else 0.0


@lru_cache(maxsize=4_096)
def _weigh_stems(stems: frozenset[str]) -> float:
    return sum(_EVERYDAY_FACTOR if is_common_term(stem) else 1.0 for stem in stems)


def _is_enough(
    words: float, places: Collection[int], significant: Sequence[int], question: Question, said: Collection[str]
) -> bool:
    if not places:
        return False
    if len(places) == 1 and len(question.words) > 1 and not _names_thing(question, next(iter(places)), said):
        return False
    if not significant:  # "when is the talk" asks about the talk; "yes, delete them" asks about nothing remembered
        return words >= _ENOUGH_ONE_WORD if question.is_asking else len(places) > 1 and words >= _ENOUGH_EVERYDAY
    if len(places) > 1 or len(question.words) == 1:
        return words >= ENOUGH
    return words >= (_ENOUGH_RARE if significant[0] in question.rare else _ENOUGH_ONE_WORD)


def _names_thing(question: Question, place: int, said: Collection[str]) -> bool:
    """Whether the only word in common may be what an order is about; true for anything but an order.

    Its verb is not: "push the branch" is not about "checks run on every push". Nor is a synonym: "copy it to the other
    host" is not about "the server is closed".
    """
    word = question.words[place]
    return not question.verb or (word.stem in said and word.stem != question.verb)


_VERB_OF_ORDER = re.compile(
    r"\W*(?:please\W+)?(?P<verb>[a-z]+)\s+(?:the|this|that|these|those|a|an|my|our|all|it)\b", re.IGNORECASE
)


def _find_verb(question: str, words: Sequence[QuestionWord]) -> str:
    """Return the stem of the first word if an article or the like follows it, which makes it a verb."""
    found = _VERB_OF_ORDER.match(question)
    stem = stem_word(found["verb"].casefold()) if found and not is_question(question) else ""
    return stem if any(word.stem == stem for word in words) else ""


def _find_alias(keywords: Iterable[str], question: Question) -> str:
    """Return the first keyword all of whose words are in the question, in long ones with one wrong letter allowed."""
    for keyword in keywords:
        parts = _split_keyword(keyword)
        if parts and all(_is_in(question, part, stem) for part, stem in parts):
            return keyword
    return ""


@lru_cache(maxsize=4_096)
def _split_keyword(keyword: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a keyword with their stems, without stop words if there are others."""
    parts = [word for word in tokenize(keyword) if word not in STOP_WORDS] or tokenize(keyword)
    return tuple((part, stem_word(part)) for part in parts)


def _is_in(question: Question, part: str, stem: str) -> bool:
    """Whether a word of a keyword is a question word, possibly in another form or with one wrong letter."""
    if stem in question.synonyms:
        return True
    return len(part) >= MIN_MISSPELLING_LETTERS and any(
        is_misspelling(stem, word.stem) or is_misspelling(part, word.text) for word in question.words
    )


_WORD = re.compile(r"\S+")
_ELLIPSIS = "…"


def extract_passage(text: str, stems: frozenset[str], chars: int) -> str:
    """Return up to `chars` characters of a text on one line, around the part with the most of the given stems.

    Without stems, that is the beginning. An ellipsis shows where text is left out.
    """
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    room = chars - 2 * len(_ELLIPSIS)
    begin, end = _find_densest_part(line, stems, room)
    begin = _find_word_start(line, max(begin - (room - (end - begin)) // 2, 0), begin)
    begin, end = (max(len(line) - room, 0), len(line)) if begin + room >= len(line) else (begin, begin + room)
    begin = _find_word_start(line, begin, end)
    end = _find_word_end(line, begin, end)
    return f"{_ELLIPSIS if begin else ''}{line[begin:end].rstrip()}{_ELLIPSIS if end < len(line) else ''}"


def _find_densest_part(line: str, wanted: frozenset[str], room: int) -> tuple[int, int]:
    """Return start and end of the first part of up to `room` characters that contains the most different stems."""
    hits = [
        (match.start(), min(match.end(), match.start() + room), stems)
        for match in _WORD.finditer(line)
        if (stems := wanted.intersection((*extract_terms(match[0]), *map(stem_word, split_identifiers(match[0])))))
    ]
    # A window slides over the hits: `first` is the first hit in it, `inside` counts its stems.
    best, span = 0, (0, 0)
    inside: Counter[str] = Counter()
    first = 0
    for start, stop, stems in hits:
        inside.update(stems)
        while stop - hits[first][0] > room and hits[first][0] < start:
            inside -= Counter(hits[first][2])
            first += 1
        if len(inside) > best:
            best, span = len(inside), (hits[first][0], stop)
    return span


def _find_word_start(line: str, at: int, maximum: int) -> int:
    """Return the start of the next whole word; `at` itself if there is none before `maximum`."""
    if at == 0 or line[at - 1] == " ":
        return at
    blank = line.find(" ", at, maximum)
    return at if blank < 0 else blank + 1


def _find_word_end(line: str, minimum: int, at: int) -> int:
    """Return the end of the last whole word; `at` itself if there is none after `minimum`."""
    if at == len(line) or line[at] == " ":
        return at
    blank = line.rfind(" ", minimum, at)
    return at if blank <= minimum else blank
