"""/memory edit for memories: other words, as the person's own; the words before stay in its history."""

from clio.commands.command import Shell
from clio.commands.markdown_code import code
from clio.commands.memory.access import by_user
from clio.commands.memory.verbs import OWNERS, record_data
from clio.commands.memory.words import short_id
from clio.commands.result import CommandResult, EditText, refuse
from clio.errors import ClioError, UserError
from clio.memory.typed.record import MemoryRecord, short
from clio.storage.locks import cause


def memory_named(shell: Shell, word: str) -> MemoryRecord | None:
    """The memory of that id, where it is none of an entry's."""
    if word[1:2] == "-":
        return None
    try:
        return shell.memory.memories.find(word)
    except UserError:
        return None


def reword(shell: Shell, record: MemoryRecord, text: str, *, options: bool) -> CommandResult:
    """Say it in other words: those given, or those that come from the editor.

    options: some were given, which an entry of the project knowledge has and a memory has not.
    """
    if record.type == "preference":
        return refuse(f"{short_id(record)} is a preference; write /prefs update {short_id(record)} --item TEXT")
    if options:
        return refuse("A memory has neither confidence nor examples to set; write /memory edit ID TEXT")
    if not text.strip():
        return CommandResult(follow_up=EditText(text=record.content, then=lambda new: _from_editor(shell, record, new)))
    memories = shell.memory.memories
    scope = memories.scope_of(record.id)
    store = memories.project if scope == "project" else memories.user
    new = store.update(record.id, content=shell.memory.redacted(text), provenance=by_user(shell))
    return CommandResult(
        text=f"{short_id(new)} is now {code(short(new))}, {OWNERS[scope]}. `/memory undo` takes that back.",
        data={"memory": record_data(new, scope), "before": record_data(record, scope)},
    )


def _from_editor(shell: Shell, record: MemoryRecord, text: str) -> CommandResult:
    if text.strip() == record.content:
        return CommandResult(text=f"{short_id(record)} is as it was.")
    if not text.strip():
        return CommandResult(ok=False, text=f"{short_id(record)} is as it was: a memory needs words.")
    try:
        return reword(shell, record, text, options=False)
    except (ClioError, OSError) as error:
        return CommandResult(ok=False, text=f"{short_id(record)} is not changed: {cause(error)}", verbatim=text)
