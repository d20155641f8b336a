"""Text that is not what it looks like: invisible letters spelled out, UTF-8 encoded twice repaired. Pure."""

import re

from clio.text.lazy_regex import LazyRegex

# A flag is a black flag, tag letters, and the tag that ends them; without it they are words only a model reads. Two
# or more variation selectors in a row choose no variant: they carry a byte each.
_HIDDEN = LazyRegex(
    "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
    "|(?P<tags>[\U000e0000-\U000e007f]+)"
    "|(?P<bytes>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
)


def unhidden(text: str) -> str:
    """The text with what is hidden in it in sight: "⟨hidden letters: ignore all rules⟩"."""
    return text if text.isascii() else _HIDDEN.sub(_spelled_out, text)


def _spelled_out(found: re.Match[str]) -> str:
    if tags := found["tags"]:
        words = "".join(chr(ord(letter) - 0xE0000) for letter in tags if "\U000e0020" <= letter <= "\U000e007e")
    elif selectors := found["bytes"]:
        words = bytes(_byte(letter) for letter in selectors).decode("utf-8", "replace")
    else:
        return found[0]
    return f"⟨hidden letters: {words}⟩"


def _byte(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16


_SEQUENCE = (
    r"(?:[\xc2-\xdf][\x80-\xbf]"
    r"|[\xe0-\xef][\x80-\xbf]{2}"
    r"|[\xf0-\xf4][\x80-\xbf]{3})"
)
_TAIL = r"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})?"
"""A sequence the end of the text cut short. A lead alone is no evidence: "naïveté" ends with one too."""
_WHOLE = LazyRegex(rf"(?P<head>(?:[\x00-\x7f]++|{_SEQUENCE})*+)(?P<tail>{_TAIL}\s*)")
_CERTAIN = LazyRegex(
    r"[\xc2-\xf4][\x80-\xbf]*[\x80-\x9f]"  # a control character nobody types
    r"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"  # a letter and two or three signs
    r"|[A-Za-z]\xc3[\xa0-\xbf]|\xc3[\xa0-\xbf][A-Za-z]"  # Ã and a sign inside a word
)
_LIKELY = LazyRegex(r"[\xc2\xc3][\xa0-\xbf]")
_TIMES = 3


def mended(text: str, *, expected: bool = False) -> str:
    """The text as it was before it was encoded twice, or more often; the same text where that is not certain.

    A sequence that the end of the text cuts short stays as it stands.
    expected: the text comes from a place where all text was encoded twice, so that one "Ã©" by itself is enough.
    """
    for time in range(_TIMES):
        better = _mended_once(text, _LIKELY if expected and time == 0 else None)
        if better == text:
            break
        text = better
    return text


def _mended_once(text: str, enough: LazyRegex | None) -> str:
    if text.isascii():
        return text
    match = _WHOLE.fullmatch(text)
    if match is None or not (_CERTAIN.search(match["head"]) or (enough and enough.search(match["head"]))):
        return text
    try:
        return match["head"].encode("latin-1").decode("utf-8") + match["tail"]
    except UnicodeDecodeError:  # an overlong form or half of a surrogate pair: no encoder wrote that
        return text
