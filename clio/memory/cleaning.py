"""Secrets taken out of what is about to be remembered, whatever shape it has."""

from collections.abc import Callable
from typing import Any, cast

from msgspec import structs

from clio.memory.records import Entry

_TEXTS = ("text", "solution", "also", "impact", "steps", "context", "examples")


def cleaned(value: Any, redact: Callable[[str], str]) -> Any:
    """A text, or a tuple of texts, without secrets; anything else as it is."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return tuple(cleaned(one, redact) for one in cast(tuple[object, ...], value))
    return value


def cleaned_entry(draft: Entry, redact: Callable[[str], str]) -> Entry:
    """The draft with all of its texts cleaned."""
    return structs.replace(draft, **{name: cleaned(getattr(draft, name), redact) for name in _TEXTS})
