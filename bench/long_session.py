"""What a long session weighs: memory by turn, bytes on disk by file, and the way back into it.

    python bench/long_session.py [--turns 500] [--starts 7]

clio sits in a terminal before a server that answers at once, in a repository of 200 files, after one start and one
question, so that what is there only once is not counted. CPU is that of its process until the line can be typed on;
on a busy machine it says more than the clock.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.peers import Stand
from bench.side.measure import Shell
from bench.side.programs import PROGRAMS, find
from bench.side.server import InstantServer

FILES = 200


def sizes(stand: Stand) -> dict[str, int]:
    """Bytes of each file of state; sessions under one name."""
    found: dict[str, int] = {}
    for top in (stand.home, stand.repo / ".clio"):
        for path in top.rglob("*"):
            if path.is_file():
                name = f"{path.parent.relative_to(top)}/*{path.suffix}" if path.parent != top else path.name
                found[name] = found.get(name, 0) + path.stat().st_size
    return found


def cpu_s(pid: int) -> float:
    """Seconds of CPU of all threads of a process so far. Linux only."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def talk(stand: Stand, turns: int) -> None:
    """One long conversation: what it takes in memory, and what it leaves on disk."""
    before = sizes(stand)
    shell = Shell(stand.argv(stand.program.shell or ()), cwd=stand.repo, env=stand.env)
    print(f"memory at the prompt: {shell.memory_mb():.1f} MiB")
    for number in range(1, turns + 1):
        shell.turn(number)
        if number in (1, 10, 100, 250, turns):
            print(f"memory after {number} turns: {shell.memory_mb():.1f} MiB")
    shell.leave()
    after = sizes(stand)
    grown = {name: size - before.get(name, 0) for name, size in after.items() if size != before.get(name, 0)}
    print(f"state on disk: {sum(grown.values()) / turns:.0f} bytes a turn")
    for name, size in sorted(grown.items(), key=lambda item: -item[1]):
        print(f"  {size / turns:7.1f}  {name}")


def starts(stand: Stand, count: int) -> None:
    """A new session and the one that is there, in turn."""
    kinds = {"new": stand.program.shell or (), "resume": stand.program.resume or ()}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for number in range(count + 1):
        for name, words in kinds.items():
            shell = Shell(stand.argv(words), cwd=stand.repo, env=stand.env)
            if number:  # the first ones warm the caches
                found[name].append((shell.usable_s, cpu_s(shell.pid)))
            shell.leave()
    for name, taken in found.items():
        wall, cpu = (median(values) for values in zip(*taken, strict=True))
        print(f"{name}: {wall:.3f} s until the line can be typed on (least {min(taken)[0]:.3f}), {cpu:.3f} s of CPU")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--starts", type=int, default=7)
    options = parser.parse_args()
    program = next(program for program in PROGRAMS if program.name == "clio")
    path = find(program)
    assert path is not None, "clio is not installed beside this Python"
    with tempfile.TemporaryDirectory() as folder, InstantServer() as server:
        stand = Stand(program, path, Path(folder), server, FILES)
        stand.start()
        stand.ask()
        talk(stand, options.turns)
        starts(stand, options.starts)


if __name__ == "__main__":
    main()
