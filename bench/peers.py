"""clio beside the agents that are installed here, one after the other against a server that answers at once.

    python bench/peers.py [--runs 7] [--turns 500] [--files 20000] [--only clio,codex] [--chart docs/peers.svg]
                          [--also older=/path/to/clio]

Rows: --version; a prompt that takes keys in a repository of many files; one question; a task of three tools (read,
edit, run); a turn at the prompt at turn 10, 100 and the last; going on with that session; its state on disk; memory.
Each round runs every agent once, in turn, so that a busy minute is everybody's. `make bench` runs it small.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles

from msgspec import structs

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.side.chart import bars
from bench.side.measure import Failed, Shell, end_left_behind, run, size_of
from bench.side.programs import PROGRAMS, TASK, Program, environment, find
from bench.side.server import InstantServer

CHARTED = ("--version", "prompt usable", "one question", "read, edit, run, answer", "a turn, around the last", "resume")
_LONGEST_TALK_S = 300.0
_RESUMES = 7
Samples = dict[str, dict[str, list[float]]]
"""By row and agent."""


class Stand:
    """One agent in its place: a home, a repository, the words its arguments may hold."""

    def __init__(self, program: Program, path: str, folder: Path, server: InstantServer, files: int) -> None:
        self.program, self.path = program, path
        self.home, self.repo = folder / "home", folder / "repo"
        self.home.mkdir(parents=True)
        make_repository(self.repo, files)
        self.words = {"url": server.url, "root": server.root, "folder": str(self.repo), "home": str(self.home)}
        self.env = environment(program, self.words)
        if program.prepare:
            program.prepare(self.home, self.repo, server.url)

    def argv(self, words: Sequence[str], *more: str) -> list[str]:
        """The command line."""
        return [self.path, *(word.format(**self.words) for word in words), *more]

    def version(self) -> dict[str, float]:
        """Seconds of --version, or of what comes nearest."""
        return {"--version": run(self.argv(self.program.version), cwd=self.repo, env=self.env)[0]}

    def ask(self) -> dict[str, float]:
        """One question in a process of its own."""
        if not self.program.ask:
            return {}
        argv = self.argv(self.program.ask, "this is turn 7")
        wall, cpu = run(argv, cwd=self.repo, env=self.env, wanted="reply-7")
        return {"one question": wall, "one question, CPU": cpu}

    def task(self) -> dict[str, float]:
        """Three tools; that the file was changed is checked."""
        if not self.program.task:
            return {}
        changed = self.repo / "a.py"
        changed.write_text("print(41)\n", encoding="utf-8")
        argv = self.argv(self.program.task, TASK.format(folder=self.repo))
        wall, cpu = run(argv, cwd=self.repo, env=self.env)
        if changed.read_text(encoding="utf-8") != "print(42)\n":
            raise Failed("the task was not done")
        return {"read, edit, run, answer": wall, "read, edit, run, answer, CPU": cpu}

    def start(self) -> dict[str, float]:
        """Until the prompt takes keys."""
        if self.program.shell is None:
            return {}
        shell = Shell(self.argv(self.program.shell), cwd=self.repo, env=self.env)
        found = {"prompt usable": shell.usable_s, "memory at the prompt, MiB": shell.memory_mb()}
        shell.leave()
        return found

    def talk(self, turns: int) -> dict[str, float]:
        """One long conversation at the prompt, then going on with it."""
        if self.program.shell is None:
            return {}
        before = size_of(self.home) + size_of(self.repo / ".clio")
        shell = Shell(self.argv(self.program.shell), cwd=self.repo, env=self.env)
        took, end = list[float](), time.monotonic() + _LONGEST_TALK_S
        for number in range(1, turns + 1):
            took.append(shell.turn(number))
            if time.monotonic() > end:
                shell.close()
                raise Failed(f"{number} turns took {_LONGEST_TALK_S:.0f} seconds, the last one {took[-1]:.1f}")
        found = {f"memory after {turns} turns, MiB": shell.memory_mb()}
        for name, at in ((f"a turn, around {at}", at) for at in (10, 100) if at < turns):
            found[name] = median(took[at - 5 : at + 5])
        found["a turn, around the last"] = median(took[-10:])
        shell.leave()
        found["state on disk, kB a turn"] = (size_of(self.home) + size_of(self.repo / ".clio") - before) / turns / 1000
        if self.program.resume is not None:
            found["resume"] = median(self._resume() for _ in range(_RESUMES))
        return found

    def _resume(self) -> float:
        """Seconds until the prompt of the continued conversation takes keys."""
        shell = Shell(self.argv(self.program.resume or ()), cwd=self.repo, env=self.env)
        shell.leave()
        return shell.usable_s


def make_repository(folder: Path, files: int) -> None:
    """A git repository of many small files, all committed."""
    folder.mkdir()
    for number in range(files):
        place = folder / f"part{number // 200}" / f"module_{number}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"VALUE = {number}\n", encoding="utf-8")
    (folder / "a.py").write_text("print(41)\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "all"], check=True)


def measure(stands: Sequence[Stand], runs: int, turns: int) -> tuple[Samples, list[str]]:
    """All rows of all agents, in turn; and what failed. The first round warms the caches and does not count."""
    samples: Samples = {}
    failed: dict[tuple[str, str], str] = {}

    def take(stand: Stand, work: Callable[[], dict[str, float]], key: str, *, counts: bool) -> None:
        name = stand.program.name
        if (name, key) in failed:
            return
        try:
            found = work()
        except Failed as error:
            failed[name, key] = " ".join(str(error).split())
            return
        for row, value in found.items():
            if counts:
                samples.setdefault(row, {}).setdefault(name, []).append(value)

    for number in range(runs + 1):
        for key in ("version", "start", "ask", "task"):
            for stand in stands:
                take(stand, getattr(stand, key), key, counts=number > 0)
    if turns:
        for stand in stands:
            take(stand, lambda stand=stand: stand.talk(turns), "talk", counts=True)
    return samples, [f"{name}, {key}: {said}" for (name, key), said in failed.items()]


def table(samples: Samples, names: Sequence[str]) -> str:
    """Medians, with the quartiles behind them where there are enough samples; Markdown."""
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for row, found in samples.items():
        form = "{:.1f}" if "MiB" in row or "kB" in row else "{:.3f}"
        cells = [_cell(found.get(name, []), form) for name in names]
        best = min((median(found[name]) for name in names if found.get(name)), default=0)
        cells = [
            f"**{cell}**" if found.get(name) and median(found[name]) == best else cell
            for name, cell in zip(names, cells, strict=True)
        ]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: Sequence[float], form: str) -> str:
    if not values:
        return "–"
    middle = form.format(median(values))
    if len(values) < 4:
        return middle
    low, _, high = quantiles(values, n=4)
    return f"{middle} ({form.format(low)}–{form.format(high)})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20, help="of the long conversation; 0 leaves it out")
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--only", default="", help="names of agents, with commas")
    parser.add_argument(
        "--also", action="append", default=[], metavar="NAME=PATH", help="another clio, such as an older"
    )
    parser.add_argument("--chart", type=Path)
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder, InstantServer() as server:
        found = [
            (program, path)
            for program in PROGRAMS
            if (not wanted or program.name in wanted) and (path := find(program))
        ]
        clio = next(program for program in PROGRAMS if program.name == "clio")
        for name, _, path in (text.partition("=") for text in options.also):
            found.append((structs.replace(clio, name=name), path))
        stands = [
            Stand(program, path, Path(folder) / str(number), server, options.files)
            for number, (program, path) in enumerate(found)
        ]
        try:
            samples, failed = measure(stands, options.runs, options.turns)
        finally:
            end_left_behind(Path(folder))
    names = [stand.program.name for stand in stands]
    print(table(samples, names))
    print("\nSeconds by the wall's clock, where a row names nothing else.")
    for line in failed:
        print(f"not measured: {line}")
    if options.chart:
        panels = [
            (row, "s", {name: median(values) for name, values in samples[row].items()})
            for row in CHARTED
            if row in samples
        ]
        options.chart.write_text(bars("Seconds against a server that answers at once", panels), encoding="utf-8")


if __name__ == "__main__":
    main()
