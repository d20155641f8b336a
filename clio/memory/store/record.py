"""Memories as they are stored and passed on: entries of the project knowledge, typed memories, notes. Times are
seconds since the epoch.
"""

import math
from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import Struct, structs

from clio.errors import UserError
from clio.text.formatting import truncate_line
from clio.text.scoring import (
    DAY_S,
    HARD_LIMIT_SCORE,
    check_score,
    compute_effective_importance,
    decay_confidence,
    is_faded,
)

AssertedBy = Literal["user", "model", "tool"]
Kind = Literal["discovery", "solution", "pattern", "workflow", "failure", "rule"]
HitKind = Literal["discovery", "solution", "pattern", "workflow", "failure", "rule", "note"]
Freshness = Literal["unbound", "fresh", "drifted", "gone"]
"""How an entry stands to its example files: none is bound to it, all are as they were, some changed, all are gone.

A file that was renamed is gone: clio does not look for it elsewhere.
"""
Because = Literal["forgotten", "old", "uncertain", "superseded"]
"""Why an entry lies in the archive: somebody took it out, nobody confirmed it for long, it was too doubtful, another
one took its place.
"""

KINDS: tuple[Kind, ...] = ("discovery", "solution", "pattern", "workflow", "failure", "rule")
DEFAULT_CONFIDENCE = 0.8


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a memory came from: the session, the message that led to it, and who said so."""

    session: str = ""
    message: str = ""
    asserted_by: AssertedBy = "model"


class Entry(Struct, frozen=True, kw_only=True):
    """One entry of the project knowledge; without an id it is a draft, for `LongTermMemory.add`.

    id: a short handle such as "d-3f9a12", the same as long as the entry lives.
    text: the fact, the error, the pattern, what failed, the rule, or the workflow's name (its steps where it has none).
    solution: what helped against an error, or prevents a failure. also: other preventions given before, newest first.
    impact: what a failure does. steps: of a workflow.
    context: the path or glob a rule holds for, such as "lib/core/"; "" or "*" is everywhere.
    confidence: 0.0 to 1.0. success_rate: of a workflow, 0.0 to 1.0, None where nobody said.
    examples: paths, relative to the project.
    times: how often it was said, helped, or happened; at least 1.
    created, confirmed: when it was said first and last; 0.0 where the file does not say.
    bound: the examples that were files when it was said, each with the hash it had then.
    version: grows with every change of what it says. since: when it came to say it; 0.0: from its beginning.
    superseded_by: the handle of the entry that took its place, of an archived one.
    by: of one in the shared folder, whose names stand under it. rivals: handles of those that say it otherwise there.
    accessed, access_count: when and how often somebody asked for it and got it; 0 where nobody did or nobody looked.
    """

    kind: Kind
    text: str
    id: str = ""
    solution: str = ""
    also: tuple[str, ...] = ()
    impact: str = ""
    steps: tuple[str, ...] = ()
    context: str = ""
    confidence: float = DEFAULT_CONFIDENCE
    success_rate: float | None = None
    examples: tuple[str, ...] = ()
    times: int = 1
    created: float = 0.0
    confirmed: float = 0.0
    provenance: Provenance | None = None
    bound: tuple[tuple[str, str], ...] = ()
    version: int = 1
    since: float = 0.0
    superseded_by: str = ""
    by: str = ""
    rivals: tuple[str, ...] = ()
    accessed: float = 0.0
    access_count: int = 0

    @property
    def begun(self) -> float:
        """When it came to say what it says; 0.0 where the file does not tell."""
        return self.since or self.created

    @property
    def line(self) -> str:
        """The entry on one line, as a model or a person reads it."""
        where = f" (e.g. {', '.join(self.examples)})" if self.examples else ""
        otherwise = f" [said otherwise in {', '.join(self.rivals)}]" if self.rivals else ""
        return " ".join(f"{self._text}{where}{otherwise}".split())

    @property
    def _text(self) -> str:
        match self.kind:
            case "solution":
                return f"{self.text} → {self.solution}" if self.solution else self.text
            case "workflow":
                steps = " → ".join(self.steps)
                named = self.text if steps in ("", self.text) else f"{self.text}: {steps}"
                rate = "" if self.success_rate is None else f" ({self.success_rate:.0%} went well)"
                return named + rate
            case "failure":
                impact = f" – {self.impact}" if self.impact else ""
                ways = " or: ".join(way for way in (self.solution, *self.also) if way)
                return f"{self.text}{impact}" + (f"; prevented by: {ways}" if ways else "")
            case "rule":
                return self.text if self.context in ("", "*") else f"{self.context}: {self.text}"
            case _:
                return self.text


class Knowledge(Struct, frozen=True, kw_only=True):
    """The project knowledge, kind by kind, each in the order of the file."""

    entries: tuple[Entry, ...] = ()

    def of(self, kind: Kind) -> tuple[Entry, ...]:
        """The entries of one kind."""
        return tuple(entry for entry in self.entries if entry.kind == kind)

    @property
    def discoveries(self) -> tuple[Entry, ...]:
        """Facts about the project."""
        return self.of("discovery")

    @property
    def solutions(self) -> tuple[Entry, ...]:
        """Errors and what helped."""
        return self.of("solution")

    @property
    def patterns(self) -> tuple[Entry, ...]:
        """Conventions of the code."""
        return self.of("pattern")


class Added(Struct, frozen=True, kw_only=True):
    """What became of a draft.

    new: it was not in the file; False: an entry that says the same is confirmed.
    restored: it is new and came back from the archive with its history.
    beside: the other solutions to the same error, newest first.
    """

    entry: Entry
    new: bool
    restored: bool = False
    beside: tuple[Entry, ...] = ()


MAX_AGE_DAYS, MIN_CONFIDENCE = 90.0, 0.3
"""What is older than so many days, or less certain, is pruned where nobody says otherwise."""


class Pruned(Struct, frozen=True, kw_only=True):
    """What pruning moved to the archive, or would move where it is a dry run, and why; how many entries stay."""

    removed: tuple[Entry, ...]
    kept: int
    dry_run: bool = False
    why: dict[str, Because] = {}


class Bar(Struct, frozen=True, kw_only=True):
    """One bar of a histogram."""

    label: str
    count: int


class LtmStats(Struct, frozen=True, kw_only=True):
    """The project knowledge in numbers.

    counts: entries of each kind. ages: by time since they were last confirmed. confidences: in fifths.
    asserted: by who said it. freshness: how they stand to their examples. archived: entries in the archive.
    oldest, newest: the least and the most recent confirmation; 0.0 where no entry is dated.
    """

    total: int
    counts: dict[Kind, int]
    ages: tuple[Bar, ...]
    confidences: tuple[Bar, ...]
    asserted: dict[str, int]
    freshness: dict[Freshness, int]
    archived: int
    file_bytes: int
    archive_bytes: int
    oldest: float = 0.0
    newest: float = 0.0
    last_pruned: float = 0.0


class Note(Struct, frozen=True, kw_only=True):
    """A named text an agent or a person put aside."""

    key: str
    content: str
    timestamp: float = 0.0


class Hit(Struct, frozen=True, kw_only=True):
    """One answer of a search. `id` names an entry, `key` a note; `score` is comparable within one search only."""

    kind: HitKind
    text: str
    id: str = ""
    key: str = ""
    score: float = 0.0
    timestamp: float = 0.0


MemoryType = Literal["fact", "preference", "event", "note"]
TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
SHORT_CHARS = 60
MAX_CHARS = 16_000
"""About 4,000 tokens. What is longer is a document or a note, and would push everything else out of the brain."""
Action = Literal["new", "merged", "superseded", "kept_both", "variant", "replaced_variant", "dropped"]
CONFIDENCE: dict[AssertedBy, float] = {"user": 1.0, "model": 0.8, "tool": 0.6}
"""Of what is remembered without a confidence of its own."""


class MemoryRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact, a preference, an event or a note. Times are seconds since the epoch.

    importance: 0.0 to 1.0. score: 0 to 10, of preferences only; up to 1.5 it is a hard limit.
    accessed: when it was last used, which keeps it from being pruned. seen: when it was last reinforced, from which a
        preference fades. version: grows with every change of its words.
    since: when it came to say what it says; 0.0: it was made so.
    superseded_by: id of the memory that took its place; such a one is only found through `history`.
    variants_of: id of the memory it contradicts with less confidence. explicit: said as a rule, not inferred.
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
    since: float = 0.0
    superseded_by: str | None = None
    variants_of: str | None = None
    explicit: bool = False
    provenance: Provenance | None = None
    hashes: dict[str, str] = {}

    @property
    def is_live(self) -> bool:
        """Whether nothing has taken its place."""
        return self.superseded_by is None

    @property
    def is_variant(self) -> bool:
        """Whether a surer memory says otherwise: it is told as what other sources say, never as what is so."""
        return self.variants_of is not None

    @property
    def begun(self) -> float:
        """When it came to say what it says."""
        return self.since or self.created

    def accessed_at(self, now: float) -> "MemoryRecord":
        """The record after one more use."""
        return structs.replace(self, accessed=max(now, self.accessed), access_count=self.access_count + 1)

    def confidence_at(self, now: float) -> float:
        """The confidence as it has faded, by a thousandth each day since it was last used."""
        return decay_confidence(self.confidence, max(now - self.accessed, 0.0) / DAY_S)

    def strength(self, now: float) -> float:
        """importance, faded by its type since it was last used, times confidence, faded by the day: 0.0 to 1.0."""
        days = max(now - self.accessed, 0.0) / DAY_S
        return compute_effective_importance(self.type, self.importance, days) * self.confidence_at(now)


class Remembered(Struct, frozen=True, kw_only=True):
    """What became of something to remember.

    variant, replaced_variant, dropped: it contradicts `old`, which is surer and holds on; it is kept as one of at most
    three variants, in the place of `outweighed`, or only in the archive.
    old: what it was merged into, took the place of, stands beside, or contradicts.
    """

    record: MemoryRecord
    action: Action
    old: MemoryRecord | None = None
    outweighed: MemoryRecord | None = None


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
    """Whether compaction takes it: faded, or unused for 180 days. A hard limit or an explicit rule that holds stays.

    A variant also goes once its confidence is below 0.3 and it is older than 90 days.
    """
    from clio.text.consolidate import is_variant_expired

    if is_variant_expired(record.confidence_at(now), (now - record.created) / DAY_S, record.is_variant):
        return True
    is_limit = record.score is not None and record.score <= HARD_LIMIT_SCORE
    if record.is_live and not record.is_variant and (record.explicit or is_limit):
        return False
    return is_faded(record.type, record.importance, (now - record.accessed) / DAY_S)


def default_confidence(provenance: Provenance | None) -> float:
    """How sure something is where nobody said: by whose word it is; 1.0 where nobody knows whose."""
    return CONFIDENCE[provenance.asserted_by] if provenance else 1.0


def check_confidence(value: float) -> float:
    """The confidence, drawn into 0.0 to 1.0. Raises UserError where it is no number."""
    if not math.isfinite(value):
        raise UserError(f"a confidence is a number from 0.0 to 1.0, not {value!r}")
    return min(max(float(value), 0.0), 1.0)


def checked(record: MemoryRecord) -> MemoryRecord:
    """The record as it may be kept. Raises UserError."""
    return structs.replace(
        record,
        type=check_type(record.type),
        content=check_content(record.content),
        importance=check_importance(record.importance),
        confidence=check_confidence(record.confidence),
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


def says_else(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether two states of a memory say different things, or weigh or vouch for them differently.

    That it was used, confirmed, tagged or bound to a file anew makes no other version of it.
    """
    return _said(one) != _said(other)


def begun_anew(before: MemoryRecord, after: MemoryRecord, now: float) -> MemoryRecord:
    """The record with the time from which it says what it says."""
    return structs.replace(after, since=now) if says_else(before, after) else after


def _said(record: MemoryRecord) -> tuple[object, ...]:
    by = record.provenance.asserted_by if record.provenance else ""
    said = (record.content, record.type, record.importance, record.score, record.reason, record.scenarios)
    return (*said, record.confidence, record.explicit, record.is_variant, by)


def short(record: MemoryRecord) -> str:
    """How its content begins, on one line."""
    return truncate_line(record.content, SHORT_CHARS)
