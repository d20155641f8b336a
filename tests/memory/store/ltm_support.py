"""Project knowledge for tests: a store of one file, and drafts from a few words."""

import json
from pathlib import Path
from typing import Any

from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import AssertedBy, Kind, MemoryDraft, MemoryStats, Provenance, Saved

PERL = Path(__file__).parents[2] / "fixtures" / "perl"
NOW = 1_800_000_000.0
DAY = 86_400.0
FROM = Provenance(session="s1", message="m1", asserted_by="user")


def said_by(who: AssertedBy) -> Provenance:
    return Provenance(session="s1", message="m1", asserted_by=who)


def ltm(path: Path, now: float = NOW) -> LongTermMemory:
    """Return the store of that file with the change log next to it, at that time."""
    return LongTermMemory(path, project=path.parent.parent, clock=lambda: now)


def stats(path: Path, now: float = NOW) -> MemoryStats:
    """Return the statistics of the memory in `path`, as another process sees them."""
    folder = path.parent
    return MemoryStore(folder, folder.parent / "home", project=folder.parent, redact=str, clock=lambda: now).stats()


def add(memory: LongTermMemory, kind: Kind, text: str, said: Provenance = FROM, **fields: Any) -> Saved:
    return memory.add(MemoryDraft(kind=kind, content=text, **fields), said)


def write_json(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
