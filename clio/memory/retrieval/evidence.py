"""Measure how well a text fits a question by their words, and extract the part of a long text that fits it best.

`TextMatcher` compares the texts of one search with its question. Pure functions; a text is given as the set of its word
stems (`extract_text_stems`).
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile

from msgspec import Struct, structs

from clio.text.formatting import split_passages
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import (
    FILLER_WORDS,
    MIN_MISSPELLING_LETTERS,
    QuestionWord,
    SpellingIndex,
    extract_terms,
    find_counted_stem,
    has_phrase,
    is_common_term,
    is_misspelling,
    is_question,
    is_request_term,
    is_stop_word_stem,
    parse_question_words,
    shorten_question,
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
_ENOUGH_ASKED = 0.75
"""The share of a question's words, by weight, that is enough then: for two words, even everyday ones, and for one word
beside others that no text contains.
"""
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


class Engine(Struct, frozen=True, kw_only=True):
    """The result of the transcript index for a passage, which includes the turns around it.

    Attributes:
        share: its score divided by the best score of the search, 0.0 to 1.0.
        covered: the share of the query words, by rarity, that the message and its neighbours contain, 0.0 to 1.0; if
            the query asks for a session, all messages found in it.
        words: the number of query words that these messages contain.
        related, related_words: the same for query words of which they only contain a related word.
        of_session: whether the query asks for a session.
        is_dated: whether it is from a date that the query names.
        title: the share of the query that the session's title contains, 0.0 to 1.0.
    """

    share: float
    covered: float = 0.0
    words: int = 0
    related: float = 0.0
    related_words: int = 0
    of_session: bool = False
    is_dated: bool = False
    title: float = 0.0


class Transcribed(Struct, frozen=True, kw_only=True):
    """The number of passages in the transcript index, and of those that contain each word of the query."""

    passages: int = 0
    words: Mapping[str, int] = {}


class Question(Struct, frozen=True, kw_only=True):
    """A question, prepared for comparison with many texts.

    Attributes:
        weights: the weight of each word, in order.
        places: the index of the word that a stem is a form of.
        named: the same for stems of words and synonyms only, not of members of a kind.
        spelt: the index of the word that a spelling is, or the stem, except for everyday words.
        spelling: the spellings by which misspelt ones are found.
        tokens: all words of it, also stop words, in order.
        joined: the stems of any two adjacent words written as one, as "on call" may be written "oncall".
        qualifiers: by a word's index, the stem that makes it another thing, as "video" does in "which video editor".
        owners: the same by a name: "numpy" in "the license of numpy" and "numpy's license".
        rare: indices of words that are not everyday words and that few texts contain.
        unknown: the number of words that are not everyday words and that no text contains.
        verb: the stem of the verb that an order begins with, as in "push the branch"; empty without one.
        objects: indices of the words that an order does something to: "migration" in "write the migration for it".
        counted: see `find_counted_stem`.
        whole: the sum of the weights.
        is_asking: it begins with a word such as "what" or "where".
    """

    words: tuple[QuestionWord, ...]
    weights: tuple[float, ...]
    places: Mapping[str, int]
    named: Mapping[str, int]
    spelt: Mapping[str, int]
    spelling: SpellingIndex
    tokens: tuple[str, ...]
    joined: frozenset[str]
    qualifiers: Mapping[int, str]
    owners: Mapping[int, str]
    rare: frozenset[int]
    unknown: int
    verb: str
    objects: frozenset[int]
    counted: str
    whole: float
    is_asking: bool


class Evidence(Struct, frozen=True, kw_only=True):
    """What a question and a text have in common.

    Attributes:
        alias: the keyword of the text that the question contains; empty without one.
        named: indices of the question's words that the keyword consists of, with PHRASE if they alone do not mean it.
        said: stems of the text and of its keywords that are in the question.
        places, telling: the indices of these words in the question, and of those that are not everyday words.
        covered: the share of the question that they cover by weight, 0.0 to 1.0.
        hits: these words as spelt in the question, without everyday words if there are others.
        words: the same, or the share of the text that they cover, if that is more.
        enough: it is sufficient reason to recall the text.
    """

    alias: str = ""
    named: frozenset[int] = frozenset()
    said: frozenset[str] = frozenset()
    places: frozenset[int] = frozenset()
    telling: frozenset[int] = frozenset()
    covered: float = 0.0
    hits: tuple[str, ...] = ()
    words: float = 0.0
    enough: bool = False


@lru_cache(maxsize=4_096)
def extract_text_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words and of the parts of identifiers in it."""
    return frozenset((*extract_terms(text), *map(stem_word, split_identifiers(text))))


@lru_cache(maxsize=4_096)
def _extract_all_stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a text, also of stop words, and of the parts of identifiers in it."""
    return extract_text_stems(text).union(map(stem_word, tokenize(text)))


def _weigh_question(
    question: str, words: Sequence[QuestionWord], bags: Sequence[frozenset[str]], transcribed: Transcribed
) -> Question:
    """Return the question with words weighted by how few texts contain them.

    bags: the stems of each text that is not in a transcript.
    """
    # The first word if two have the same form.
    places = {form: place for place in reversed(range(len(words))) for form in words[place].forms}
    counts = Counter(place for bag in bags for place in {places[stem] for stem in places.keys() & bag})
    counts.update({place: transcribed.words.get(word.text, 0) for place, word in enumerate(words)})
    total = max(len(bags) + transcribed.passages, _MIN_TOTAL)
    weights = tuple(
        math.log(1 + (total + 1) / (1 + counts[place]))
        * (1.0 if counts[place] else _UNKNOWN_FACTOR)
        * (_EVERYDAY_FACTOR if word.is_common else 1.0)
        for place, word in enumerate(words)
    )
    telling = [place for place, word in enumerate(words) if not word.is_common]
    rare = frozenset(place for place in telling if 0 < counts[place] <= _MAX_RARE_TEXTS)
    unknown = {place for place in telling if not counts[place]}
    tokens = tuple(tokenize(shorten_question(question)))
    # Everyday words are spelt as they are meant: "texts" are not "tests".
    spelt = {spelling: place for place in reversed(telling) for spelling in (words[place].text, words[place].stem)}
    named = {stem: place for place in reversed(range(len(words))) for stem in words[place].synonyms}
    return Question(
        words=tuple(words),
        weights=weights,
        places=places,
        named=named,
        spelt=spelt,
        spelling=SpellingIndex(spelt, _MIN_LETTERS_BESIDE),
        tokens=tokens,
        joined=frozenset(stem_word(first + second) for first, second in pairwise(tokens)),
        qualifiers=_find_qualifiers(tokens, named, unknown, is_asking=is_question(question)),
        owners=_find_owners(tokens, named, unknown),
        rare=rare,
        unknown=len(unknown),
        verb=_find_verb(question, words),
        objects=_find_objects(tokens, named),
        counted=find_counted_stem(question),
        whole=sum(weights),
        is_asking=is_question(question),
    )


def _find_evidence(
    question: Question, text: str, bag: frozenset[str], keywords: Sequence[str], *, is_whole: bool
) -> Evidence:
    """Return what the question has in common with a text or its keywords.

    Args:
        bag: the stems of the text.
        is_whole: the text is a single statement, and not a part of a conversation or document.
    """
    # A keyword of which all words are in the question is an alias, or does not count: "what is GitHub's rate limit".
    asked = question.places.keys()
    names = [stems for keyword in keywords if not (stems := _parse_keyword(keyword).stems).isdisjoint(asked)]
    known = bag.union(*(stems for stems in names if not stems <= asked)) if names else bag
    said = frozenset(asked & known)
    places = sorted({question.places[word] for word in said})
    covered = sum(question.weights[place] for place in places) / question.whole if question.whole else 0.0
    # The share of the text's words that the question contains.
    own = _weigh_stems(said) / _weigh_stems(known) if known else 0.0
    words = max(covered, _OWN_FACTOR * own)
    significant = [place for place in places if not question.words[place].is_common]
    alias, named = _find_alias(keywords, question, bag, significant)
    found = Evidence(
        alias=alias,
        named=named,
        said=said,
        places=frozenset(places),
        telling=frozenset(significant),
        covered=covered,
        hits=tuple(question.words[place].text for place in significant or places),
        words=words,
    )
    is_enough = bool(alias) or (
        _is_enough(question, found, text) and (not is_whole or _is_enough_unnamed(question, found, bag, keywords))
    )
    return structs.replace(found, enough=True) if is_enough or _tells_number(question, found, text) else found


def _is_enough_unnamed(question: Question, found: Evidence, bag: frozenset[str], keywords: Iterable[str]) -> bool:
    """Whether what is in common is also enough if the question contains no keyword of the text."""
    is_single = len(found.places) == 1
    if not keywords:
        return not is_single or question.unknown < 2 or found.words >= _ENOUGH_ONE_WORD
    if len(question.words) == 1:
        return not _asks_for_meaning(question)
    if _has_names(keywords):
        is_nearly_all = question.is_asking and not is_single and found.covered >= _ENOUGH_ASKED
        return is_nearly_all or (len(found.telling) > 1 and found.words >= _ENOUGH_UNNAMED)
    return found.words >= _ENOUGH_ASKED or not (is_single and _asks_about_unknown(question, bag, keywords))


def _asks_about_unknown(question: Question, bag: frozenset[str], keywords: Iterable[str]) -> bool:
    """Whether a question with one word of a text is probably about a thing that no text contains.

    "How many agents does the travel office have" is not about the CI, whose agents are in Oslo. If only one word is
    unknown, as in "which theme do I use for slides", the text's keywords must be other names of it, not words of it.
    An order is about a known thing then: "move the theme to its own file".
    """
    if question.unknown > 1:
        return True
    is_tagged = any(bag.issuperset(_parse_keyword(keyword).stems) for keyword in keywords)
    return question.unknown == 1 and not question.verb and not is_tagged


def _asks_for_meaning(question: Question) -> bool:
    """Whether it asks what something is in general, as in "what is a wheel", and not about a certain one."""
    return question.is_asking and not frozenset(_ARTICLES).isdisjoint(question.tokens)


def _has_names(keywords: Iterable[str]) -> bool:
    """Whether the keywords contain names of several words, and not only single words as tags."""
    return any(" " in keyword.strip() for keyword in keywords)


@lru_cache(maxsize=4_096)
def _weigh_stems(stems: frozenset[str]) -> float:
    return sum(_EVERYDAY_FACTOR if is_common_term(stem) else 1.0 for stem in stems)


def _is_enough(question: Question, found: Evidence, text: str) -> bool:
    if not found.places:
        return False
    is_single, words = len(found.places) == 1, found.words
    if is_single and len(question.words) > 1 and question.verb:
        # An order is about what it does something to, not about what it only names or how it is called by its verb:
        # "push the branch" does not ask for "checks run on every push", nor "sort the list of servers" for "the
        # servers are in Oslo".
        (place,) = found.places
        stem = question.words[place].stem
        if place not in question.objects or stem not in found.said or stem not in _list_first_stems(text):
            return False
    if not found.telling:  # "when is the talk" asks about the talk; "yes, delete them" asks about nothing remembered
        return words >= _ENOUGH_ONE_WORD if question.is_asking else not is_single and words >= _ENOUGH_EVERYDAY
    if not is_single or len(question.words) == 1:
        return words >= ENOUGH
    return words >= (_ENOUGH_RARE if found.telling <= question.rare else _ENOUGH_ONE_WORD)


_TOPIC_WORDS = 3


def _list_first_stems(text: str) -> list[str]:
    """Return the stems of the first words of a text, which mostly name what it is about, without stop words."""
    return [stem_word(word) for word in tokenize(text) if word not in FILLER_WORDS][:_TOPIC_WORDS]


_NUMBER = LazyRegex(
    r"\b(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)\s+(?P<noun>[a-z]+)",
    re.IGNORECASE,
)


def _tells_number(question: Question, found: Evidence, text: str) -> bool:
    """Whether a text has the number that is asked for, as "120 requests per minute" for "how many requests …"."""
    if not question.counted or len(found.places) < 2 or found.words < ENOUGH:
        return False
    return any(stem_word(match["noun"].casefold()) == question.counted for match in _NUMBER.finditer(text))


_ARTICLES = ("a", "an")
_DETERMINERS = (*_ARTICLES, "the", "this", "that", "these", "those", "my", "our", "all")
_VERB_OF_ORDER = re.compile(rf"\W*(?:please\W+)?(?P<verb>[a-z]+)\s+(?:{'|'.join(_DETERMINERS)}|it)\b", re.IGNORECASE)
_PREPOSITIONS = frozenset(
    "about above after as at before behind below by for from in into of on onto over to under with".split()
)
_AUXILIARIES = frozenset("are can could did do does has have is may might must should was were will would".split())


def _find_verb(question: str, words: Sequence[QuestionWord]) -> str:
    """Return the stem of the first word if an article or the like follows it, which makes it a verb."""
    found = _VERB_OF_ORDER.match(question)
    stem = stem_word(found["verb"].casefold()) if found and not is_question(question) else ""
    return stem if any(word.stem == stem for word in words) else ""


def _find_objects(tokens: Sequence[str], named: Mapping[str, int]) -> frozenset[int]:
    """Return see `Question.objects`: the last words after a determiner, unless a preposition comes before it."""
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if at and token in _DETERMINERS and tokens[at - 1] not in _PREPOSITIONS:
            phrase = list(takewhile(named.__contains__, map(stem_word, tokens[at + 1 :])))
            found.update(named[stem] for stem in phrase[-1:])
    return frozenset(found)


_MIN_QUALIFIER_LETTERS = 4
"""Shorter ones are often fillers or misspelt articles: "what's teh editor"."""


def _find_qualifiers(
    tokens: Sequence[str],
    named: Mapping[str, int],
    unknown: Collection[int],
    *,
    is_asking: bool,
) -> dict[int, str]:
    """Return see `Question.qualifiers`.

    A word between a determiner and another word makes that one a different thing if no text contains it, in a question
    or after "a": "which video editor", "write an argument parser". An everyday adjective does not: "a new editor".
    The word itself may be such a qualifier, too: "flash messages do not disappear".
    """
    found: dict[int, str] = {}
    for word, head, verb in zip(tokens, tokens[1:], tokens[2:], strict=False):
        place, at = named.get(stem_word(head)), named.get(stem_word(word))
        is_noun = place in unknown or (head.endswith("s") and is_request_term(stem_word(head)))
        if verb in _AUXILIARIES and is_noun and at is not None:
            found[at] = stem_word(head)
    for determiner, qualifier, word in zip(tokens, tokens[1:], tokens[2:], strict=False):
        stem = stem_word(qualifier)
        place, at = named.get(stem), named.get(stem_word(word))
        if place is None or at is None or place == at or len(qualifier) < _MIN_QUALIFIER_LETTERS:
            continue
        is_indefinite = determiner in _ARTICLES
        is_definite = is_asking and (determiner in _DETERMINERS or is_question(determiner))
        if (is_indefinite and (place in unknown or is_request_term(stem))) or (is_definite and place in unknown):
            found[at] = stem
    return found


def _find_owners(tokens: Sequence[str], named: Mapping[str, int], unknown: Collection[int]) -> dict[int, str]:
    """Return see `Question.owners`: names that no text contains. "The license of the team" may be the known one."""
    found: dict[int, str] = {}
    for before, first, middle, last in zip(("", *tokens), tokens, tokens[1:], tokens[2:], strict=False):
        if middle == "of":
            owner, owned = last, first
        elif middle == "s" and before not in _DETERMINERS:
            owner, owned = first, last
        else:
            continue
        stem, at = stem_word(owner), named.get(stem_word(owned))
        if at is not None and named.get(stem) in unknown and len(owner) >= _MIN_QUALIFIER_LETTERS:
            found[at] = stem
    return found


class _Name(Struct, frozen=True, kw_only=True):
    """A keyword, prepared for comparison.

    Attributes:
        parts: its words without stop words, if there are others, each with its stem.
        stems: the stems of these words.
        tokens: all its words.
        joined: the stem of all its words written as one; empty if that is too short to tell anything.
        is_phrase: its words only mean it next to each other, as those of "on-call" and "sign-up".
    """

    parts: tuple[tuple[str, str], ...]
    stems: frozenset[str]
    tokens: tuple[str, ...]
    joined: str
    is_phrase: bool


_MIN_LETTERS_BESIDE = 4
"""Minimum number of letters of a misspelt word if the other words of the keyword are in the question."""
PHRASE = -1
_PARTICLES = frozenset("in on out up".split())
"""Stop words that give the word beside them another meaning: "call" alone is not "on-call"."""


@lru_cache(maxsize=4_096)
def _parse_keyword(keyword: str) -> _Name:
    tokens = tokenize(keyword)
    parts = [word for word in tokens if word not in FILLER_WORDS] or tokens
    joined = "".join(tokens)
    return _Name(
        parts=tuple((part, stem_word(part)) for part in parts),
        stems=frozenset(map(stem_word, parts)),
        tokens=tuple(tokens),
        joined=stem_word(joined) if len(joined) >= MIN_MISSPELLING_LETTERS else "",
        is_phrase=len(parts) == 1 and not _PARTICLES.isdisjoint(tokens),
    )


def _find_alias(
    keywords: Sequence[str], question: Question, bag: frozenset[str], significant: Sequence[int]
) -> tuple[str, frozenset[int]]:
    """Return the first keyword that the question contains, and the indices of its words in the question.

    significant: indices of the question's words that the text or its keywords contain, without everyday words.
    """
    for keyword in keywords:
        name = _parse_keyword(keyword)
        if len(name.tokens) > 1 and name.joined in question.named:
            return keyword, frozenset()
        if len(name.tokens) == 1 and name.joined in question.joined:
            return keyword, frozenset()
        if name.is_phrase and name.joined not in question.joined and not has_phrase(question.tokens, name.tokens):
            continue
        places = _find_words(question, name.parts)
        if not places or _is_verb_only(question, places, significant):
            continue
        named = frozenset(places)
        others = {question.owners[place] for place in named & question.owners.keys()}
        if len(name.parts) == 1:
            others |= {question.qualifiers[place] for place in named & question.qualifiers.keys()}
        if others:
            known = bag.union(*(_parse_keyword(one).stems for one in keywords))
            if any(not any(is_misspelling(other, stem) for stem in known) for other in others):
                continue
        return keyword, named | {PHRASE} if name.is_phrase else named
    return "", frozenset()


def _find_words(question: Question, parts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the indices of the words of a keyword in the question; none if one of them is missing.

    Words may be in another form or have one wrong letter. Beside others, a shorter word may be the misspelt one.
    """
    places = [question.named.get(stem) for _, stem in parts]
    missing = places.count(None)
    for number, (part, stem) in enumerate(parts):
        if places[number] is None:
            is_beside = missing == 1 and len(parts) > 1
            min_letters = _MIN_LETTERS_BESIDE if is_beside else MIN_MISSPELLING_LETTERS
            similar = {
                word
                for meant in {part, stem}
                for word in question.spelling.find_similar(meant)
                if min(len(meant), len(word)) >= min_letters
            }
            if not similar:
                return []
            places[number] = min(question.spelt[word] for word in similar)
    return [place for place in places if place is not None]


def _is_verb_only(question: Question, places: Sequence[int], significant: Sequence[int]) -> bool:
    """Whether a keyword is in the question only because of the verb of an order.

    "Port the database" does not mention the "database port", nor does "build the docs" the "build".
    """
    verb = question.named.get(question.verb)
    if verb is None or verb not in places:
        return False
    if len(places) > 1:
        return places[0] != verb
    return question.words[verb].is_common and not any(place != verb for place in significant)


_ENOUGH_FOR_SEARCH = 0.5
"""Share of a search query that is sufficient if a text contains two of its words, even if they are everyday words."""
_ALIAS_EVIDENCE = 0.7
"""Minimum evidence of a candidate if the query contains one of its keywords."""
_CLOSENESS_SHARE, _EXACT_SHARE = 0.15, 0.05
"""Shares of the evidence for words as close together as in the query, and for the query word for word."""
_MAX_GAP_WORDS = 3
_OF_USER = frozenset("i me my mine we us our".split())
_QUOTED = re.compile(r'"([^"]+)"')


class Fit(Struct, frozen=True, kw_only=True):
    """How well a text fits the query.

    Attributes:
        share: the share of the query it contains, 0.0 to 1.0.
        text: its best passage.
        found: what it and the query have in common.
        exact: it contains the query word for word.
        enough: the fit is sufficient reason to recall the text.
    """

    share: float
    text: str
    found: Evidence = Evidence()
    exact: bool = False
    enough: bool = False


class TextMatcher:
    """Measures how well texts fit one query.

    Args:
        texts: together with `transcribed`, they determine how rare each word is.
        is_search: the query was typed to search for something, so that everyday words count, too.

    Attributes:
        is_of_user: the query is about the user, because it contains "I", "my" or the like.
        is_blank: it contains no usable word.
    """

    def __init__(self, query: str, texts: Iterable[str], transcribed: Transcribed, *, is_search: bool = False) -> None:
        self._is_search = is_search
        words = parse_question_words(query, keep_single=is_search)
        # Only a query of one word can be a stop word; texts are then compared with their stop words.
        is_stop_word = len(words) == 1 and is_stop_word_stem(words[0].stem)
        self._extract_stems = _extract_all_stems if is_stop_word else extract_text_stems
        if not _PORT.isdisjoint(map(stem_word, tokenize(query))):
            self._extract_stems = _extract_stems_with_port
        bags = [self._extract_stems(text) for text in texts]
        self._question = _weigh_question(query, words, bags, transcribed)
        places = self._question.places
        in_order = [places[root] for word in tokenize(query) if (root := stem_word(word)) in places]
        self._pairs = [(first, second) for first, second in pairwise(in_order) if first != second]
        self._words = tokenize(query)
        self.is_of_user = not _OF_USER.isdisjoint(self._words)
        self.is_blank = not self._question.words
        self._phrases = [phrase for quoted in _QUOTED.findall(query) if (phrase := tokenize(quoted))]

    def fit(self, text: str, keywords: Sequence[str] = (), *, whole: bool = False) -> Fit:
        """Return the fit of a text's best passage of up to about 700 characters.

        whole: the text is a single statement, such as a fact; then it also fits a long query that contains all of it.
        """
        best = Fit(share=0.0, text=text)
        for piece in split_passages(text):
            fit = self._fit_passage(piece, keywords, whole=whole)
            if (fit.enough, fit.share) > (best.enough, best.share):
                best = fit
        return best

    def _fit_passage(self, text: str, keywords: Sequence[str], *, whole: bool) -> Fit:
        question = self._question
        bag = self._extract_stems(text)
        if question.places.keys().isdisjoint(bag) and not keywords:
            return Fit(share=0.0, text=text)
        found = _find_evidence(question, text, bag, keywords, is_whole=whole)
        share = max(found.covered, found.words) if whole else found.covered
        share = _ALIAS_EVIDENCE + (1.0 - _ALIAS_EVIDENCE) * share if found.alias else share
        is_single = len(question.words) == 1
        is_enough_for_search = self._is_search and (is_single or len(found.places) > 1) and share >= _ENOUGH_FOR_SEARCH
        # For a text with a name that the query does not contain, `_find_evidence` has decided.
        is_decided = (_asks_for_meaning(question) and bool(keywords)) if is_single else _has_names(keywords)
        enough = found.enough or (is_enough_for_search and not is_decided)
        words = tokenize(text) if enough else []
        exact = enough and has_phrase(words, self._words)
        closeness = 1.0 if exact else self._compute_closeness(words) if enough else 0.0
        return Fit(
            share=share * (1.0 - _CLOSENESS_SHARE - _EXACT_SHARE + _CLOSENESS_SHARE * closeness + _EXACT_SHARE * exact),
            text=text,
            found=found,
            exact=exact and len(self._words) > 1,
            enough=enough and all(has_phrase(words, phrase) for phrase in self._phrases),
        )

    def _compute_closeness(self, words: Sequence[str]) -> float:
        """Return the share of adjacent words of the query that are near each other in the text, too."""
        if not self._pairs:
            return 1.0
        at: dict[int, list[int]] = {}
        for number, word in enumerate(words):
            place = self._question.places.get(stem_word(word))
            if place is not None:
                at.setdefault(place, []).append(number)
        near = sum(
            any(abs(one - other) <= _MAX_GAP_WORDS for one in at.get(first, ()) for other in at.get(second, ()))
            for first, second in self._pairs
        )
        return near / len(self._pairs)


_TELLS_PORT = LazyRegex(
    r"\b(?:listen|lausch|écoute|escuch|escut)\w* (?:[^\W\d]+ ){1,2}\d{2,5}\b|[a-z]:\d{4,5}\b", re.IGNORECASE
)
_PORT = frozenset(("port",))


@lru_cache(maxsize=4_096)
def _extract_stems_with_port(text: str) -> frozenset[str]:
    """Return the stems of a text, with that of "port" if it tells one without the word: "staging listens on 9090"."""
    stems = extract_text_stems(text)
    return stems | _PORT if _TELLS_PORT.search(text) else stems


_WORD = re.compile(r"\S+")
_ELLIPSIS = "…"
_MAX_NEARBY_HITS = 50


def extract_passage(text: str, stems: frozenset[str], chars: int) -> str:
    """Return up to `chars` characters of a text on one line, around the part with the most of the given stems.

    Without stems, that is the beginning. An ellipsis shows where text is left out.
    """
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    room = chars - 2 * len(_ELLIPSIS)
    hits = [
        (match.start(), min(match.end(), match.start() + room), found)
        for match in _WORD.finditer(line)
        if (found := stems & extract_text_stems(match[0]))
    ]
    densest = find_densest_hits(hits, room)
    begin, end = (densest[0][0], densest[-1][1]) if densest else (0, 0)
    begin = _find_word_start(line, max(begin - (room - (end - begin)) // 2, 0), begin)
    begin, end = (max(len(line) - room, 0), len(line)) if begin + room >= len(line) else (begin, begin + room)
    begin = _find_word_start(line, begin, end)
    end = _find_word_end(line, begin, end)
    return f"{_ELLIPSIS if begin else ''}{line[begin:end].rstrip()}{_ELLIPSIS if end < len(line) else ''}"


def find_densest_hits(
    hits: Sequence[tuple[int, int, frozenset[str]]], chars: int
) -> Sequence[tuple[int, int, frozenset[str]]]:
    """Return the first hits within `chars` characters that have the most different stems.

    hits: start and end of words, and the stems they have in common with a query.
    """
    best, most = hits[:0], 0
    for number, (start, _, _) in enumerate(hits):
        near = [hit for hit in hits[number : number + _MAX_NEARBY_HITS] if hit[1] - start <= chars]
        count = len(frozenset[str]().union(*(stems for _, _, stems in near)))
        if count > most:
            best, most = near, count
    return best


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
