"""What was remembered at an earlier time."""

from collections.abc import Iterator

from clio.memory.long_term import LongTermMemory
from clio.memory.memories import Memories
from clio.memory.records import Entry
from clio.memory.typed.record import MemoryRecord


def memories_then(memories: Memories, at: float) -> list[MemoryRecord]:
    """The memories of both scopes that were live at that time."""
    return [
        record
        for store in (memories.project, memories.user)
        for record in _live_then(store.records(superseded=True), at)
    ]


def knowledge_then(ltm: LongTermMemory, at: float) -> tuple[Entry, ...]:
    """The entries of the project knowledge that were there at that time."""
    return tuple(entry for entry in ltm.read().entries if (entry.created or entry.confirmed) <= at)


def _live_then(records: list[MemoryRecord], at: float) -> Iterator[MemoryRecord]:
    made = {record.id: record.created for record in records}
    for record in records:
        ended = record.superseded_by is not None and made.get(record.superseded_by, 0.0) <= at
        if record.created <= at and not ended:
            yield record
