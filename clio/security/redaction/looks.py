"""What a value looks like: drawn by lot, a word, or only the place of a secret. Pure."""

import math
import re
from itertools import pairwise

from clio.algorithms.late_pattern import LatePattern

_CHARACTER_KINDS = tuple(map(re.compile, (r"\d", "[a-z]", "[A-Z]", "[^A-Za-z0-9]")))
_CONSONANTS = LatePattern(r"(?i)[b-df-hj-np-tv-xz]{5}")


def entropy(text: str) -> float:
    """Bits per character of a text by its own letter counts: 0 for "aaaa", about 4.5 for 40 random base64 letters.

    Source: Shannon 1948, "A Mathematical Theory of Communication".
    """
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in map(text.count, set(text))) if size else 0.0


def has_digit(text: str) -> bool:
    """Whether a text holds one of 0 to 9."""
    return any(char.isdigit() and char.isascii() for char in text)


def random_key(text: str) -> bool:
    """Whether a key's body looks drawn by lot and not like words: it holds a digit, and its letters vary."""
    return has_digit(text) and entropy(text) >= 3.0


def character_kinds(value: str) -> int:
    """How many of digits, small letters, capitals and other signs a value holds: 0 to 4."""
    return sum(kind.search(value) is not None for kind in _CHARACTER_KINDS)


def by_lot(value: str) -> bool:
    """Whether a value looks drawn by lot, whatever signs it holds: long, varied, digits among letters of both cases."""
    return (
        len(value) >= 14
        and sum(kind.search(value) is not None for kind in _CHARACTER_KINDS[:3]) == 3
        and sum(char.isdigit() for char in value) >= 2
        and entropy(value) >= 3.4
    )


def drawn(value: str) -> bool:
    """Whether a stretch by itself, half of a key perhaps, looks drawn by lot: no word, number or date does."""
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value) if a.isalnum() and b.isalnum())
    cases = all(kind.search(value) for kind in _CHARACTER_KINDS[:3])
    no_file = sum(map(str.isdigit, value)) >= 2 or "." not in value  # such as README2.txt
    signs = sum(letter in "!#$%^&*?@" for letter in value[1:-1])  # as no word and no path has them
    mixed = signs >= 1 and sum(bool(kind.search(value)) for kind in _CHARACTER_KINDS[:3]) >= 2
    return len(value) >= 8 and ((cases and no_file) or turns >= 3 or mixed) and entropy(value) >= 2.5


def unspeakable(value: str) -> bool:
    """Whether letters make no word in any writing: five consonants on end, or a change of case at every other one."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha())
    return _CONSONANTS.search(value) is not None or turns * 2 >= len(value)


def scrambled(value: str) -> bool:
    """Whether letters alone change case too often to be words."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha())
    return len(value) >= 20 and turns * 3 >= len(value)


_PLACEHOLDER = LatePattern(
    r"(?:x{3,}|\*{3,}|\.{3,}|-{3,}|_{3,}|<.*>|\[.*\]?|\$\{.*|\$\(?[A-Za-z_]\w*\)?|\{\{?.*|%\w{0,40}%?|%[(<{].*|#\{.*|@.*@"
    r"|(?:my|your|the|a|some|new|old|fake|dummy|sample|example|test|demo|mock|bad|wrong|invalid|default|insert|enter|add"
    r"|put|replace|change|update)(?:(?:[-_. ][A-Za-z]+)+|(?-i:(?:[A-Z][a-z]+)+))\d{0,4}"
    r"|[\w-]*(?:changeme|change_me|placeholder|redacted|example|dummy)[\w-]*"
    r"|(?:user)?(?:name)?(?:pass|password|passwd|passphrase|pwd|secret|token|key|apikey|api_key|hunter2|none|null|nil|true"
    r"|false|undefined|todo|tbd|string|str|admin|root|guest|postgres|mysql|foobar|foo|bar|baz|qwerty|letmein|test|testing"
    r"|unset|empty|missing|hidden|masked|optional|required)\d{0,4})",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether a value only holds the place of a secret: `changeme`, `<your key>`, `${X}`, `xxxx`, `password123`."""
    if len(value) > 80:
        return value.startswith(("<", "${", "{{", "xxxxxxxx", "********"))
    return _PLACEHOLDER.fullmatch(value) is not None
