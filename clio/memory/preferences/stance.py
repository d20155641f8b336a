"""What a preference's words demand: never, always, or nothing; and the thing it is about without that."""

import re
from typing import Literal

Stance = Literal["never", "always"]

_NEVER = re.compile(r"(?:please )?(?:never(?: ever)?|do not|don['’]t|stop|avoid|no more|no)\s+", re.IGNORECASE)
_ALWAYS = re.compile(r"(?:please )?(?:always)\s+", re.IGNORECASE)
_VERB = re.compile(r"(?:i )?(?:use|using|used|do|doing|write|writing|add|adding|prefer)\s+", re.IGNORECASE)
_END = " .!,;:"


def stance_of(item: str) -> Stance | None:
    """The stance its first words take: "never", "don't", "no …"; "always"; None where they take none."""
    start = item.strip()
    return "never" if _NEVER.match(start) else "always" if _ALWAYS.match(start) else None


def thing(item: str) -> str:
    """What it is about, for comparing: "never use tabs", "always use tabs" and "Tabs" are all about "tabs"."""
    words = " ".join(item.casefold().split()).strip(_END)
    for pattern in (_NEVER, _ALWAYS, _VERB):
        words = pattern.sub("", words, count=1) if pattern.match(words) else words
    return words.strip(_END)


def as_order(item: str) -> str:
    """A hard limit as an order: "emojis in output" becomes "never: emojis in output"; an order stays as it is."""
    return item if stance_of(item) is not None or item[:5].lower() == "only " else f"never: {item}"
