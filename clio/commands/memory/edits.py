"""/memory remember, recall, forget, move, restore, compact, add, edit and undo: memories changed by the user."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import structs

from clio.commands.arguments import (
    ParsedArguments,
    ParsedText,
    join_arguments,
    parse_count,
    parse_number,
    parse_options,
    parse_text,
    suggest_name,
)
from clio.commands.command import (
    CommandContext,
    CommandResult,
    Confirm,
    EditText,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.field_syntax import (
    ADD_SYNTAX,
    add_problem_line,
    format_add_command,
    parse_changed_fields,
    parse_new_fields,
    read_form,
    write_form,
)
from clio.commands.memory.memory_text import (
    FRESHNESS_MARKS,
    explain_marks,
    find_archived,
    find_memory,
    format_memory_line,
    format_short_age,
    label_foreign_memory,
    make_note_data,
    make_project_memory_data,
    make_user_provenance,
    parse_kind,
    requires_memory,
)
from clio.commands.preference_commands import save_preference
from clio.errors import ClioError, UsageError, UserError
from clio.memory.consolidation.forget_requests import find_forget_requests
from clio.memory.consolidation.learner import find_statements, save_statements
from clio.memory.preferences.foreign_statements import detect_language
from clio.memory.preferences.preferences import stance_of
from clio.memory.preferences.stated_preferences import NEVER, StatedPreference
from clio.memory.store.memory_store import SCOPES
from clio.memory.store.record import (
    PROJECT_KINDS,
    TYPED_KINDS,
    Kind,
    MemoryDraft,
    MemoryRecord,
    Saved,
    find_kind,
    get_short_id,
    shorten_content,
)
from clio.memory.store.typed_store import DEFAULT_LIMIT, Scope
from clio.storage.locks import error_cause
from clio.text.formatting import truncate_line
from clio.text.fuzzy import count_edits, find_nearest_name
from clio.text.translation import mark, tr, tr_count
from clio.text.vocabulary import STOP_WORDS, tokenize

SCOPE_LABELS: dict[Scope, str] = {"project": mark("project memory"), "user": mark("user memory")}
_SHORT_CHARS = 60
_REMEMBER_OPTIONS = ("--type", "--kind", "--importance", "--scope", "--keyword", "--example")


@requires_memory
def remember_text(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory remember`: save a statement of the user; a preference is saved as `/prefs add` does."""
    given = parse_text(argument, valued=_REMEMBER_OPTIONS)
    if not given.text.strip():
        return make_refusal(
            tr("Remember what? Write /memory remember TEXT, with --type fact, event, note or preference")
        )
    asked = given.get_single("--type") or given.get_single("--kind")
    name = asked or "note"
    scope = parse_scope(given.get_single("--scope"))
    if name == "auto":
        if (done := _forget_requested(ctx, given.text) or _save_stated(ctx, given.text, scope)) is not None:
            return done
        from clio.memory.consolidation.new_values import strip_introduction

        name = "fact"
        # "actually Ida is the release manager"
        given = structs.replace(given, text=strip_introduction(given.text) or given.text)
    kind = _parse_type(name)
    if kind == "preference":
        return _add_preference(ctx, given, scope or "user")
    raw = given.get_single("--importance")
    memories = ctx.memory.store
    done = memories.add(
        MemoryDraft(
            content=given.text,
            kind=kind,
            importance=0.5 if raw is None else parse_number(raw, "--importance", low=0, high=1),
            keywords=given.options.get("--keyword", ()),
            examples=given.options.get("--example", ()),
        ),
        scope=scope,
        provenance=make_user_provenance(ctx),
    )
    owner = memories.scope_of((done.other or done.record).id if done.action == "dropped" else done.record.id)
    data = {"action": done.action, "memory": make_record_data(done.record, owner)}
    if done.other is not None and done.action not in ("merged", "confirmed"):
        data[_OTHER_KEYS.get(done.action, "replaced")] = make_record_data(done.other, owner)
    return CommandResult(
        text=_describe_saved(done, owner, is_default=not asked) + _warn_of_missing_files(ctx, done.record), data=data
    )


@requires_memory
@label_foreign_memory
def recall_typed_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory recall`: memories that match a query; without one, preferences and the strongest others.

    The memories count as used.
    """
    given = parse_text(argument, valued=("--type", "--kind", "--limit"))
    kind = given.get_single("--type") or given.get_single("--kind") or ""
    # "!fact" means every type except fact.
    types = f"!{_parse_type(kind[1:])}" if kind.startswith("!") else _parse_type(kind) if kind else ""
    memories = ctx.memory.store
    raw_limit = given.get_single("--limit")
    if raw_limit is None or raw_limit == "-1":  # −1 for all, as the tool and the document it comes from have it
        limit = DEFAULT_LIMIT if raw_limit is None else -1
    else:
        limit = parse_count(raw_limit, "--limit")
    if given.text.strip():
        found = ctx.memory.retriever.memories(given.text, limit, types)
    else:
        found = memories.recall("", limit, types)
    owners: list[Scope] = [memories.scope_of(hit.record.id) for hit in found]
    data = [
        make_record_data(hit.record, owner)
        | {"rank": hit.score, "hits": hit.hits, "similarity": hit.similarity, "recency": hit.recency}
        for hit, owner in zip(found, owners, strict=True)
    ]
    if not found:
        return CommandResult(text=_describe_no_match(memories.count(), given.text), data=data)
    marks = [_choose_file_mark(memories.describe_drift(hit.record)) for hit in found]
    rows = tuple(_make_row(hit.record, *rest) for hit, rest in zip(found, zip(owners, marks, strict=True), strict=True))
    return CommandResult(
        text=explain_marks("".join(marks)), table=Table(columns=_COLUMNS, rows=rows, wide_column=3), data=data
    )


@requires_memory
def forget_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory forget`: move memories to the archive; several of them only after a question."""
    given = parse_options(argument, switches=("--yes",))
    if not given.words:
        return make_refusal(
            tr("Which memory? Write /memory forget ID, or several ids; /memory list and /memory recall show the ids")
        )
    store = ctx.memory.store
    records = _find_memories(ctx, given)
    what = tr_count(sum(not record.key for record in records), "memory")
    # One memory is forgotten without a question, as /memory undo brings it back; of several, the command alone does not
    # show which.
    if len(records) > 1 and "--yes" not in given.options:
        listed = "; ".join(
            truncate_line(f"{get_short_id(record)} {format_memory_line(record)}", 60) for record in records[:5]
        )
        listed += " …" if len(records) > 5 else ""
        then = f"/memory forget {join_arguments([record.id for record in records])} --yes"
        keys = [record.key for record in records if record.key]
        notes = tr_count(len(keys), "keyed note")
        action = (
            tr("Delete {notes}", notes=notes)
            if len(keys) == len(records)
            else tr("Move {what} to the archive", what=what)
        )
        action += tr(" and delete {notes}", notes=notes) if 0 < len(keys) < len(records) else ""
        return CommandResult(follow_up=Confirm(question=f"{action}? {listed}", then=then))
    data = [make_memory_data(record, "project" if record.key else store.scope_of(record.id)) for record in records]
    store.forget(*[record.id for record in records])
    deleted = [quote_code(record.key) for record in records if record.key]
    archived = [record for record in records if not record.key]
    if len(archived) == 1:
        what = quote_code(truncate_line(format_memory_line(archived[0]), _SHORT_CHARS))
    parts = [tr("Moved to the archive: {what}", what=what)] if archived else []
    parts += (
        [
            tr(
                "Deleted the {note_or_notes} {deleted}",
                note_or_notes=tr("note") if len(deleted) == 1 else tr("notes"),
                deleted=", ".join(deleted),
            )
        ]
        if deleted
        else []
    )
    return CommandResult(text=tr("{parts} · `/memory undo`", parts="; ".join(parts)), data={"forgotten": data})


@requires_memory
def move_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Move a memory with its history to the other scope."""
    words = parse_options(argument).words
    if len(words) != 2:
        return make_refusal(tr("Move which memory, and where? Write /memory move ID project, or /memory move ID user"))
    scope = parse_scope(words[1])
    id = find_memory(ctx, words[0], f"/memory move … {scope}").id
    record = ctx.memory.store.move(id, cast(Scope, scope))
    return CommandResult(
        text=tr(
            "Moved to {memory_of}: {content} · `/memory undo`",
            memory_of=tr(SCOPE_LABELS[cast(Scope, scope)]),
            content=quote_code(shorten_content(record)),
        ),
        data={"memory": make_record_data(record, cast(Scope, scope))},
    )


@requires_memory
def restore_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Bring a memory back from the archive."""
    words = parse_options(argument).words
    if len(words) != 1:
        return make_refusal(tr("Which memory? Write /memory restore ID; /memory list archive shows the ids"))
    store = ctx.memory.store
    record = store.restore(find_archived(ctx, words[0]).id)
    scope = store.scope_of(record.id)
    return CommandResult(
        text=tr(
            "Restored in {memory_of}: {memory_line} · `/memory undo`",
            memory_of=tr(SCOPE_LABELS[scope]),
            memory_line=quote_code(format_memory_line(record)),
        ),
        data={"memory": make_memory_data(record, scope)},
    )


@requires_memory
def compact_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Archive expired memories, and merge duplicates."""
    if argument:
        return make_refusal(tr("/memory compact takes no argument"))
    done = ctx.memory.store.compact()
    data = msgspec.to_builtins(done)
    if not done.removed:
        text = tr("Nothing to compact: no fact, event, note or preference has expired or duplicates another.")
        return CommandResult(text=text, data=data)
    same = tr(", {merged:,} of them merged into another", merged=done.merged) if done.merged else ""
    text = tr(
        "{memories} moved to the archive{same}; {remaining:,} left",
        memories=tr_count(done.removed, "memory"),
        same=same,
        remaining=done.remaining,
    )
    return CommandResult(text=tr("{text} · `/memory undo`", text=text), data=data)


_JSON_NAMES = {"kind": "type", "is_corroborated": "corroborated"}
_TYPED_FIELDS = (
    "id", "kind", "content", "importance", "score", "reason", "keywords", "scenarios", "created", "updated", "accessed",
    "seen", "access_count", "touch_count", "confidence", "version", "since", "superseded_by", "variants_of", "explicit",
    "provenance", "examples", "hashes", "is_corroborated",
)  # fmt: skip


def make_record_data(record: MemoryRecord, scope: Scope) -> dict[str, Any]:
    """Return all fields of a memory in JSON types, with its scope."""
    fields = {_JSON_NAMES.get(name, name): msgspec.to_builtins(getattr(record, name)) for name in _TYPED_FIELDS}
    return fields | {"scope": scope}


def make_memory_data(record: MemoryRecord, scope: Scope) -> dict[str, Any]:
    """Return a memory of any kind in JSON types, in the form of its kind."""
    if record.key:
        return make_note_data(record)
    return make_project_memory_data(record) if record.kind in PROJECT_KINDS else make_record_data(record, scope)


_MANY_OTHER_WORDS = 3
"""Number of words beside a preference or limit from which a text states something else, too."""


def _forget_requested(ctx: CommandContext, text: str) -> CommandResult | None:
    """Forget what a text asks to forget, as if it were a message; None if it asks for nothing."""
    if not any(one.is_whole and one.kind != "pointing" for one in find_forget_requests(text)):
        return None
    from clio.memory.consolidation.withdrawals import Lifted, MessageBefore, forget_requested

    done = forget_requested(ctx.memory, text, make_user_provenance(ctx).session, "", MessageBefore(), ())
    gone = [record.id for one in done if isinstance(one, Lifted) for record in one.records]
    lines = "\n".join(filter(None, (one.describe() for one in done)))
    return CommandResult(text=lines, data={"action": "forgotten", "memories": gone}) if lines else None


def _save_stated(ctx: CommandContext, text: str, scope: Scope | None) -> CommandResult | None:
    """Save the preferences and limits that a text states, as if it were a message; None if it states none.

    Limits that a message sets for its own task only are saved, too, as the user asks to remember them. What the text
    says beside them is saved as a fact: "the port is 9090, never use 8080".

    scope: where to save them; None to follow the text.
    """
    found = find_statements(ctx.memory, text)
    stated = [one for one in (*found.certain, *found.doubtful) if one.kind != "fact"]
    stated += (
        StatedPreference(kind="rule", content=limit, score=NEVER, certain=False, quote=text) for limit in found.for_task
    )
    # "We deploy on Fridays only" may be a limit, too, but only words such as "never" and "always" order something.
    is_foreign = bool(detect_language(text))
    stated = [one for one in stated if one.kind != "rule" or stance_of(one.content) or (one.certain and is_foreign)]
    if not stated:
        return None
    if scope is not None:
        stated = [structs.replace(one, in_project=scope == "project") for one in stated]
    others = set(tokenize(text)) - STOP_WORDS - {word for one in stated for word in tokenize(one.content)}
    with ctx.memory.store.group(f"saved {stated[0].content}"):
        lines = [save_statements(ctx.memory, stated, make_user_provenance(ctx).session).line]
        if len(others) >= _MANY_OTHER_WORDS:
            lines.append(remember_text(ctx, join_arguments(["--type", "fact", "--", text])).text)
    return CommandResult(text="\n".join(lines), data={"action": "saved", "statements": [one.content for one in stated]})


def _add_preference(ctx: CommandContext, given: ParsedText, scope: Scope) -> CommandResult:
    if "--example" in given.options:
        raise UsageError(tr("A preference has no examples; write /prefs add TEXT --score N, from 0, never, to 10"))
    words = given.options.get("--keyword", ())
    importance = given.get_single("--importance")
    options = [
        *(("--keywords", ",".join(words)) if words else ()),
        *(("--importance", importance) if importance is not None else ()),
    ]
    result = save_preference(ctx, join_arguments([*options, "--", " ".join(given.text.split())]), scope)
    data = cast(dict[str, Any], result.data)
    record = ctx.memory.store.get(data["preference"]["id"])
    saved = CommandResult(text=result.text, data={"action": data["action"], "memory": make_record_data(record, scope)})
    return saved if result.ok else result


def _find_memories(ctx: CommandContext, given: ParsedArguments) -> list[MemoryRecord]:
    """Return the memories with these ids, each once. Raises UserError for an unknown one.

    If none of several words is an id, they are taken as one text: the key of a note, or the text of a memory.
    """
    store, text = ctx.memory.store, given.text.strip()
    whole = [] if len(given.words) < 2 else [one for one in store.records() if text in (one.key, one.content)]
    if len(whole) == 1:
        return whole
    known = list[MemoryRecord]()
    for word in given.words:
        with suppress(UserError):
            known.append(store.get(word))
    if len(given.words) > 1 and not known:
        return [find_memory(ctx, text, "/memory forget")]
    return list({one.id: one for one in (find_memory(ctx, word, "/memory forget") for word in given.words)}.values())


def _parse_type(name: str) -> Kind:
    found = find_kind(name, TYPED_KINDS)
    if found is None:
        raise UsageError(
            tr(
                "There is no type {name!r} of memories; {suggest_name}",
                name=name,
                suggest_name=suggest_name(name, TYPED_KINDS),
            )
        )
    return found


def parse_scope(name: str | None) -> Scope | None:
    """Return the scope of that name; None for None. Raises UsageError."""
    if name is None:
        return None
    if name.lower() not in SCOPES:
        raise UsageError(tr("The scope is project or user, not {name!r}", name=name))
    return cast(Scope, name.lower())


def _warn_of_missing_files(ctx: CommandContext, record: MemoryRecord) -> str:
    """Return the end of a line about a saved memory that names files which do not exist, "" if it names none."""
    missing = ctx.memory.store.list_missing_files(record.files)
    if not missing:
        return ""
    return tr("; there is no {files} in this project", files=", ".join(map(quote_code, missing)))


def _describe_saved(done: Saved, owner: Scope, *, is_default: bool = False) -> str:
    """Return the line that says where a memory was saved, or why it was not.

    is_default: the user has not named its kind.
    """
    record, old, certainty = done.record, done.other, ""
    if record.kind in PROJECT_KINDS:
        text = _format_saved(record)
        times = tr("{times} times, ", times=record.times) if record.times > 1 else ""
        certainty = tr(" ({times}confidence {confidence:.0%})", times=times, confidence=record.confidence)
    else:
        text = quote_code(shorten_content(record))
        if record.examples:
            text += tr(" (e.g. {examples})", examples=", ".join(record.examples))
        if record.kind == "note":
            text += tr(" (a note; `--type fact` saves a lasting fact)") if is_default else tr(" (a note)")
    verb = tr("Restored") if done.action == "restored" else tr("Saved")
    saved = tr("{verb} to {memory_of}: {text}", verb=verb, memory_of=tr(SCOPE_LABELS[owner]), text=text)
    other = quote_code(shorten_content(old)) if old else ""
    match done.action:
        case "merged" | "confirmed":
            return tr("Confirmed: {text}{certainty}", text=text, certainty=certainty)
        case "superseded" if old:
            return tr("{saved} (instead of {content}) · `/memory undo`", saved=saved, content=other)
        case "variant" | "replaced_variant" if old:
            return tr(
                "{saved} as another version; {content} has more confidence · `/memory undo`", saved=saved, content=other
            )
        case "dropped" if old:
            return tr(
                "Not saved: {content} and three other versions of it have more confidence · `/memory history {id}`",
                content=other,
                id=get_short_id(old),
            )
        case _ if done.beside or (old and done.action == "kept_both"):
            # Of a solution, all others to the same error.
            others = ", ".join(quote_code(one.solution) for one in done.beside[:3]) or other
            return tr("{saved}, alongside {content} · `/memory undo`", saved=saved, content=others)
        case _:
            return tr("{saved} · `/memory undo`", saved=saved)


_OTHER_KEYS = {"kept_both": "beside", "variant": "surer", "replaced_variant": "surer", "dropped": "surer"}
_COLUMNS = ("id", "kind", "scope", "what", "age", "")


def _choose_file_mark(drift: str) -> str:
    """Return the mark for what `MemoryStore.describe_drift` says."""
    return FRESHNESS_MARKS["drifted" if "has changed" in drift else "gone"] if drift else ""


def _make_row(record: MemoryRecord, owner: Scope, sign: str) -> tuple[str, ...]:
    age = format_short_age(time.time(), record.updated)
    text = tr("other sources say: {content}", content=record.content) if record.is_variant else record.content
    return (get_short_id(record), record.kind, owner, text, age, sign)


def _describe_no_match(counts: dict[Scope, int], query: str) -> str:
    total = sum(counts.values())
    if not total:
        return tr("No memories yet; `/memory remember TEXT --type fact` saves one.")
    if not query:
        return tr("No memory has that type.")
    return tr(
        "No fact, event, note or preference matches {query}; `/memory search` searches all kinds.",
        query=quote_code(query),
    )


def _change_typed(ctx: CommandContext, record: MemoryRecord, text: str, changes: dict[str, Any]) -> CommandResult:
    """Change a fact, event or note of `memories.json`; without a text or other changes, open its text in the editor."""
    if record.kind == "preference":
        return make_refusal(tr("{id} is a preference; write /prefs update {id} --item TEXT", id=get_short_id(record)))
    if text.strip():
        changes = changes | {"content": text, "provenance": make_user_provenance(ctx)}
    if not changes:
        return CommandResult(
            follow_up=EditText(text=record.content, then=lambda new: _save_edited_text(ctx, record, new))
        )
    store = ctx.memory.store
    scope = store.scope_of(record.id)
    new = store.update(record.id, **changes)
    return CommandResult(
        text=tr(
            "Changed in {memory_of}: {content} · `/memory undo`",
            memory_of=tr(SCOPE_LABELS[scope]),
            content=quote_code(shorten_content(new)),
        ),
        data={"memory": make_record_data(new, scope), "before": make_record_data(record, scope)},
    )


def _save_edited_text(ctx: CommandContext, record: MemoryRecord, text: str) -> CommandResult:
    if text.strip() == record.content:
        return CommandResult(text=tr("{id} is unchanged.", id=get_short_id(record)))
    if not text.strip():
        return CommandResult(ok=False, text=tr("{id} is unchanged: a memory needs a text.", id=get_short_id(record)))
    try:
        return _change_typed(ctx, record, text, {})
    except (ClioError, OSError) as error:
        return CommandResult(
            ok=False,
            text=tr("{id} is not changed: {error_cause}", id=get_short_id(record), error_cause=error_cause(error)),
            verbatim=text,
        )


_OPTIONS = ("--confidence", "--example")
_ADD_OPTIONS = (*_OPTIONS, "--kind", "--type", "--scope")
_REMEMBERED_KINDS = ("event", "note", "preference")


@requires_memory
def add_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory add`: save a memory; a text that does not begin with a kind is a project fact.

    Events, notes and preferences, and facts about the user, are saved as `/memory remember` saves them.
    """
    first, _, rest = argument.strip().partition(" ")
    if first in _REMEMBERED_KINDS:
        return remember_text(ctx, f"--kind {first} {rest}")
    given = parse_text(argument, heads=1, valued=_ADD_OPTIONS)
    named = given.get_single("--kind") or given.get_single("--type")
    if named in _REMEMBERED_KINDS or given.get_single("--scope") == "user":
        return remember_text(ctx, argument if named else f"--kind fact {argument}")
    if not given.heads:
        forms = ", ".join(format_add_command(kind).removeprefix("/memory add ") for kind in ADD_SYNTAX)
        return make_refusal(tr("Add what? Write /memory add TEXT, or /memory add with one of: {forms}", forms=forms))
    if named:
        kind, given = parse_kind(named), parse_text(argument, valued=_ADD_OPTIONS)
    else:
        kind = None if argument.lstrip().startswith("-- ") else _parse_first_kind(given.heads[0])
    if kind is None:
        kind, given = "discovery", parse_text(argument, valued=_ADD_OPTIONS)
    draft = MemoryDraft(
        kind=kind, **parse_new_fields(kind, given.text, is_path=_make_path_check(ctx)), **_parse_field_options(given)
    )
    added = ctx.memory.store.add(draft, make_user_provenance(ctx))
    state = ctx.memory.store.freshness((added.record,))[added.record.id]
    data = {
        "entry": make_project_memory_data(added.record, state),
        "new": added.is_new,
        "restored": added.action == "restored",
        "beside": [make_project_memory_data(other) for other in added.beside],
    }
    return CommandResult(text=_describe_saved(added, "project") + _warn_of_missing_files(ctx, added.record), data=data)


def _parse_first_kind(word: str) -> Kind | None:
    """Return the kind that the first word names; None if it is text. Raises UsageError for a misspelt kind."""
    try:
        return parse_kind(word)
    except UsageError as error:
        # A misspelt kind would become the first word of a stored fact; "battery" is no misspelt "pattern".
        near = find_nearest_name(word, PROJECT_KINDS)
        if near and count_edits(word.lower(), near) == 1:
            end = "" if str(error).endswith("?") else "."
            raise UsageError(
                tr("{error}{end} To save the text as a fact, write /memory add fact TEXT", error=error, end=end)
            ) from error
        return None


@requires_memory
def edit_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory edit`: change a memory to the given text and options, or in the editor if there are none."""
    given = parse_text(argument, heads=1, valued=_OPTIONS)
    if not given.heads:
        return make_refusal(tr("Which memory? Write /memory edit ID; /memory list shows the ids"))
    entry = find_memory(ctx, given.heads[0], "/memory edit")
    if entry.key:
        return make_refusal(tr("{key!r} is a keyed note; write /note edit {key}", key=entry.key))
    changes = _parse_field_options(given)
    if entry.kind not in PROJECT_KINDS:
        return _change_typed(ctx, entry, given.text, changes)
    if given.text.strip():
        changes |= parse_changed_fields(entry.kind, given.text, is_path=_make_path_check(ctx))
    if not changes:
        return CommandResult(
            follow_up=EditText(text=write_form(entry), then=_make_form_reader(ctx, entry), suffix=".txt")
        )
    return _apply_changes(ctx, entry, changes)


@requires_memory
def undo_memory_change(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/memory undo`: undo the last change; called again, the one before it."""
    if argument:
        return make_refusal(
            tr("/memory undo takes no argument; it undoes the last change, called again the one before it")
        )
    text = ctx.memory.undo()
    return CommandResult(text=text, data={"undone": text})


def _parse_field_options(given: ParsedText) -> dict[str, Any]:
    found: dict[str, Any] = {}
    raw = given.get_single("--confidence")
    if raw is not None:
        found["confidence"] = parse_number(raw, "--confidence", low=0, high=1)
    if examples := given.options.get("--example"):
        found["examples"] = examples
    return found


def _make_path_check(ctx: CommandContext) -> Callable[[str], bool]:
    def check(word: str) -> bool:
        try:
            return bool(word) and len(word.split()) == 1 and (ctx.loaded.project / word).exists()
        except (OSError, ValueError):
            return False

    return check


def _make_form_reader(ctx: CommandContext, entry: MemoryRecord) -> Callable[[str], CommandResult]:
    """Return the function that stores the text from the editor; it opens an invalid text again."""

    def take(text: str) -> CommandResult:
        try:
            changes = read_form(text, entry)
            return (
                _apply_changes(ctx, entry, changes)
                if changes
                else CommandResult(text=tr("{id} is unchanged.", id=entry.id))
            )
        except (ClioError, OSError) as error:
            # Opened again with the reason, so that nothing the user typed is lost.
            again = EditText(text=add_problem_line(text, error_cause(error)), then=take, suffix=".txt")
            return CommandResult(
                ok=False,
                text=tr("{id} is not changed: {error_cause}", id=entry.id, error_cause=error_cause(error)),
                verbatim=text,
                follow_up=again,
            )

    return take


def _apply_changes(ctx: CommandContext, entry: MemoryRecord, changes: dict[str, Any]) -> CommandResult:
    new = ctx.memory.store.update(entry.id, **changes, provenance=make_user_provenance(ctx))
    state = ctx.memory.store.freshness((new,))[new.id]
    return CommandResult(
        text=tr(
            "Changed in project memory: {line}, confidence {confidence:.0%} · `/memory undo`",
            line=quote_code(new.line),
            confidence=new.confidence,
        ),
        data={"entry": make_project_memory_data(new, state), "before": make_project_memory_data(entry)},
    )


def _format_saved(entry: MemoryRecord) -> str:
    """Return the memory as it was parsed, so that the user sees a mistake at once."""
    bare = msgspec.structs.replace(entry, context="")
    where = ""
    if entry.kind == "rule":
        is_bound = entry.context not in ("", "*")
        where = tr(", for {context}", context=quote_code(entry.context)) if is_bound else ", everywhere"
    return f"{quote_code(bare.line)}{where}"
