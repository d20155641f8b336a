"""Notes that were seen in several sessions become project knowledge: what is looked up again and again is known."""

import hashlib
from collections.abc import Callable

from msgspec import structs

from clio.errors import UserError
from clio.memory.sleep.ground import Ground
from clio.memory.sleep.state import LEAST_SESSIONS, SleepState
from clio.memory.store.record import Entry, Note, Provenance
from clio.memory.store.redact_memory import cleaned_entry

MAX_CHARS = 600
"""A longer note is a document: it stays where it is, and is found there."""
PROGRESS_KEY = "session_progress"
_CONFIDENCE = 0.7


def promote(ground: Ground, state: SleepState, over: Callable[[], bool]) -> tuple[SleepState, list[str]]:
    """Add the notes that were seen in three sessions to the discoveries, each once as long as its words are the same.

    Returns the state with their digests, and a line for each. Raises StorageError, OSError, TimeoutError.
    """
    lines: list[str] = []
    there = {note.key: note for note in ground.notes.newest_first()}
    for key in sorted(state.notes):
        note = there.get(key)
        if over():
            break
        if note is None or len(state.notes[key]) < LEAST_SESSIONS or not _is_worth_it(note):
            continue
        name = hashlib.sha256(note.content.encode("utf-8", "replace")).hexdigest()[:16]
        if state.promoted.get(key) == name:
            continue
        draft = Entry(kind="discovery", text=f"{key}: {' '.join(note.content.split())}", confidence=_CONFIDENCE)
        said = Provenance(session=state.notes[key][-1], asserted_by="model")
        try:
            added = ground.knowledge.add(cleaned_entry(draft, ground.redact), said)
        except UserError:
            continue  # words no entry can hold; the note itself stays
        state = structs.replace(state, promoted=state.promoted | {key: name})
        if added.new:
            lines.append(f"note {key!r}, seen in {LEAST_SESSIONS} sessions, is the discovery {added.entry.id}")
    return state, lines


def _is_worth_it(note: Note) -> bool:
    return note.key != PROGRESS_KEY and 0 < len(note.content.strip()) <= MAX_CHARS
