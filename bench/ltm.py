"""Measure project memory at three sizes: adding, reading, the block in the prompt, freshness of examples.

    python bench/ltm.py

The data is generated in a temporary folder; the examples are files of 4 KB.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clio.memory.retrieval.prompt_prefix import find_matching_rules, list_block_memories, make_knowledge_block
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryDraft, MemoryRecord, Provenance

SIZES = (100, 1_000, 5_000)
FILES = 300
ADDS = 100
PROVENANCE = Provenance(session="01890000-0000-7000-8000-000000000000", message="m1", asserted_by="model")
_WORDS = (
    "parser token window session atomic lock journal prompt cache redact config yaml retry stream diff index".split()
)


def make_entry(rng: random.Random, number: int) -> MemoryDraft:
    """Return an entry: half are facts, a quarter solutions, the rest patterns and rules."""
    text = f"{' '.join(rng.choices(_WORDS, k=12))} in case {number}"
    examples = tuple(f"src/module_{rng.randrange(FILES)}.py" for _ in range(rng.randrange(3)))
    match number % 8:
        case 0 | 1:
            return MemoryDraft(kind="solution", content=text, solution=f"set {number}", examples=examples)
        case 2:
            return MemoryDraft(kind="pattern", content=text, examples=examples)
        case 3:
            return MemoryDraft(kind="rule", content=text, context=f"src/module_{rng.randrange(FILES)}.py")
        case _:
            return MemoryDraft(kind="discovery", content=text, examples=examples, confidence=rng.random())


def make_memory(folder: Path, count: int, rng: random.Random) -> LongTermMemory:
    """Make a project memory of `count` entries, imported 200 at a time."""
    (folder / "src").mkdir(parents=True)
    for number in range(FILES):
        (folder / "src" / f"module_{number}.py").write_text(f"value_{number} = 0\n" * 250, encoding="utf-8")
    memory = LongTermMemory(folder / ".clio" / "ltm.json", project=folder)
    source = LongTermMemory(folder / "made" / "ltm.json", project=folder)
    for number in range(min(count, 200)):
        source.add(make_entry(rng, number), PROVENANCE)
    memory.import_(source.export(), PROVENANCE)
    for start in range(200, count, 200):
        source = LongTermMemory(folder / f"made{start}" / "ltm.json", project=folder)
        for number in range(start, min(start + 200, count)):
            source.add(make_entry(rng, number), PROVENANCE)
        memory.import_(source.export(), PROVENANCE)
    return memory


def measure_call(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the median wall-clock time and the mean CPU time of a call in milliseconds."""
    walls: list[float] = []
    cpu = time.process_time()
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        walls.append(time.perf_counter() - start)
    return statistics.median(walls) * 1e3, (time.process_time() - cpu) / rounds * 1e3


def print_call(name: str, work: Callable[[], object], rounds: int) -> None:
    """Print the times of a call."""
    wall, cpu = measure_call(work, rounds)
    print(f"  {name:34} {wall:7.2f} ms, {cpu:7.2f} ms CPU")


def measure(count: int) -> None:
    """Print the times with `count` entries."""
    rng = random.Random(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory = make_memory(folder, count, rng)
        size = (folder / ".clio" / "ltm.json").stat().st_size
        print(f"{len(memory.read().entries):,} entries, {size / 1e3:,.0f} KB")
        numbers = iter(range(1_000_000, 2_000_000))
        print_call("add a new one", lambda: memory.add(make_entry(rng, next(numbers)), PROVENANCE), ADDS)
        fact = memory.read().of("discovery")[0]
        print_call(
            "confirm one", lambda: memory.add(MemoryDraft(kind="discovery", content=fact.content), PROVENANCE), ADDS
        )
        print_call("read", memory.read, 20)
        knowledge = memory.read()
        rules = find_matching_rules(knowledge.of("rule"), folder, folder)
        prompt_memories = list_block_memories(knowledge, rules)
        print_call("matching rules", lambda: find_matching_rules(knowledge.of("rule"), folder, folder), 5)
        print_call("the block of the prompt", lambda: make_knowledge_block(knowledge, {}, "ltm.json", rules=rules), 20)

        def read_freshness(entries: tuple[MemoryRecord, ...]) -> Callable[[], object]:
            return lambda: LongTermMemory(folder / ".clio" / "ltm.json", project=folder).freshness(entries)

        print_call(f"freshness of {len(prompt_memories)} in the prompt", read_freshness(prompt_memories), 5)
        print_call("freshness of all", read_freshness(knowledge.entries), 5)
        print_call("freshness of all, cached", lambda: memory.freshness(knowledge.entries), 5)
        store = MemoryStore(folder / ".clio", folder / "home", project=folder, redact=str)
        print_call("stats", store.stats, 5)


def main() -> None:
    """Print all figures."""
    for count in SIZES:
        measure(count)


if __name__ == "__main__":
    main()
