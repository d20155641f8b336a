"""Text a reader can trust: what steers a terminal is gone, what is not seen or would mislead is spelled out."""

import re

from clio.algorithms.late_pattern import LatePattern

_COLOURS = LatePattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
)
_LONE_SURROGATE = LatePattern("[\ud800-\udfff]")
# Controls; marks that turn the direction of reading round; spaces without width; the invisible "tag" letters. The
# joiners of emoji and Persian stay as they are.
_UNSEEN = LatePattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def bare(text: str) -> str:
    """The text without terminal sequences, its lines ended by a newline alone; lone surrogates become U+FFFD."""
    if not text.isascii() and _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _COLOURS.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text


def visible(text: str) -> str:
    """The text with every character that is not seen as a symbol: NUL as "␀", U+202E as "⟨U+202E⟩"."""
    return _UNSEEN.sub(_symbol, text) if _UNSEEN.search(text) else text


def escape_unseen(json_text: str) -> str:
    """JSON whose unseen characters, which can only stand inside of strings, are written as escapes."""
    return _UNSEEN.sub(_escape, json_text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
