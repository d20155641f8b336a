"""Read a typed store as `MemoryStore.recall` does."""

from msgspec import structs

from clio.memory.store.memory_index import Ranked
from clio.memory.store.typed_store import DEFAULT_LIMIT, TypedStore


def recall(store: TypedStore, query: str = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
    """Return the matching records as they are after counting this use."""
    found = store.peek(query, limit, type)
    if not found:
        return ()
    store.use([hit.record.id for hit in found])
    return tuple(structs.replace(hit, record=store.find(hit.record.id)) for hit in found)
