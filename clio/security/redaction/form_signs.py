"""The words that announce each form of secret, derived from the tables that find the forms. Pure.

A *form* is a pattern such as `identified by '…'`, with *needles*: literals of which every match contains one. A *sign*
is the rarest word of a needle. A stream is searched for a form only after one of its signs has arrived.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import Struct

from clio.security.redaction.commands_and_calls import CALLS, LINES, MAX_LINE_CHARS, PATTERNS
from clio.security.redaction.contexts import ALL_FORMS, FOREIGN_FORMS, OTHER_FORMS, Form, is_unredacted
from clio.text.lazy_regex import LazyRegex


@cache
def list_forms() -> tuple[Form, ...]:
    """Return all forms that have a needle, the lines of programs and the calls of functions included."""
    return (*ALL_FORMS, *_list_further_forms())


@cache
def _list_further_forms() -> tuple[Form, ...]:
    lines = (
        Form((needle.lower(),), pattern, is_unredacted, back=MAX_LINE_CHARS, whole=True) for needle, pattern in LINES
    )
    calls = (
        Form(
            (f"{call}(",),
            LazyRegex(f"(?i:{re.escape(call)}){PATTERNS[argument].pattern}", PATTERNS[argument].flags),
            is_unredacted,
            whole=True,
        )
        for calls in CALLS.values()
        for call, argument in calls
    )
    return (*lines, *calls)


class _FormSign(Struct, frozen=True):
    """A word that announces forms: `letters` is part of it, at its beginning or its end where the needle says so."""

    letters: str
    at_start: bool
    at_end: bool
    forms: tuple[Form, ...]

    def is_in(self, word: str) -> bool:
        """Whether a lower-case word contains the letters at the place where the needle has them."""
        if self.at_start:
            bare = word.lstrip("\"'`(")
            return bare == self.letters if self.at_end else bare.startswith(self.letters)
        return word.endswith(self.letters) if self.at_end else self.letters in word


_COMMON_WORDS = frozenset(("command", "config", "put", "set"))
"""Words of many texts: a needle with another word in it is announced by that one."""


def _build_signs() -> Iterator[_FormSign]:
    found: dict[tuple[str, bool, bool], list[Form]] = {}
    for form in (*OTHER_FORMS, *FOREIGN_FORMS, *_list_further_forms()):
        if form.needs:
            continue  # known by the name that is part of it
        for needle in form.needles:
            parts = needle.split()
            letters = max(parts, key=lambda part: (part not in _COMMON_WORDS, len(part)))
            at = parts.index(letters)
            at_start = at > 0 or needle[0].isspace()
            at_end = at < len(parts) - 1 or needle[-1].isspace()
            forms = found.setdefault((letters, at_start, at_end), [])
            if form not in forms:
                forms.append(form)
    for (letters, at_start, at_end), forms in found.items():
        yield _FormSign(letters, at_start, at_end, tuple(forms))


class _SignTables(Struct, frozen=True):
    """The signs: all by number, with their bits by the first three letters, and those that have fewer or others."""

    signs: tuple[_FormSign, ...]
    heads: dict[tuple[str, ...], list[tuple[int, _FormSign]]]
    others: list[tuple[int, _FormSign]]
    short: frozenset[str]


@cache
def _build_tables() -> _SignTables:
    """Build the lookup tables. Called for the first stream, not at every start, because it takes a few milliseconds."""
    signs = tuple(_build_signs())
    heads: dict[tuple[str, ...], list[tuple[int, _FormSign]]] = {}
    others: list[tuple[int, _FormSign]] = []
    for number, sign in enumerate(signs):
        if len(sign.letters) > 2 and sign.letters.isascii():
            heads.setdefault(tuple(sign.letters[:3]), []).append((1 << number, sign))
        else:
            others.append((1 << number, sign))
    return _SignTables(signs, heads, others, frozenset(sign.letters for _, sign in others))


def find_signs(word: str) -> int:
    """Return the forms that a lower-case word announces: a bit for each sign; 0 for none."""
    tables, found = _build_tables(), 0
    for head in tables.heads.keys() & zip(word, word[1:], word[2:], strict=False):
        for bit, sign in tables.heads[head]:
            if sign.is_in(word):
                found |= bit
    if word in tables.short or not word.isascii():
        for bit, sign in tables.others:
            if sign.is_in(word):
                found |= bit
    return found


@lru_cache(maxsize=256)
def select_needles(bits: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the needles of the forms that signs announce, and the beginnings of these needles up to a blank.

    Args:
        bits: one for each sign, as `find_signs` returns them.
    """
    needles = tuple(dict.fromkeys(needle for form in select_forms(bits) for needle in form.needles))
    begun = (needle[: blank.end()] for needle in needles for blank in re.finditer(r"(?<=\S)\s", needle[:-1]))
    return needles, tuple(dict.fromkeys(begun))


@lru_cache(maxsize=256)
def select_forms(bits: int) -> tuple[Form, ...]:
    """Return the forms that signs announce. bits: as in `select_needles`."""
    return tuple(
        dict.fromkeys(
            form for number, sign in enumerate(_build_tables().signs) if bits >> number & 1 for form in sign.forms
        )
    )
