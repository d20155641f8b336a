"""Secrets taken out of what is about to be remembered, whatever shape it has."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import structs

from clio.memory.store.record import MemoryDraft, MemoryRecord, Note

_TEXTS = ("content", "solution", "also", "impact", "steps", "context", "examples")


def cleaned(value: Any, redact: Callable[[str], str]) -> Any:
    """A text, or a tuple of texts, without secrets; anything else as it is."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return tuple(cleaned(one, redact) for one in cast(tuple[object, ...], value))
    return value


D = TypeVar("D", MemoryRecord, MemoryDraft)


def cleaned_entry(draft: D, redact: Callable[[str], str]) -> D:
    """The draft with all of its texts cleaned."""
    return structs.replace(draft, **{name: cleaned(getattr(draft, name), redact) for name in _TEXTS})


Clean = Callable[[str], str]
_AS_THEY_ARE = frozenset(("id", "example_hashes", "hashes", "provenance", "confirmations", "session", "message"))
"""Fields that hold no words, and that a search for secrets would take for some."""


def clean_record(record: MemoryRecord, clean: Clean) -> MemoryRecord:
    """The record with its texts cleaned; the same object where none of them changes."""
    content, reason = clean(record.content), clean(record.reason)
    keywords, scenarios = tuple(map(clean, record.keywords)), tuple(map(clean, record.scenarios))
    same = (content, reason, keywords, scenarios) == (record.content, record.reason, record.keywords, record.scenarios)
    if same:
        return record
    return structs.replace(record, content=content, reason=reason, keywords=keywords, scenarios=scenarios)


def clean_note(note: Note, clean: Clean) -> Note:
    """The note with key and content cleaned."""
    return structs.replace(note, key=clean(note.key), content=clean(note.content))


def clean_json(value: object, clean: Clean) -> Any:
    """A JSON value with the texts in it cleaned, names of fields too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item, clean) for item in cast(list[object], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return {clean(name): item if name in _AS_THEY_ARE else clean_json(item, clean) for name, item in pairs}
    return value
