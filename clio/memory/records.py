"""What is remembered, as it crosses from one room to another; times are seconds since the epoch."""

from typing import Literal

from msgspec import Struct

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
