"""What was remembered at an earlier time, in the words it had then. What was undone counts as never said or done."""

from clio.memory.long_term import LongTermMemory
from clio.memory.ltm.versions import known_at
from clio.memory.memories import Memories
from clio.memory.records import Entry
from clio.memory.typed.record import MemoryRecord
from clio.memory.typed.versions import live_at


def memories_at(memories: Memories, at: float) -> list[MemoryRecord]:
    """The typed memories of both scopes that held at a time, variants among them, by when they were made.

    at: seconds since the epoch. Raises what `Memories` raises, and OSError.
    """
    return live_at(memories.versions(), at)


def knowledge_at(ltm: LongTermMemory, at: float) -> tuple[Entry, ...]:
    """The entries of the project knowledge that held at a time, by when they were first said.

    at: seconds since the epoch. Raises what `LongTermMemory` raises, and OSError.
    """
    return known_at(ltm.versions(), at)
