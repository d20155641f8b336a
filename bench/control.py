"""Measure export, import and deletion of all memories: time and peak memory.

    python bench/control.py [--sizes 1000,10000]

Each step runs in its own process. Secrets are replaced as in clio. A quarter of the memories is archived.
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
from clio.memory.portability.import_bundle import ImportSetup, merge_bundle
from clio.memory.portability.memory_files import (
    WIPE_SCOPES,
    MemoryPaths,
    decode_bundle,
    encode_bundle,
    list_file_sets,
    make_bundle,
    wipe,
)
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.record import MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from clio.security.redaction.redactor import Redactor
from clio.storage.files import make_folder

COMMON = "the is on server port deploy uses runs database service test".split()


def main() -> None:
    """Measure each size."""
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
    """Print a row for each step with `size` memories."""
    source, empty_store, second_store = (_make_paths(folder / name) for name in ("full", "empty", "other"))
    _fill_store(source, size, seed=1)
    _fill_store(second_store, size, seed=2)
    bundle_path = folder / "all.json"
    steps: list[tuple[str, Callable[[], object]]] = [
        ("imported modules only", lambda: None),
        (
            "export",
            lambda: bundle_path.write_bytes(encode_bundle(make_bundle(source, redact=_make_redact(), now=time.time()))),
        ),
        ("import into an empty store", lambda: _import_file(empty_store, bundle_path)),
        ("import again", lambda: _import_file(empty_store, bundle_path)),
        ("import into a full store", lambda: _import_file(second_store, bundle_path)),
        ("wipe", lambda: wipe(second_store, list_file_sets(second_store, WIPE_SCOPES))),
    ]
    for name, step in steps:
        seconds, peak = _run_in_child(step)
        print(f"{size:>9,} {name:<28} {seconds:>7.2f} {peak:>9.1f}")
    print(f"{size:>9,} size of the file: {bundle_path.stat().st_size / 1e6:.1f} MB")


def _make_paths(folder: Path) -> MemoryPaths:
    paths = MemoryPaths(project=folder / "project", home=folder / "home")
    make_folder(paths.folder)
    make_folder(paths.home)
    return paths


def _fill_store(paths: MemoryPaths, size: int, seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = [f"{rng.randrange(16**5):05x}w" for _ in range(max(size // 3, 500))]

    def text() -> str:
        return " ".join(rng.choice(vocabulary if rng.random() < 0.75 else COMMON) for _ in range(11))

    store = TypedStore(paths.memories("project"))
    now = time.time()
    records = [
        MemoryRecord(id=new_id(), kind="fact", content=text(), created=now, updated=now, accessed=now, seen=now)
        for _ in range(size)
    ]
    for start in range(0, size, 1_000):
        store.put("filled", records[start : start + 1_000])
    store.forget_all([record.id for record in records[: size // 4]])


def _make_redact() -> Callable[[str], str]:
    redactor = Redactor()
    return lambda text: redactor.redact(text).text


def _import_file(paths: MemoryPaths, bundle_path: Path) -> object:
    bundle = decode_bundle(bundle_path.read_bytes(), bundle_path)
    logs = ScopeLogs(paths.folder, paths.home)
    setup = ImportSetup(paths=paths, logs=logs, by=Provenance(), now=time.time(), redact=_make_redact())
    return merge_bundle(setup, bundle, name=bundle_path.name)


def _run_in_child(step: Callable[[], object]) -> tuple[float, float]:
    """Run a step in a new process, and return its seconds and peak memory in MiB."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.perf_counter()
        step()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(write_end, f"{time.perf_counter() - start} {peak}".encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        seconds, peak = map(float, pipe.read().split())
    os.waitpid(child, 0)
    return seconds, peak


if __name__ == "__main__":
    sys.exit(main())
