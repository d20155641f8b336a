"""What a night costs: 10,000 turns replayed, a second night, a dry run, how soon it ends, and what killing it leaves.

python bench/sleep.py [--turns 10000] [--memories 10000] [--cancels 20] [--kills 20]. Each night runs in a process of
its own, whose largest memory is told. Garbage collection is set as in clio itself.
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

from bench.histories import generated
from clio.cli import GC_THRESHOLDS
from clio.ids import new_id
from clio.memory.consolidation.consolidation import Consolidation
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.sessions.store import SessionStore

TURNS_A_SESSION = 20
DAY_S = 86_400.0


def main() -> None:
    """Make the project, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--cancels", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--child", nargs=3, metavar=("WHAT", "FOLDER", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    gc.set_threshold(*GC_THRESHOLDS)
    if arguments.child:
        what, folder, seed = arguments.child
        child(what, Path(folder), int(seed))
        return
    with tempfile.TemporaryDirectory(dir=".") as name:
        measure(Path(name).absolute(), arguments)


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    """Print a line for each thing measured."""
    made = folder / "made"
    began = time.perf_counter()
    make(made, arguments.turns, arguments.memories)
    size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) / 1e6
    print(f"made {arguments.turns:,} turns and {arguments.memories:,} memories, {size:.0f} MB, in {since(began):.0f} s")
    project = copy(made, folder)
    for what in ("dry", "night", "night"):
        print(f"{'second ' if what == 'night' and (project / '.clio' / 'sleep.json').exists() else ''}{what}: ", end="")
        print(run(what, project), flush=True)
    latencies: list[float] = []
    rng = random.Random(1)
    for number in range(arguments.cancels):
        there = copy(made, folder)
        latencies.append(float(run("cancel", there, rng.randrange(1, 8_000)).split()[0]))
        shutil.rmtree(there)
        if number == arguments.cancels - 1:
            latencies.sort()
            half, most = latencies[len(latencies) // 2], latencies[-1]
            print(f"stopped at {len(latencies)} random points: ends after {half:.0f} ms, at most {most:.0f} ms")
    if arguments.kills:
        kill(copy(made, folder), arguments.kills, rng)


def kill(project: Path, kills: int, rng: random.Random) -> None:
    """Kill nights at random moments in one project, then let one end, and look for what is there twice."""
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-m", "bench.sleep", "--child", "night", str(project), "1"],
                                   stdout=subprocess.DEVNULL)  # fmt: skip
        time.sleep(0.5 + rng.random() * 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    said = run("night", project)
    contents = [record.content for record in TypedStore(project / ".clio" / "memories.json").records()]
    print(f"after {kills} kills: {said}; {len(contents) - len(set(contents))} memories twice")


def child(what: str, project: Path, seed: int) -> None:
    """One night in this process; prints what it took and what it said."""
    from clio.memory.consolidation.runner import dry_run, run_consolidation

    nights = nights_of(project, seed)
    stopped: list[float] = []
    if what == "cancel":
        timer = threading.Timer(seed / 1000, lambda: stopped.append(time.perf_counter()))
        timer.daemon = True
        timer.start()
    began, cpu = time.perf_counter(), time.process_time()
    report = dry_run(nights) if what == "dry" else run_consolidation(nights, stop=lambda: bool(stopped))
    if what == "cancel":
        print(f"{1e3 * (time.perf_counter() - stopped[0]) if stopped else 0:.1f} {report.line}")
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{since(began):.2f} s ({time.process_time() - cpu:.2f} s of processor), {peak:.0f} MB: {report.line}")


def run(what: str, project: Path, seed: int = 1) -> str:
    """The line a child of that kind prints."""
    command = [sys.executable, "-m", "bench.sleep", "--child", what, str(project), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def nights_of(project: Path, seed: int) -> Consolidation:
    """The nights of a project whose person's memories lie beside it."""
    store = SessionStore(project / ".clio" / "sessions")
    return Consolidation(project, project / "home", store, redact=lambda text: text, rng=random.Random(seed))


def make(project: Path, turns: int, memories: int) -> None:
    """A project with that many turns in closed sessions of twenty, and that many facts."""
    store = SessionStore(project / ".clio" / "sessions")
    (project / "home").mkdir(parents=True)
    now = time.time()
    for number in range(turns // TURNS_A_SESSION):
        messages, _ = generated(number, TURNS_A_SESSION)
        session = store.new(project)
        began = now - DAY_S * (number % 90 + 1)
        for place, message in enumerate(messages):
            session.append(msgspec.structs.replace(message, created=began + 30 * place))
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


def copy(project: Path, folder: Path) -> Path:
    """The project once more, to be changed; its sessions are shared, for nothing changes them."""
    there = Path(tempfile.mkdtemp(dir=folder))
    (there / ".clio").mkdir()
    (there / "home").mkdir()
    (there / ".clio" / "sessions").symlink_to(project / ".clio" / "sessions")
    for path in (project / ".clio").iterdir():
        if path.is_file():
            shutil.copy(path, there / ".clio")
    return there


def since(began: float) -> float:
    """Seconds since then."""
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
