"""One typed memory, and what may become one."""

import math
from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import Struct, structs

from clio.algorithms.bands import HARD_LIMIT, check_score
from clio.algorithms.decay import DAY_S, confidence_after, effective_importance, is_faded
from clio.errors import UserError
from clio.memory.records import Provenance

MemoryType = Literal["fact", "preference", "event", "note"]
TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
SHORT_CHARS = 60
MAX_CHARS = 16_000
"""About 4,000 tokens. What is longer is a document or a note, and would push everything else out of the brain."""


class MemoryRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact, a preference, an event or a note. Times are seconds since the epoch.

    importance: 0.0 to 1.0. score: 0 to 10, of preferences only; up to 1.5 it is a hard limit.
    accessed: when it was last used, which keeps it from being pruned. seen: when it was last reinforced, from which a
        preference fades. version: grows with every change of its words.
    superseded_by: id of the memory that took its place; such a one is only found through `history`.
    variants_of: id of the memory it says differently. explicit: said as a rule, not inferred.
    hashes: source file → hash of its content when it was remembered.
    """

    id: str
    type: MemoryType
    content: str
    importance: float = 0.5
    score: float | None = None
    reason: str = ""
    keywords: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    created: float = 0.0
    updated: float = 0.0
    accessed: float = 0.0
    seen: float = 0.0
    access_count: int = 0
    touch_count: int = 0
    confidence: float = 1.0
    version: int = 1
    superseded_by: str | None = None
    variants_of: str | None = None
    explicit: bool = False
    provenance: Provenance | None = None
    hashes: dict[str, str] = {}

    @property
    def is_live(self) -> bool:
        """Whether nothing has taken its place."""
        return self.superseded_by is None

    def accessed_at(self, now: float) -> "MemoryRecord":
        """The record after one more use."""
        return structs.replace(self, accessed=max(now, self.accessed), access_count=self.access_count + 1)

    def strength(self, now: float) -> float:
        """importance, faded by its type since it was last used, times confidence, faded by the day: 0.0 to 1.0."""
        days = max(now - self.accessed, 0.0) / DAY_S
        return effective_importance(self.type, self.importance, days) * confidence_after(self.confidence, days)


def check_type(name: str) -> MemoryType:
    """The type of that name. Raises UserError with the types there are."""
    wanted = name.strip().lower()
    if wanted not in TYPES:
        raise UserError(f"{name!r} is no type of memory; there are {', '.join(TYPES)}")
    return wanted


def check_content(text: str) -> str:
    """The text as it is kept: stripped, and valid Unicode. Raises UserError where it is empty or too long."""
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
    """The importance, drawn into 0.0 to 1.0. Raises UserError where it is no number."""
    if not math.isfinite(value):
        raise UserError(f"an importance is a number from 0.0 to 1.0, not {value!r}")
    return min(max(float(value), 0.0), 1.0)


def check_preference_score(value: float | None) -> float | None:
    """The score, if there is one. Raises UserError outside 0 to 10."""
    if value is None:
        return None
    try:
        return check_score(value)
    except ValueError as error:
        raise UserError(str(error)) from error


def same_words(one: str, other: str) -> bool:
    """Whether two contents say the same: case, spacing and closing punctuation do not count."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!;, ")


def is_pruned(record: MemoryRecord, now: float) -> bool:
    """Whether compaction takes it: faded, or unused for 180 days. A hard limit or an explicit rule that holds stays."""
    if record.is_live and (record.explicit or (record.score is not None and record.score <= HARD_LIMIT)):
        return False
    return is_faded(record.type, record.importance, (now - record.accessed) / DAY_S)


def checked(record: MemoryRecord) -> MemoryRecord:
    """The record as it may be kept. Raises UserError."""
    return structs.replace(
        record,
        type=check_type(record.type),
        content=check_content(record.content),
        importance=check_importance(record.importance),
        score=check_preference_score(record.score),
        keywords=cleaned_tags(record.keywords),
        scenarios=cleaned_tags(record.scenarios),
    )


def cleaned_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags on one line each, none twice, none empty."""
    return tuple(dict.fromkeys(tag for raw in tags if (tag := " ".join(raw.split()))))


def without_use(record: MemoryRecord) -> MemoryRecord:
    """The record but for what a mere use changes."""
    return structs.replace(record, accessed=0.0, access_count=0)


def short(record: MemoryRecord) -> str:
    """How its content begins, on one line."""
    words = " ".join(record.content.split())
    return f"{words[: SHORT_CHARS - 1]}…" if len(words) > SHORT_CHARS else words
