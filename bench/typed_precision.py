"""Whether exactly the memories a question is about come back: by `memory recall`, `clio recall` and before a turn.

    python -m bench.typed_precision [--misses]

`bench/data/typed_cases.json` has homes, development and test halves, with memories of both scopes, with and without
other names, some of them superseded. A case is exact where every memory it names came, and no other one.
--misses: the cases of the development halves that were not exact.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.memory.retrieval.scoring import rank
from clio.memory.retrieval.turn_memory import MAX_RECALLED, find_memories
from clio.memory.store.record import MemoryRecord
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore

DATA = Path(__file__).parent / "data" / "typed_cases.json"
NOW = 1_700_000_000.0


class Remembered(Struct):
    """One memory of a home."""

    id: str
    scope: Literal["project", "user"]
    text: str
    keywords: tuple[str, ...] = ()
    superseded: bool = False


class Home(Struct):
    """Memories, and questions with the ids that answer them."""

    memories: list[Remembered]
    cases: list[tuple[str, list[str]]]


def fill(folder: Path, home: Home) -> MemorySystem:
    """A system that remembers exactly this."""
    store = SessionStore(folder / ".clio" / "sessions")
    memory = MemorySystem(folder, store, incognito=False, ltm=True, home=folder / "home", clock=lambda: NOW)
    for scope in ("project", "user"):
        records = [
            MemoryRecord(
                id=one.id,
                kind="fact",
                content=one.text,
                importance=0.7,
                keywords=one.keywords,
                created=NOW,
                updated=NOW,
                accessed=NOW,
                seen=NOW,
                superseded_by=one.id.removesuffix("-old") if one.superseded else None,
            )
            for one in home.memories
            if one.scope == scope
        ]
        (memory.store.user if scope == "user" else memory.store.project).put("filled", records)
    return memory


def ways(memory: MemorySystem) -> dict[str, Callable[[str], set[str]]]:
    """How memories come back, each as a function from a question to ids."""

    def turn(question: str) -> set[str]:
        found, _ = rank(question, find_memories(memory.store, question, NOW), now=NOW, limit=MAX_RECALLED)
        return {one.candidate.id for one in found}

    return {
        "memory recall": lambda text: {hit.record.id for hit in memory.retriever.memories(text, use=False)},
        "clio recall": lambda text: {hit.id for hit in memory.retriever.search(text, use=False).hits},
        "a turn": turn,
    }


def main() -> None:
    """Print how many cases are exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    misses = parser.parse_args().misses
    homes = msgspec.json.decode(DATA.read_bytes(), type=dict[str, Home])
    for half, home in homes.items():
        with tempfile.TemporaryDirectory() as folder:
            for name, way in ways(fill(Path(folder), home)).items():
                found = [(question, set(wanted), way(question)) for question, wanted in home.cases]
                exact = sum(got == wanted for _, wanted, got in found)
                print(f"{half:<17} {name:<14} {exact} of {len(found)} exact")
                for question, wanted, got in found:
                    if misses and half.endswith("development") and got != wanted:
                        print(f"    {question!r}: missed {sorted(wanted - got)}, wrong {sorted(got - wanted)}")


if __name__ == "__main__":
    main()
