"""The structs of memory: a record of any kind, its provenance, a draft to be saved, and the results of the store.

With the rules of their fields: what they may contain, when two memories say the same, when one is pruned, and removal
of secrets. Times are seconds since the epoch.
"""

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal, TypeVar, cast, get_args

from msgspec import Struct, field, structs

from clio.errors import UserError
from clio.text.formatting import truncate_line
from clio.text.scoring import (
    DAY_S,
    HARD_LIMIT_SCORE,
    check_score,
    compute_effective_importance,
    decay_confidence,
    describe_preference,
    is_faded,
)
from clio.text.translation import mark, tr
from clio.text.untrusted_text import quote_inert

AssertedBy = Literal["user", "model", "tool"]
ProjectKind = Literal["discovery", "solution", "pattern", "workflow", "failure", "rule"]
Kind = Literal["discovery", "solution", "pattern", "workflow", "failure", "rule", "fact", "preference", "event", "note"]
"""The first six are project memory in `ltm.json`, the others typed memories in `memories.json`."""
Freshness = Literal["unbound", "fresh", "drifted", "gone"]
"""State of a memory's example files: it has none, none has changed, some have changed, all are gone.

A renamed file counts as gone: clio does not look for it elsewhere.
"""
Because = Literal[
    "archived",
    "forgotten",
    "faded",
    "old",
    "uncertain",
    "superseded",
    "joined",
    "outweighed",
    "dropped",
    "changed",
    "edited",
    "merged",
    "reinforced",
    "promoted",
    "undone",
]
"""Why a version of a memory ended.

The memory itself ended: `archived` by an early clio that recorded no reason, `forgotten` by the user, `faded` in
compaction, `old` or `uncertain` when pruned, `superseded` by another one, `joined` with one of the same meaning,
`outweighed` as a variant by a more certain one, `dropped` because four more certain statements contradict it. Only its
text `changed`: `edited` by the user, `merged` with another text of the same meaning, `reinforced` as a preference,
`promoted` from a variant to the main statement. Or the change that made the version was `undone`.
"""
REASONS_OF_VERSIONS: frozenset[str] = frozenset(("changed", "edited", "merged", "reinforced", "promoted"))
"""Reasons for the end of a version after which the memory is still there."""


def ends_memory(because: str) -> bool:
    """Return whether the memory itself ended with a version that ended for this reason."""
    return because != "undone" and because not in REASONS_OF_VERSIONS


PruneReason = Literal["old", "uncertain"]

PROJECT_KINDS: tuple[ProjectKind, ...] = get_args(ProjectKind)
"""The kinds of memory in `ltm.json`."""
TYPED_KINDS: tuple[Kind, ...] = ("fact", "preference", "event", "note")
"""The kinds of memory in `memories.json`."""
KEYED_NOTE = "keyed note"
"""Selects, in a list of kinds, the keyed notes; their own kind is "note"."""
ALL_KINDS: tuple[str, ...] = (*PROJECT_KINDS, *TYPED_KINDS, KEYED_NOTE)


def get_kind_label(kind: str) -> str:
    """Return the kind as the user sees it: a fact may be stored as a discovery, as `ltm.json` calls it."""
    return "fact" if kind == "discovery" else kind


DEFAULT_CONFIDENCE = 0.8


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a memory came from: the session, the message that led to it, and who said so."""

    session: str = ""
    message: str = ""
    asserted_by: AssertedBy = "model"


_TEXT_CHARS = 400


class MemoryRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One memory of any kind. Times are seconds since the epoch; 0.0 if the file does not say.

    Attributes:
        id: a UUID of a typed memory, a short handle such as "d-3f9a12" of project memory, the key of a keyed note.
        content: the text; of a solution the error, of a failure what failed, of a workflow its name or its steps.
        importance: 0.0 to 1.0.
        score: 0 to 10, of preferences only; up to 1.5 it is a hard limit.
        updated: when it was last changed or confirmed.
        accessed: when it was last used, which keeps it from being pruned.
        seen: when it was last reinforced, from which a preference fades.
        version: grows with every change of its text.
        since: when it got its present meaning; 0.0 if it was created with it.
        superseded_by: id of the memory that replaced it; only `history` returns such a memory.
        variants_of: id of the memory that it contradicts with less confidence.
        explicit: stated as a rule, not inferred.
        examples: paths of the files it is about, relative to the project.
        hashes: source file → hash of its content when it was remembered.
        confirmations: one provenance for each other session that stated it, at most `MAX_CONFIRMATIONS`.
        key: of a note that has one; it is the note's id as well.

    Of project memory only:

    Attributes:
        solution: what helped against an error, or prevents a failure.
        also: other preventions stated before, newest first.
        impact: the effect of a failure.
        other_impacts: other effects stated before, newest first.
        steps: of a workflow.
        success_rate: of a workflow, 0.0 to 1.0; None if unknown.
        context: the path or glob that a rule applies to, such as "lib/core/"; "" or "*" is everywhere.
        times: how often it was stated, helped, or happened; at least 1.
        by: names of the team members who share it.
        members: how many they are.
        rivals: ids of shared memories with the same origin and another text.
    """

    id: str
    kind: Kind = field(name="type")
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
    solution: str = ""
    also: tuple[str, ...] = ()
    impact: str = ""
    other_impacts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    context: str = ""
    success_rate: float | None = None
    examples: tuple[str, ...] = ()
    times: int = 1
    by: str = ""
    members: int = 0
    rivals: tuple[str, ...] = ()
    confirmations: tuple[Provenance, ...] = ()
    key: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the paths of the files it is about; earlier versions of clio stored those of a fact only as hashes."""
        return tuple(dict.fromkeys((*self.examples, *self.hashes)))

    @property
    def kind_label(self) -> str:
        """The kind as the user sees it."""
        return get_kind_label(self.kind)

    @property
    def is_live(self) -> bool:
        """Return whether no other memory has replaced it."""
        return self.superseded_by is None

    @property
    def is_corroborated(self) -> bool:
        """Return whether two sessions or two team members stated it; statements of tools do not count."""
        sources = [one for one in (self.provenance, *self.confirmations) if one and _is_confirming(one)]
        return self.members >= 2 or any(not _is_same_statement(sources[0], one) for one in sources[1:])

    @property
    def author(self) -> AssertedBy | Literal[""]:
        """Who stated it; "" if the file does not say."""
        return self.provenance.asserted_by if self.provenance is not None else ""

    @property
    def session(self) -> str:
        """The id of the session that stated it; "" if the file does not say."""
        return self.provenance.session if self.provenance is not None else ""

    @property
    def trust(self) -> int:
        """How far its author is trusted, see `TRUST`; one that is unknown as far as the model."""
        return TRUST[self.author or "model"]

    @property
    def is_stated_by_user(self) -> bool:
        """Whether the user stated it. A preference without an author is one from before authors were recorded."""
        return self.author == "user" or (not self.author and self.kind == "preference")

    @property
    def is_noted_by_model(self) -> bool:
        """Whether it is a preference that only the model stated, in one session."""
        return self.kind == "preference" and self.author == "model" and not self.confirmations

    @property
    def is_limit(self) -> bool:
        """Whether it is a preference with the score of a hard limit."""
        return self.score is not None and self.score <= HARD_LIMIT_SCORE

    @property
    def is_variant(self) -> bool:
        """Return whether it contradicts a memory with more confidence; the model is told so with its text."""
        return self.variants_of is not None

    @property
    def stated_since(self) -> float:
        """Return when it got its present meaning."""
        return self.since or self.created

    def accessed_at(self, now: float) -> "MemoryRecord":
        """Return the record after one more use."""
        return structs.replace(self, accessed=max(now, self.accessed), access_count=self.access_count + 1)

    def confidence_at(self, now: float) -> float:
        """Return the confidence after fading by a thousandth for each day since the last use."""
        return decay_confidence(self.confidence, max(now - self.accessed, 0.0) / DAY_S)

    def strength(self, now: float) -> float:
        """Return importance times confidence, 0.0 to 1.0, both faded since the last use; importance fades by kind."""
        days = max(now - self.accessed, 0.0) / DAY_S
        return compute_effective_importance(self.kind, self.importance, days) * self.confidence_at(now)

    @property
    def text(self) -> str:
        """Return what it states on one line of at most 400 characters, without its author and files."""
        return truncate_line(structs.replace(self, provenance=None, examples=(), rivals=()).line, _TEXT_CHARS)

    @property
    def line(self) -> str:
        """Return the memory on one line, as a model reads it.

        The error of a solution is text of a tool, so it is a quotation unless the user stated it.
        """
        return self.render_line()

    def render_line(self, say: Callable[..., str] = str.format) -> str:
        """Return the same in the words of `say`: `tr` for the user."""
        where = say(mark(" (e.g. {files})"), files=", ".join(self.examples)) if self.examples else ""
        otherwise = say(mark(" [said otherwise in {files}]"), files=", ".join(self.rivals)) if self.rivals else ""
        return " ".join(f"{self._render_text(say)}{where}{otherwise}".split())

    def _render_text(self, say: Callable[..., str]) -> str:
        match self.kind:
            case "solution":
                error = self.content if self.author in ("user", "") else quote_inert(self.content)
                return f"{error} → {self.solution}" if self.solution else error
            case "preference" if self.score is not None:
                # "mocks" alone does not say whether they are liked.
                return f"{self.content} ({say(describe_preference(self.score, is_rule=self.explicit))})"
            case "workflow":
                steps = " → ".join(self.steps)
                named = self.content if steps in ("", self.content) else f"{self.content}: {steps}"
                rate = self.success_rate
                return named if rate is None else named + say(mark(" ({rate:.0%} went well)"), rate=rate)
            case "failure":
                impact = f" – {self.impact}" if self.impact else ""
                ways = say(mark(" or: ")).join(way for way in (self.solution, *self.also) if way)
                prevented = say(mark("; prevented by: {ways}"), ways=ways) if ways else ""
                return f"{self.content}{impact}{prevented}"
            case "rule":
                return self.content if self.context in ("", "*") else f"{self.context}: {self.content}"
            case _:
                return self.content


NOTED_BY_MODEL = "noted by the assistant, unverified"
"""Remark on a preference that only the model stated."""
PROGRESS_KEY = "session_progress"
"""Key of the note with the state of the work, which is written before each trim."""
MAX_CONFIRMATIONS = 8
"""Limit for one memory; the oldest are dropped first."""


def _is_confirming(source: Provenance) -> bool:
    return bool(source.session) and source.asserted_by != "tool"


def _is_same_statement(one: Provenance, other: Provenance) -> bool:
    """Whether both come from one session, or from one message: a copy of a session has the messages of the first."""
    return one.session == other.session or (one.message != "" and one.message == other.message)


def add_confirmation(
    confirmations: tuple[Provenance, ...], before: Provenance | None, new: Provenance | None, kept: Provenance | None
) -> tuple[Provenance, ...]:
    """Return the confirmations of a memory that is stated again: one for each session except that of `kept`.

    Args:
        before: the provenance of the memory so far.
        new: the provenance of the new statement.
        kept: the provenance that the memory has from now on.
    """
    found: list[Provenance] = []
    for one in (*confirmations, before, new):
        if one is None or not _is_confirming(one) or (kept is not None and _is_same_statement(one, kept)):
            continue
        if not any(_is_same_statement(one, known) for known in found):
            found.append(one)
    return tuple(found[-MAX_CONFIRMATIONS:])


class MemoryDraft(Struct, frozen=True, kw_only=True):
    """A memory of any kind that is to be saved; the fields are those of `MemoryRecord`.

    Attributes:
        key: makes it a note with that key; None for any other memory.
        confidence: None means the default: 0.8 for memory of the project, else what `default_confidence` says.
        examples: files in the project that it is about.
        importance, keywords, explicit: of a fact, event, note or preference only.
        created: when it was said, in seconds since the epoch; 0.0 means now.
    """

    kind: Kind = "note"
    content: str
    key: str | None = None
    importance: float = 0.5
    keywords: tuple[str, ...] = ()
    explicit: bool = False
    solution: str = ""
    also: tuple[str, ...] = ()
    impact: str = ""
    steps: tuple[str, ...] = ()
    context: str = ""
    confidence: float | None = None
    success_rate: float | None = None
    examples: tuple[str, ...] = ()
    created: float = 0.0

    def as_record(self) -> MemoryRecord:
        """Return the record without an id and without times."""
        fields: dict[str, Any] = structs.asdict(self)
        fields["confidence"] = DEFAULT_CONFIDENCE if self.confidence is None else self.confidence
        fields["key"] = self.key or ""
        return MemoryRecord(id="", **fields)


class LtmMemories(Struct, frozen=True, kw_only=True):
    """The memories of `ltm.json`, by kind, each in the order of the file."""

    entries: tuple[MemoryRecord, ...] = ()

    def of(self, kind: Kind) -> tuple[MemoryRecord, ...]:
        """Return the memories of one kind."""
        return tuple(entry for entry in self.entries if entry.kind == kind)


Action = Literal[
    "new",
    "confirmed",
    "restored",
    "merged",
    "superseded",
    "kept_both",
    "variant",
    "replaced_variant",
    "dropped",
    "replaced",
]


class Replacement(Struct, frozen=True, kw_only=True):
    """A memory that took the place of others.

    Attributes:
        new: the memory, with the id of the old one if that was changed.
        old: what it took the place of; none if memory had nothing of it.
        is_new: whether it was made for this, and did not exist before.
    """

    new: MemoryRecord
    old: tuple[MemoryRecord, ...] = ()
    is_new: bool = True


class Saved(Struct, frozen=True, kw_only=True):
    """The result of saving a memory.

    Values of `action`:
    - new: it was added.
    - confirmed: a memory of the same meaning existed; its confidence rises.
    - restored: it came back from the archive, with its history.
    - merged: it was merged with `other`, of the same meaning.
    - superseded: it replaces `other`.
    - kept_both: it is similar to `other`, and both stay.
    - variant: it contradicts `other`, which is more certain; it is one of at most three variants of that.
    - replaced_variant: the same, and it replaces the variant `outweighed`.
    - dropped: the same, but it is only in the archive, because three more certain variants exist.
    - replaced: a note with that key existed, and its text is replaced.

    Attributes:
        beside: the other solutions to the same error, newest first.
    """

    record: MemoryRecord
    action: Action
    other: MemoryRecord | None = None
    outweighed: MemoryRecord | None = None
    beside: tuple[MemoryRecord, ...] = ()

    @property
    def is_new(self) -> bool:
        """Return whether no memory of the same meaning existed."""
        return self.action not in ("confirmed", "merged", "replaced")

    @property
    def is_repetition(self) -> bool:
        """Return whether it was saved in the same session before, in the same words: nothing was changed."""
        return self.action == "merged" and self.record is self.other


MAX_AGE_DAYS, MIN_CONFIDENCE = 90.0, 0.3
"""Default limits for pruning: older memories and those with less confidence are archived."""


class Pruned(Struct, frozen=True, kw_only=True):
    """The result of pruning.

    Attributes:
        removed: the memories moved to the archive, or that a dry run would move.
        kept: how many stay.
        why: the reason for each removed memory, by id.
    """

    removed: tuple[MemoryRecord, ...]
    kept: int
    dry_run: bool = False
    why: dict[str, PruneReason] = {}


class HistogramBar(Struct, frozen=True, kw_only=True):
    """One bar of a histogram."""

    label: str
    count: int


class MemoryStats(Struct, frozen=True, kw_only=True):
    """Statistics of memories. A keyed note has an age, but neither a confidence, nor an author, nor examples.

    Attributes:
        counts: number of memories of each kind.
        ages: by time since the last confirmation.
        confidences: in fifths.
        asserted: by who stated them.
        freshness: by whether their example files have changed.
        archived: number of memories in the archive.
        file_bytes, archive_bytes: sizes of the files with the memories, and of those with the archive.
        oldest, newest: the earliest and the latest confirmation; 0.0 if no memory has a time.
    """

    total: int
    counts: dict[str, int]
    ages: tuple[HistogramBar, ...]
    confidences: tuple[HistogramBar, ...]
    asserted: dict[str, int]
    freshness: dict[Freshness, int]
    archived: int
    file_bytes: int
    archive_bytes: int
    oldest: float = 0.0
    newest: float = 0.0
    last_pruned: float = 0.0


class Note(Struct, frozen=True, kw_only=True):
    """A named text that an agent or a user stored."""

    key: str
    content: str
    timestamp: float = 0.0


class Hit(Struct, frozen=True, kw_only=True):
    """One result of a search.

    Attributes:
        id: of a memory; "" for a note.
        key: of a note; "" for a memory.
        score: comparable within one search only.
    """

    kind: Kind
    text: str
    id: str = ""
    key: str = ""
    score: float = 0.0
    timestamp: float = 0.0


SHORT_CHARS = 60
SHORT_ID = 8
"""Characters shown of an id: its end, because UUIDs of version 7 made at the same time begin alike."""
MAX_CHARS = 16_000
"""About 4,000 tokens. A longer text is a document or a keyed note: recalled, it would displace all other memories."""
CONFIDENCE: dict[AssertedBy, float] = {"user": 1.0, "model": 0.8, "tool": 0.6}
"""Confidence of a memory that was saved without one."""


def find_kind(name: str, kinds: Collection[str]) -> Kind | None:
    """Return the one of these kinds that a name in singular or plural means, or a section of `ltm.json`; else None.

    "fact" is the fact of `memories.json` if that is one of them, else a discovery.
    """
    typed = name.strip().lower().replace("-", "_")
    for kind in (*TYPED_KINDS, *PROJECT_KINDS):
        if kind in kinds and typed in (kind, f"{kind}s", *_SECTION_NAMES.get(kind, ())):
            return kind
    return None


_SECTION_NAMES: dict[Kind, tuple[str, ...]] = {
    "discovery": ("discoveries", "fact", "facts"),
    "solution": ("problem_solution", "problem_solutions"),
    "pattern": ("code_pattern", "code_patterns"),
    "rule": ("context_rule", "context_rules"),
}
"""How users of `ltm.json` name the kinds of project memory."""


def select_types(types: str) -> tuple[Kind, ...]:
    """Return the typed kinds that a search is to find: all for "", "!fact" all but facts. Raises UserError."""
    if types.startswith("!"):
        unwanted = check_type(types[1:])
        return tuple(kind for kind in TYPED_KINDS if kind != unwanted)
    return (check_type(types),) if types.strip() else TYPED_KINDS


def check_type(name: str) -> Kind:
    """Return the kind with that name. Raises UserError that lists the kinds."""
    kind = name.strip().lower()
    if kind not in TYPED_KINDS:
        raise UserError(
            tr(
                "{name!r} is not a type of memory; the types are {typed_kinds}",
                name=name,
                typed_kinds=", ".join(TYPED_KINDS),
            )
        )
    return kind


def check_content(text: str) -> str:
    """Return the text stripped and as valid Unicode. Raises UserError if it is empty or too long."""
    content = text.encode("utf-8", "replace").decode("utf-8").strip()
    if not content.strip("\x00\u200b\u2060\ufeff \t\r\n"):
        raise UserError(tr("a memory needs a text; give its content"))
    if len(content) > MAX_CHARS:
        raise UserError(
            tr(
                "a memory has up to {max_chars:,} characters, and this has {count:,}; shorten it to the main "
                "point, or add the text with /docs add",
                max_chars=MAX_CHARS,
                count=len(content),
            )
        )
    return content


_MAX_WORDS_BESIDE_SECRET, _MAX_WORDS_AFTER_SECRET, _MAX_CHARS_AFTER_SECRET = 8, 1, 5  # a verb may come last: "ist"


def check_more_than_secret(stored: str) -> None:
    """Raise UserError if a redacted text only says which secret it had: "the token is [REDACTED:token]"."""
    before, marker, after = stored.rpartition("[REDACTED")
    after = after.partition("]")[2].strip(" .!?;,。`\"'")
    # "deploy --token [REDACTED:token]" is a command, which is useful without the secret.
    if not marker or before.rstrip().rpartition(" ")[2].startswith("-"):
        return
    beside, behind = len(before.split()), len(after.split())
    if (
        behind <= _MAX_WORDS_AFTER_SECRET
        and len(after) <= _MAX_CHARS_AFTER_SECRET
        and beside <= _MAX_WORDS_BESIDE_SECRET
    ):
        raise UserError(tr("secrets are never stored, and this says nothing else; say where the secret is instead"))


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
    return normalize_for_comparison(one) == normalize_for_comparison(other)


def normalize_for_comparison(text: str) -> str:
    """Return what is the same for two texts that say the same, see `has_same_text`."""
    return " ".join(text.casefold().split()).rstrip(".!;, ")


def is_lasting(record: MemoryRecord) -> bool:
    """Return whether only the user archives the record: a live hard limit or explicit rule."""
    return record.is_live and not record.is_variant and (record.explicit or record.is_limit)


def has_expired(record: MemoryRecord, now: float) -> bool:
    """Return whether compaction archives the record: it has faded, or was not used for 180 days.

    Live hard limits and explicit rules stay. A variant is also archived once its confidence is below 0.3 and it is
    older than 90 days.
    """
    from clio.text.consolidate import is_variant_expired

    if is_variant_expired(record.confidence_at(now), (now - record.created) / DAY_S, record.is_variant):
        return True
    if is_lasting(record):
        return False
    return is_faded(record.kind, record.importance, (now - record.accessed) / DAY_S)


TRUST: dict[AssertedBy, int] = {"tool": 0, "model": 1, "user": 2}
"""How far a statement is trusted by who made it: a more trusted one replaces a less trusted one."""


def default_confidence(provenance: Provenance | None) -> float:
    """Return the confidence of a statement that came without one, by who asserted it; 1.0 if unknown."""
    return CONFIDENCE[provenance.asserted_by] if provenance else 1.0


def _check_fraction(value: float, message: str) -> float:
    """Return a number clamped to 0.0 to 1.0. Raises UserError with the message if it is not finite."""
    if not math.isfinite(value):
        raise UserError(tr(message, value=value))
    return min(max(float(value), 0.0), 1.0)


_NO_IMPORTANCE = mark("the importance must be a number from 0.0 to 1.0, not {value!r}")
_NO_CONFIDENCE = mark("the confidence must be a number from 0.0 to 1.0, not {value!r}")


def check_record(record: MemoryRecord) -> MemoryRecord:
    """Return the record with valid fields. Raises UserError."""
    return structs.replace(
        record,
        kind=check_type(record.kind),
        content=check_content(record.content),
        importance=_check_fraction(record.importance, _NO_IMPORTANCE),
        confidence=_check_fraction(record.confidence, _NO_CONFIDENCE),
        score=check_preference_score(record.score),
        keywords=clean_tags(record.keywords),
        scenarios=clean_tags(record.scenarios),
    )


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags, each on one line, without duplicates and empty ones."""
    return tuple(dict.fromkeys(tag for raw in tags if (tag := " ".join(raw.split()))))


def without_use(record: MemoryRecord) -> MemoryRecord:
    """Return the record without the fields that a use changes."""
    return structs.replace(record, accessed=0.0, access_count=0)


def is_other_version(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether two states of a memory differ in meaning, weight or source.

    A use, a confirmation, a new tag or a new file hash does not make another version.
    """
    return _get_meaning(one) != _get_meaning(other)


def _get_meaning(record: MemoryRecord) -> tuple[object, ...]:
    typed = (record.importance, record.score, record.reason, record.scenarios, record.explicit, record.is_variant)
    project = (record.solution, record.also, record.impact, record.steps, record.context)
    if record.kind in PROJECT_KINDS:
        project = (*project, record.examples, record.superseded_by)
    return record.kind, record.content, record.confidence, record.author, *typed, *project


def update_since(before: MemoryRecord, after: MemoryRecord, now: float) -> MemoryRecord:
    """Return `after` with `since` set to now if its meaning differs from `before`."""
    return structs.replace(after, since=now) if is_other_version(before, after) else after


def get_short_id(record: MemoryRecord) -> str:
    """Return the id as tables show it and commands accept it: the end of a UUID, any other id or key unchanged."""
    return record.id if record.key or record.kind in PROJECT_KINDS else record.id[-SHORT_ID:]


def shorten_content(record: MemoryRecord) -> str:
    """Return the beginning of the content, on one line."""
    return truncate_line(record.content, SHORT_CHARS)


Redact = Callable[[str], str]
_TEXTS = ("content", "reason", "keywords", "scenarios", "solution", "also", "impact", "steps", "context", "examples")
_NOT_TEXT = frozenset(("id", "example_hashes", "hashes", "provenance", "confirmations", "session", "message"))
"""Fields with ids and hashes, which the search for secrets would take for secrets."""
D = TypeVar("D", MemoryRecord, MemoryDraft)


def redact_value(value: Any, redact: Redact) -> Any:
    """Return a text, or a tuple of texts, without secrets; any other value unchanged."""
    if isinstance(value, str):
        return redact(value)
    return tuple(map(redact, cast(tuple[str, ...], value))) if isinstance(value, tuple) else value


def redact_record(record: D, redact: Redact) -> D:
    """Return a record or a draft with its texts cleaned; the same object if none of them changes."""
    texts = {name: value for name in _TEXTS if (value := getattr(record, name, None))}
    changed = {name: new for name, value in texts.items() if (new := redact_value(value, redact)) != value}
    return structs.replace(record, **changed) if changed else record


def redact_note(note: Note, redact: Redact) -> Note:
    """Return the note with key and content cleaned."""
    return structs.replace(note, key=redact(note.key), content=redact(note.content))


def redact_json(value: object, redact: Redact) -> Any:
    """Return a JSON value with all texts in it cleaned, including field names."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_json(item, redact) for item in cast(list[object], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return {redact(name): item if name in _NOT_TEXT else redact_json(item, redact) for name, item in pairs}
    return value
