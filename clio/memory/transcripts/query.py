"""Parse a search query, and normalize texts for the index in the same way, so that equal words match. Pure."""

import re
import time
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import STOP_WORDS, porter_stem

_EN = english_rules("queries")


class SearchWords(Struct, frozen=True):
    """The word tables in `words.json`.

    Attributes:
        kinds: things of a kind; a question names the kind ("which dog"), the answer the thing ("a beagle").
        irregular_forms: forms that the stemmer does not reduce to one stem; groups are separated by "|".
        short_forms: abbreviations and other words for the same thing, in the same format.
        related: words with which a question and its answer may name one thing ("spouse", "husband"), in the same
            format; too loose to count as the word itself.
    """

    kinds: dict[str, str]
    irregular_forms: tuple[str, ...]
    short_forms: tuple[str, ...]
    related: tuple[str, ...]


_WORDS = msgspec.json.decode(Path(__file__).with_name("words.json").read_bytes(), type=SearchWords)
_MEMBERS: Mapping[str, tuple[str, ...]] = {kind: tuple(members.split()) for kind, members in _WORDS.kinds.items()}


def _table(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the other words of all groups that a word is in, by the word."""
    groups = [tuple(group.split()) for line in lines for group in line.split("|")]
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group:
            others = (other for other in group if other != word)
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return found


_FORMS: Mapping[str, tuple[str, ...]] = _table((*_WORDS.irregular_forms, *_WORDS.short_forms))
_RELATED: Mapping[str, tuple[str, ...]] = _table(_WORDS.related)
_RELATED_BY_STEM: dict[str, list[str]] = {}
for _word in _RELATED:
    _RELATED_BY_STEM.setdefault(porter_stem(_word), []).append(_word)


def _list_related(word: str) -> list[str]:
    """Return the related words of a lower-case word in any of its inflected forms."""
    return [
        other
        for known in _RELATED_BY_STEM.get(porter_stem(word), ())
        if known == word or _is_inflected(known, word)
        for other in _RELATED[known]
    ]


_ENDINGS = frozenset(("", "s", "es", "e", "ed", "d", "ing", "y", "ies", "ied", "i"))


def _is_inflected(one: str, other: str) -> bool:
    """Whether two words with the same stem differ in an inflection only; "importer" is no form of "important"."""
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    doubled = one[shared - 1 : shared]
    rests = (one[shared:], other[shared:])
    return all(rest in _ENDINGS or (rest[:1] == doubled and rest[1:] in ("ed", "ing")) for rest in rests)


def list_other_forms(word: str) -> tuple[str, ...]:
    """Return other forms of a lower-case word: "go" and "went" for "gone"; "bought" for "buy" and "buying"."""
    stem = word.removesuffix("ing")
    return _look_up(_FORMS, word, word.removesuffix("s"), stem, stem + "e")


def _look_up(table: Mapping[str, tuple[str, ...]], *words: str) -> tuple[str, ...]:
    """Return what the table has for the first of the words that it has."""
    return next((table[word] for word in words if word in table), ())


MAX_QUERY_CHARS = 2_000
MAX_TERMS = 24
_STOP_WORDS = STOP_WORDS | frozenset(
    # Parts of contractions: "don't" is split into "don" and "t".
    "s t d m ll re ve don doesn didn isn aren wasn weren won wouldn couldn shouldn haven hasn hadn many much am".split()
)
_QUOTED = LazyRegex(r'"([^"]*)"')
_SCOPE = LazyRegex(r"(?<!\S)in:(output|title)(?!\S)", re.IGNORECASE)
_WORD = LazyRegex(r"[^\W_]+")
_COMPOUND = LazyRegex(r"[^\W_]+(?:[_.-][^\W_]+)+")
_HUMP = LazyRegex(r"[a-z][A-Z]|[A-Z][A-Z][a-z]")
_ASCII_WORD = LazyRegex(r"[A-Za-z0-9]+")
_COMPOUND_WORD = LazyRegex(r"[A-Za-z0-9]{4,80}")
_PART = LazyRegex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = LazyRegex(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_NEEDS_CONTEXT = LazyRegex(r"[^\x00-\u02ff\u0370-\u03a2\u03a4-\u052f\u2000-\u2bff]")
"""Characters other than Latin, Greek and Cyrillic letters and symbols: a word with one may not be folded on its own, as
it may end in a combining mark or consist of several words.
"""
_MARKS = LazyRegex(r"[\u0300-\u036f]")


class Term(Struct, frozen=True, kw_only=True):
    """A word that is searched for.

    Attributes:
        forms: the word, its other forms, and things of the kind it names.
        stems: stems of the word and its other forms, its own first.
        kinds: stems of things of the kind it names.
        related: words with which the answer may name the same thing.
        is_guess: the index does not contain the word as typed, so that a similarly spelt word is searched for.
        is_compound: it is another spelling of words that the query has, too, such as "parseargs" of `parse_args`.
    """

    forms: tuple[str, ...]
    stems: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    is_guess: bool = False
    is_compound: bool = False


_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else name for name in _MONTHS)
_ISO_DAY = LazyRegex(r"(?<!\d)((?:19|20)\d\d)[-/](\d{1,2})(?:[-/](\d{1,2}))?(?!\d)")
_WRITTEN_DAY = LazyRegex(
    rf"\b(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b\.?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,? (?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_YEAR = LazyRegex(r"\b(?:in|of|during|since) ((?:19|20)\d\d)\b", re.IGNORECASE)
_ANY_DIGIT_OR_MONTH = LazyRegex(rf"\d|\b(?:{_MONTH})\b", re.IGNORECASE)


class NamedDate(Struct, frozen=True, kw_only=True):
    """A date in a query; None for each part that the query does not name."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def includes(self, timestamp: float) -> bool:
        """Whether a time, in seconds since the epoch, is on that date in the local time zone."""
        at = time.localtime(timestamp)
        wanted = ((self.year, at.tm_year), (self.month, at.tm_mon), (self.day, at.tm_mday))
        return all(part is None or part == there for part, there in wanted)

    def spans(self, years: Iterable[int]) -> list[tuple[float, float]]:
        """Return start and end of the month or day, in seconds since the epoch; none if it names only a year.

        years: used if the date names no year; one span is returned for each.
        """
        if self.month is None:
            return []
        found: list[tuple[float, float]] = []
        for year in [self.year] if self.year else years:
            start = _midnight(year, self.month, self.day or 1)
            end = _midnight(year, self.month, self.day + 1) if self.day else _midnight(year, self.month + 1, 1)
            found.append((start, end))
        return found


def _midnight(year: int, month: int, day: int) -> float:
    """Return the local start of a day, in seconds since the epoch; day 32 or month 13 is the next month or year."""
    return time.mktime((year, month, day, 0, 0, 0, 0, 0, -1))


def find_named_dates(text: str) -> tuple[NamedDate, ...]:
    """Return the dates that a text names, such as 2024-03-02, 2 March 2024, in March, in 2024."""
    if not _ANY_DIGIT_OR_MONTH.search(text):
        return ()
    found: list[NamedDate] = []
    for year, month, day in _ISO_DAY.findall(text):
        found.append(NamedDate(year=int(year), month=int(month), day=int(day) if day else None))
    for match in _WRITTEN_DAY.finditer(text):
        day = match["before"] or match["after"]
        if (
            match["month"].lower() in ("may", "mar", "march")
            and not (day or match["year"])
            and not _follows_in(text, match)
        ):
            continue
        month = next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3]))
        year = int(match["year"]) if match["year"] else None
        found.append(NamedDate(year=year, month=month, day=int(day) if day else None))
    if not found:
        found = [NamedDate(year=int(year)) for year in _YEAR.findall(text)]
    unique = dict.fromkeys(found)
    return tuple(
        one for one in unique if (one.month is None or 1 <= one.month <= 12) and (one.day is None or 1 <= one.day <= 31)
    )


def _follows_in(text: str, match: re.Match[str]) -> bool:
    """Whether a preposition before an ambiguous word, such as "in may", shows that it is a month."""
    before = text[: match.start()].split()
    return bool(before) and before[-1].lower() in ("in", "last", "of", "during", "since", "this", "until", "before")


STATES, ENDS_ASKING, ONLY_ASKS = range(3)
"""Kinds of messages: states something; states something and ends with a question; only asks."""
_SENTENCE = LazyRegex(r"[^.!?\n]*(?:[.!?]+(?=\s|$)|\n|$|[.!?])")
_REQUEST = _EN.pattern("request")
_REQUEST_WORDS, _REQUEST_SENTENCES = 14, 3
"""Words of a sentence and sentences of a message; a longer request describes its subject, so it states something."""
_ASKING_CHARS = 4_000


def classify_message(text: str) -> int:
    """Return what a message does: STATES, ENDS_ASKING or ONLY_ASKS."""
    text = text[-_ASKING_CHARS:].strip()
    if not text:
        return STATES
    ends = text.rstrip("\"')*_ ").endswith(("?", "？"))
    sentences = [sentence for found in _SENTENCE.findall(text) if (sentence := found.strip(" \n.!"))]
    sentences = [one for one in sentences if " " in one] or sentences  # without greetings
    asking = (
        len(one.split()) <= _REQUEST_WORDS and (one.endswith(("?", "？")) or _REQUEST.match(one)) for one in sentences
    )
    if len(sentences) <= _REQUEST_SENTENCES and all(asking):
        return ONLY_ASKS
    return ENDS_ASKING if ends else STATES


_FIRST_PERSON = LazyRegex(r"\b(?:i|me|my|mine|we|us|our|ours|myself)\b", re.IGNORECASE)
_WISH = _EN.pattern("wish")


def tells_of_user(text: str) -> bool:
    """Whether a user's message says something about them, beside what it asks or wishes for."""
    return any(
        _FIRST_PERSON.search(sentence)
        and not sentence.rstrip("\"')*_ .!").endswith(("?", "？"))
        and not _REQUEST.match(sentence)
        and not _WISH.match(sentence)
        for found in _SENTENCE.findall(text[-_ASKING_CHARS:])
        if (sentence := found.strip())
    )


_SAYS_NOTHING = _EN.pattern("says_nothing")
_NOTHING_CHARS = 200


def says_nothing(text: str) -> bool:
    """Whether a reply only acknowledges the message before it, or says that the answer is not known."""
    return len(text) <= _NOTHING_CHARS and _SAYS_NOTHING.fullmatch(text) is not None


_OF_SESSION = _EN.pattern("of_session")
"""Words of a query that say that a session is searched for, not what was said in it."""
_OF_TIME = _EN.pattern("of_time")
_OF_SPAN = _EN.pattern("of_span")
"""Words of a query that ask for a span of time or a sum; what answers it seldom has them."""
_OF_USER, _OF_US = frozenset("i me my mine myself".split()), frozenset("we us our ours".split())
_OF_ASSISTANT = _EN.pattern("of_assistant")


class Query(Struct, frozen=True, kw_only=True):
    """A parsed query.

    Attributes:
        words: stems of all words, in order.
        terms: the words without stop words, each once.
        pairs: indices in `terms` of words that are adjacent in the query.
        phrases: the words of each quoted text.
        scope: the text to search: "text", "output" or "title".
        dates: the dates it names.
        of_assistant: it asks for something the assistant said.
        of_session: it asks for a session, as in "which session", "the session where" or "the time when".
        of_user: it asks for something about the user: it contains "I" or "my"; or "we" or "our", unless it asks for a
            session, where they stand for the work of the user and the agent: "where did we speed up the importer".
    """

    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    scope: str = "text"
    dates: tuple[NamedDate, ...] = ()
    of_assistant: bool = False
    of_session: bool = False
    of_user: bool = False


def parse_query(text: str) -> Query:
    """Parse a query from any typed text; a text without a word gives a query without terms."""
    scope = find_scope(text)
    text = _SCOPE.sub(" ", text[:MAX_QUERY_CHARS])
    phrases = [tuple(split_folded_words(quoted)) for quoted in _QUOTED.findall(text)]
    spoken = split_folded_words(text)
    about = split_folded_words(_OF_SPAN.sub(" ", _OF_TIME.sub(" ", _OF_SESSION.sub(" ", text))))
    said = [word for word in about if word not in _STOP_WORDS] or spoken
    terms: dict[str, Term] = {}
    for word in [*said, *map(str.lower, _humps(text))]:
        terms.setdefault(porter_stem(word), _term(word))
    for compound in _COMPOUND.findall(text):
        word = "".join(_WORD.findall(compound)).lower()  # `parse_args` as `parseargs`
        terms.setdefault(porter_stem(word), structs.replace(_term(word), is_compound=True))
    kept = dict(list(terms.items())[:MAX_TERMS])
    places = {stem: place for place, stem in enumerate(kept)}
    stems = [porter_stem(word) for word in said]
    near = [(places[a], places[b]) for a, b in pairwise(stems) if a in places and b in places]
    of_session = (_OF_SESSION.search(text) or _OF_TIME.search(text)) is not None
    return Query(
        words=tuple(porter_stem(word) for word in spoken),
        terms=tuple(kept.values()),
        pairs=tuple(dict.fromkeys(pair for pair in near if pair[0] != pair[1])),
        phrases=tuple(phrase for phrase in phrases if phrase),
        scope=scope,
        dates=find_named_dates(text),
        of_assistant=_OF_ASSISTANT.search(text) is not None,
        of_user=not (_OF_USER if of_session else _OF_USER | _OF_US).isdisjoint(spoken),
        of_session=of_session,
    )


def find_scope(text: str) -> str:
    """Return what a query asks to search, "text", "output" or "title": the last `in:` of it, else "text"."""
    scopes = _SCOPE.findall(text[:MAX_QUERY_CHARS])
    return scopes[-1].lower() if scopes else "text"


def split_folded_words(text: str) -> list[str]:
    """Return the words of a text in order: lower case, without accents, scripts without spaces as character pairs."""
    return _WORD.findall(text.lower() if text.isascii() else _folded(text))


def extract_stems(text: str) -> list[str]:
    """Return the stems of the words of a text in order, as in the index; then those of the parts of compound words."""
    if text.isascii():
        words = _ASCII_WORD.findall(text)
    elif _NEEDS_CONTEXT.search(text):
        return list(map(porter_stem, split_folded_words(prepare_for_index(text))))
    else:
        words = _WORD.findall(text)
    stems = list(map(_stem_word, words))
    for parts in map(_stem_parts, dict.fromkeys(words)):
        stems += parts
    return stems


@lru_cache(maxsize=32_768)
def _stem_word(word: str) -> str:
    return porter_stem(word.lower() if word.isascii() else _folded(word))


@lru_cache(maxsize=32_768)
def _stem_parts(word: str) -> tuple[str, ...]:
    return tuple(map(porter_stem, map(str.lower, _humps(word))))


def prepare_for_index(text: str) -> str:
    """Return the text for the index: the parts of CamelCase words appended, scripts without spaces in pairs."""
    humps = _humps(text)
    if not text.isascii():
        text = _in_pairs(text)
    return f"{text}\n{' '.join(humps)}" if humps else text


def _humps(text: str) -> list[str]:
    """Return the parts of the CamelCase words of a text."""
    if not _HUMP.search(text):
        return []
    compounds = dict.fromkeys(
        # Most words are "lower" or "Upper" and have no parts; this test is cheaper than the search.
        word
        for word in _COMPOUND_WORD.findall(text)
        if not word[1:].islower() and _HUMP.search(word)
    )
    return [part for word in compounds for part in _PART.findall(word)]


def _term(word: str) -> Term:
    same = (word, *list_other_forms(word))
    # Things of the kind that the word names: "puppy", "beagle", … for "dog".
    members = _look_up(_MEMBERS, word, word.removesuffix("s"), word.removesuffix("es"))
    known = {porter_stem(form) for form in (*same, *members)}
    related = {porter_stem(other): other for form in same for other in _list_related(form)}
    return Term(
        forms=(*same, *members),
        related=tuple(other for stem, other in related.items() if stem not in known),
        stems=tuple(dict.fromkeys(porter_stem(form) for form in same)),
        kinds=tuple(dict.fromkeys(porter_stem(member) for member in members)),
    )


def _folded(text: str) -> str:
    text = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return _in_pairs(unicodedata.normalize("NFC", text).lower())


def _in_pairs(text: str) -> str:
    return _UNSPACED.sub(lambda run: " ".join(run[0][at : at + 2] for at in range(len(run[0]) - 1)).join("  "), text)
