"""Remembered text that stays text: it forges no tag of a prompt, begins no line of its own, leaves no quotation."""

import re

from clio.text.lazy_regex import LazyRegex

# Characters nobody sees may stand between the signs of a forged tag; a model reads over them.
_UNSEEN = LazyRegex(
    "[\\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
)
# What frames text in clio and in chat templates. Any closing tag and any `<|` is disarmed as well.
_FRAMES = tuple(
    "/ \uff0f | \uff5c assistant brain context environment human instruction knowledge memory memories preference "
    "profile project_ reminder style summary system thread_ tool turn user".split()
)
_OPENING = LazyRegex("[<\uff1c\ufe64]")
_LOOKED_AT = 2_000
# Control characters, direction overrides and the invisible "tag" letters; the joiners of emoji and Persian stay.
_NOISE = LazyRegex("[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_MARKS = LazyRegex("[“”„‟]")


def one_line(text: str) -> str:
    """The text on one line, unable to open or close a tag."""
    line = " ".join(seen(text).split())
    return _OPENING.sub(_disarmed, line)


def seen(text: str) -> str:
    """The text without control characters, direction overrides and letters nobody sees."""
    return _NOISE.sub("", text)


def quotation(text: str) -> str:
    """The text on one line between quotation marks it cannot close."""
    inside = _MARKS.sub('"', one_line(text))
    return f"“{inside}”"


def _disarmed(match: re.Match[str]) -> str:
    """A `<`, and a backslash behind it where a frame's name follows."""
    rest = match.string[match.end() : match.end() + _LOOKED_AT]
    return "<\\" if _UNSEEN.sub("", rest).casefold().startswith(_FRAMES) else match[0]
