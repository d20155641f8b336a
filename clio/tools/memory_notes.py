"""What memory_operations answers about notes, and the search that looks through notes and knowledge together."""

from clio.errors import ToolRetry
from clio.memory.records import Hit
from clio.memory.system import MemorySystem
from clio.tools.base import ToolOutput
from clio.tools.memory_call import MemoryCall
from clio.tools.memory_knowledge import labels
from clio.tools.memory_text import day, many, nearest, short

_LISTED = 100
_LISTED_CHARS = 80
_FOUND_CHARS, _ALL_FOUND_CHARS = 600, 12_000


def store(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """Put a note aside. Raises ToolRetry for a key that cannot be one."""
    try:
        new = memory.store_note(call.key, call.content)
    except ValueError as error:
        raise ToolRetry(str(error)) from error
    return ToolOutput(text="Stored.", summary="stored") if new else _replaced()


def retrieve(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """The words of a note, and nothing else."""
    note = memory.retrieve_note(call.key)
    if note is None:
        return _no_note(memory, call.key)
    return ToolOutput(text=note.content or f"(the note {call.key!r} is empty)", summary="found")


def delete(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """Delete a note."""
    return (
        ToolOutput(text="Deleted.", summary="deleted") if memory.delete_note(call.key) else _no_note(memory, call.key)
    )


def listed(memory: MemorySystem) -> ToolOutput:
    """The newest hundred notes, one line each."""
    notes = memory.list_notes()
    lines = [
        f"- {_key(note.key)} ({day(note.timestamp)}): {short(note.content, _LISTED_CHARS)}" for note in notes[:_LISTED]
    ]
    if len(notes) > _LISTED:
        lines.append(f"… and {len(notes) - _LISTED:,} older ones; search finds them")
    return ToolOutput(text="\n".join(lines) or "No notes are stored.", summary=many(len(notes), "note"))


def search(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """Notes and knowledge that fit the query, the best first, with their keys and ids."""
    hits = memory.search(call.query, call.max_results)
    if not hits:
        text = "Nothing stored shares a word with that; recall_sessions looks through what was said."
        return ToolOutput(text=text, summary="nothing found")
    ids = {hit.id for hit in hits if hit.id}
    said = labels(memory, ids) if ids else {}
    room = min(_FOUND_CHARS, _ALL_FOUND_CHARS // len(hits))
    lines = [_found(hit, said.get(hit.id, ""), room) for hit in hits]
    return ToolOutput(text="\n".join(lines), summary=f"{len(hits)} found")


def _found(hit: Hit, label: str, room: int) -> str:
    name = " ".join(f"{hit.kind} {hit.id or _key(hit.key)}".split())
    return f"- {name}: {short(hit.text, room)}" + (f" [{label}]" if label else "")


def _key(key: str) -> str:
    """A key as it can be read on one line."""
    return key if key.isprintable() else repr(key)


def _replaced() -> ToolOutput:
    return ToolOutput(text="Stored, replacing the old one.", summary="stored, replacing the old one")


def _no_note(memory: MemorySystem, key: str) -> ToolOutput:
    keys = [note.key for note in memory.list_notes()]
    near = nearest(key, keys)
    if near:
        there = f"the nearest are: {', '.join(near)}"
    else:
        there = f"the newest are: {', '.join(keys[:20])}" if keys else "none is stored"
    return ToolOutput(text=f"There is no note {key!r}; {there}.", summary="not found", ok=False)
