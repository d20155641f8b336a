"""What one question to everything costs: 5,000 sessions and 10,000 memories, by layer.

python -m bench.unified [--sessions 5000] [--memories 10000]. Sessions are made by `bench.recall_data`; memories,
entries of the project knowledge, notes and preferences from the same words. Garbage collection is set as in clio.
"""

import argparse
import gc
import statistics
import tempfile
import time
from pathlib import Path

from bench.recall import varied_queries
from bench.recall_data import NEWEST, Words, make_sessions
from clio.cli import GC_THRESHOLDS
from clio.ids import new_id
from clio.memory.retrieval.retriever import RecallAnswer
from clio.memory.retrieval.scoring import LAYERS, Fusion
from clio.memory.store.record import MemoryDraft, MemoryRecord, Provenance
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore

ENTRIES, NOTES, PREFERENCES = 200, 50, 200
QUERIES = 200
ME = Provenance(asserted_by="user")


def fill(memory: MemorySystem, words: Words, count: int) -> None:
    """Memories of 11 words, project knowledge of 14, notes of 80, preferences of 6."""
    rng = words.rng
    now = time.time()
    memory.store.project.put(
        "made",
        [
            MemoryRecord(
                id=new_id(),
                kind=rng.choice(("fact", "event", "note")),
                content=f"{words.prose(9)} {rng.choice(words.names)} {rng.randrange(9_999)}",
                created=now,
                updated=now,
                accessed=now,
            )
            for _ in range(count)
        ],
    )
    for _ in range(ENTRIES):
        memory.store.add(MemoryDraft(kind="discovery", content=f"{rng.choice(words.names)} {words.prose(13)}"), ME)
    for number in range(NOTES):
        memory.store.add(MemoryDraft(key=f"note-{number}", content=words.prose(80)))
    memory.store.user.put(
        "made",
        [
            MemoryRecord(
                id=new_id(), kind="preference", content=words.prose(6), score=8.0, created=now, updated=now, seen=now
            )
            for _ in range(PREFERENCES)
        ],
    )


def alone(memory: MemorySystem, queries: list[str]) -> None:
    """Print what the same queries cost where only earlier sessions are searched."""
    took: list[float] = []
    cpu = time.process_time()
    for query in queries:
        begin = time.perf_counter()
        memory.recall_sessions(query)
        took.append((time.perf_counter() - begin) * 1e3)
    cpu = (time.process_time() - cpu) * 1e3 / len(queries)
    print(f"sessions alone: median {statistics.median(took):.1f} ms, CPU {cpu:.1f} ms on average")


def report(memory: MemorySystem, queries: list[str], fusion: Fusion = "convex", at: float | None = None) -> None:
    """Print the spread of warm queries, and the medians by layer."""
    took: list[tuple[float, str]] = []
    cpu = time.process_time()
    answers: list[RecallAnswer] = []
    for query in queries:
        begin = time.perf_counter()
        answers.append(memory.retriever.search(query, fusion=fusion, at=at))
        took.append(((time.perf_counter() - begin) * 1e3, query))
    cpu = (time.process_time() - cpu) * 1e3 / len(queries)
    times = [one for one, _ in took]
    kinds = [statistics.median(times[kind::12]) for kind in range(12)]
    layers = {layer: statistics.median(answer.ms.get(layer, 0.0) for answer in answers) for layer in LAYERS}
    named = f"{fusion}{' as of a date' if at is not None else ''}"
    print(
        f"{named}: median {statistics.median(times):.1f} ms, p95 {statistics.quantiles(times, n=20)[-1]:.1f} ms, "
        f"CPU {cpu:.1f} ms on average"
    )
    print("  by layer: " + ", ".join(f"{layer} {ms:.1f}" for layer, ms in layers.items()))
    print("  by kind: " + " ".join(f"{one:.1f}" for one in kinds))
    print(f"  slowest {max(took)[0]:.1f} ms: {max(took)[1][:60]!r}")
    print(f"  hits on average {statistics.mean(len(answer.hits) for answer in answers):.1f}")


def main() -> None:
    """Make the data, then ask."""
    gc.set_threshold(*GC_THRESHOLDS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = asked.folder or Path(folder)
        is_there = (project / ".clio").exists()
        sessions = 0 if is_there else asked.sessions
        words = make_sessions(project / ".clio" / "sessions", sessions, size=28_000)
        store = SessionStore(project / ".clio" / "sessions")
        memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
        if not is_there:
            fill(memory, words, asked.memories)
        begin = time.perf_counter()
        for text in ("warm", "warm in:output"):
            while memory.recall_sessions(text).unsearched:
                pass
        print(f"index of {asked.sessions:,} sessions: {time.perf_counter() - begin:.1f} s")
        queries = varied_queries(words, QUERIES)
        for query in queries[:24]:
            memory.retriever.search(query)
        alone(memory, queries)
        report(memory, queries)
        report(memory, queries, "rrf")
        report(memory, queries[:60], at=NEWEST)
        memory.close()
        later = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
        begin = time.perf_counter()
        later.retriever.search(queries[0])
        print(f"first query of another process: {(time.perf_counter() - begin) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
