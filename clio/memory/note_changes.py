"""Changes of notes as they can be taken back."""

from clio.errors import UserError
from clio.memory.notes import Notes
from clio.memory.records import Note
from clio.memory.undo import Change, new_change
from clio.text.json_data import decode_json


def note_change(key: str, before: Note | None, content: str | None, *, at: float) -> Change:
    """The change of a note to this content; None: it was deleted."""
    doing = "deleted" if content is None else "stored" if before is None else "replaced"
    return new_change(
        "note", f"{doing} the note {key!r}", at=at, key=key, before=before.content if before else None, after=content
    )


def revert_note(notes: Notes, change: Change) -> None:
    """Put a note back as it was. Raises UserError where somebody wrote it since."""
    was, became = (decode_json(raw, type=str) if raw else None for raw in (change.before, change.after))
    now = notes.retrieve(change.key)
    if (now.content if now else None) != became:
        raise UserError(f"“{change.what}” is not undone: the note was written since; store it by hand.")
    if was is None:
        notes.delete(change.key)
    else:
        notes.store(change.key, was)
