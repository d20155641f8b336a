"""/note: named texts put aside in this project, by a person or by the model."""

import time

from clio.commands.arguments import nearest, read_text
from clio.commands.command import Command, CommandResult, EditText, Shell, Table, code, refuse
from clio.commands.memory.memory_text import (
    around,
    count,
    date,
    names_repository,
    note_data,
    remembers,
    short_age,
    short_key,
    suggest_notes,
)
from clio.errors import ClioError, UserError
from clio.memory.records import Note
from clio.storage.locks import cause

_SHOWN_CHARS = 200
_FOUND = 20


@remembers
@names_repository
def show_list(shell: Shell, argument: str) -> CommandResult:
    """All notes, newest first."""
    if argument:
        return refuse(f"/note list takes nothing; /note show {argument} shows one note")
    notes = shell.memory.list_notes()
    data = [note_data(note) for note in notes]
    if not notes:
        return CommandResult(text="No notes; `/note set KEY TEXT` puts one aside.", data=data)
    now = time.time()
    rows = tuple((short_key(note.key), _beginning(note), short_age(now, note.timestamp)) for note in notes)
    table = Table(columns=("key", "text", "age"), rows=rows, wide=1, cut=True)
    return CommandResult(text=f"{count(len(notes), 'note')}.", table=table, data=data)


@remembers
@names_repository
def show(shell: Shell, argument: str) -> CommandResult:
    """One note whole, as it is."""
    note = _found(shell, argument, "show")
    head = f"{code(note.key)}, {date(note.timestamp)}, {count(len(note.content), 'character')}."
    return CommandResult(text=head, verbatim=note.content, data=note_data(note))


@remembers
def set_(shell: Shell, argument: str) -> CommandResult:
    """Put a text aside under a key; a note of that key is replaced."""
    given = read_text(argument, heads=1)
    if not given.heads or not given.has_text:
        return refuse("A note needs a key and a text: write /note set KEY TEXT, quotes around a key with blanks in it")
    return _stored(shell, given.heads[0], given.text)


@remembers
def edit(shell: Shell, argument: str) -> CommandResult:
    """Change a note in the editor; one that is not there yet begins empty."""
    key = _key(argument)
    if not key:
        return refuse("Which note? Write /note edit KEY; /note list shows the keys")
    note = shell.memory.retrieve_note(key)

    def take(text: str) -> CommandResult:
        try:
            return _stored(shell, key, text)
        except (ClioError, OSError) as error:
            again = EditText(text=text, then=take, suffix=".md")
            return CommandResult(ok=False, text=cause(error), verbatim=text, follow_up=again)

    return CommandResult(follow_up=EditText(text=note.content if note else "", then=take, suffix=".md"))


@remembers
@names_repository
def search(shell: Shell, argument: str) -> CommandResult:
    """The notes that share a word with the query, the best first."""
    query = read_text(argument).text.strip()
    if not query:
        return refuse("Search for what? Write /note search WORDS")
    notes = {note.key: note for note in shell.memory.list_notes()}
    hits = [hit for hit in shell.memory.search(query, 10_000) if hit.kind == "note" and hit.key in notes][:_FOUND]
    data = [note_data(notes[hit.key]) | {"score": hit.score} for hit in hits]
    if not hits:
        text = f"No note shares a word with {code(query)}; `/memory search` looks at the project knowledge too."
        return CommandResult(text=text, data=data)
    now = time.time()
    rows = tuple((short_key(hit.key), around(hit.text, query), short_age(now, hit.timestamp)) for hit in hits)
    return CommandResult(table=Table(columns=("key", "text", "age"), rows=rows, wide=1), data=data)


@remembers
def delete(shell: Shell, argument: str) -> CommandResult:
    """Take a note out."""
    note = _found(shell, argument, "delete")
    shell.memory.delete_note(note.key)
    return CommandResult(
        text=f"Deleted the note {code(note.key)}. `/memory undo` brings it back.", data={"deleted": note_data(note)}
    )


def _key(argument: str) -> str:
    """The whole argument is the key, blanks and all; quotes around it are not part of it."""
    given = read_text(argument, heads=1)
    return " ".join(part for part in (*given.heads, given.text) if part)


def _found(shell: Shell, argument: str, verb: str) -> Note:
    key = _key(argument)
    if not key:
        raise UserError(f"Which note? Write /note {verb} KEY; /note list shows the keys")
    note = shell.memory.retrieve_note(key)
    if note is None:
        known = [other.key for other in shell.memory.list_notes()]
        hint = nearest(key, known) if len(known) <= 20 else _nearest_of_many(key, known)
        raise UserError(f"There is no note {key!r}; {hint}" if known else f"There is no note {key!r}, nor any other")
    return note


def _nearest_of_many(key: str, known: list[str]) -> str:
    hint = nearest(key, known)
    return hint if hint.startswith("did you mean") else "/note list shows the keys"


def _stored(shell: Shell, key: str, text: str) -> CommandResult:
    try:
        new = shell.memory.store_note(key, text)
    except ValueError as error:
        raise UserError(str(error)) from error
    note = shell.memory.retrieve_note(key)
    stored = note.content if note else text
    undo = "" if new else " `/memory undo` brings the former text back."
    return CommandResult(
        text=f"{'Noted' if new else 'Replaced'}: {code(key)}, {count(len(stored), 'character')}.{undo}",
        data={"new": new, "note": note_data(note or Note(key=key, content=text))},
    )


def _beginning(note: Note) -> str:
    return " ".join(note.content[:_SHOWN_CHARS].split()) or "(empty)"


NOTE = (
    Command(
        name="note",
        aliases=("notes",),
        summary="named texts put aside in this project",
        handler=show_list,
        subcommands=(
            Command(name="list", summary="all notes, newest first", handler=show_list),
            Command(name="show", argument="KEY", summary="read one", handler=show, suggest=suggest_notes),
            Command(
                name="set",
                argument="KEY TEXT",
                summary="put a text aside; one of that key is replaced",
                handler=set_,
                suggest=suggest_notes,
            ),
            Command(
                name="edit", argument="KEY", summary="change one in the editor", handler=edit, suggest=suggest_notes
            ),
            Command(name="search", argument="QUERY", summary="find notes by their words", handler=search),
            Command(name="delete", argument="KEY", summary="take one out", handler=delete, suggest=suggest_notes),
        ),
    ),
)
