"""Remembered text that stays text: it forges no tag of a prompt, begins no line of its own, leaves no quotation."""

import re

# Spaces and characters nobody sees may stand between the signs of a forged tag; a model reads over them.
_UNSEEN = r"[\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]*"
# Tags by which clio and chat templates frame what they say. Any closing tag and any `<|` is disarmed as well.
_FRAMES = (
    "assistant|brain|context|environment|human|instructions?|knowledge|memory|memories|project_|profile|reminder|"
    "style|summary|system|thread_|tool|turn|user"
)
_TAG = re.compile(
    rf"[<\uff1c\ufe64](?={_UNSEEN}(?:[/\uff0f|\uff5c]|(?:{'|'.join(_UNSEEN.join(n) for n in _FRAMES.split('|'))})))",
    re.I,
)
# Control characters, direction overrides and the invisible "tag" letters; the joiners of emoji and Persian stay.
_NOISE = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_MARKS = re.compile("[“”„‟]")


def one_line(text: str) -> str:
    """The text on one line, unable to open or close a tag."""
    text = _NOISE.sub("", text)
    return " ".join((_TAG.sub(r"<\\", text) if "<" in text or not text.isascii() else text).split())


def quotation(text: str) -> str:
    """The text on one line between quotation marks it cannot close."""
    inside = _MARKS.sub('"', one_line(text))
    return f"“{inside}”"


def shortened(text: str, chars: int) -> str:
    """The beginning of a text, an ellipsis at its end where it was longer."""
    return text if len(text) <= chars else text[: max(chars - 1, 0)].rstrip() + "…"
