"""Which words need a look at all: a test that costs a third of a microsecond for the words of most pieces. Pure."""

import re
from collections.abc import Callable, Iterable

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.names import BEHIND, NAME_END, is_begun
from clio.security.redaction.patterns import has_stretch, stretches, token_spans
from clio.security.redaction.values import BESIDE, LOGIN

_ANCHOR_CHARS = 6
_LONG = 256
_DIGIT = re.compile("[0-9]")
# A digit is 9, the other signs are themselves, all else is a blank: what C does at once costs half of an expression.
_SHAPE = bytes(57 if 48 <= code <= 57 else code if code in b"@:=" else 32 for code in range(256))
_NINE, _AT = b"9@"
_RUN = LatePattern(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LONG},}}")
_TAIL = 128  # letters kept of such a run: the longest name there is, and its sign, lie within them
_PAIR = r"[a-z0-9_.-]{0,48}[\"'\\]{0,4},?\s{1,40}[\"'\\]{0,3}value"
_SIGN = LatePattern(rf"{NAME_END}[:=!>]|{BESIDE}|{_PAIR}")
_FLAG = LatePattern(r"--[a-z0-9_.-]{0,48}\Z")
_FLAG_CHARS = 50
_HEADER = LatePattern(r"(?:bearer|basic)[ \t]{1,4}[a-z0-9._~+/-]{12}")
_LOGIN = LatePattern(LOGIN)
_NAMES = {word: LatePattern(word) for word in ("pass", "secret", "token", "credential", "pwd", "key")} | {
    "auth": LatePattern(rf"authorization|auth{BEHIND}"),
    "_pat": LatePattern(rf"_pat{BEHIND}"),
    "sess": LatePattern(rf"sess(?:ion)?_?id{BEHIND}"),
}
"""`names.ANY_WORD` by what stands first in it, in small letters; of "api key" the second."""


def sign_test(values: tuple[str, ...]) -> Callable[[str, str], bool]:
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

    def test(before: str, words: str) -> bool:
        try:
            encoded = words.encode()
        except UnicodeEncodeError:  # half a letter, as JSON may hold
            encoded = words.encode("latin-1", "replace")
        shape = encoded.translate(_SHAPE)
        if not shape.isspace() or "--" in words:
            long = len(words) > _LONG
            if len(before) > _LONG:  # no name is longer
                before = before[-_LONG:]
            low = (_inner(before + words) if long else before + words).lower()
            if (
                long
                or "key" in low  # a dozen `in` take less than one expression
                or "token" in low
                or "secret" in low
                or "pass" in low
                or "pwd" in low
                or "cred" in low
                or "auth" in low
                or "_pat" in low
                or "sess" in low
                or "-u" in low
                or "bearer" in low
                or "basic" in low
            ) and _is_named(low):
                return True
            if (_AT in shape and "://" in words) or "-----BEGIN" in words:
                return True
            if _NINE in shape:
                if stretches(encoded) and ((keylike and a_value(words)) or next(token_spans(words), None) is not None):
                    return True
                if numbered is not None and numbered(words) is not None and a_value(words):
                    return True
        if one and (one in words or two in words or (others is not None and others(words) is not None)):
            return a_value(words)
        return False

    return test


def _is_named(low: str) -> bool:
    """Whether a name stands in a text of small letters that its sign follows, or a flag that needs none."""
    flags = "--" in low
    for word, name in _NAMES.items():
        if word in low:
            for match in name.finditer(low):
                if word == "key" and not is_begun(low, match.start(), word):
                    continue
                if _SIGN.match(low, match.end()):
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
