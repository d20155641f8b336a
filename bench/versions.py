"""What it costs to keep what was said before: a change of words by the size of the store, and looking back.

python bench/versions.py [--sizes 1000,10000] [--folder DIR]. A confirmation writes one line and a change two, each with
its fsync; both are printed next to a bare append and fsync on the same disk.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clio.ids import new_id
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.memory.store.versions import list_changes, records_at

RUNS = 200


def main() -> None:
    """One row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--folder", default=None, help="where the files go; default: the current folder")
    arguments = parser.parse_args()
    print(f"{'memories':>9} {'confirm ms':>11} {'change ms':>10} {'fsync floor':>12} {'versions':>9} {'read ms':>8} "
          f"{'as of ms':>9} {'changes ms':>11}")  # fmt: skip
    for size in map(int, arguments.sizes.split(",")):
        folder = Path(tempfile.mkdtemp(dir=arguments.folder or "."))
        try:
            print(measure(folder, size))
        finally:
            shutil.rmtree(folder)


def measure(folder: Path, size: int) -> str:
    """A store of that many memories, each of which was changed once."""
    store = TypedStore(folder / "memories.json")
    now = time.time()
    records = store.put(
        "",
        [
            MemoryRecord(id=new_id(), kind="fact", content=words(number), created=now, updated=now, accessed=now)
            for number in range(size)
        ],
    )
    store.put("", [MemoryRecord(id=one.id, kind="fact", content=f"{one.content} changed") for one in records])
    some = records[:: max(size // RUNS, 1)][:RUNS]
    confirm = middle(lambda number: store.update(some[number % len(some)].id, keywords=[str(number)]))
    change = middle(lambda number: store.update(some[number % len(some)].id, content=f"{words(number)} anew"))
    began = time.perf_counter()
    versions = store.versions()
    read = time.perf_counter() - began
    now = time.time()
    as_of = middle(lambda number: records_at(versions, now - number), 10)
    told = middle(lambda number: list_changes(versions), 10)
    return (f"{size:>9,} {confirm:>11.2f} {change:>10.2f} {floor(folder):>12.2f} {len(versions):>9,} "
            f"{read * 1000:>8.1f} {as_of:>9.1f} {told:>11.1f}")  # fmt: skip


def words(number: int) -> str:
    """Words that no other memory has."""
    return " ".join(f"{number:x}{name}" for name in ("alpha", "beta", "gamma", "delta", "epsilon"))


def floor(folder: Path) -> float:
    """Milliseconds of an append of 400 bytes with its fsync."""
    fd = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(number: int) -> None:
        os.write(fd, b"x" * 400)
        os.fsync(fd)

    try:
        return middle(append)
    finally:
        os.close(fd)


def middle(run: Callable[[int], object], runs: int = RUNS) -> float:
    """The median of so many runs, in milliseconds."""
    taken: list[float] = []
    for number in range(runs):
        began = time.perf_counter()
        run(number)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


if __name__ == "__main__":
    main()
