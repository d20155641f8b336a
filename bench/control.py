"""What taking everything out and in costs: export, import elsewhere, again, into a store that is full, and a wipe.

python bench/control.py [--sizes 1000,10000]. Each step runs in a process of its own, which tells its seconds and its
peak memory; secrets are looked for as in clio itself. Half of the memories are replaced or archived ones.
"""

import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clio.ids import new_id
from clio.memory.portability.data_files import WIPE_SCOPES, list_file_sets, wipe
from clio.memory.portability.export import MemoryPaths, decode_bundle, encode_bundle, make_bundle
from clio.memory.portability.import_bundle import ImportSetup, merge_bundle
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.record import MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from clio.security.redaction.redactor import Redactor
from clio.storage.files import make_folder

COMMON = "the is on server port deploy uses runs database service test".split()


def main() -> None:
    """Measure each size in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000")
    sizes = parser.parse_args().sizes
    print(f"{'memories':>9} {'step':<28} {'s':>7} {'peak MiB':>9}")
    for size in map(int, sizes.split(",")):
        folder = Path(tempfile.mkdtemp(dir="."))
        try:
            measure(folder, size)
        finally:
            shutil.rmtree(folder)


def measure(folder: Path, size: int) -> None:
    """All steps for that many memories."""
    full, empty, other = (_places(folder / name) for name in ("full", "empty", "other"))
    _fill(full, size, seed=1)
    _fill(other, size, seed=2)
    file = folder / "all.json"
    steps: list[tuple[str, Callable[[], object]]] = [
        ("nothing but the imports", lambda: None),
        ("export", lambda: file.write_bytes(encode_bundle(make_bundle(full, redact=_clean(), now=time.time())))),
        ("import elsewhere", lambda: _take(empty, file)),
        ("import again", lambda: _take(empty, file)),
        ("import beside as many others", lambda: _take(other, file)),
        ("wipe", lambda: wipe(other, list_file_sets(other, WIPE_SCOPES))),
    ]
    for name, step in steps:
        seconds, peak = _in_a_child(step)
        print(f"{size:>9,} {name:<28} {seconds:>7.2f} {peak:>9.1f}")
    print(f"{size:>9,} the file: {file.stat().st_size / 1e6:.1f} MB")


def _places(folder: Path) -> MemoryPaths:
    places = MemoryPaths(project=folder / "project", home=folder / "home")
    make_folder(places.folder)
    make_folder(places.home)
    return places


def _fill(places: MemoryPaths, size: int, seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = [f"{rng.randrange(16**5):05x}w" for _ in range(max(size // 3, 500))]

    def text() -> str:
        return " ".join(rng.choice(vocabulary if rng.random() < 0.75 else COMMON) for _ in range(11))

    store = TypedStore(places.memories("project"))
    now = time.time()
    records = [
        MemoryRecord(id=new_id(), kind="fact", content=text(), created=now, updated=now, accessed=now, seen=now)
        for _ in range(size)
    ]
    for start in range(0, size, 1_000):
        store.put("filled", records[start : start + 1_000])
    store.forget_all([record.id for record in records[: size // 4]])


def _clean() -> Callable[[str], str]:
    redactor = Redactor()
    return lambda text: redactor.redact(text).text


def _take(places: MemoryPaths, file: Path) -> object:
    bundle = decode_bundle(file.read_bytes(), file)
    logs = ScopeLogs(places.folder, places.home)
    setup = ImportSetup(paths=places, logs=logs, by=Provenance(), now=time.time(), redact=_clean())
    return merge_bundle(setup, bundle, name=file.name)


def _in_a_child(step: Callable[[], object]) -> tuple[float, float]:
    """Seconds and peak MiB of a step, in a process that did nothing else."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.perf_counter()
        step()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(write_end, f"{time.perf_counter() - start} {peak}".encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as heard:
        seconds, peak = map(float, heard.read().split())
    os.waitpid(child, 0)
    return seconds, peak


if __name__ == "__main__":
    sys.exit(main())
