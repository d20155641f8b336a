"""Measure what versions of memories cost by the size of the store: changing a memory, and reading earlier versions.

    python bench/versions.py [--sizes 1000,10000] [--folder DIR]

A confirmation writes one line and a change two, each with fsync. The time of a bare append with fsync on the same disk
is printed beside them.
"""

import argparse
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from bench.measurements import append_and_fsync_ms, median_ms, time_ms
from clio.ids import new_id
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.memory.store.versions import list_changes, records_at

RUNS = 200


def main() -> None:
    """Print one row for each size."""
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
    """Measure a store of `size` memories, each of which was changed once, and return the row."""
    store = TypedStore(folder / "memories.json")
    now = time.time()
    records = store.put(
        "",
        [
            MemoryRecord(id=new_id(), kind="fact", content=make_text(number), created=now, updated=now, accessed=now)
            for number in range(size)
        ],
    )
    store.put("", [MemoryRecord(id=one.id, kind="fact", content=f"{one.content} changed") for one in records])
    sample = records[:: max(size // RUNS, 1)][:RUNS]
    ids = [sample[number % len(sample)].id for number in range(RUNS)]
    confirm = median(time_ms(partial(store.update, id, keywords=[str(n)])) for n, id in enumerate(ids))
    change = median(time_ms(partial(store.update, id, content=f"{make_text(n)} anew")) for n, id in enumerate(ids))
    started = time.perf_counter()
    versions = store.versions()
    read = time.perf_counter() - started
    now = time.time()
    as_of = median(time_ms(partial(records_at, versions, now - number)) for number in range(10))
    changes = median_ms(lambda: list_changes(versions), 10)
    floor = append_and_fsync_ms(folder, RUNS)
    return (f"{size:>9,} {confirm:>11.2f} {change:>10.2f} {floor:>12.2f} {len(versions):>9,} "
            f"{read * 1000:>8.1f} {as_of:>9.1f} {changes:>11.1f}")  # fmt: skip


def make_text(number: int) -> str:
    """Return words that no other memory has."""
    return " ".join(f"{number:x}{name}" for name in ("alpha", "beta", "gamma", "delta", "epsilon"))


if __name__ == "__main__":
    main()
