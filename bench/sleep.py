"""Measure consolidation: of 10,000 turns, again without new turns, and as a dry run; cancelled; and killed.

    python bench/sleep.py [--turns 10000] [--memories 10000] [--cancels 20] [--kills 20]

Each consolidation runs in its own process, whose peak memory is printed. Garbage collection is configured as in clio.
"""

import argparse
import gc
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec

from bench.histories import generate_session
from clio.cli import GC_THRESHOLDS
from clio.ids import new_id
from clio.memory.consolidation.consolidation import Consolidation
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.sessions.store import SessionStore

TURNS_A_SESSION = 20
DAY_S = 86_400.0


def main() -> None:
    """Parse the arguments and measure, or run one consolidation as a child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--cancels", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--child", nargs=3, metavar=("WHAT", "FOLDER", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    gc.set_threshold(*GC_THRESHOLDS)
    if arguments.child:
        kind, folder, seed = arguments.child
        run_child(kind, Path(folder), int(seed))
        return
    with tempfile.TemporaryDirectory(dir=".") as name:
        run_all(Path(name).absolute(), arguments)


def run_all(folder: Path, arguments: argparse.Namespace) -> None:
    """Print one line for each measurement."""
    original = folder / "made"
    started = time.perf_counter()
    create_project(original, arguments.turns, arguments.memories)
    size = sum(path.stat().st_size for path in original.rglob("*") if path.is_file()) / 1e6
    counts = f"{arguments.turns:,} turns and {arguments.memories:,} memories"
    print(f"created {counts}, {size:.0f} MB, in {elapsed_s(started):.0f} s")
    project = copy_project(original, folder)
    for label, kind in (("dry run", "dry"), ("consolidation", "full"), ("second consolidation", "full")):
        print(f"{label}: {run_in_child(kind, project)}", flush=True)
    latencies: list[float] = []
    rng = random.Random(1)
    for number in range(arguments.cancels):
        copied = copy_project(original, folder)
        latencies.append(float(run_in_child("cancel", copied, rng.randrange(1, 8_000)).split()[0]))
        shutil.rmtree(copied)
        if number == arguments.cancels - 1:
            latencies.sort()
            median, longest = latencies[len(latencies) // 2], latencies[-1]
            times = f"{median:.0f} ms (median), {longest:.0f} ms at most"
            print(f"cancelled at {len(latencies)} random times: ends after {times}")
    if arguments.kills:
        measure_kills(copy_project(original, folder), arguments.kills, rng)


def measure_kills(project: Path, kills: int, rng: random.Random) -> None:
    """Kill consolidations of one project at random times, let one finish, and count duplicate memories."""
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-m", "bench.sleep", "--child", "full", str(project), "1"],
                                   stdout=subprocess.DEVNULL)  # fmt: skip
        time.sleep(0.5 + rng.random() * 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    report = run_in_child("full", project)
    contents = [record.content for record in TypedStore(project / ".clio" / "memories.json").records()]
    print(f"after {kills} kills: {report}; {len(contents) - len(set(contents))} duplicate memories")


def run_child(kind: str, project: Path, seed: int) -> None:
    """Consolidate in this process, and print its cost and its report.

    kind "cancel" cancels after `seed` milliseconds and prints how many milliseconds later it ended.
    """
    from clio.memory.consolidation.runner import dry_run, run_consolidation

    consolidation = open_consolidation(project, seed)
    stop_times: list[float] = []
    if kind == "cancel":
        timer = threading.Timer(seed / 1000, lambda: stop_times.append(time.perf_counter()))
        timer.daemon = True
        timer.start()
    started, cpu = time.perf_counter(), time.process_time()
    if kind == "dry":
        report = dry_run(consolidation)
    else:
        report = run_consolidation(consolidation, stop=lambda: bool(stop_times))
    if kind == "cancel":
        print(f"{1e3 * (time.perf_counter() - stop_times[0]) if stop_times else 0:.1f} {report.line}")
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{elapsed_s(started):.2f} s ({time.process_time() - cpu:.2f} s processor time), {peak:.0f} MB: {report.line}"
    )


def run_in_child(kind: str, project: Path, seed: int = 1) -> str:
    """Run `run_child` in a new process, and return the line it prints."""
    command = [sys.executable, "-m", "bench.sleep", "--child", kind, str(project), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def open_consolidation(project: Path, seed: int) -> Consolidation:
    """Open the consolidation of a project whose user memories are in its folder `home`."""
    store = SessionStore(project / ".clio" / "sessions")
    return Consolidation(project, project / "home", store, redact=lambda text: text, rng=random.Random(seed))


def create_project(project: Path, turns: int, memories: int) -> None:
    """Create a project with `turns` turns in closed sessions of 20, and `memories` facts."""
    store = SessionStore(project / ".clio" / "sessions")
    (project / "home").mkdir(parents=True)
    now = time.time()
    for number in range(turns // TURNS_A_SESSION):
        messages, _ = generate_session(number, TURNS_A_SESSION)
        session = store.new(project)
        started = now - DAY_S * (number % 90 + 1)
        for place, message in enumerate(messages):
            session.append(msgspec.structs.replace(message, created=started + 30 * place))
        session.close()
    rng = random.Random(turns)
    words = [f"{rng.randrange(16**5):05x}w" for _ in range(3_000)]
    records = [
        MemoryRecord(
            id=new_id(),
            kind="fact",
            content=" ".join(rng.choices(words, k=11)),
            created=now,
            updated=now,
            accessed=now,
        )
        for _ in range(memories)
    ]
    TypedStore(project / ".clio" / "memories.json").put("", records)


def copy_project(project: Path, folder: Path) -> Path:
    """Copy the project. The sessions are linked, because consolidation does not change them."""
    copied = Path(tempfile.mkdtemp(dir=folder))
    (copied / ".clio").mkdir()
    (copied / "home").mkdir()
    (copied / ".clio" / "sessions").symlink_to(project / ".clio" / "sessions")
    for path in (project / ".clio").iterdir():
        if path.is_file():
            shutil.copy(path, copied / ".clio")
    return copied


def elapsed_s(started: float) -> float:
    """Return the seconds since `started`."""
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
