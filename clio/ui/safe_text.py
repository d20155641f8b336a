"""Text from models and tools made harmless for a terminal: nothing in it moves a cursor or is hidden."""

from collections.abc import Iterable

from clio.text.lazy_regex import LazyRegex

_ESCAPE = LazyRegex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
)
_OPEN_ESCAPE = LazyRegex(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*\x1b?|\x1b[ -/]*)\Z"
)
# C0 without tab and newline, DEL, C1; the marks that turn the reading direction round (they make text lie); what nobody
# sees, in which orders to a model are hidden. The joiners of emoji and Persian stay.
_CONTROL = LazyRegex(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_BREAK = LazyRegex("\r\n|[\r\u2028\u2029]")
_LONE_SURROGATE = LazyRegex(r"[\ud800-\udfff]")
_MAX_HELD = 512


def clean(text: str) -> str:
    """The text without control sequences, control characters and what is not seen; a return becomes a newline."""
    if _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if not _CONTROL.search(text):
        return text
    return _CONTROL.sub("", _BREAK.sub("\n", _ESCAPE.sub("", text)))


def clean_line(text: str) -> str:
    """The text cleaned and brought onto one line."""
    return " ".join(clean(text).split())


def in_full(summary: str, lines: Iterable[str]) -> str:
    """The line, cleaned, of which a cut summary is the beginning, where it is among these; else the summary."""
    begun = summary.removesuffix("…").rstrip()
    if begun == summary:
        return summary
    return next((line for line in map(clean_line, lines) if line.startswith(begun)), summary)


def visible(text: str) -> str:
    """The text with every control character spelled out, for a person who must judge all of it; newline and tab stay.

    `clean` would hide what a control sequence carries; here it reads "\\x1b[8m".
    """
    text = _LONE_SURROGATE.sub("\ufffd", text)
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def inert_json(text: str) -> str:
    """The JSON with every control character, and what is not seen, as escapes: the same values, and nothing steers.

    JSON itself leaves those above 127 as they are, and terminals obey some of them.
    """
    return _CONTROL.sub(lambda found: "".join(f"\\u{unit}" for unit in _utf16(found[0])), text)


def _utf16(sign: str) -> list[str]:
    digits = sign.encode("utf-16-be").hex()
    return [digits[at : at + 4] for at in range(0, len(digits), 4)]


class Cleaner:
    """`clean` for text that comes in pieces; a control sequence cut in two is still one.

    At most 512 characters are held back: a longer sequence loses its introducer and its body is shown as text.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The clean text that is certain so far."""
        text, self._held = self._held + text, ""
        found = _OPEN_ESCAPE.search(text, max(0, len(text) - _MAX_HELD))
        cut = found.start() if found else len(text) - text.endswith("\r")
        if cut < len(text) and len(text) - cut < _MAX_HELD:
            text, self._held = text[:cut], text[cut:]
        return clean(text)

    def finish(self) -> str:
        """What was held back, made harmless."""
        text, self._held = self._held, ""
        return clean(text)
