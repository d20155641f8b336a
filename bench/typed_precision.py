"""Measure whether `memory recall`, `clio recall` and automatic recall find exactly the memories that answer a question.

    python -m bench.typed_precision [--misses]

`bench/data/typed_cases.json` has sets of memories and questions, each with a development and a test half. The memories
are of both scopes, with and without keywords, and some are superseded. A case is exact if all expected memories are
found, and no others. --misses: print the cases of the development halves that are not exact.
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


class ExpectedMemory(Struct):
    """One memory of a set."""

    id: str
    scope: Literal["project", "user"]
    text: str
    keywords: tuple[str, ...] = ()
    superseded: bool = False


class Home(Struct):
    """Memories, and questions with the ids that answer them."""

    memories: list[ExpectedMemory]
    cases: list[tuple[str, list[str]]]


def make_memory(folder: Path, home: Home) -> MemorySystem:
    """Make a memory system with exactly these memories."""
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


def make_searches(memory: MemorySystem) -> dict[str, Callable[[str], set[str]]]:
    """Return functions by name that return the ids of the memories found for a question."""

    def recall_for_turn(question: str) -> set[str]:
        found, _ = rank(question, find_memories(memory.store, question, NOW), now=NOW, limit=MAX_RECALLED)
        return {one.candidate.id for one in found}

    return {
        "memory recall": lambda text: {hit.record.id for hit in memory.retriever.memories(text, use=False)},
        "clio recall": lambda text: {hit.id for hit in memory.retriever.search(text, use=False).hits},
        "automatic": recall_for_turn,
    }


def main() -> None:
    """Print how many cases are exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    misses = parser.parse_args().misses
    homes = msgspec.json.decode(DATA.read_bytes(), type=dict[str, Home])
    for half, home in homes.items():
        with tempfile.TemporaryDirectory() as folder:
            for name, search in make_searches(make_memory(Path(folder), home)).items():
                results = [(question, set(expected), search(question)) for question, expected in home.cases]
                exact = sum(found == expected for _, expected, found in results)
                print(f"{half:<17} {name:<14} {exact} of {len(results)} exact")
                for question, expected, found in results:
                    if misses and half.endswith("development") and found != expected:
                        print(f"    {question!r}: missed {sorted(expected - found)}, wrong {sorted(found - expected)}")


if __name__ == "__main__":
    main()
