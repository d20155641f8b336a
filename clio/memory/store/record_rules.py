"""What the fields of a memory may contain, when two memories say the same, when one is pruned, and removal of secrets.

Times are seconds since the epoch.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from msgspec import structs

from clio.errors import UserError
from clio.memory.store.record import TYPED_KINDS, AssertedBy, Kind, MemoryDraft, MemoryRecord, Note, Provenance
from clio.text.formatting import truncate_line
from clio.text.scoring import (
    DAY_S,
    HARD_LIMIT_SCORE,
    check_score,
    is_faded,
)

SHORT_CHARS = 60
MAX_CHARS = 16_000
"""About 4,000 tokens. A longer text is a document or a keyed note: recalled, it would displace all other memories."""
CONFIDENCE: dict[AssertedBy, float] = {"user": 1.0, "model": 0.8, "tool": 0.6}
"""Confidence of a memory that was saved without one."""


def check_type(name: str) -> Kind:
    """Return the kind with that name. Raises UserError that lists the kinds."""
    kind = name.strip().lower()
    if kind not in TYPED_KINDS:
        raise UserError(f"{name!r} is no type of memory; there are {', '.join(TYPED_KINDS)}")
    return kind


def check_content(text: str) -> str:
    """Return the text stripped and as valid Unicode. Raises UserError if it is empty or too long."""
    content = text.encode("utf-8", "replace").decode("utf-8").strip()
    if not content.strip("\x00\u200b\u2060\ufeff \t\r\n"):
        raise UserError("a memory needs words; give its content")
    if len(content) > MAX_CHARS:
        raise UserError(
            f"a memory has up to {MAX_CHARS:,} characters, and this has {len(content):,}; keep the point of it, or add "
            "the text with /docs add"
        )
    return content


def check_importance(value: float) -> float:
    """Return the importance, clamped to 0.0 to 1.0. Raises UserError if it is not a finite number."""
    if not math.isfinite(value):
        raise UserError(f"an importance is a number from 0.0 to 1.0, not {value!r}")
    return min(max(float(value), 0.0), 1.0)


def check_preference_score(value: float | None) -> float | None:
    """Return the score, if there is one. Raises UserError outside 0 to 10."""
    if value is None:
        return None
    try:
        return check_score(value)
    except ValueError as error:
        raise UserError(str(error)) from error


def has_same_text(one: str, other: str) -> bool:
    """Return whether two contents are the same text, ignoring case, spacing and closing punctuation."""
    return _normalize(one) == _normalize(other)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!;, ")


def is_pruned(record: MemoryRecord, now: float) -> bool:
    """Return whether compaction archives the record: it has faded, or was unused for 180 days.

    Live hard limits and explicit rules stay. A variant is also archived once its confidence is below 0.3 and it is
    older than 90 days.
    """
    from clio.text.consolidate import is_variant_expired

    if is_variant_expired(record.confidence_at(now), (now - record.created) / DAY_S, record.is_variant):
        return True
    is_limit = record.score is not None and record.score <= HARD_LIMIT_SCORE
    if record.is_live and not record.is_variant and (record.explicit or is_limit):
        return False
    return is_faded(record.kind, record.importance, (now - record.accessed) / DAY_S)


TRUST: dict[AssertedBy, int] = {"tool": 0, "model": 1, "user": 2}
"""How far a statement is trusted by who made it: a more trusted one replaces a less trusted one."""


def default_confidence(provenance: Provenance | None) -> float:
    """Return the confidence of a statement that came without one, by who asserted it; 1.0 if unknown."""
    return CONFIDENCE[provenance.asserted_by] if provenance else 1.0


def check_confidence(value: float) -> float:
    """Return the confidence, clamped to 0.0 to 1.0. Raises UserError if it is not a finite number."""
    if not math.isfinite(value):
        raise UserError(f"a confidence is a number from 0.0 to 1.0, not {value!r}")
    return min(max(float(value), 0.0), 1.0)


def check_record(record: MemoryRecord) -> MemoryRecord:
    """Return the record with valid fields. Raises UserError."""
    return structs.replace(
        record,
        kind=check_type(record.kind),
        content=check_content(record.content),
        importance=check_importance(record.importance),
        confidence=check_confidence(record.confidence),
        score=check_preference_score(record.score),
        keywords=clean_tags(record.keywords),
        scenarios=clean_tags(record.scenarios),
    )


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags, each on one line, without duplicates and empty ones."""
    return tuple(dict.fromkeys(tag for raw in tags if (tag := " ".join(raw.split()))))


def strip_use(record: MemoryRecord) -> MemoryRecord:
    """Return the record without the fields that a use changes."""
    return structs.replace(record, accessed=0.0, access_count=0)


def is_other_version(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether two states of a memory differ in meaning, weight or source.

    A use, a confirmation, a new tag or a new file hash does not make another version.
    """
    states = [
        (
            record.content,
            record.kind,
            record.importance,
            record.score,
            record.reason,
            record.scenarios,
            record.confidence,
            record.explicit,
            record.is_variant,
            record.provenance.asserted_by if record.provenance else "",
        )
        for record in (one, other)
    ]
    return states[0] != states[1]


def update_since(before: MemoryRecord, after: MemoryRecord, now: float) -> MemoryRecord:
    """Return `after` with `since` set to now if its meaning differs from `before`."""
    return structs.replace(after, since=now) if is_other_version(before, after) else after


def shorten_content(record: MemoryRecord) -> str:
    """Return the beginning of the content, on one line."""
    return truncate_line(record.content, SHORT_CHARS)


_TEXTS = ("content", "solution", "also", "impact", "steps", "context", "examples")


def clean_value(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a text, or a tuple of texts, without secrets; any other value unchanged."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return tuple(clean_value(one, redact) for one in cast(tuple[object, ...], value))
    return value


D = TypeVar("D", MemoryRecord, MemoryDraft)


def clean_draft(draft: D, redact: Callable[[str], str]) -> D:
    """Return the draft with all its texts cleaned."""
    return structs.replace(draft, **{name: clean_value(getattr(draft, name), redact) for name in _TEXTS})


Clean = Callable[[str], str]
_NOT_TEXT = frozenset(("id", "example_hashes", "hashes", "provenance", "confirmations", "session", "message"))
"""Fields with ids and hashes, which the search for secrets would take for secrets."""


def clean_record(record: MemoryRecord, clean: Clean) -> MemoryRecord:
    """Return the record with its texts cleaned; the same object if none of them changes."""
    content, reason = clean(record.content), clean(record.reason)
    keywords, scenarios = tuple(map(clean, record.keywords)), tuple(map(clean, record.scenarios))
    same = (content, reason, keywords, scenarios) == (record.content, record.reason, record.keywords, record.scenarios)
    if same:
        return record
    return structs.replace(record, content=content, reason=reason, keywords=keywords, scenarios=scenarios)


def clean_note(note: Note, clean: Clean) -> Note:
    """Return the note with key and content cleaned."""
    return structs.replace(note, key=clean(note.key), content=clean(note.content))


def clean_json(value: object, clean: Clean) -> Any:
    """Return a JSON value with all texts in it cleaned, including field names."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item, clean) for item in cast(list[object], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return {clean(name): item if name in _NOT_TEXT else clean_json(item, clean) for name, item in pairs}
    return value
