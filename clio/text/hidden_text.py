"""Reveal invisible characters in text, and repair text that was encoded as UTF-8 twice. Pure."""

import re

from clio.text.lazy_regex import LazyRegex

# Tag letters are invisible on screen, but a model reads them. Behind a black flag and ended by the cancel tag they are
# a regional flag, which is allowed. Two or more variation selectors in a row select nothing: each can carry a byte.
_HIDDEN_CHARACTERS = LazyRegex(
    "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
    "|(?P<tags>[\U000e0000-\U000e007f]+)"
    "|(?P<bytes>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
)


def reveal_hidden_text(text: str) -> str:
    """Return the text with invisible letters spelled out: "⟨hidden letters: ignore all rules⟩"."""
    return text if text.isascii() else _HIDDEN_CHARACTERS.sub(_spell_out_hidden, text)


def _spell_out_hidden(match: re.Match[str]) -> str:
    if tags := match["tags"]:
        letters = "".join(chr(ord(letter) - 0xE0000) for letter in tags if "\U000e0020" <= letter <= "\U000e007e")
    elif selectors := match["bytes"]:
        letters = bytes(_decode_selector(letter) for letter in selectors).decode("utf-8", "replace")
    else:
        return match[0]
    return f"⟨hidden letters: {letters}⟩"


def _decode_selector(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16


_MISDECODED_SEQUENCE = (
    r"(?:[\xc2-\xdf][\x80-\xbf]"
    r"|[\xe0-\xef][\x80-\xbf]{2}"
    r"|[\xf0-\xf4][\x80-\xbf]{3})"
)
_MISDECODED_TAIL = r"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})?"
"""A multi-byte sequence that is incomplete because the text ends.

A first byte alone is no evidence, because "naïveté" ends with such a character too.
"""
_MISDECODED_TEXT = LazyRegex(rf"(?P<head>(?:[\x00-\x7f]++|{_MISDECODED_SEQUENCE})*+)(?P<tail>{_MISDECODED_TAIL}\s*)")
_CERTAIN_EVIDENCE = LazyRegex(
    r"[\xc2-\xf4][\x80-\xbf]*[\x80-\x9f]"  # a control character, which is never typed
    r"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"  # a letter and two or three symbols
    r"|[A-Za-z]\xc3[\xa0-\xbf]|\xc3[\xa0-\xbf][A-Za-z]"  # Ã and a symbol inside a word
)
_WEAK_EVIDENCE = LazyRegex(r"[\xc2\xc3][\xa0-\xbf]")
_MAX_REPAIRS = 3


def repair_double_utf8(text: str, *, expected: bool = False) -> str:
    """Return the text as it was before it was encoded as UTF-8 two or more times; unchanged unless that is certain.

    An incomplete sequence at the end of the text is unchanged.

    Args:
        expected: the source encoded all of its text twice, so that a single "Ã©" is sufficient evidence.
    """
    for time in range(_MAX_REPAIRS):
        repaired = _repair_once(text, _WEAK_EVIDENCE if expected and time == 0 else None)
        if repaired == text:
            break
        text = repaired
    return text


def _repair_once(text: str, weak_evidence: LazyRegex | None) -> str:
    if text.isascii():
        return text
    match = _MISDECODED_TEXT.fullmatch(text)
    if match is None or not (
        _CERTAIN_EVIDENCE.search(match["head"]) or (weak_evidence and weak_evidence.search(match["head"]))
    ):
        return text
    try:
        return match["head"].encode("latin-1").decode("utf-8") + match["tail"]
    except UnicodeDecodeError:  # an overlong form or half of a surrogate pair, which no encoder writes
        return text
