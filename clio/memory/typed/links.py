"""What became of a memory: the chain of those that took each other's place."""

from collections.abc import Mapping

from clio.memory.typed.record import MemoryRecord


def lineage(id: str, records: Mapping[str, MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """The memory, what it took the place of and what took its place, variants too, newest first; empty if unknown."""
    if id not in records:
        return ()
    neighbours: dict[str, set[str]] = {}
    for record in records.values():
        for other in (record.superseded_by, record.variants_of):
            if other is not None and other in records:
                neighbours.setdefault(record.id, set()).add(other)
                neighbours.setdefault(other, set()).add(record.id)
    chain, waiting = {id}, [id]
    while waiting:
        new = neighbours.get(waiting.pop(), set()) - chain
        chain |= new
        waiting += new
    return tuple(sorted((records[known] for known in chain), key=_age, reverse=True))


def _age(record: MemoryRecord) -> tuple[bool, float, str]:
    return record.is_live, record.created, record.id
