"""Measure a long session: memory by turn, bytes on disk by file, and resuming it.

    python bench/long_session.py [--turns 500] [--starts 7]

clio runs in a terminal with a server that answers at once, in a repository of 200 files. One start and one question
come first, so that files which exist only once are not counted. CPU is the time of the process until the prompt accepts
input; on a busy machine it is more meaningful than the wall-clock time.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measurements import read_cpu_s
from bench.peers import AgentSetup
from bench.side.measure import Shell
from bench.side.programs import PROGRAMS, find_program
from bench.side.server import InstantServer

FILES = 200


def measure_files(setup: AgentSetup) -> dict[str, int]:
    """Return the bytes of the files in which clio keeps its state; files of one folder and type are added up."""
    sizes: dict[str, int] = {}
    for top in (setup.home, setup.repo / ".clio"):
        for path in top.rglob("*"):
            if path.is_file():
                name = f"{path.parent.relative_to(top)}/*{path.suffix}" if path.parent != top else path.name
                sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return sizes


def measure_conversation(setup: AgentSetup, turns: int) -> None:
    """Print the memory and the disk space of one long conversation."""
    before = measure_files(setup)
    shell = Shell(setup.argv(setup.program.shell or ()), cwd=setup.repo, env=setup.env)
    print(f"memory at the prompt: {shell.memory_mb():.1f} MiB")
    for number in range(1, turns + 1):
        shell.run_turn(number)
        if number in (1, 10, 100, 250, turns):
            print(f"memory after {number} turns: {shell.memory_mb():.1f} MiB")
    shell.exit()
    after = measure_files(setup)
    growth = {name: size - before.get(name, 0) for name, size in after.items() if size != before.get(name, 0)}
    print(f"state on disk: {sum(growth.values()) / turns:.0f} bytes per turn")
    for name, size in sorted(growth.items(), key=lambda item: -item[1]):
        print(f"  {size / turns:7.1f}  {name}")


def measure_starts(setup: AgentSetup, count: int) -> None:
    """Print the times of starting a new session and of resuming the long one, measured alternately."""
    kinds = {"new": setup.program.shell or (), "resume": setup.program.resume or ()}
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for number in range(count + 1):
        for name, arguments in kinds.items():
            shell = Shell(setup.argv(arguments), cwd=setup.repo, env=setup.env)
            if number:  # the first round warms up the caches
                samples[name].append((shell.usable_s, read_cpu_s(shell.pid)))
            shell.exit()
    for name, values in samples.items():
        wall, cpu = (median(column) for column in zip(*values, strict=True))
        print(f"{name}: {wall:.3f} s until the prompt accepts input (minimum {min(values)[0]:.3f}), {cpu:.3f} s of CPU")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--starts", type=int, default=7)
    options = parser.parse_args()
    program = next(program for program in PROGRAMS if program.name == "clio")
    path = find_program(program)
    assert path is not None, "clio is not installed beside this Python"
    with tempfile.TemporaryDirectory() as folder, InstantServer() as server:
        setup = AgentSetup(program, path, Path(folder), server, FILES)
        setup.start()
        setup.ask()
        measure_conversation(setup, options.turns)
        measure_starts(setup, options.starts)


if __name__ == "__main__":
    main()
