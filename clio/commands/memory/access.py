"""What all commands about memory share: the refusal where it is off, who says what is added, and completion."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from clio.commands.command import Handler, Shell, Suggest, Suggestion, SuggestWord
from clio.commands.result import CommandResult, refuse
from clio.errors import ClioError
from clio.memory.records import KINDS, Entry, Freshness, Knowledge, Note, Provenance

_MAX_SUGGESTED, _NOTE_CHARS = 60, 200
_OFF = "Memory is off in an incognito clio: nothing is read from it and nothing stored; start clio without --incognito."


def remembers(handler: Handler) -> Handler:
    """The handler, which refuses in an incognito clio before it looks at anything."""

    @wraps(handler)
    def guarded(shell: Shell, argument: str) -> CommandResult:
        return refuse(_OFF) if shell.config.incognito else handler(shell, argument)

    return guarded


def names_repository(handler: Handler) -> Handler:
    """The handler of a command that shows the project's memory, with the label of memory that is not the user's.

    The label stands before the text, and in data that is an object as `came_with_repository`.
    """

    @wraps(handler)
    def labelled(shell: Shell, argument: str) -> CommandResult:
        result = handler(shell, argument)
        if not result.ok or not shell.loaded.has_foreign_memory:
            return result
        data = result.data
        if isinstance(data, dict):
            data = {**cast(dict[str, Any], data), "came_with_repository": True}
        return replace(result, text=f"{describe_foreign_memory(shell)} {result.text}".rstrip(), data=data)

    return labelled


def describe_foreign_memory(shell: Shell) -> str:
    """The sentence before memory that came with the project, or of which that cannot be told."""
    if shell.loaded.memory_doubt:
        return (
            "clio cannot tell whether it wrote this project's memory itself: until you trust it (`/trust`), "
            "it counts as the repository's statement, not yours."
        )
    return "The repository's statement, not yours until you trust it (`/trust`): this project's memory came with it."


def by_user(shell: Shell) -> Provenance:
    """The person at this clio said so, in the running session if it is one that is stored."""
    session = shell.session
    last = session.messages[-1].id if session.messages else ""
    return Provenance(session=session.id, message=last, asserted_by="user") if session.persistent else _AT_THE_DOOR


_AT_THE_DOOR = Provenance(asserted_by="user")


def entry_data(entry: Entry, freshness: Freshness = "unbound") -> dict[str, Any]:
    """An entry in JSON's own types: all its fields, its line, and how it stands to its examples."""
    return msgspec.to_builtins(entry) | {"line": entry.line, "freshness": freshness}


def note_data(note: Note) -> dict[str, Any]:
    """A note in JSON's own types."""
    return {"key": note.key, "content": note.content, "timestamp": note.timestamp}


def newest_first(knowledge: Knowledge) -> list[Entry]:
    """The entries kind by kind, and of each kind the last confirmed first."""
    places = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(knowledge.entries, key=lambda entry: (places[entry.kind], -entry.confirmed, entry.id))


def suggest_entry(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The ids of the entries, their words beside them, the last confirmed first; only for the first word."""
    return () if " " in argument else suggest_several(shell, argument)


def suggest_several(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """The same for the last of several words, without those that are named already."""
    *named, typed = argument.split(" ")
    return _quietly(shell, lambda shell: _entries(shell, typed.lower(), named))


def suggest_notes(shell: Shell) -> Iterable[Suggestion]:
    """The keys of the notes, newest first."""
    return _quietly(shell, _notes)


def suggest_options(*options: tuple[str, str]) -> SuggestWord:
    """Options with their notes, those that stand there already left out."""

    def suggest(shell: Shell, argument: str) -> Iterable[Suggestion]:
        before = argument.split(" ")[:-1]
        return (Suggestion(text=option, note=note) for option, note in options if option not in before)

    return suggest


def suggest_words(*words: tuple[str, str]) -> Suggest:
    """Fixed words, each with its note."""
    return lambda shell: (Suggestion(text=word, note=note) for word, note in words)


def _quietly(shell: Shell, find: Callable[[Shell], Iterable[Suggestion]]) -> Iterable[Suggestion]:
    """What there is to offer; a damaged file is told by the command, not while its name is typed."""
    if shell.config.incognito:
        return ()
    try:
        return list(find(shell))[:_MAX_SUGGESTED]
    except (ClioError, OSError):
        return ()


def _entries(shell: Shell, typed: str, named: Sequence[str]) -> Iterable[Suggestion]:
    fitting = [entry for entry in shell.memory.knowledge().entries if entry.id.lower().startswith(typed)]
    newest = sorted(fitting, key=lambda entry: -entry.confirmed)[: _MAX_SUGGESTED + len(named)]
    return (Suggestion(text=entry.id, note=entry.line[:_NOTE_CHARS]) for entry in newest if entry.id not in named)


def _notes(shell: Shell) -> Iterable[Suggestion]:
    return (
        Suggestion(text=note.key, note=" ".join(note.content[:_NOTE_CHARS].split()))
        for note in shell.memory.list_notes()
    )
