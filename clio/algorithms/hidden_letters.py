"""Letters nobody sees, with which orders to a model are hidden in a text, spelled out for everybody. Pure."""

import re

from clio.algorithms.late_pattern import LatePattern

# A flag is a black flag, tag letters, and the tag that ends them; without it they are words only a model reads. Two
# or more variation selectors in a row choose no variant: they carry a byte each.
_HIDDEN = LatePattern(
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
