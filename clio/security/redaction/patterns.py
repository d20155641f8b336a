"""Where secrets stand by their form: keys with a known beginning, private keys, passwords in URLs and headers. Pure.

No pattern crosses white space but the private key block. All are linear in the length of the text. What makes ordinary
text fast: a key is at least 16 letters long and holds a digit, so stretches of that form are found first, and only
patterns whose literal stands near one are tried.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.kinds import TOKENS
from clio.security.redaction.value_shapes import entropy, is_placeholder, random_key

MAX_BLOCK_CHARS = 8192
"""How long a private key block, or a run of text without white space, is looked at as one."""

MARKER = LatePattern(r"\[REDACTED:[a-z0-9-]{1,40}\]")


class Span(Struct, frozen=True):
    """A secret's place in a text, its kind, and its rank where several claim the same place (lower wins)."""

    start: int
    end: int
    kind: str
    rank: int = 0


_LITERALS = tuple((literal, rank) for rank, pattern in enumerate(TOKENS) for literal in pattern.literals)
# By the two letters a key begins with: of most words nothing else is looked at.
_BY_HEAD: dict[str, list[tuple[str, int]]] = {}
for _literal, _rank in _LITERALS:
    if not TOKENS[_rank].inside:
        _BY_HEAD.setdefault(_literal[:2], []).append((_literal, _rank))
_HEADS = frozenset(_BY_HEAD)
_SIGNS = ("hook", "//", *"-_.:=$~", "")
# Those further in, by the first of these they hold: base64 has hardly any, and need not be searched for all of them.
_INSIDE: dict[str, list[tuple[str, int]]] = {}
for _literal, _rank in _LITERALS:
    if TOKENS[_rank].inside:
        _INSIDE.setdefault(next(sign for sign in _SIGNS if sign in _literal), []).append((_literal, _rank))
_BY_SIGN = tuple(_INSIDE.items())

_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# Lines of a block stand behind numbers, bars and names of files where they are shown. No backtick: it ends a mention.
_BODY = r"(?:[A-Za-z0-9+/=,:.\s\"'\\>#()@;<_|│→]|-(?!----BEGIN))"
MARGIN = r"[ \t]{0,40}(?:[A-Za-z0-9_./-]{1,120}[:-])?(?:[0-9]{1,7}[|│→:>\t -])?[ \t|│>+-]{0,8}"
_SHOWN_LINE = rf"[ \t|│]{{0,8}}\n{MARGIN}[A-Za-z0-9+/=]"
PRIVATE_KEY = LatePattern(
    rf"{_HEADER}(?:{_BODY}{{24,{MAX_BLOCK_CHARS}}}?-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
    rf"|(?:\\[nr]|[A-Za-z0-9+/=\s]){{40,{MAX_BLOCK_CHARS}}}"
    rf"|{_SHOWN_LINE}{{40,160}}(?:{_SHOWN_LINE}{{1,160}}){{0,40}})"
)
_BEGUN = LatePattern(_HEADER)
_OPEN_PRIVATE_KEY = LatePattern(
    rf"-----BEGIN(?: [A-Z0-9 ]{{0,60}})?-{{0,5}}\Z|{_HEADER}{_BODY}{{0,{MAX_BLOCK_CHARS + 80}}}\Z"
)

URL_PASSWORD = LatePattern(r"://[^\s/:@\"'<>`]{0,256}:([^\s/\"'<>`]{1,512})@")
BEARER = LatePattern(r"(?<![A-Za-z0-9])(?:[Bb]earer|BEARER|[Bb]asic|BASIC)[ \t]{1,4}([A-Za-z0-9._~+/-]{12,}={0,2})")


_STRETCH_MAP = bytes(
    120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_-+/=%.") else 32 for code in range(256)
)
SHORTEST_KEY = 16
_SIXTEEN = b"x" * SHORTEST_KEY
_STRETCH_END = re.compile(rb"x*")
_DIGIT = LatePattern("[0-9]")
_BEGINNINGS = LatePattern("([A-Za-z0-9]{2})[A-Za-z0-9]*")
_REACH = 24


def has_stretch(text: str, chars: int = SHORTEST_KEY) -> bool:
    """Whether any stretch is as long as a key's, or as given: where there is none, `token_spans` gives nothing."""
    return stretches(text.encode("latin-1", "replace"), chars)


def stretches(encoded: bytes, chars: int = SHORTEST_KEY) -> bool:
    """The same of a text that is encoded already, in whatever leaves ASCII as it is."""
    return (_SIXTEEN if chars == SHORTEST_KEY else b"x" * chars) in encoded.translate(_STRETCH_MAP)


def possible_tokens(text: str) -> set[int]:
    """The token patterns, by number, whose literal stands in or shortly before a stretch a key could be."""
    found: set[int] = set()
    shape = text.encode("latin-1", "replace").translate(_STRETCH_MAP)
    place = shape.find(_SIXTEEN)
    while place >= 0:
        match = _STRETCH_END.match(shape, place)
        end = match.end() if match else place
        if _DIGIT.search(text, place, end):
            window = text[max(0, place - _REACH) : end]
            for head in _HEADS.intersection(_BEGINNINGS.findall(window)):
                found.update(rank for literal, rank in _BY_HEAD[head] if literal in window)
            for sign, literals in _BY_SIGN:
                if sign in window:
                    found.update(n for literal, n in literals if literal in window and TOKENS[n].may_be_in(window))
        place = shape.find(_SIXTEEN, end)
    return found


def token_spans(text: str) -> Iterator[Span]:
    """Keys and tokens by their own form."""
    for rank in sorted(possible_tokens(text)):
        pattern = TOKENS[rank]
        for match in pattern.matches(text):
            if pattern.check(match[0]):
                yield Span(match.start(), match.end(), pattern.kind, 1 + rank)


def block_spans(text: str) -> Iterator[Span]:
    """Private key blocks, whole or cut off."""
    if "PRIVATE KEY" in text:
        for match in PRIVATE_KEY.finditer(text):
            yield Span(match.start(), match.end(), "private-key", 0)


def open_block(text: str) -> int | None:
    """Where a private key block begins whose end may still come; None for nowhere."""
    if "-----BEGIN" not in text:
        return None
    closed = [match.end() for match in PRIVATE_KEY.finditer(text) if match[0].endswith("-----")]
    found = _OPEN_PRIVATE_KEY.search(text, closed[-1] if closed else 0)
    return found.start() if found else None


def in_block(text: str) -> bool:
    """Whether a text begins with the first line of a private key block."""
    return _BEGUN.match(text) is not None


def url_spans(text: str) -> Iterator[Span]:
    """The password part of URLs; the rest of the URL stays."""
    if "://" in text and "@" in text:
        for match in URL_PASSWORD.finditer(text):
            if not is_placeholder(match[1]) and not MARKER.fullmatch(match[1]):
                yield Span(match.start(1), match.end(1), "url-password", 200)


def bearer_spans(text: str) -> Iterator[Span]:
    """What follows `Bearer` or `Basic` in a header."""
    for word in ("earer", "asic", "EARER", "ASIC"):
        place = text.find(word)
        while place >= 0:
            match = BEARER.match(text, place - 1) if place else None
            if match and (random_key(match[1]) or (match[1].endswith("=") and entropy(match[1]) >= 2.5)):
                yield Span(match.start(1), match.end(1), "authorization", 201)
            place = text.find(word, place + 1)
