"""What a question has to do with a text, by their words, and the part of a long text that says most of it. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from clio.text.vocabulary import (
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
"""Of the question's words by weight, or of the text's own, for two words to be a reason."""
_SURE = 0.6  # where it is one word, or only words of every day
_ALL = 0.95
_UNNAMED = 0.5  # where a text goes by names and none of them was said
_RARE, _RARE_ENOUGH = 2, 0.4  # one word that so few texts have says more
_LEAST_TOTAL = 50  # so that rarity means the same in a small store
_EVERYDAY = 0.4
_UNHEARD = 0.4  # a word that nothing remembered has says little about which memory is meant
_OWN_WEIGHT = 0.8  # a long question that says all a short text says is nearly as good as the other way round


class Question(Struct, frozen=True, kw_only=True):
    """The words of a question. weights: of each, in order. places: which word a stem in a text stands for.

    rare: places of words that say something and that few texts have. whole: what all of them weigh.
    is_asking: it begins with "what", "where" and the like.
    """

    words: tuple[QuestionWord, ...]
    weights: tuple[float, ...]
    places: Mapping[str, int]
    rare: frozenset[int]
    whole: float
    is_asking: bool


class Evidence(Struct, frozen=True, kw_only=True):
    """What one text has of a question. alias: the keyword that was said; empty without one.

    said: stems of the text that are asked for. hits: those words as the question says them, without words of every
    day where there are others. count: how many words are in both. words: 0.0 to 1.0, how much that covers.
    enough: it is a reason to bring the text up.
    """

    alias: str
    said: frozenset[str]
    hits: tuple[str, ...]
    count: int
    words: float
    enough: bool


@lru_cache(maxsize=4_096)
def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's words and of the parts of names in it."""
    return frozenset((*extract_terms(text), *map(stem_word, split_identifiers(text))))


def weighed(question: str, bags: Sequence[frozenset[str]]) -> Question:
    """The question, each word weighed: more where few of the texts have it in any form, less where none has."""
    said = parse_question_words(question)
    return weighed_by(question, said, having(said, bags), len(bags))


def places_of(said: Sequence[QuestionWord]) -> dict[str, int]:
    """Which word of a question a stem in a text stands for, in any of the word's forms."""
    return {form: place for place in reversed(range(len(said))) for form in said[place].forms}


def having(said: Sequence[QuestionWord], bags: Iterable[frozenset[str]]) -> Counter[int]:
    """By the place of a word: how many of the texts have it in any form."""
    places = places_of(said)
    return Counter(place for bag in bags for place in {places[word] for word in bag if word in places})


def weighed_by(question: str, said: Sequence[QuestionWord], counts: Mapping[int, int], total: int) -> Question:
    """The question, its words weighed by how many of `total` texts have each of them, by place."""
    total = max(total, _LEAST_TOTAL)
    weights = tuple(
        math.log(1 + (total + 1) / (1 + counts.get(place, 0)))
        * (1.0 if counts.get(place) else _UNHEARD)
        * (_EVERYDAY if word.is_common else 1.0)
        for place, word in enumerate(said)
    )
    rare = frozenset(
        place for place, word in enumerate(said) if not word.is_common and 0 < counts.get(place, 0) <= _RARE
    )
    return Question(
        words=tuple(said),
        weights=weights,
        places=places_of(said),
        rare=rare,
        whole=sum(weights),
        is_asking=is_question(question),
    )


def evidence(question: Question, bag: frozenset[str], keywords: Sequence[str]) -> Evidence:
    """What a text of these stems, which also goes by these keywords, has of the question."""
    said = frozenset(word for word in bag if word in question.places)
    places = sorted({question.places[word] for word in said})
    covered = sum(question.weights[place] for place in places) / question.whole if question.whole else 0.0
    words = max(covered, _OWN_WEIGHT * _own_share(bag, said))
    telling = [place for place in places if not question.words[place].is_common]
    alias = _alias(keywords, question.words)
    enough = bool(alias) or _is_enough(words, places, telling, question)
    if enough and not alias and has_names(keywords):
        # It has names, not only single words as tags, and none was said: a word of its text is no name for it.
        enough = len(question.words) == 1 or (len(telling) > 1 and words >= _UNNAMED)
    return Evidence(
        alias=alias,
        said=said,
        hits=tuple(question.words[place].text for place in telling or places),
        count=len(places),
        words=words,
        enough=enough,
    )


def has_names(keywords: Iterable[str]) -> bool:
    """Whether a text goes by names of several words, and not only by single words as tags."""
    return any(" " in keyword.strip() for keyword in keywords)


def _own_share(bag: frozenset[str], said: frozenset[str]) -> float:
    """The share of what a text says that the question says too; words of every day count in part on both sides."""
    whole = sum(_EVERYDAY if is_common_term(word) else 1.0 for word in bag)
    return sum(_EVERYDAY if is_common_term(word) else 1.0 for word in said) / whole if whole else 0.0


def _is_enough(words: float, places: Sequence[int], telling: Sequence[int], question: Question) -> bool:
    if not places:
        return False
    if not telling:  # "when is the talk" is about the talk; "yes, delete them" is about nothing remembered
        return words >= _SURE if question.is_asking else len(places) > 1 and words >= _ALL
    if len(places) > 1 or len(question.words) == 1:
        return words >= ENOUGH
    return words >= (_RARE_ENOUGH if telling[0] in question.rare else _SURE)


def _alias(keywords: Iterable[str], said: Sequence[QuestionWord]) -> str:
    """The keyword all of whose words were said, one letter wrong allowed in long ones."""
    for keyword in keywords:
        parts = [word for word in tokenize(keyword) if word not in STOP_WORDS] or tokenize(keyword)
        if parts and all(any(_names(part, word) for word in said) for part in parts):
            return keyword
    return ""


def _names(part: str, word: QuestionWord) -> bool:
    """Whether a word of a keyword was said, as it is, in another form, or with one letter wrong."""
    stem = stem_word(part)
    return stem in word.synonyms or is_misspelling(stem, word.stem) or is_misspelling(part, word.text)


_WORD = re.compile(r"\S+")
_MARK = "…"


def passage(text: str, wanted: frozenset[str], chars: int) -> str:
    """Up to so many characters of a text, on one line, with as many different wanted stems as fit, in their middle.

    The beginning where nothing is wanted; an ellipsis stands where something is left out.
    """
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    room = chars - 2 * len(_MARK)
    begin, end = _densest(line, wanted, room)
    begin = _after_blank(line, max(begin - (room - (end - begin)) // 2, 0), begin)
    begin, end = (max(len(line) - room, 0), len(line)) if begin + room >= len(line) else (begin, begin + room)
    begin = _after_blank(line, begin, end)
    end = _before_blank(line, begin, end)
    return f"{_MARK if begin else ''}{line[begin:end].rstrip()}{_MARK if end < len(line) else ''}"


def _densest(line: str, wanted: frozenset[str], room: int) -> tuple[int, int]:
    """From where to where the most different wanted stems stand within so many characters, the first such place."""
    hits = [
        (match.start(), min(match.end(), match.start() + room), stems)
        for match in _WORD.finditer(line)
        if (stems := wanted.intersection((*extract_terms(match[0]), *map(stem_word, split_identifiers(match[0])))))
    ]
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


def _after_blank(line: str, at: int, most: int) -> int:
    """The beginning of the next whole word; the place itself where there is none before `most`."""
    if at == 0 or line[at - 1] == " ":
        return at
    blank = line.find(" ", at, most)
    return at if blank < 0 else blank + 1


def _before_blank(line: str, least: int, at: int) -> int:
    """The end of the last whole word; the place itself where there is none after `least`."""
    if at == len(line) or line[at] == " ":
        return at
    blank = line.rfind(" ", least, at)
    return at if blank <= least else blank
