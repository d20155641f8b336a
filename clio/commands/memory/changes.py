"""/memory add, edit, undo: what changes the project knowledge."""

from collections.abc import Callable
from typing import Any

import msgspec

from clio.commands.command import Shell
from clio.commands.free_text import Text, as_number, read_text
from clio.commands.markdown_code import code
from clio.commands.memory.access import by_user, entry_data, remembers
from clio.commands.memory.draft import FORMS, changes_of, fields_of
from clio.commands.memory.form import read_form, with_problem, write_form
from clio.commands.memory.reword import memory_named, reword
from clio.commands.memory.words import kind_named
from clio.commands.result import CommandResult, EditText, refuse
from clio.errors import ClioError
from clio.memory.records import Added, Entry
from clio.storage.locks import cause

_OPTIONS = ("--confidence", "--example")


@remembers
def add(shell: Shell, argument: str) -> CommandResult:
    """Remember something because the person says so."""
    given = read_text(argument, heads=1, valued=_OPTIONS)
    if not given.heads:
        forms = ", ".join(f"{kind} {form}" for kind, form in FORMS.items())
        return refuse(f"What kind of knowledge? Write /memory add with one of: {forms}")
    kind = kind_named(given.heads[0])
    draft = Entry(kind=kind, **fields_of(kind, given.text, is_path=_is_path(shell)), **_options(given))
    added = shell.memory.add(draft, by_user(shell))
    state = shell.memory.freshness((added.entry,))[added.entry.id]
    data = {
        "entry": entry_data(added.entry, state),
        "new": added.new,
        "restored": added.restored,
        "beside": [entry_data(other) for other in added.beside],
    }
    return CommandResult(text=_added(added), data=data)


@remembers
def edit(shell: Shell, argument: str) -> CommandResult:
    """Change an entry or a memory: to the text and the options given, or in the editor where there are none."""
    given = read_text(argument, heads=1, valued=_OPTIONS)
    if not given.heads:
        return refuse("Which entry? Write /memory edit ID; /memory list shows the ids")
    if record := memory_named(shell, given.heads[0]):
        return reword(shell, record, given.text, options=bool(given.options))
    entry = shell.memory.find(given.heads[0])
    changes = _options(given)
    if given.text.strip():
        changes |= changes_of(entry.kind, given.text, is_path=_is_path(shell))
    if not changes:
        return CommandResult(follow_up=EditText(text=write_form(entry), then=_edited(shell, entry), suffix=".txt"))
    return _update(shell, entry, changes)


@remembers
def undo(shell: Shell, argument: str) -> CommandResult:
    """Take the last change back; asked again, the one before it."""
    if argument:
        return refuse("/memory undo takes nothing; it takes the last change back, asked again the one before it")
    said = shell.memory.undo()
    return CommandResult(text=said, data={"undone": said})


def _options(given: Text) -> dict[str, Any]:
    found: dict[str, Any] = {}
    raw = given.one("--confidence")
    if raw is not None:
        found["confidence"] = as_number(raw, "--confidence", low=0, high=1)
    if examples := given.options.get("--example"):
        found["examples"] = examples
    return found


def _is_path(shell: Shell) -> Callable[[str], bool]:
    def check(word: str) -> bool:
        try:
            return bool(word) and len(word.split()) == 1 and (shell.loaded.project / word).exists()
        except (OSError, ValueError):
            return False

    return check


def _edited(shell: Shell, entry: Entry) -> Callable[[str], CommandResult]:
    """What becomes of the text that comes back from the editor; one that is wrong is opened again."""

    def take(text: str) -> CommandResult:
        try:
            changes = read_form(text, entry)
            return _update(shell, entry, changes) if changes else CommandResult(text=f"{entry.id} is as it was.")
        except (ClioError, OSError) as error:
            again = EditText(text=with_problem(text, cause(error)), then=take, suffix=".txt")
            return CommandResult(
                ok=False, text=f"{entry.id} is not changed: {cause(error)}", verbatim=text, follow_up=again
            )

    return take


def _update(shell: Shell, entry: Entry, changes: dict[str, Any]) -> CommandResult:
    new = shell.memory.update(entry.id, **changes, provenance=by_user(shell))
    state = shell.memory.freshness((new,))[new.id]
    return CommandResult(
        text=f"{new.id} is now {code(new.line)}, {new.confidence:.0%} sure. `/memory undo` takes that back.",
        data={"entry": entry_data(new, state), "before": entry_data(entry)},
    )


def _added(added: Added) -> str:
    entry = added.entry
    held = _held(entry)
    if not added.new:
        times = f", said {entry.times} times" if entry.times > 1 else ""
        return f"Confirmed {entry.id}, {entry.confidence:.0%} sure{times}: {held}"
    came = "Back from the archive as" if added.restored else "Remembered as"
    text = f"{came} {entry.id}: {held}"
    if added.beside:
        others = ", ".join(f"{other.id} {code(other.solution)}" for other in added.beside[:3])
        text += f" Kept beside {'another solution' if len(added.beside) == 1 else 'other solutions'}: {others}."
    return text


def _held(entry: Entry) -> str:
    """The entry as it was understood, so that a slip is seen at once."""
    bare = msgspec.structs.replace(entry, context="")
    where = "" if entry.kind != "rule" else f", for {code(entry.context)}" if _is_bound(entry) else ", everywhere"
    return f"{code(bare.line)}{where}."


def _is_bound(entry: Entry) -> bool:
    return entry.context not in ("", "*")
