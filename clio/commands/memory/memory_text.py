"""What all commands about memory share: kinds, ages and sources as text, access, completion."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct, structs
from msgspec.structs import replace

from clio.commands.arguments import suggest_name
from clio.commands.command import (
    CommandContext,
    CommandResult,
    Handler,
    Suggest,
    Suggestion,
    SuggestWord,
    Table,
    make_refusal,
)
from clio.commands.session_table import format_title
from clio.errors import ClioError, UsageError
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.store.record import KINDS, TYPES, Freshness, Kind, Knowledge, MemoryRecord, Note, Provenance
from clio.memory.store.typed_store import Scope
from clio.text.formatting import format_age, format_ago, format_stored_time, truncate, truncate_line

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo


PLURALS: dict[Kind, str] = {
    "discovery": "discoveries",
    "solution": "solutions",
    "pattern": "patterns",
    "workflow": "workflows",
    "failure": "failures",
    "rule": "rules",
}
_SECTIONS: dict[str, Kind] = {
    "fact": "discovery",
    "facts": "discovery",
    "problem_solution": "solution",
    "problem_solutions": "solution",
    "code_pattern": "pattern",
    "code_patterns": "pattern",
    "context_rule": "rule",
    "context_rules": "rule",
}
MARKS: dict[Freshness, str] = {"unbound": "", "fresh": "=", "drifted": "≠", "gone": "✗"}
STATES: dict[Freshness, str] = {
    "unbound": "",
    "fresh": "unchanged",
    "drifted": "changed since",
    "gone": "gone",
}
WHO = {"user": "you", "model": "the model", "tool": "a tool", "unknown": "unknown"}
_SAID = {"user": "you", "model": "the model", "tool": "a tool's result, word for word"}
_AROUND_CHARS, _BEFORE_CHARS, _KEY_CHARS, _NAME_CHARS = 160, 40, 32, 16
_EIGHTHS = " ▏▎▍▌▋▊▉"
SHORT_ID = 8
"""Characters of the end of an id, which tell one memory from another."""


def short_id(record: MemoryRecord) -> str:
    """The end of its id, as tables show it and commands take it."""
    return record.id[-SHORT_ID:]


def kind_named(word: str) -> Kind:
    """The kind a person means: "solution", "solutions", or the file's "problem_solutions". Raises UsageError."""
    wanted = word.strip().lower().replace("-", "_")
    for kind in KINDS:
        if wanted in (kind, PLURALS[kind]):
            return kind
    if wanted in _SECTIONS:
        return _SECTIONS[wanted]
    raise UsageError(f"There is no kind {word!r} of project knowledge; {suggest_name(wanted, KINDS)}")


KEYED_NOTE = "keyed note"
LISTED_KINDS: tuple[str, ...] = (*KINDS, *TYPES, KEYED_NOTE)
"""The kinds of `/memory list`, in its order."""


def kind_label(kind: str) -> str:
    """The kind as it is shown to the user."""
    return "project fact" if kind == "discovery" else kind


class ListedMemory(Struct, frozen=True, kw_only=True):
    """One row of `/memory list`. at: when it was last confirmed, in seconds since the epoch. by: who shares it."""

    id: str
    kind: str
    text: str
    scope: Scope = "project"
    confidence: str = ""
    at: float = 0.0
    by: str = ""
    mark: str = ""


def trust_mark(record: MemoryRecord) -> str:
    """ "✓" for a memory that two sessions or two people confirmed, "?" for one that is unverified; else ""."""
    trust = describe_trust(record)
    return "?" if trust == "unverified" else "✓" if trust else ""


def list_entry(entry: MemoryRecord, freshness: Freshness = "unbound") -> ListedMemory:
    """A row for project knowledge."""
    return ListedMemory(
        id=entry.id,
        kind=kind_label(entry.kind),
        text=structs.replace(entry, examples=()).line,
        confidence=f"{entry.confidence:.0%}{f' ×{entry.times}' if entry.times > 1 else ''}",
        at=entry.updated,
        by=truncate(entry.by, _NAME_CHARS),
        mark=MARKS[freshness] + trust_mark(entry),
    )


def list_record(record: MemoryRecord, scope: Scope) -> ListedMemory:
    """A row for a fact, an event, a note or a preference."""
    return ListedMemory(
        id=short_id(record),
        kind=record.kind,
        text=f"other sources say: {record.content}" if record.is_variant else record.content,
        scope=scope,
        confidence=f"{record.confidence:.0%}",
        at=record.updated,
        mark=trust_mark(record),
    )


def list_note(note: Note) -> ListedMemory:
    """A row for a note with a key."""
    text = " ".join(note.content[:_NOTE_CHARS].split())
    return ListedMemory(id=short_key(note.key), kind=KEYED_NOTE, text=text, at=note.timestamp)


def memory_table(listed: Sequence[ListedMemory], *, now: float) -> Table:
    """A table of memories; `now` in seconds since the epoch. The columns scope and by only if they tell rows apart."""
    has_user = any(one.scope == "user" for one in listed)
    is_shared = any(one.by for one in listed)
    rows = tuple(
        (
            one.id,
            one.kind,
            one.text,
            *([one.scope] if has_user else []),
            one.confidence,
            short_age(now, one.at),
            *([one.by] if is_shared else []),
            one.mark,
        )
        for one in listed
    )
    scope, by = ["scope"] if has_user else [], ["by"] if is_shared else []
    columns = ("id", "kind", "what", *scope, "sure", "age", *by, "")
    return Table(columns=columns, rows=rows, wide_column=2, is_truncated=True)


def legend(states: Iterable[Freshness], marks: str = "") -> str:
    """Explain the marks used in a table; "" if it has none. marks: all marks of the table joined."""
    present = set(states)
    meant = [f"{mark} {STATES[state]}" for state, mark in MARKS.items() if mark and state in present]
    examples = f"Examples: {', '.join(meant)}." if meant else ""
    trust = ", ".join(f"{mark} {text}" for mark, text in _TRUST.items() if mark in marks)
    return " ".join(filter(None, (examples, f"Trust: {trust}." if trust else "")))


_TRUST = {"✓": "confirmed by two sessions or people", "?": "unverified"}


def bare_line(entry: MemoryRecord) -> str:
    """An entry on one line without its examples, how often it was said standing behind it."""
    line = structs.replace(entry, examples=()).line
    return f"{line} (×{entry.times})" if entry.times > 1 else line


def short_age(now: float, then: float) -> str:
    """How long ago that was, in at most seven columns; "–" where nobody knows."""
    return format_age(now - then) if then else "–"


def ago(now: float, then: float) -> str:
    """The same in a sentence: "3 d ago", "just now"."""
    return format_ago(now - then) if then else "–"


def date(then: float) -> str:
    """A day and a time on this machine's clock; "–" where nobody knows."""
    return format_stored_time("%Y-%m-%d %H:%M", then) if then else "–"


def block_bar(share: float, cells: int) -> str:
    """A share of `cells` columns drawn with block characters; what is not zero shows at least a sliver."""
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def around(text: str, query: str) -> str:
    """Up to 160 characters on one line, the first word of the query that stands in the text among them."""
    flat = " ".join(text.split())
    lower = flat.lower()
    places = [place for word in query.lower().split() if (place := lower.find(word[: max(len(word) - 2, 3)])) >= 0]
    start = max(min(min(places, default=0) - _BEFORE_CHARS, len(flat) - _AROUND_CHARS), 0)
    end = start + _AROUND_CHARS
    return f"{'… ' if start else ''}{flat[start:end].strip()}{' …' if end < len(flat) else ''}"


def short_key(key: str) -> str:
    """A note's key on one line, cut where it would push everything else out of a table."""
    return truncate_line(key, _KEY_CHARS)


def who_said(entry: MemoryRecord) -> str:
    """Who asserted an entry, in words; "unknown" where the file does not say."""
    if entry.by and (entry.provenance is None or entry.provenance.asserted_by == "user"):
        return entry.by
    said = _SAID[entry.provenance.asserted_by] if entry.provenance else "unknown"
    return f"{said}, at {entry.by}'s" if entry.by else said


def session_words(ctx: CommandContext, session_id: str) -> str:
    """The name and the day of the session an entry came from, as far as it is still there."""
    if not session_id:
        return "none: it was given on the command line or by another program"
    if session_id == ctx.session.id:
        return "this session"
    info: SessionInfo | None = next((info for info in ctx.store.list() if info.id == session_id), None)
    if info is None:
        return f"{session_id}, which is no longer stored"
    return f"{format_title(info)} ({date(info.created_at)}), {info.id}"


_MAX_SUGGESTED, _NOTE_CHARS = 60, 200
_OFF = "Memory is off in an incognito clio: nothing is read from it and nothing stored; start clio without --incognito."


def remembers(handler: Handler) -> Handler:
    """The handler, which refuses in an incognito clio before it looks at anything."""

    @wraps(handler)
    def guarded(ctx: CommandContext, argument: str) -> CommandResult:
        return make_refusal(_OFF) if ctx.config.incognito else handler(ctx, argument)

    return guarded


def names_repository(handler: Handler) -> Handler:
    """The handler of a command that shows the project's memory, with the label of memory that is not the user's.

    The label stands before the text, and in data that is an object as `came_with_repository`.
    """

    @wraps(handler)
    def labelled(ctx: CommandContext, argument: str) -> CommandResult:
        result = handler(ctx, argument)
        if not result.ok or not ctx.loaded.has_foreign_memory:
            return result
        data = result.data
        if isinstance(data, dict):
            data = {**cast(dict[str, Any], data), "came_with_repository": True}
        return replace(result, text=f"{describe_foreign_memory(ctx)} {result.text}".rstrip(), data=data)

    return labelled


def describe_foreign_memory(ctx: CommandContext) -> str:
    """The sentence before memory that came with the project, or of which that cannot be told."""
    if ctx.loaded.memory_doubt:
        return (
            "clio cannot tell whether it wrote this project's memory itself: until you trust it (`/trust`), "
            "it counts as the repository's statement, not yours."
        )
    return "The repository's statement, not yours until you trust it (`/trust`): this project's memory came with it."


def by_user(ctx: CommandContext) -> Provenance:
    """The person at this clio said so, in the running session if it is one that is stored."""
    session = ctx.session
    last = session.messages[-1].id if session.messages else ""
    return Provenance(session=session.id, message=last, asserted_by="user") if session.is_persistent else _AT_THE_DOOR


_AT_THE_DOOR = Provenance(asserted_by="user")


_JSON_NAMES = {"content": "text", "updated": "confirmed", "is_corroborated": "corroborated"}
_PROJECT_FIELDS = (
    "kind", "content", "id", "solution", "also", "impact", "steps", "context", "confidence", "success_rate", "examples",
    "times", "created", "updated", "provenance", "version", "since", "by", "rivals", "accessed", "access_count",
    "is_corroborated",
)  # fmt: skip


def entry_fields(entry: MemoryRecord) -> dict[str, Any]:
    """Project knowledge in JSON's own types: all its fields."""
    fields = {_JSON_NAMES.get(name, name): msgspec.to_builtins(getattr(entry, name)) for name in _PROJECT_FIELDS}
    return fields | {"bound": list(map(list, entry.hashes.items())), "superseded_by": entry.superseded_by or ""}


def entry_data(entry: MemoryRecord, freshness: Freshness = "unbound") -> dict[str, Any]:
    """The same with its line, and how it compares to its examples."""
    return entry_fields(entry) | {"line": entry.line, "freshness": freshness}


def note_data(note: Note) -> dict[str, Any]:
    """A note in JSON's own types."""
    return {"key": note.key, "content": note.content, "timestamp": note.timestamp}


def newest_first(knowledge: Knowledge) -> list[MemoryRecord]:
    """The entries kind by kind, and of each kind the last confirmed first."""
    places = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(knowledge.entries, key=lambda entry: (places[entry.kind], -entry.updated, entry.id))


def suggest_entry(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """The ids of the entries, their words beside them, the last confirmed first; only for the first word."""
    return () if " " in argument else suggest_several(ctx, argument)


def suggest_several(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """The same for the last of several words, without those that are named already."""
    *named, typed = argument.split(" ")
    return _quietly(ctx, lambda ctx: _entries(ctx, typed.lower(), named))


def suggest_notes(ctx: CommandContext) -> Iterable[Suggestion]:
    """The keys of the notes, newest first."""
    return _quietly(ctx, _notes)


def suggest_options(*options: tuple[str, str]) -> SuggestWord:
    """Options with their notes, those that stand there already left out."""

    def suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
        before = argument.split(" ")[:-1]
        return (Suggestion(text=option, note=note) for option, note in options if option not in before)

    return suggest


def suggest_words(*words: tuple[str, str]) -> Suggest:
    """Fixed words, each with its note."""
    return lambda ctx: (Suggestion(text=word, note=note) for word, note in words)


def _quietly(ctx: CommandContext, find: Callable[[CommandContext], Iterable[Suggestion]]) -> Iterable[Suggestion]:
    """What there is to offer; a damaged file is told by the command, not while its name is typed."""
    if ctx.config.incognito:
        return ()
    try:
        return list(find(ctx))[:_MAX_SUGGESTED]
    except (ClioError, OSError):
        return ()


def _entries(ctx: CommandContext, typed: str, named: Sequence[str]) -> Iterable[Suggestion]:
    fitting = [entry for entry in ctx.memory.knowledge().entries if entry.id.lower().startswith(typed)]
    newest = sorted(fitting, key=lambda entry: -entry.updated)[: _MAX_SUGGESTED + len(named)]
    return (Suggestion(text=entry.id, note=entry.line[:_NOTE_CHARS]) for entry in newest if entry.id not in named)


def _notes(ctx: CommandContext) -> Iterable[Suggestion]:
    return (
        Suggestion(text=note.key, note=" ".join(note.content[:_NOTE_CHARS].split())) for note in ctx.memory.list_notes()
    )
