"""What typed memories cost: remembering, recalling, opening, writing at once, and what a new one is compared with.

python -m bench.memories [--sizes 1000,10000,50000]. Each time for remembering is printed next to the time of a bare
append and fsync of the same bytes on the same disk. Garbage collection is set as in clio itself.

python -m bench.memories --turns [--count 200] measures instead what memory adds to one turn: all its fragments, for
messages of a user, with 200 project memories, 50 notes and 200 preferences (`bench.unified`).
"""

import argparse
import gc
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.recall_data import Words
from bench.unified import fill
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
    """Measure each size in a folder of its own."""
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
    """One row: a store of that many memories."""
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
    took_write = timed(lambda: store.put("", records))
    opened: list[float] = []
    for _ in range(5):
        opened.append(timed(lambda: TypedStore(path).count()))
    store.remember(text(), "fact")  # makes the index of what is alike, once
    new = [text() for _ in range(RUNS)]
    remembered = [timed(lambda words=words: store.remember(words, "fact")) for words in new]
    floor = fsync_floor(folder)
    store.peek(text())
    queries = [" ".join((*text().split()[:4], rng.choice(COMMON))) for _ in range(RUNS)]
    recalled = [timed(lambda query=query: recall(store, query)) for query in queries]
    profile = Preferences(TypedStore(folder / "prefs.json"), TaskTypes())
    liked = [
        MemoryRecord(id=new_id(), kind="preference", content=text(), score=rng.uniform(0, 10)) for _ in range(size)
    ]
    profile_store = TypedStore(folder / "prefs.json")
    profile_store.put("made", liked)
    profile.top(10)
    topped = [timed(lambda: profile.top(10)) for _ in range(20)]
    return (
        f"{store.count():>9,} {took_write:>9.2f} {1e3 * statistics.median(opened):>8.1f} "
        f"{1e3 * statistics.median(remembered):>12.2f} {1e3 * p95(remembered):>6.2f} {1e3 * floor:>12.2f} "
        f"{1e3 * statistics.median(recalled):>10.2f} {1e3 * p95(recalled):>6.2f} "
        f"{1e3 * statistics.median(topped):>7.2f} {candidates(records, text):>11.1f} "
        f"{sum(file.stat().st_size for file in folder.glob('memories*')) / 1e6:>5.1f}"
    )


def measure_turns(size: int, count: int) -> None:
    """Print the CPU time that memory adds to a turn, with that many facts, events and notes."""
    with tempfile.TemporaryDirectory() as folder:
        project, words = Path(folder), Words(4)
        store = SessionStore(project / ".clio" / "sessions")
        now = time.time()
        memory = MemorySystem(
            project, store, incognito=False, ltm=True, home=project / "home", clock=lambda: now, rng=random.Random(1)
        )
        fill(memory, words, size)
        session = store.new(project, persist=False)
        took: list[float] = []
        for place, text in enumerate(make_messages(words, memory, count + 10)):
            if place % 20 == 0:  # a new conversation: nothing was given to its model yet
                memory.begin(window_tokens=128_000, session=session)
                memory.prefix_fragments()
            start = time.process_time()
            memory.turn_fragments(text)
            took.append((time.process_time() - start) * 1e3)
        memory.close()
    took = took[10:]  # the first turns make the indexes
    print(
        f"{size:>9,} memories: memory of a turn, CPU: median {statistics.median(took):.1f} ms, "
        f"mean {statistics.mean(took):.1f} ms, p95 {p95(took):.1f} ms, {len(took):,} turns"
    )


def make_messages(words: Words, memory: MemorySystem, count: int) -> list[str]:
    """Messages of a user: requests, questions with words of a memory, short answers, and long descriptions."""
    rng = random.Random(5)
    contents = [record.content.split() for record in memory.store.project.each("fact")]
    made: list[Callable[[], str]] = [
        lambda: f"please change {rng.choice(words.names)} so that {words.prose(12)}",
        lambda: " ".join(("what is", *rng.sample(rng.choice(contents), 4))),
        lambda: words.prose(30),
        lambda: f"why does {rng.choice(words.names)} {words.prose(8)}?",
        lambda: "yes, do that",
        lambda: f"{words.prose(90)} {' '.join(rng.choice(contents)[-5:])}",
        lambda: " ".join(rng.choice(contents)),
        lambda: f"error in {rng.choice(words.files)}: {words.prose(5)}",
    ]
    return [made[number % len(made)]() for number in range(count)]


def candidates(records: list[MemoryRecord], text: Callable[[], str]) -> float:
    """How many memories a new one is compared with, on average: what hashing leaves of all of them."""
    index = MemoryIndex()
    for record in records:
        index.put(record)
    return statistics.mean(len(index.alike("fact", text())) for _ in range(RUNS))


def fsync_floor(folder: Path) -> float:
    """The median of appending 400 bytes and one fsync."""
    fd = os.open(folder / "floor", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    times: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        os.write(fd, b"x" * 400)
        os.fsync(fd)
        times.append(time.perf_counter() - start)
    os.close(fd)
    return statistics.median(times)


def timed(act: Callable[[], object]) -> float:
    """Seconds it takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def p95(times: list[float]) -> float:
    """The time 95 of 100 stay below."""
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    main()
