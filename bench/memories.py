"""Measure the store of memories: writing all, opening, remembering, recalling; or the cost of memory per turn.

    python -m bench.memories [--sizes 1000,10000,50000]
    python -m bench.memories --turns [--count 200]

The time of a bare append with fsync on the same disk is printed beside the time of remembering. With --turns: the CPU
time that memory adds to a turn, with 200 project memories, 50 notes and 200 preferences (`bench.unified`) besides.
Garbage collection is configured as in clio.
"""

import argparse
import gc
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.measurements import append_and_fsync_ms, percentile_95, time_ms
from bench.recall_data import Words
from bench.unified import fill_memory
from clio.cli import GC_THRESHOLDS
from clio.ids import new_id
from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.task_types import TaskTypes
from clio.memory.store.memory_index import MemoryIndex
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from tests.memory.store.typed_support import recall

RUNS = 200
COMMON = "the is on server port deploy uses runs database service test".split()


def main() -> None:
    """Measure each size."""
    gc.set_threshold(*GC_THRESHOLDS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--folder", default=None, help="where the files go; default: the current folder")
    parser.add_argument("--turns", action="store_true", help="measure what memory adds to a turn")
    parser.add_argument("--count", type=int, default=RUNS, help="number of turns")
    arguments = parser.parse_args()
    if arguments.turns:
        for size in map(int, arguments.sizes.split(",")):
            measure_turns(size, arguments.count)
        return
    print(f"{'memories':>9} {'write s':>9} {'open ms':>8} {'remember ms':>12} {'p95':>6} {'fsync floor':>12} "
          f"{'recall ms':>10} {'p95':>6} {'top ms':>7} {'candidates':>11} {'MB':>5}")  # fmt: skip
    for size in map(int, arguments.sizes.split(",")):
        folder = Path(tempfile.mkdtemp(dir=arguments.folder or "."))
        try:
            print(measure(folder, size))
        finally:
            shutil.rmtree(folder)


def measure(folder: Path, size: int) -> str:
    """Measure a store of `size` memories, and return its row."""
    rng = random.Random(size)
    vocabulary = [f"{rng.randrange(16**5):05x}w" for _ in range(max(size // 3, 500))]

    def text() -> str:
        return " ".join(rng.choice(vocabulary if rng.random() < 0.75 else COMMON) for _ in range(11))

    path = folder / "memories.json"
    store = TypedStore(path)
    now = time.time()
    records = [
        MemoryRecord(
            id=new_id(), kind=rng.choice(("fact", "event")), content=text(), created=now, updated=now, accessed=now
        )
        for _ in range(size)
    ]
    write_ms = time_ms(lambda: store.put("", records))
    open_ms: list[float] = []
    for _ in range(5):
        open_ms.append(time_ms(lambda: TypedStore(path).count()))
    store.remember(text(), "fact")  # the first call builds the index of similar memories
    new = [text() for _ in range(RUNS)]
    remember_ms = [time_ms(lambda words=words: store.remember(words, "fact")) for words in new]
    floor_ms = append_and_fsync_ms(folder, RUNS)
    store.peek(text())
    queries = [" ".join((*text().split()[:4], rng.choice(COMMON))) for _ in range(RUNS)]
    recall_ms = [time_ms(lambda query=query: recall(store, query)) for query in queries]
    profile = Preferences(TypedStore(folder / "prefs.json"), TaskTypes())
    preferences = [
        MemoryRecord(id=new_id(), kind="preference", content=text(), score=rng.uniform(0, 10)) for _ in range(size)
    ]
    profile_store = TypedStore(folder / "prefs.json")
    profile_store.put("made", preferences)
    profile.top(10)
    top_ms = [time_ms(lambda: profile.top(10)) for _ in range(20)]
    return (
        f"{store.count():>9,} {write_ms / 1e3:>9.2f} {statistics.median(open_ms):>8.1f} "
        f"{statistics.median(remember_ms):>12.2f} {percentile_95(remember_ms):>6.2f} {floor_ms:>12.2f} "
        f"{statistics.median(recall_ms):>10.2f} {percentile_95(recall_ms):>6.2f} "
        f"{statistics.median(top_ms):>7.2f} {mean_candidates(records, text):>11.1f} "
        f"{sum(file.stat().st_size for file in folder.glob('memories*')) / 1e6:>5.1f}"
    )


def measure_turns(size: int, count: int) -> None:
    """Print the CPU time that memory adds to a turn, with `size` facts, events and notes."""
    with tempfile.TemporaryDirectory() as folder:
        project, words = Path(folder), Words(4)
        store = SessionStore(project / ".clio" / "sessions")
        now = time.time()
        memory = MemorySystem(
            project, store, incognito=False, ltm=True, home=project / "home", clock=lambda: now, rng=random.Random(1)
        )
        fill_memory(memory, words, size)
        session = store.new(project, persist=False)
        times: list[float] = []
        for place, text in enumerate(make_messages(words, memory, count + 10)):
            if place % 20 == 0:  # a new conversation, whose model has not been given any memory yet
                memory.begin(window_tokens=128_000, session=session)
                memory.prefix_fragments()
            start = time.process_time()
            memory.turn_fragments(text)
            times.append((time.process_time() - start) * 1e3)
        memory.close()
    times = times[10:]  # the first turns build the indexes
    print(
        f"{size:>9,} memories: memory of a turn, CPU: median {statistics.median(times):.1f} ms, "
        f"mean {statistics.mean(times):.1f} ms, p95 {percentile_95(times):.1f} ms, {len(times):,} turns"
    )


def make_messages(words: Words, memory: MemorySystem, count: int) -> list[str]:
    """Return messages of 8 kinds: requests, questions with words of a memory, short answers, long descriptions."""
    rng = random.Random(5)
    contents = [record.content.split() for record in memory.store.project.index.of_kind("fact")]
    makers: list[Callable[[], str]] = [
        lambda: f"please change {rng.choice(words.names)} so that {words.prose(12)}",
        lambda: " ".join(("what is", *rng.sample(rng.choice(contents), 4))),
        lambda: words.prose(30),
        lambda: f"why does {rng.choice(words.names)} {words.prose(8)}?",
        lambda: "yes, do that",
        lambda: f"{words.prose(90)} {' '.join(rng.choice(contents)[-5:])}",
        lambda: " ".join(rng.choice(contents)),
        lambda: f"error in {rng.choice(words.files)}: {words.prose(5)}",
    ]
    return [makers[number % len(makers)]() for number in range(count)]


def mean_candidates(records: list[MemoryRecord], text: Callable[[], str]) -> float:
    """Return the mean number of memories that a new one is compared with after MinHash has selected candidates."""
    index = MemoryIndex()
    for record in records:
        index.put(record)
    return statistics.mean(len(index.list_similar("fact", text())) for _ in range(RUNS))


if __name__ == "__main__":
    main()
