"""The forms of secrets by the words that announce them, derived from the tables the forms are found by. Pure."""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.calls import CALLS, PATTERNS
from clio.security.redaction.contexts import ALL_FORMS, FOREIGN, OTHER_FORMS, Form, accept_value
from clio.security.redaction.programs import LINES, MAX_LINE_CHARS

_LINE_FORMS = tuple(
    Form((needle.lower(),), pattern, accept_value, back=MAX_LINE_CHARS, whole=True) for needle, pattern in LINES
)
_CALL_FORMS = tuple(
    Form(
        (f"{call}(",),
        LatePattern(f"(?i:{re.escape(call)}){PATTERNS[argument].pattern}", PATTERNS[argument].flags),
        accept_value,
        whole=True,
    )
    for calls in CALLS.values()
    for call, argument in calls
)
FORMS = (*ALL_FORMS, *_LINE_FORMS, *_CALL_FORMS)
"""All forms that have a needle, the lines of programs and the calls of functions included."""


class _Sign(Struct, frozen=True):
    """A word that announces forms: `letters` is part of it, at its beginning or its end where the needle says so."""

    letters: str
    at_start: bool
    at_end: bool
    forms: tuple[Form, ...]

    def is_in(self, word: str) -> bool:
        if self.at_start:
            bare = word.lstrip("\"'`(")
            return bare == self.letters if self.at_end else bare.startswith(self.letters)
        return word.endswith(self.letters) if self.at_end else self.letters in word


_COMMON = frozenset(("command", "config", "put", "set"))
"""Words of many texts: a needle with another word in it is announced by that one."""


def _signs() -> Iterator[_Sign]:
    found: dict[tuple[str, bool, bool], list[Form]] = {}
    for form in (*OTHER_FORMS, FOREIGN, *_LINE_FORMS, *_CALL_FORMS):
        if form.needs:
            continue  # known by the name that is part of it
        for needle in form.needles:
            parts = needle.split()
            letters = max(parts, key=lambda part: (part not in _COMMON, len(part)))
            at = parts.index(letters)
            at_start = at > 0 or needle[0].isspace()
            at_end = at < len(parts) - 1 or needle[-1].isspace()
            forms = found.setdefault((letters, at_start, at_end), [])
            if form not in forms:
                forms.append(form)
    for (letters, at_start, at_end), forms in found.items():
        yield _Sign(letters, at_start, at_end, tuple(forms))


_SIGNS = tuple(_signs())
_HEADS: dict[tuple[str, ...], list[tuple[int, _Sign]]] = {}
_OTHERS: list[tuple[int, _Sign]] = []
for _number, _sign in enumerate(_SIGNS):
    if len(_sign.letters) > 2 and _sign.letters.isascii():
        _HEADS.setdefault(tuple(_sign.letters[:3]), []).append((1 << _number, _sign))
    else:
        _OTHERS.append((1 << _number, _sign))
_SHORT = frozenset(sign.letters for _, sign in _OTHERS)


def find_signs(word: str) -> int:
    """The forms a word in small letters announces: a bit for each sign; 0 for none."""
    found = 0
    for head in _HEADS.keys() & zip(word, word[1:], word[2:], strict=False):
        for bit, sign in _HEADS[head]:
            if sign.is_in(word):
                found |= bit
    if word in _SHORT or not word.isascii():
        for bit, sign in _OTHERS:
            if sign.is_in(word):
                found |= bit
    return found


@lru_cache(maxsize=256)
def select_needles(bits: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The needles of the forms that signs announce, and what such a needle begins with up to a blank in it."""
    needles = tuple(dict.fromkeys(needle for form in select_forms(bits) for needle in form.needles))
    begun = (needle[: blank.end()] for needle in needles for blank in re.finditer(r"(?<=\S)\s", needle[:-1]))
    return needles, tuple(dict.fromkeys(begun))


@lru_cache(maxsize=256)
def select_forms(bits: int) -> tuple[Form, ...]:
    """The forms that signs announce."""
    return tuple(dict.fromkeys(form for number, sign in enumerate(_SIGNS) if bits >> number & 1 for form in sign.forms))
