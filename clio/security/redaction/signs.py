"""Which words need a look at all: a test that costs a third of a microsecond for the words of most pieces. Pure."""

import re
from collections.abc import Callable, Iterable

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.assignments import BESIDE, LOGIN
from clio.security.redaction.contexts import OPEN_OFFER, SENTENCE_BEHIND, is_context_sign, may_begin_context
from clio.security.redaction.encoded import encoded_spans
from clio.security.redaction.names import BEHIND, NAME_CHARS, NAME_END, is_begun
from clio.security.redaction.patterns import has_stretch, stretches, token_spans

_ANCHOR_CHARS = 6
_LONG = 256
_NAME_REACH = 160
_SIGN_REACH = 120
_DIGIT = re.compile("[0-9]")
# A digit is 9, the other signs are themselves, all else is a blank: what C does at once costs half of an expression.
_SHAPE = bytes(57 if 48 <= code <= 57 else code if code in b"@:=" else 32 for code in range(256))
_NINE, _AT = b"9@"
_RUN = LatePattern(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LONG},}}")
_TAIL = 128  # letters kept of such a run: the longest name there is, and its sign, lie within them
_PAIR = r"[a-z0-9_.-]{0,48}[\"'\\]{0,4},?\s{1,40}[\"'\\]{0,3}value"
_SIGN = LatePattern(
    rf"{NAME_END}(?:[:=!>]|[?|+]{{1,2}}=|(?<=[\"']),)|[{NAME_CHARS}]{{0,48}}[\"']?[ \t]{{0,4}}(?:[({{][ \t]?[\"']|\{{)"
    rf"|[{NAME_CHARS}]{{0,48}}[ \t]{{1,16}}[\"']|{BESIDE}|{_PAIR}|[{NAME_CHARS}]{{0,48}}</key>|{SENTENCE_BEHIND}"
    rf"|[{NAME_CHARS}]{{0,48}}[\"']?(?:[ \t]{{1,4}}[a-z:_-]{{1,30}}=[\"'][^\"'<>\n]{{0,80}}[\"']){{0,4}}>"
)
_FLAG = LatePattern(r"(?:\A|[\s\"'])--?[a-z0-9_.-]{0,48}\Z")
_FLAG_CHARS = 50
_HEADER = LatePattern(r"(?:bearer|basic)[ \t]{1,4}[a-z0-9._~+/-]{12}")
_LOGIN = LatePattern(LOGIN)
_NAMES = {
    word: LatePattern(word) for word in ("pass", "secret", "token", "credential", "pwd", "key", "kennwort", "contrase")
} | {
    "auth": LatePattern(rf"authorization|auth{BEHIND}"),
    "_pat": LatePattern(rf"_pat{BEHIND}"),
    "sess": LatePattern(rf"sess(?:ion)?_?id{BEHIND}"),
    "pw": LatePattern(rf"pw{BEHIND}"),
    "psk": LatePattern(rf"psk{BEHIND}"),
    "geheim": LatePattern("geheim"),
    "senha": LatePattern(rf"senha{BEHIND}"),
    "wachtwoord": LatePattern("wachtwoord"),
    "pin": LatePattern(rf"(?:[_-]pin|pin[_-]?code){BEHIND}"),
}
"""`names.ANY_WORD` by what stands first in it, in small letters; of "api key" the second."""


_RARE = (
    *((word, _NAMES[word]) for word in ("_pat", "sess", "pw", "psk", "senha", "pin")),
    ("key", LatePattern(r"keys?(?![a-z])")),
)


def sign_test(values: tuple[str, ...]) -> Callable[..., bool]:
    """A test whether whole words may hold a secret, or open one that goes on behind them.

    Called with what was let go before them, from its last word on, and the words. It never says no where `Finder.spans`
    would find something in the words, nor where they may begin something, but for a name without a sign behind it: that
    is what the words before are for. A yes means little. A person's patterns are not its business.
    values: as in `Finder`.
    """
    # A value with blanks is known by its first word and the blank behind it, for the rest may not have come.
    begun = [(value[: len(value.split(None, 1)[0]) + 1], value) for value in values]
    places = [(first, match.start() if (match := _DIGIT.search(first)) else -1) for first, _ in begun]
    keylike = any(at >= 0 and has_stretch(first) for first, at in places)
    numbered = _any_of(first[at : at + _ANCHOR_CHARS] for first, at in places if at >= 0 and not has_stretch(first))
    plain = tuple(first for first, at in places if at < 0)
    one, two = (*plain, *plain)[:2] if plain else ("", "")
    others = _any_of(plain[2:])

    def a_value(words: str) -> bool:
        """Whether a value stands there, or the beginning of one at the end."""
        for first, value in begun:
            at = words.find(first)
            while at >= 0:
                if value.startswith(words[at : at + len(value)]):
                    return True
                at = words.find(first, at + 1)
        return False

    def test(before: str, words: str, armed: int = NAMES | CONTEXTS) -> bool:
        try:
            encoded = words.encode()
        except UnicodeEncodeError:  # half a letter, as JSON may hold
            encoded = words.encode("latin-1", "replace")
        shape = encoded.translate(_SHAPE)
        if armed and (armed != NAMES or _HINT.search(words) is not None) and _is_told(before, words, armed):
            return True
        if not shape.isspace():
            if (_AT in shape and "://" in words) or "-----BEGIN" in words:
                return True
            if _NINE in shape:
                if stretches(encoded) and (
                    (keylike and a_value(words))
                    or next(token_spans(words), None) is not None
                    or next(encoded_spans(words), None) is not None
                ):
                    return True
                if numbered is not None and numbered(words) is not None and a_value(words):
                    return True
                if _is_offer(before[-_OFFER_CHARS:] + words):
                    return True
        elif "-----BEGIN" in words:
            return True
        if one and (one in words or two in words or (others is not None and others(words) is not None)):
            return a_value(words)
        return False

    return test


NAMES, CONTEXTS = 1, 2
"""What a word may tell of: a secret's name, the beginning of a context."""
_ordinary: set[str] = set()  # words that were found to tell nothing: most of a text
_told: dict[str, int] = {}
is_ordinary = _ordinary.issuperset
"""Whether all of some words are known to tell nothing."""


def find_telling(words: str) -> int:
    """What the words may tell of, `NAMES` and `CONTEXTS` added up; 0 for most. Each word is looked at once."""
    parted = words.split()
    found = 0
    for word in parted:
        if word not in _ordinary:
            found |= _told[word] if word in _told else _find_telling_word(word)
    return found


def _find_telling_word(word: str) -> int:
    low = (_inner(word) if len(word) > _LONG else word).lower()
    named = (
        any(part in low for part in _PARTS)
        or low.startswith("-u")
        or any(name.search(low) is not None for part, name in _RARE if part in low)
    )
    found = NAMES * named | CONTEXTS * may_begin_context(low)
    if len(_ordinary) + len(_told) > _MOST_WORDS:
        _ordinary.clear()
        _told.clear()
    if len(word) <= 64:
        if found:
            _told[word] = found
        else:
            _ordinary.add(word)
    return found


# What follows a name where its value may follow in turn: a sign, a digit of the value, or a verb.
_HINT = LatePattern(
    r"[-:=!>\"'0-9?|+({]|(?:\A|[ \n\t])(?:is|was|are|be|to|ist|est|es|é|lautet|has|should|must|will|becomes|equals"
    r"|bearer|basic|Bearer|Basic)(?![a-z])"
)
_MOST_WORDS = 8192
_PARTS = (
    "pass",
    "secret",
    "token",
    "cred",
    "pwd",
    "auth",
    "bearer",
    "basic",
    "kennwort",
    "contrase",
    "geheim",
    "wachtwoord",
)
_OFFER_CHARS = 24
_OFFERS = ("use ", "try ", "type ", "nter ")


def _is_offer(line: str) -> bool:
    """Whether a text may go on "… as the password"."""
    return any(word in line for word in _OFFERS) and OPEN_OFFER.search(line) is not None


def _is_told(before: str, words: str, armed: int) -> bool:
    """The closer test of a line that holds a telling word."""
    whole = before + words
    long = len(words) > _LONG
    if len(before) > _NAME_REACH:  # no name and what parts it from its value are longer
        before = before[-_NAME_REACH:]
    low = (_inner(before + words) if long else before + words).lower()
    begun = 0 if long else len(before)
    return bool(armed & NAMES and _is_named(low, begun)) or bool(
        armed & CONTEXTS and is_context_sign(whole, low, begun)
    )


def _is_named(low: str, begun: int) -> bool:
    """Whether a name stands in a text of small letters that its sign follows, or a flag that needs none.

    begun: what ends before this place of the text has been looked at already.
    """
    flags = "-" in low
    for word, name in _NAMES.items():
        if word in low:
            for match in name.finditer(low, max(0, begun - _SIGN_REACH)):
                if word == "key" and not is_begun(low, match.start(), word):
                    continue
                if (sign := _SIGN.match(low, match.end())) and sign.end() >= begun:
                    return True
                if flags and _FLAG.search(low, max(0, match.start() - _FLAG_CHARS), match.start()):
                    return True
    return (("bearer" in low or "basic" in low) and _HEADER.search(low) is not None) or (
        "-u" in low and _LOGIN.search(low) is not None
    )


def _inner(words: str) -> str:
    """Words without the insides of base64: no name ends there, and a digit stands for those a value may have."""
    return _RUN.sub(lambda run: f"0{run[0][-_TAIL:]}", words) if has_stretch(words, _LONG) else words


def _any_of(literals: Iterable[str]) -> Callable[[str], re.Match[str] | None] | None:
    """A search for any of some literals; None where there are none."""
    escaped = "|".join(map(re.escape, literals))
    return re.compile(escaped).search if escaped else None
