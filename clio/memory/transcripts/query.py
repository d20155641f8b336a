"""A query taken apart, and texts prepared for the index: passages, word forms, the same words on both sides. Pure."""

import re
import unicodedata
from collections.abc import Mapping
from itertools import pairwise

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import STOP_WORDS, porter

PASSAGE_CHARS = 700
MAX_PASSAGES = 120
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?])\s")


def passages(text: str) -> list[str]:
    """The text in pieces of up to 700 characters, cut where a paragraph, a line or a sentence ends; none is empty.

    Put together they are the text, but for empty lines. One that would give more than 120 pieces is cut into
    longer ones.
    """
    size = max(PASSAGE_CHARS, -(-len(text) // MAX_PASSAGES) * 2)
    if len(text) <= size:
        return [text] if text.strip() else []
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        end = start + size
        breaks = [found.end() for found in _BREAK.finditer(text, start + size // 2, end)]
        end = breaks[-1] if breaks else end
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]


_IRREGULAR = """
arise arose arisen|awake awoke|bear bore born|beat beaten|become became|begin began begun|bend bent|bind bound
bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt
buy bought|catch caught|choose chose chosen|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known
lay laid|lead led|learn learnt|leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met
pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent
sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat
sleep slept|slide slid|speak spoke spoken|speed sped|spell spelt|spend spent|spin spun|spring sprang sprung|stand stood
steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood
wake woke woken|wear wore worn|weep wept|win won|wind wound|write wrote written
overwrite overwrote overwritten|rebuild rebuilt
child children|foot feet|goose geese|half halves|knife knives|leaf leaves|life lives|man men|mouse mice|person people
shelf shelves|thief thieves|tooth teeth|wife wives|wolf wolves|woman women|index indices|matrix matrices|vertex vertices
criterion criteria|good better best|bad worse worst|analysis analyses|hypothesis hypotheses
"""

_SHORT = """
admin administrator|app application|async asynchronous|auth authentication|bike bicycle|cert certificate|cmd command
config configuration|dad father|db database|dep dependency|dir directory|env environment|fridge refrigerator
fn func function|impl implementation|k8s kubernetes|kid child children|lib library|mom mum mother|msg message
param parameter|perf performance|photo photograph|pkg package|repo repository|tmp temp temporary|tv television
"""


def _table() -> dict[str, tuple[str, ...]]:
    lines = [*_IRREGULAR.strip().splitlines(), *_SHORT.strip().splitlines()]
    groups = [tuple(group.split()) for line in lines for group in line.split("|")]
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group:
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *(other for other in group if other != word))))
    return found


_FORMS: Mapping[str, tuple[str, ...]] = _table()


def other_forms(word: str) -> tuple[str, ...]:
    """Other forms of a lower-case word: of "gone" "go" and "went"; of "buying", as of "buy", "bought"."""
    for known in (word, word.removesuffix("s"), word.removesuffix("ing"), word.removesuffix("ing") + "e"):
        if known in _FORMS:
            return _FORMS[known]
    return ()


MAX_QUERY_CHARS = 2_000
MAX_TERMS = 24
_STOP_WORDS = STOP_WORDS | frozenset(
    # What contractions leave behind: "don't" is the words don and t.
    "s t d m ll re ve don doesn didn isn aren wasn weren won wouldn couldn shouldn haven hasn hadn many much".split()
)
_QUOTED = LazyRegex(r'"([^"]*)"')
_SCOPE = LazyRegex(r"(?<!\S)in:(output|title)(?!\S)", re.IGNORECASE)
_WORD = LazyRegex(r"[^\W_]+")
_COMPOUND = LazyRegex(r"[^\W_]+(?:[_.-][^\W_]+)+")
_HUMP = LazyRegex(r"[a-z][A-Z]|[A-Z][A-Z][a-z]")
_ASCII_WORD = LazyRegex(r"[A-Za-z0-9]{4,80}")
_PART = LazyRegex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = LazyRegex(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_MARKS = LazyRegex(r"[\u0300-\u036f]")


class Term(Struct, frozen=True, kw_only=True):
    """A word that is searched for. forms: it and its other forms. stems: those stemmed, its own first."""

    forms: tuple[str, ...]
    stems: tuple[str, ...]


class Query(Struct, frozen=True, kw_only=True):
    """What is searched for.

    words: stems of all words as they stand, in order. terms: those that say something, each once.
    pairs: places in `terms` that stood next to each other. phrases: what stood in quotes, as words.
    scope: which text is searched.
    """

    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    scope: str = "text"


def parse(text: str) -> Query:
    """A query from what somebody typed, whatever it is; one without a word has no terms."""
    text = text[:MAX_QUERY_CHARS]
    scopes = _SCOPE.findall(text)
    text = _SCOPE.sub(" ", text)
    phrases = [tuple(folded_words(quoted)) for quoted in _QUOTED.findall(text)]
    spoken = folded_words(text)
    said = [word for word in spoken if word not in _STOP_WORDS] or spoken
    terms: dict[str, Term] = {}
    for word in [*said, *_compounds(text)]:
        terms.setdefault(porter(word), _term(word))
    kept = dict(list(terms.items())[:MAX_TERMS])
    places = {stem: place for place, stem in enumerate(kept)}
    stems = [porter(word) for word in said]
    near = [(places[a], places[b]) for a, b in pairwise(stems) if a in places and b in places]
    return Query(
        words=tuple(porter(word) for word in spoken),
        terms=tuple(kept.values()),
        pairs=tuple(dict.fromkeys(pair for pair in near if pair[0] != pair[1])),
        phrases=tuple(phrase for phrase in phrases if phrase),
        scope=scopes[-1].lower() if scopes else "text",
    )


def folded_words(text: str) -> list[str]:
    """The words of a text in order: lower case, without accents, scripts without spaces as pairs of characters."""
    return _WORD.findall(text.lower() if text.isascii() else _folded(text))


def stems(text: str) -> list[str]:
    """The words of a text in order, stemmed as the index stems them; then the parts of its compound words."""
    return [porter(word) for word in folded_words(indexable(text))]


def indexable(text: str) -> str:
    """The text as it is put into the index: the parts of CamelCase words behind it, scripts without spaces in pairs."""
    humps = _humps(text)
    if not text.isascii():
        text = _in_pairs(text)
    return f"{text}\n{' '.join(humps)}" if humps else text


def _compounds(text: str) -> list[str]:
    """What else a compound of the query may be written as: `parse_args` as `parseargs`, `parseArgs` in parts."""
    joined = ["".join(_WORD.findall(word)).lower() for word in _COMPOUND.findall(text)]
    return [*map(str.lower, _humps(text)), *joined]


def _humps(text: str) -> list[str]:
    """The parts of the CamelCase words."""
    if not _HUMP.search(text):
        return []
    compounds = dict.fromkeys(word for word in _ASCII_WORD.findall(text) if _HUMP.search(word))
    return [part for word in compounds for part in _PART.findall(word)]


def _term(word: str) -> Term:
    forms = (word, *other_forms(word))
    return Term(forms=forms, stems=tuple(dict.fromkeys(porter(form) for form in forms)))


def _folded(text: str) -> str:
    text = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return _in_pairs(unicodedata.normalize("NFC", text).lower())


def _in_pairs(text: str) -> str:
    return _UNSPACED.sub(lambda run: " ".join(run[0][at : at + 2] for at in range(len(run[0]) - 1)).join("  "), text)
