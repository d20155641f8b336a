"""Put untrusted text into a prompt so that it stays text: it cannot forge a tag, start a line or end its quotation.

Untrusted text is everything that memory stored from tools, files, web pages and earlier conversations.
"""

import re

from clio.text.lazy_regex import LazyRegex

# Invisible characters may separate the characters of a forged tag; a model ignores them.
_INVISIBLE = LazyRegex(
    "[\\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
)
# Beginnings of tags that clio and chat templates use. Every closing tag and every `<|` counts, too.
_TAG_STARTS = tuple(
    "/ \uff0f | \uff5c assistant brain context environment human instruction knowledge memory memories preference "
    "profile project_ reminder style summary system thread_ tool turn user".split()
)
_OPENING_BRACKET = LazyRegex("[<\uff1c\ufe64]")
_MAX_TAG_CHARS = 2_000
# Control characters, direction overrides and the invisible "tag" letters, but not the joiners of emoji and Persian.
_REMOVED_CHARACTERS = LazyRegex(
    "[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_QUOTATION_MARKS = LazyRegex("[“”„‟]")


def make_inert_line(text: str) -> str:
    """Return the text on one line, with escaped brackets where it would open or close a tag."""
    line = " ".join(strip_invisible(text).split())
    return _OPENING_BRACKET.sub(_escape_bracket, line)


def strip_invisible(text: str) -> str:
    """Return the text without control characters, direction overrides and invisible letters."""
    return _REMOVED_CHARACTERS.sub("", text)


def quote_inert(text: str) -> str:
    """Return the text on one line in quotation marks, which it cannot close because its own are replaced."""
    inside = _QUOTATION_MARKS.sub('"', make_inert_line(text))
    return f"“{inside}”"


def _escape_bracket(match: re.Match[str]) -> str:
    """Return the matched bracket, or `<` and a backslash if a tag's name follows."""
    rest = match.string[match.end() : match.end() + _MAX_TAG_CHARS]
    return "<\\" if _INVISIBLE.sub("", rest).casefold().startswith(_TAG_STARTS) else match[0]
