"""Text whose UTF-8 bytes were taken for Latin-1 and encoded once more: "donnÃ©es" for "données". Pure.

Text that is as it should be is never touched: a text is mended only where every character of it beyond ASCII belongs to
such a sequence, and one of them cannot have been meant.
"""

from clio.algorithms.late_pattern import LatePattern

_SEQUENCE = (
    r"(?:[\xc2-\xdf][\x80-\xbf]"
    r"|[\xe0-\xef][\x80-\xbf]{2}"
    r"|[\xf0-\xf4][\x80-\xbf]{3})"
)
_TAIL = r"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})?"
"""A sequence the end of the text cut short. A lead alone is no evidence: "naïveté" ends with one too."""
_WHOLE = LatePattern(rf"(?P<head>(?:[\x00-\x7f]++|{_SEQUENCE})*+)(?P<tail>{_TAIL}\s*)")
_CERTAIN = LatePattern(
    r"[\xc2-\xf4][\x80-\xbf]*[\x80-\x9f]"  # a control character nobody types
    r"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"  # a letter and two or three signs
    r"|[A-Za-z]\xc3[\xa0-\xbf]|\xc3[\xa0-\xbf][A-Za-z]"  # Ã and a sign inside a word
)
_LIKELY = LatePattern(r"[\xc2\xc3][\xa0-\xbf]")
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


def _mended_once(text: str, enough: LatePattern | None) -> str:
    if text.isascii():
        return text
    match = _WHOLE.fullmatch(text)
    if match is None or not (_CERTAIN.search(match["head"]) or (enough and enough.search(match["head"]))):
        return text
    try:
        return match["head"].encode("latin-1").decode("utf-8") + match["tail"]
    except UnicodeDecodeError:  # an overlong form or half of a surrogate pair: no encoder wrote that
        return text
