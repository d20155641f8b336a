"""/docs and /note: documents for recall, and keyed notes in this project."""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clio.commands.arguments import join_arguments, parse_options, parse_text, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    EditText,
    LongWork,
    Suggestion,
    Table,
    WorkControl,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import (
    format_date,
    format_short_age,
    label_foreign_memory,
    make_note_data,
    requires_memory,
    shorten_key,
    suggest_notes,
)
from clio.commands.session_commands import find_snippet
from clio.commands.session_table import suggest_paths
from clio.errors import ClioError, UserError
from clio.memory.store.record import MemoryDraft, MemoryRecord
from clio.storage.locks import error_cause
from clio.text.translation import mark, tr, tr_count
from clio.tools.files.file_index import list_files

if TYPE_CHECKING:
    from clio.memory.vectors.semantic_index import DocumentSource, SourceUpdate


READING, SEARCHING = mark("reading documents"), mark("searching documents")
_STOPPED = mark("Stopped; nothing was changed.")
_SHOWN_LEFT_OUT = 5
_MAX_PASSAGES_FOUND = 5


@requires_memory
def add_documents(ctx: CommandContext, argument: str) -> CommandResult:
    """Run `/docs add`: add files or folders."""
    paths = parse_options(argument).words
    if not paths:
        return make_refusal(tr("Which document? Write /docs add PATH, a file or a folder; ignored files are left out"))
    found = [_resolve_path(ctx, text) for text in paths]  # raises for a missing one before any is read
    add = ctx.memory.documents.add
    return CommandResult(
        follow_up=LongWork(label=READING, work=lambda track: _read_documents(ctx, add, found, _describe_added, track))
    )


def _read_documents(
    ctx: CommandContext,
    read: "Callable[..., SourceUpdate]",
    sources: "Sequence[Path] | Sequence[DocumentSource]",
    describe: "Callable[[SourceUpdate], str]",
    track: WorkControl,
) -> CommandResult:
    """Read the files of each source, all with one progress bar."""
    paths = [one if isinstance(one, Path) else (ctx.loaded.project / one.path).resolve() for one in sources]
    files = [_list_document_files(ctx, path) if path.exists() else [] for path in paths]
    total, before = sum(map(len, files)), 0
    done: list[SourceUpdate] = []
    for source, inside in zip(sources, files, strict=True):
        if track.is_stopped():
            break
        tell = partial(_report_progress, track, before, total)
        done.append(read(source, inside, stop=track.is_stopped, tell=tell))
        before += len(inside)
    return CommandResult(
        text=_join_sentences(ctx, map(describe, done)) or tr(_STOPPED),
        data=[_make_update_data(result) for result in done],
    )


def _report_progress(track: WorkControl, before: int, total: int, done: int, _: int) -> None:
    track.report_progress(before + done, total)


@requires_memory
def list_documents(ctx: CommandContext, argument: str) -> CommandResult:
    """List the documents, and whether they have changed since they were read."""
    if argument:
        return make_refusal(
            tr("/docs list takes no argument; /docs search {argument} searches the documents", argument=argument)
        )
    documents = ctx.memory.documents
    sources = documents.sources()
    if not sources:
        return CommandResult(text=tr("No documents; `/docs add PATH` adds a file or a folder."), data=[])
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for source in sources:
        passages = documents.count_passages(source)
        changed, unread = documents.state(source)
        counts = (
            tr("{changed} changed", changed=changed) if changed else "",
            tr("{unread} not read yet", unread=unread) if unread else "",
        )
        state = ", ".join(filter(None, counts))
        rows.append(
            (source.path, str(len(source.files)), str(passages), format_date(source.added), state or tr("up to date"))
        )
        data.append(_make_source_data(source) | {"windows": passages, "changed": changed, "unread": unread})
    table = Table(
        columns=(tr("path"), tr("files"), tr("passages"), tr("added"), tr("state")),
        rows=tuple(rows),
        wide_column=0,
        is_truncated=True,
    )
    return CommandResult(table=table, data=data)


@requires_memory
def remove_documents(ctx: CommandContext, argument: str) -> CommandResult:
    """Remove documents from memory; the files themselves are not changed."""
    paths = parse_options(argument).words
    if not paths:
        return make_refusal(tr("Which document? Write /docs remove PATH; /docs list shows what was added"))
    removed = [ctx.memory.documents.remove(path) for path in paths]
    text = tr("Removed {path}; the files are unchanged.", path=", ".join(quote_code(source.path) for source in removed))
    return CommandResult(text=text, data={"removed": [source.path for source in removed]})


@requires_memory
def refresh_documents(ctx: CommandContext, argument: str) -> CommandResult:
    """Read changed files again, and add new files in folders."""
    documents = ctx.memory.documents
    named = parse_options(argument).words
    sources = [documents.find(path) for path in named] if named else documents.sources()
    if not sources:
        return CommandResult(text=tr("No documents; `/docs add PATH` adds a file or a folder."), data=[])
    refresh = documents.refresh
    return CommandResult(
        follow_up=LongWork(
            label=READING, work=lambda track: _read_documents(ctx, refresh, sources, _describe_refreshed, track)
        )
    )


@requires_memory
def search_documents(ctx: CommandContext, argument: str) -> CommandResult:
    """Search the documents for the passages nearest to a question."""
    question = parse_options(argument).text.strip()
    if not question:
        return make_refusal(tr("Search for what? Write /docs search QUESTION"))
    if not ctx.memory.documents.sources():
        return CommandResult(text=tr("No documents; `/docs add PATH` adds a file or a folder."), data=[])
    return CommandResult(
        follow_up=LongWork(label=SEARCHING, work=lambda track: _refresh_and_search(ctx, question, track))
    )


def _refresh_and_search(ctx: CommandContext, question: str, track: WorkControl) -> CommandResult:
    """Read changed files, then search."""
    documents = ctx.memory.documents
    # Passages of a file that has changed would be quoted with lines that no longer exist.
    documents.catch_up(track.is_stopped, track.report_progress)
    if track.is_stopped():
        return CommandResult(text=tr("Stopped before the search; files read so far are saved."), data=[])
    hits = documents.search(question, _MAX_PASSAGES_FOUND)
    data = [{"path": hit.path, "line": hit.line, "distance": round(hit.distance, 4), "text": hit.text} for hit in hits]
    if not hits:
        return CommandResult(
            text=_join_sentences(
                ctx, [tr("Nothing in the documents matches {question}.", question=quote_code(question))]
            ),
            data=data,
        )
    rows = tuple((f"{hit.path}:{hit.line}", f"{hit.distance:.2f}", " ".join(hit.text.split())) for hit in hits)
    table = Table(columns=(tr("where"), tr("distance"), tr("text")), rows=rows, wide_column=2)
    return CommandResult(text=_join_sentences(ctx, ()), table=table, data=data)


def _join_sentences(ctx: CommandContext, sentences: Iterable[str]) -> str:
    """Return the sentences, and notices about the embeddings server, if any."""
    return "\n\n".join([*sentences, *ctx.memory.pop_notices()])


def _resolve_path(ctx: CommandContext, text: str) -> Path:
    """Return the path of a document: relative to the current folder, otherwise to the project. Raises UserError."""
    path = Path(text).expanduser().resolve()
    if not path.exists():
        path = (ctx.loaded.project / text).resolve()
    if not path.exists():
        raise UserError(tr("there is nothing at {text!r}; give the path of a file or a folder", text=text))
    return path


def _list_document_files(ctx: CommandContext, path: Path) -> list[Path]:
    """Return the files of a folder that are not ignored; for a file, the file."""
    if not path.is_dir():
        return [path]
    project = ctx.loaded.project
    # Inside the project, the project's ignore files apply; elsewhere, those of the added folder.
    root = project if path == project or project in path.parents else path
    names = list_files(root, path)
    return [root / name for name in names if not name.startswith(".clio/")]


def _describe_added(result: "SourceUpdate") -> str:
    source = result.source
    head = tr(
        "Added {path}: {files}, {passages}.",
        path=quote_code(source.path),
        files=tr_count(len(source.files), "file"),
        passages=tr_count(result.passages, "passage"),
    )
    return head + _describe_left_out(result) + _describe_unread(result)


def _describe_refreshed(result: "SourceUpdate") -> str:
    source = result.source
    if not source.files:
        return tr(
            "{path} is missing or no longer has any text; `/docs remove` removes it.", path=quote_code(source.path)
        )
    read = tr("{files} read again", files=tr_count(result.read, "file")) if result.read else tr("nothing has changed")
    return tr(
        "{path}: {read}; {files} in total.{left_out}{unread}",
        path=quote_code(source.path),
        read=read,
        files=tr_count(len(source.files), "file"),
        left_out=_describe_left_out(result),
        unread=_describe_unread(result),
    )


def _describe_left_out(result: "SourceUpdate") -> str:
    if not result.left_out:
        return ""
    named = [f"{quote_code(file)} ({why})" for file, why in result.left_out[:_SHOWN_LEFT_OUT]]
    more = len(result.left_out) - len(named)
    return tr(" Left out: {named}", named=", ".join(named)) + (tr(" and {more} more.", more=more) if more else ".")


def _describe_unread(result: "SourceUpdate") -> str:
    if not result.unread:
        return ""
    again = f"/docs refresh {join_arguments([result.source.path])}"
    return tr(
        " Stopped: {files} not read; {again} continues.", files=tr_count(result.unread, "file"), again=quote_code(again)
    )


def _make_update_data(result: "SourceUpdate") -> dict[str, object]:
    left_out = [{"path": file, "reason": why} for file, why in result.left_out]
    numbers = {"windows": result.passages, "read": result.read, "unread": result.unread}
    return _make_source_data(result.source) | numbers | {"left_out": left_out}


def _make_source_data(source: "DocumentSource") -> dict[str, object]:
    return {"path": source.path, "files": list(source.files), "added": source.added}


def _suggest_added(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    if ctx.config.incognito:
        return ()
    try:
        return [Suggestion(text=source.path) for source in ctx.memory.documents.sources()]
    except (ClioError, OSError):
        return ()


DOCS = (
    Command(
        name="docs",
        summary=mark("documents whose passages are recalled when a question is about them"),
        handler=list_documents,
        subcommands=(
            Command(
                name="list", summary=mark("list the documents and whether they are up to date"), handler=list_documents
            ),
            Command(
                name="add",
                argument="PATH…",
                summary=mark("add files or folders: text, Markdown, code"),
                handler=add_documents,
                suggest_word=lambda ctx, argument: suggest_paths(argument.rpartition(" ")[2]),
            ),
            Command(
                name="remove",
                argument="PATH…",
                summary=mark("remove documents; the files stay"),
                handler=remove_documents,
                suggest_word=_suggest_added,
            ),
            Command(
                name="refresh",
                argument="[PATH…]",
                summary=mark("read changed files again"),
                handler=refresh_documents,
                suggest_word=_suggest_added,
            ),
            Command(
                name="search",
                argument="QUESTION",
                summary=mark("search the documents"),
                handler=search_documents,
            ),
        ),
    ),
)


_SHOWN_CHARS = 200
_MAX_NOTES_FOUND, _FOUND_CHARS = 20, 160


@requires_memory
@label_foreign_memory
def list_notes(ctx: CommandContext, argument: str) -> CommandResult:
    """List all notes, newest first."""
    if argument:
        return make_refusal(tr("/note list takes no argument; /note show {argument} shows one note", argument=argument))
    notes = ctx.memory.store.notes()
    data = [make_note_data(note) for note in notes]
    if not notes:
        return CommandResult(text=tr("No notes; `/note set KEY TEXT` saves one."), data=data)
    now = time.time()
    rows = tuple((shorten_key(note.key), _shorten_note(note), format_short_age(now, note.updated)) for note in notes)
    table = Table(columns=(tr("key"), tr("text"), tr("age")), rows=rows, wide_column=1, is_truncated=True)
    return CommandResult(text=f"{tr_count(len(notes), 'note')}.", table=table, data=data)


@requires_memory
@label_foreign_memory
def show_note(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one note in full."""
    note = _find_note(ctx, argument, "show")
    head = f"{quote_code(note.key)}, {format_date(note.updated)}, {tr_count(len(note.content), 'character')}."
    return CommandResult(text=head, verbatim=note.content, data=make_note_data(note))


@requires_memory
def set_note(ctx: CommandContext, argument: str) -> CommandResult:
    """Save a text under a key; replaces the note of that key."""
    given = parse_text(argument, heads=1)
    if not given.heads or not given.has_text:
        return make_refusal(
            tr("A note needs a key and a text: write /note set KEY TEXT, with quotes around a key with spaces")
        )
    return _describe_stored(ctx, given.heads[0], given.text)


@requires_memory
def edit_note(ctx: CommandContext, argument: str) -> CommandResult:
    """Edit a note in the editor; a new one starts empty."""
    key = _parse_key(argument)
    if not key:
        return make_refusal(tr("Which note? Write /note edit KEY; /note list shows the keys"))
    note = ctx.memory.store.get_note(key)

    def take(text: str) -> CommandResult:
        try:
            return _describe_stored(ctx, key, text)
        except (ClioError, OSError) as error:
            again = EditText(text=text, then=take, suffix=".md")
            return CommandResult(ok=False, text=error_cause(error), verbatim=text, follow_up=again)

    return CommandResult(follow_up=EditText(text=note.content if note else "", then=take, suffix=".md"))


@requires_memory
@label_foreign_memory
def search_notes(ctx: CommandContext, argument: str) -> CommandResult:
    """Search the notes; best match first."""
    query = parse_options(argument).text.strip()
    if not query:
        return make_refusal(tr("Search for what? Write /note search WORDS"))
    notes = {note.key: note for note in ctx.memory.store.notes()}
    hits = [hit for hit in ctx.memory.search(query, 10_000) if hit.kind == "note" and hit.key in notes][
        :_MAX_NOTES_FOUND
    ]
    data = [make_note_data(notes[hit.key]) | {"score": hit.score} for hit in hits]
    if not hits:
        text = tr("No note matches {query}; `/memory search` searches project memory too.", query=quote_code(query))
        return CommandResult(text=text, data=data)
    now = time.time()
    rows = tuple(
        (shorten_key(hit.key), find_snippet(hit.text, query, _FOUND_CHARS), format_short_age(now, hit.timestamp))
        for hit in hits
    )
    return CommandResult(table=Table(columns=(tr("key"), tr("text"), tr("age")), rows=rows, wide_column=1), data=data)


@requires_memory
def delete_note(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete a note."""
    note = _find_note(ctx, argument, "delete")
    ctx.memory.store.forget(note.key)
    return CommandResult(
        text=tr("Deleted from project memory: {key} · `/memory undo`", key=quote_code(note.key)),
        data={"deleted": make_note_data(note)},
    )


def _parse_key(argument: str) -> str:
    """Return the whole argument as the key, spaces included, without quotes around it."""
    given = parse_text(argument, heads=1)
    return " ".join(part for part in (*given.heads, given.text) if part)


def _find_note(ctx: CommandContext, argument: str, verb: str) -> MemoryRecord:
    key = _parse_key(argument)
    if not key:
        raise UserError(tr("Which note? Write /note {verb} KEY; /note list shows the keys", verb=verb))
    note = ctx.memory.store.get_note(key)
    if note is None:
        known = [other.key for other in ctx.memory.store.notes()]
        hint = suggest_name(key, known)
        if len(known) > 20 and not hint.startswith("did you mean"):
            hint = tr("/note list shows the keys")
        raise UserError(
            tr("There is no note {key!r}; {hint}", key=key, hint=hint)
            if known
            else tr("There is no note {key!r}, nor any other", key=key)
        )
    return note


def _describe_stored(ctx: CommandContext, key: str, text: str) -> CommandResult:
    try:
        saved = ctx.memory.store.add(MemoryDraft(key=key, content=text))
    except ValueError as error:
        raise UserError(str(error)) from error
    stored = saved.record.content
    return CommandResult(
        text=(
            tr(
                "{value} project memory: {key}, {characters} · `/memory undo`",
                value=tr("Saved to") if saved.is_new else tr("Replaced in"),
                key=quote_code(saved.record.key),  # as it was stored, without secrets
                characters=tr_count(len(stored), "character"),
            )
        ),
        data={"new": saved.is_new, "note": make_note_data(saved.record)},
    )


def _shorten_note(note: MemoryRecord) -> str:
    return " ".join(note.content[:_SHOWN_CHARS].split()) or "(empty)"


NOTE = (
    Command(
        name="note",
        aliases=("notes",),
        summary=mark("keyed notes, saved in this project"),
        handler=list_notes,
        subcommands=(
            Command(name="list", summary=mark("all notes, newest first"), handler=list_notes),
            Command(name="show", argument="KEY", summary=mark("show a note"), handler=show_note, suggest=suggest_notes),
            Command(
                name="set",
                argument="KEY TEXT",
                summary=mark("save a text; replaces the note of that key"),
                handler=set_note,
                suggest=suggest_notes,
            ),
            Command(
                name="edit",
                argument="KEY",
                summary=mark("edit a note in the editor"),
                handler=edit_note,
                suggest=suggest_notes,
            ),
            Command(name="search", argument="QUERY", summary=mark("search notes"), handler=search_notes),
            Command(
                name="delete", argument="KEY", summary=mark("delete a note"), handler=delete_note, suggest=suggest_notes
            ),
        ),
    ),
)
