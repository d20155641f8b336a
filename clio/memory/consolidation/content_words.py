"""Which words tell what a text is about, and whether two texts share some, in seven languages."""

import re
from collections.abc import Sequence
from functools import lru_cache

from clio.memory.consolidation.statement_pairs import tokenize
from clio.memory.statement_reader import find_family, word_tables

_TOKEN = re.compile(r"[^\s,;:!?()\"“”„«»…]+(?:[:.,/][^\s,;:!?()\"“”„«»…]+)*")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CJK_RUN = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff]+|[A-Za-z0-9_./-]+")
_PART = re.compile(r"[^\W\d_]{3,}")
_IDENTIFIER = re.compile(r"[~.]?/?[\w-]*(?:[./_-]\w[\w-]*)+/?|[a-z]+\d+\w*|\w*[a-z]\w*[A-Z]\w*")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_PRONOUN_END = re.compile(r"-(?:se|lo|la|los|las|o|a)$")
_NEGATING = frozenset(
    (
        "more not isn't aren't wasn't doesn't don't didn't do does did no longer any more anymore instead rather place "
        "than but and it nicht kein keine keinen mehr sondern statt anstatt anstelle und pas ne n' mais et non lieu "
        "plutôt plus no ya sino vez lugar y não já mas invés e sim 不 没 非 ない"
    ).split()
)
"""Words with which a value is denied, or another one put in its place."""


@lru_cache(maxsize=4_096)
def _list_keys(text: str) -> frozenset[str]:
    """Return the stems of a text's words, and the parts of its identifiers."""
    keys: set[str] = set()
    for one in tokenize(text):
        if one.is_content and one.text.casefold() not in _NEGATING:
            keys.add(one.stem)
            keys.update(_PART.findall(one.text.casefold()) if one.form in "DP" else ())
    return frozenset(keys)


@lru_cache(maxsize=4_096)
def _list_families(text: str) -> frozenset[str]:
    families = (sorted(find_family(one.text.casefold()))[:1] for one in tokenize(text))
    return frozenset(name for names in families for name in names)


def count_shared_words(one: str, other: str) -> int:
    """Return the number of words that two texts have in common."""
    return len(_list_keys(one) & _list_keys(other))


def count_words(text: str) -> int:
    """Return the number of different words of a text that tell what it is about."""
    return len(_list_keys(text))


def are_of_one_family(one: str, other: str) -> bool:
    """Whether two texts name tools that do the same, such as "npm" and "pnpm"."""
    return not _list_families(one).isdisjoint(_list_families(other))


def list_words(text: str) -> list[str]:
    """Return the words of a text that tell what it is about, in order, in lower case and without the plural "s".

    None for a text in Chinese or Japanese.
    """
    return [] if _CJK.search(text) else [_fold(token).removesuffix("s") or token for token in _list_content(text)]


def is_said_before(statement: str, context: str) -> bool:
    """Whether a statement is in the conversation before a message: most of its words, in any order."""
    if _CJK.search(statement):
        runs = _CJK_RUN.findall(statement)
        return bool(runs) and sum(run in context for run in runs) * 4 >= len(runs) * 3
    words, known = _list_content(statement), set(map(_fold, _tokenize(context)))
    return bool(words) and sum(_fold(word) in known for word in words) * 4 >= len(words) * 3


def has_rival(value: str, statement: str, context: str) -> bool:
    """Whether the conversation has another value of the form of one, which a message may be about."""
    form = find_form(value.split()[0])
    known = set(map(_fold, _tokenize(statement)))
    return form != "word" and any(find_form(one) == form and _fold(one) not in known for one in _tokenize(context))


def find_form(token: str) -> str:
    """Return the form of a value: "time", "version", "number", "name" for a path or identifier, or "word"."""
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", token):
        return "time"
    if re.fullmatch(r"v?\d+(?:\.\d+)+|v\d+", token):
        return "version"
    if re.fullmatch(r"\d[\d.,]*%?", token):
        return "number"
    if _IDENTIFIER.fullmatch(token) and not token.isdigit():
        return "name"
    return "word"


def _tokenize(text: str) -> list[str]:
    if _CJK.search(text):
        return [one.text for one in tokenize(text)]
    plain = _ELISION.sub("", text.replace("’", "'"))
    found = (token.strip(".,'-–—`*") for token in _TOKEN.findall(plain))
    return [_PRONOUN_END.sub("", token) for token in found if token]


def _fold(token: str) -> str:
    return token.casefold()


def _list_content(text: str) -> Sequence[str]:
    tables = word_tables()
    folded = ((one, _fold(one)) for one in _tokenize(text))
    return [
        one
        for one, plain in folded
        if plain not in tables.linking and plain not in tables.relations and plain not in _NEGATING
    ]
