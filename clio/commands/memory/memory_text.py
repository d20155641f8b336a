"""Text, access checks and completions that all memory commands share: kinds, ages, authors, ids."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    quote_code,
)
from clio.commands.session_table import format_title
from clio.errors import ClioError, UsageError, UserError
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.store.record import (
    ALL_KINDS,
    KEYED_NOTE,
    PROJECT_KINDS,
    Freshness,
    Kind,
    MemoryRecord,
    Provenance,
    find_kind,
    get_kind_label,
    get_short_id,
    shorten_content,
)
from clio.memory.store.typed_store import Scope
from clio.text.formatting import format_age, format_ago, format_stored_time, truncate, truncate_line
from clio.text.fuzzy import find_nearest_name
from clio.text.scoring import HARD_LIMIT_SCORE, describe_preference
from clio.text.translation import mark, tr

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo


KIND_LABELS = (
    mark("solution"),
    mark("pattern"),
    mark("workflow"),
    mark("failure"),
    mark("rule"),
    mark("fact"),
    mark("preference"),
    mark("event"),
    mark("note"),
    mark("keyed note"),
)
"""What `get_kind_label` returns, marked for translation."""
KIND_NAMES = ("fact", *(kind for kind in PROJECT_KINDS if kind != "discovery"))
"""The kinds of project memory as the user types them in `/memory add`."""
FRESHNESS_MARKS: dict[Freshness, str] = {"unbound": "", "fresh": "=", "drifted": "≠", "gone": "✗"}
FRESHNESS_LABELS: dict[Freshness, str] = {
    "unbound": "",
    "fresh": "unchanged",
    "drifted": mark("changed since"),
    "gone": mark("missing"),
}
AUTHOR_LABELS = {"user": "you", "model": mark("the model"), "tool": "a tool", "unknown": "unknown"}
_LONG_AUTHOR_LABELS = {
    "user": "you",
    "model": mark("the model"),
    "tool": mark("a tool's result, word for word"),
    "": "unknown",
}
_KEY_CHARS, _NAME_CHARS = 32, 16
_NAMED, _NAMED_CHARS = 3, 50
"""Memories that an error about an unknown id names, and the characters shown of each."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def parse_kind(word: str) -> Kind:
    """Return the kind of project memory named by "solution", "solutions" or "problem_solutions". Raises UsageError."""
    if found := find_kind(word, PROJECT_KINDS):
        return found
    name = word.strip().lower()
    near_file_name = find_nearest_name(name, ("discovery", "discoveries"))
    hint = tr("did you mean 'fact'?") if near_file_name else suggest_name(name, KIND_NAMES)
    raise UsageError(tr("There is no kind {word!r} of project memory; {hint}", word=word, hint=hint))


def find_memory(ctx: CommandContext, typed: str, command: str) -> MemoryRecord:
    """Return the memory that an id or a key names.

    command: what the user runs, such as "/memory show", for the error. Raises UserError that says which memories may be
    meant: those whose ids begin so, one in the archive, or those that contain the text typed in place of an id.
    """
    try:
        return ctx.memory.store.get(typed)
    except UserError:
        raise UserError(_explain_unknown_id(ctx, typed, command)) from None


def find_archived(ctx: CommandContext, typed: str) -> MemoryRecord:
    """Return the memory in the archive that an id names. Raises UserError that says what else it may mean."""
    wanted = typed.strip().casefold()
    archived = ctx.memory.store.archived()
    exact = [record for record in archived if wanted in (record.id.casefold(), get_short_id(record).casefold())]
    alike = exact or [record for record in archived if wanted and _begins_id(record, wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise UserError(_ask_for_more_of_id(typed, alike))
    if live := [record for record in ctx.memory.store.records() if wanted and _begins_id(record, wanted)]:
        raise UserError(
            tr("{memory} is not in the archive: it is in use, so nothing was changed", memory=_name_memory(live[0]))
        )
    raise UserError(tr("the archive has no memory {typed!r}; `/memory list archive` shows what it has", typed=typed))


def _explain_unknown_id(ctx: CommandContext, typed: str, command: str) -> str:
    store, wanted = ctx.memory.store, typed.strip().casefold()
    live = store.records()
    if wanted and (alike := [record for record in live if _begins_id(record, wanted)]):
        if len(alike) == 1:  # too short for the store, which would otherwise have found it
            return tr(
                "There is no memory {typed!r}; did you mean {memory}?", typed=typed, memory=_name_memory(alike[0])
            )
        return _ask_for_more_of_id(typed, alike)
    if wanted and (archived := [record for record in store.archived() if _begins_id(record, wanted)]):
        state = tr("{memory} is in the archive already", memory=_name_memory(archived[0]))
        return tr("{state}; /memory restore {id} brings it back", state=state, id=get_short_id(archived[0]))
    if path := _find_named_file(ctx, typed.strip()):
        return tr(
            "{path} is a file, not a memory; `/docs search QUESTION` shows passages of documents", path=quote_code(path)
        )
    ids = {get_short_id(record): record for record in live if not record.key}
    if " " not in wanted and (near := find_nearest_name(wanted, ids)):
        return tr("There is no memory {typed!r}; did you mean {memory}?", typed=typed, memory=_name_memory(ids[near]))
    hits = ctx.memory.retriever.search(typed, layers=("L1", "L2"), limit=_NAMED).hits
    by_id = {record.id: record for record in live}
    found = [by_id[hit.id] for hit in hits if hit.id in by_id]
    if found:
        return tr(
            "{typed!r} is not an id; write {command} with the id of one of these: {memories}",
            typed=typed,
            command=command,
            memories=_name_memories(found),
        )
    return tr("There is no memory {typed!r}; /memory list shows the ids", typed=typed)


def _ask_for_more_of_id(typed: str, alike: Sequence[MemoryRecord]) -> str:
    return tr(
        "{typed!r} matches {count} ids: {memories}; type more of the id",
        typed=typed,
        count=len(alike),
        memories=_name_memories(alike),
    )


def _find_named_file(ctx: CommandContext, typed: str) -> str:
    """Return the path if the text names a file of the project, maybe with a line as `/memory why` shows it; else ""."""
    if "/" not in typed and "." not in typed:
        return ""
    path = re.sub(r":\d+$", "", typed)
    try:
        return path if (ctx.loaded.project / path).is_file() else ""
    except (OSError, ValueError):
        return ""


def _begins_id(record: MemoryRecord, wanted: str) -> bool:
    return record.id.casefold().startswith(wanted) or get_short_id(record).casefold().startswith(wanted)


def _name_memories(records: Sequence[MemoryRecord]) -> str:
    more = tr(" and {count} more", count=len(records) - _NAMED) if len(records) > _NAMED else ""
    return ", ".join(map(_name_memory, records[:_NAMED])) + more


def _name_memory(record: MemoryRecord) -> str:
    """Return id and text of a memory, for a sentence."""
    return f"{get_short_id(record)} “{truncate_line(format_memory_line(record), _NAMED_CHARS)}”"


class ListedMemory(Struct, frozen=True, kw_only=True):
    """One row of `/memory list`.

    Attributes:
        at: when it was last confirmed, in seconds since the epoch.
        by: the team member who shares it; "" for the user's own.
        mark: state of its example files and trust, see `MARKS` and `choose_trust_mark`.
    """

    id: str
    kind: str
    text: str
    scope: Scope = "project"
    confidence: str = ""
    at: float = 0.0
    by: str = ""
    mark: str = ""


def choose_trust_mark(record: MemoryRecord) -> str:
    """Return "✓" for a memory that two sessions or people confirmed, "?" for an unverified one, otherwise ""."""
    trust = describe_trust(record)
    return "?" if trust == "unverified" else "✓" if trust else ""


def make_row(record: MemoryRecord, scope: Scope = "project", freshness: Freshness = "unbound") -> ListedMemory:
    """Make the row of a memory of any kind."""
    if record.key:  # the text may be Markdown, whose headings lose their marks
        text = " ".join(word for word in record.content[:_NOTE_CHARS].split() if word.strip("#"))
        return ListedMemory(id=shorten_key(record.key), kind=tr(KEYED_NOTE), text=text, at=record.updated)
    if record.kind in PROJECT_KINDS:
        text = structs.replace(record, examples=()).render_line(tr)
    elif record.is_variant:
        text = tr("other sources say: {content}", content=record.content)
    else:
        text = add_score(record.content, record.score, is_rule=record.explicit)
    return ListedMemory(
        id=get_short_id(record),
        kind=tr(get_kind_label(record.kind)),
        text=text,
        scope=scope,
        confidence=f"{record.confidence:.0%}{f' ×{record.times}' if record.times > 1 else ''}",
        at=record.updated,
        by=truncate(record.by, _NAME_CHARS),
        mark=FRESHNESS_MARKS[freshness] + choose_trust_mark(record),
    )


def add_score(text: str, score: float | None, *, is_rule: bool) -> str:
    """Return the text of a preference with "hard limit", or with whether it is liked or a rule and its score."""
    if score is None:
        return text
    if score <= HARD_LIMIT_SCORE:
        return tr("{text} (hard limit)", text=text)
    liking = tr(describe_preference(score, is_rule=is_rule))
    return tr("{text} ({liking}, {score:g} of 10)", text=text, liking=liking, score=score)


def make_memory_table(listed: Sequence[ListedMemory], *, now: float) -> Table:
    """Make a table of memories. now: seconds since the epoch. Columns that are equal in all rows are left out."""
    has_user = any(one.scope == "user" for one in listed)
    is_shared = any(one.by for one in listed)
    rows = tuple(
        (
            one.id,
            one.kind,
            one.text,
            *([tr(one.scope)] if has_user else []),
            one.confidence,
            format_short_age(now, one.at),
            *([one.by] if is_shared else []),
            one.mark,
        )
        for one in listed
    )
    scope, by = [tr("scope")] if has_user else [], [tr("by")] if is_shared else []
    columns = (tr("id"), tr("kind"), tr("what"), *scope, tr("conf."), tr("age"), *by, "")
    return Table(columns=columns, rows=rows, wide_column=2, is_truncated=True)


def explain_marks(marks: str) -> str:
    """Explain the marks used in a table; "" if it has none. marks: all marks of the table joined."""
    explained = [
        f"{mark} {tr(FRESHNESS_LABELS[state])}" for state, mark in FRESHNESS_MARKS.items() if mark and mark in marks
    ]
    files = tr("Files: {explained}.", explained=", ".join(explained)) if explained else ""
    trust = ", ".join(f"{mark} {tr(text)}" for mark, text in _TRUST_LABELS.items() if mark in marks)
    return " ".join(filter(None, (files, tr("Trust: {trust}.", trust=trust) if trust else "")))


_TRUST_LABELS = {"✓": mark("confirmed by two sessions or people"), "?": "unverified"}


def format_memory_line(entry: MemoryRecord) -> str:
    """Return a project memory on one line without its examples, followed by how often it was said."""
    line = structs.replace(entry, examples=()).render_line(tr)
    return f"{line} (×{entry.times})" if entry.times > 1 else line


def format_short_age(now: float, then: float) -> str:
    """Return how long ago that was, in at most seven columns; "–" if unknown."""
    return format_age(now - then) if then else "–"


def format_time_ago(now: float, then: float) -> str:
    """Return how long ago that was, for a sentence: "3 d ago", "just now"; "–" if unknown."""
    return format_ago(now - then) if then else "–"


def format_date(then: float) -> str:
    """Return the local date and time; "–" if unknown."""
    return format_stored_time("%Y-%m-%d %H:%M", then) if then else "–"


def draw_bar(share: float, cells: int) -> str:
    """Draw a share (0.0 to 1.0) of `cells` columns with block characters; more than zero is always visible."""
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def shorten_key(key: str) -> str:
    """Return a note's key on one line, truncated so that it leaves space for the other columns of a table."""
    return truncate_line(key, _KEY_CHARS)


def describe_author(entry: MemoryRecord) -> str:
    """Return who stated the memory; "unknown" if the file does not say."""
    if entry.by and entry.author in ("user", ""):
        return entry.by
    author = tr(_LONG_AUTHOR_LABELS[entry.author])
    return tr("{author}, in a session of {by}", author=author, by=entry.by) if entry.by else author


def describe_session_of(ctx: CommandContext, session_id: str) -> str:
    """Return title, date and id of the session a memory comes from, if the session still exists."""
    if not session_id:
        return tr("none: it was saved on the command line or by another program")
    if session_id == ctx.session.id:
        return tr("this session")
    info: SessionInfo | None = next((info for info in ctx.store.list() if info.id == session_id), None)
    if info is None:
        return tr("{session_id}, which is no longer stored", session_id=session_id)
    return f"“{format_title(info)}” ({format_date(info.created_at)}), {info.id}"


_MAX_SUGGESTED, _NOTE_CHARS = 60, 200
_MEMORY_OFF = mark(
    "Memory is off with --incognito: it is neither read nor written. Start clio without --incognito to use it."
)


def requires_memory(handler: Handler) -> Handler:
    """Decorate a handler so that it refuses with --incognito before it reads anything."""

    @wraps(handler)
    def guarded(ctx: CommandContext, argument: str) -> CommandResult:
        return make_refusal(tr(_MEMORY_OFF)) if ctx.config.incognito else handler(ctx, argument)

    return guarded


def label_foreign_memory(handler: Handler) -> Handler:
    """Decorate a handler that shows project memory so that it labels memory which came with the repository.

    The label precedes the text; data that is an object gets the field `came_with_repository`.
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
    """Return the sentence before memory that came with the project, or may have."""
    if ctx.loaded.memory_doubt:
        return tr(
            "clio can't verify that it wrote this project's memory itself: until you trust it (`/trust`), "
            "it is treated as written by the repository, not by you."
        )
    return tr(
        "This project's memory came with the repository: until you trust it (`/trust`), it is treated "
        "as written by the repository, not by you."
    )


def make_user_provenance(ctx: CommandContext) -> Provenance:
    """Return the provenance of a statement in a command; it names the running session if that is saved.

    It names no message: the model does not see commands, so what they save is news to it.
    """
    session = ctx.session
    return Provenance(session=session.id if session.is_persistent else "", asserted_by="user")


_JSON_NAMES = {"content": "text", "updated": "confirmed", "is_corroborated": "corroborated"}
_PROJECT_FIELDS = (
    "kind", "content", "id", "solution", "also", "impact", "steps", "context", "confidence", "success_rate", "examples",
    "times", "created", "updated", "provenance", "version", "since", "by", "rivals", "accessed", "access_count",
    "is_corroborated",
)  # fmt: skip


def make_project_memory_fields(entry: MemoryRecord) -> dict[str, Any]:
    """Return all fields of a project memory as JSON types."""
    fields = {_JSON_NAMES.get(name, name): msgspec.to_builtins(getattr(entry, name)) for name in _PROJECT_FIELDS}
    return fields | {"bound": list(map(list, entry.hashes.items())), "superseded_by": entry.superseded_by or ""}


def make_project_memory_data(entry: MemoryRecord, freshness: Freshness = "unbound") -> dict[str, Any]:
    """Return all fields of a project memory as JSON types, with its line and the state of its example files."""
    return make_project_memory_fields(entry) | {"line": entry.line, "freshness": freshness}


def make_note_data(note: MemoryRecord) -> dict[str, Any]:
    """Return a keyed note as JSON types."""
    return {"key": note.key, "content": note.content, "timestamp": note.updated}


def sort_newest_first(records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Sort memories by kind, and those of one kind with the last confirmed first."""
    return sorted(records, key=lambda record: (ALL_KINDS.index(record.kind), -record.updated, record.id))


def suggest_ids(*kinds: Kind, several: bool = False) -> SuggestWord:
    """Return a function that suggests ids of memories of these kinds for the first word, project memory first.

    Without kinds it suggests those in the archive. several: for every word, without those already on the line.
    """

    def suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
        *named, typed = argument.split(" ")
        if (named and not several) or ctx.config.incognito:
            return []
        try:
            store = ctx.memory.store
            records = store.records(kinds, with_notes=False) if kinds else store.archived()
        except (ClioError, OSError):  # a damaged file, which the command itself reports when it runs
            return []
        if kinds:
            records = sorted(records, key=lambda record: (record.kind not in PROJECT_KINDS, -record.updated))
        known = ((get_short_id(record), record) for record in records)
        shown = [one for one in known if one[0] not in named and one[0].lower().startswith(typed.lower())]
        return [Suggestion(text=id, note=_describe_for_choice(record)) for id, record in shown[:_MAX_SUGGESTED]]

    return suggest


def _describe_for_choice(record: MemoryRecord) -> str:
    if record.kind in PROJECT_KINDS:
        return record.line[:_NOTE_CHARS]
    return f"{tr(get_kind_label(record.kind))}: {shorten_content(record)}"


def suggest_notes(ctx: CommandContext) -> Iterable[Suggestion]:
    """Suggest the keys of the notes, newest first."""
    try:
        notes = () if ctx.config.incognito else ctx.memory.store.notes()
    except (ClioError, OSError):
        return []
    return [
        Suggestion(text=note.key, note=" ".join(note.content[:_NOTE_CHARS].split())) for note in notes[:_MAX_SUGGESTED]
    ]


def suggest_options(
    *options: tuple[str, str] | tuple[str, str, Mapping[str, str]],
    words: Callable[[str], Iterable[Suggestion]] = lambda typed: (),
) -> SuggestWord:
    """Return a function that suggests options with their descriptions, without those already on the line.

    The third part of an option are its values, suggested after it. words: suggests for a word that is no option.
    """

    def suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
        *before, typed = argument.split(" ")
        for name, _, *values in options:
            if values and before[-1:] == [name]:
                return [Suggestion(text=value, note=note) for value, note in values[0].items()]
        named = [Suggestion(text=name, note=note) for name, note, *_ in options if name not in before]
        return [*(() if typed.startswith("-") else words(typed)), *named]

    return suggest


def suggest_words(*words: tuple[str, str]) -> Suggest:
    """Return a function that suggests fixed words with their descriptions."""
    return lambda ctx: (Suggestion(text=word, note=note) for word, note in words)
