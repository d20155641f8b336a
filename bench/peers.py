"""Compare clio with the agents that are installed here, using a server that answers at once.

    python bench/peers.py [--runs 7] [--turns 500] [--files 20000] [--only clio,codex] [--chart docs/peers.svg]
                          [--also older=/path/to/clio]

Rows: --version; time until the prompt accepts input in a repository of many files; one question; a task of three tools
(read, edit, run); a turn at the prompt at turn 10, 100 and the last; resuming that session; its state on disk; memory.
Each round runs every agent once, so that other work on the machine slows all of them alike. `make bench` runs it with
fewer turns and files.
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

from bench.side.chart import draw_bars
from bench.side.measure import AgentFailed, Shell, end_leftover_processes, measure_folder_bytes, run
from bench.side.programs import PROGRAMS, TASK, Program, find_program, make_environment
from bench.side.server import InstantServer

CHARTED = ("--version", "prompt usable", "one question", "read, edit, run, answer", "a turn, around the last", "resume")
_CONVERSATION_LIMIT_S = 300.0
_RESUMES = 7
Samples = dict[str, dict[str, list[float]]]
"""Values by row and agent."""


class AgentSetup:
    """One agent with a home directory, a repository, and the values of the placeholders in its arguments."""

    def __init__(self, program: Program, path: str, folder: Path, server: InstantServer, files: int) -> None:
        self.program, self.path = program, path
        self.home, self.repo = folder / "home", folder / "repo"
        self.home.mkdir(parents=True)
        make_repository(self.repo, files)
        self.placeholders = {"url": server.url, "root": server.root, "folder": str(self.repo), "home": str(self.home)}
        self.env = make_environment(program, self.placeholders)
        if program.prepare:
            program.prepare(self.home, self.repo, server.url)

    def argv(self, arguments: Sequence[str], *more: str) -> list[str]:
        """Return the command line."""
        return [self.path, *(argument.format(**self.placeholders) for argument in arguments), *more]

    def version(self) -> dict[str, float]:
        """Measure --version, or the nearest equivalent, in seconds."""
        return {"--version": run(self.argv(self.program.version), cwd=self.repo, env=self.env)[0]}

    def ask(self) -> dict[str, float]:
        """Measure one question in a new process, in seconds."""
        if not self.program.ask:
            return {}
        argv = self.argv(self.program.ask, "this is turn 7")
        wall, cpu = run(argv, cwd=self.repo, env=self.env, expected="reply-7")
        return {"one question": wall, "one question, CPU": cpu}

    def task(self) -> dict[str, float]:
        """Measure a task of three tool calls. Raises AgentFailed if the file was not changed."""
        if not self.program.task:
            return {}
        changed = self.repo / "a.py"
        changed.write_text("print(41)\n", encoding="utf-8")
        argv = self.argv(self.program.task, TASK.format(folder=self.repo))
        wall, cpu = run(argv, cwd=self.repo, env=self.env)
        if changed.read_text(encoding="utf-8") != "print(42)\n":
            raise AgentFailed("the task was not done")
        return {"read, edit, run, answer": wall, "read, edit, run, answer, CPU": cpu}

    def start(self) -> dict[str, float]:
        """Measure the time until the prompt accepts input, and the memory then."""
        if self.program.shell is None:
            return {}
        shell = Shell(self.argv(self.program.shell), cwd=self.repo, env=self.env)
        figures = {"prompt usable": shell.usable_s, "memory at the prompt, MiB": shell.memory_mb()}
        shell.exit()
        return figures

    def converse(self, turns: int) -> dict[str, float]:
        """Measure one long conversation at the prompt, then resuming it."""
        if self.program.shell is None:
            return {}
        before = measure_folder_bytes(self.home) + measure_folder_bytes(self.repo / ".clio")
        shell = Shell(self.argv(self.program.shell), cwd=self.repo, env=self.env)
        turn_seconds, end = list[float](), time.monotonic() + _CONVERSATION_LIMIT_S
        for number in range(1, turns + 1):
            turn_seconds.append(shell.run_turn(number))
            if time.monotonic() > end:
                shell.close()
                raise AgentFailed(
                    f"{number} turns took {_CONVERSATION_LIMIT_S:.0f} seconds, the last one {turn_seconds[-1]:.1f}"
                )
        figures = {f"memory after {turns} turns, MiB": shell.memory_mb()}
        for name, at in ((f"a turn, around {at}", at) for at in (10, 100) if at < turns):
            figures[name] = median(turn_seconds[at - 5 : at + 5])
        figures["a turn, around the last"] = median(turn_seconds[-10:])
        shell.exit()
        figures["state on disk, kB a turn"] = (
            (measure_folder_bytes(self.home) + measure_folder_bytes(self.repo / ".clio") - before) / turns / 1000
        )
        if self.program.resume is not None:
            figures["resume"] = median(self._resume() for _ in range(_RESUMES))
        return figures

    def _resume(self) -> float:
        """Return the seconds until the prompt of the resumed conversation accepts input."""
        shell = Shell(self.argv(self.program.resume or ()), cwd=self.repo, env=self.env)
        shell.exit()
        return shell.usable_s


def make_repository(folder: Path, files: int) -> None:
    """Create a git repository of `files` small files, all committed."""
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


def measure_all(setups: Sequence[AgentSetup], runs: int, turns: int) -> tuple[Samples, list[str]]:
    """Return all samples, and a line for each failure. The first round warms up the caches and is not counted."""
    samples: Samples = {}
    failures: dict[tuple[str, str], str] = {}

    def add_figures(setup: AgentSetup, work: Callable[[], dict[str, float]], key: str, *, is_counted: bool) -> None:
        name = setup.program.name
        if (name, key) in failures:
            return
        try:
            figures = work()
        except AgentFailed as error:
            failures[name, key] = " ".join(str(error).split())
            return
        for row, value in figures.items():
            if is_counted:
                samples.setdefault(row, {}).setdefault(name, []).append(value)

    for number in range(runs + 1):
        for key in ("version", "start", "ask", "task"):
            for setup in setups:
                add_figures(setup, getattr(setup, key), key, is_counted=number > 0)
    if turns:
        for setup in setups:
            add_figures(setup, lambda setup=setup: setup.converse(turns), "talk", is_counted=True)
    return samples, [f"{name}, {key}: {message}" for (name, key), message in failures.items()]


def format_table(samples: Samples, names: Sequence[str]) -> str:
    """Return a Markdown table of medians, with quartiles for at least four samples."""
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for row, figures in samples.items():
        number_format = "{:.1f}" if "MiB" in row or "kB" in row else "{:.3f}"
        cells = [_cell(figures.get(name, []), number_format) for name in names]
        best = min((median(figures[name]) for name in names if figures.get(name)), default=0)
        cells = [
            f"**{cell}**" if figures.get(name) and median(figures[name]) == best else cell
            for name, cell in zip(names, cells, strict=True)
        ]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: Sequence[float], number_format: str) -> str:
    if not values:
        return "–"
    text = number_format.format(median(values))
    if len(values) < 4:
        return text
    low, _, high = quantiles(values, n=4)
    return f"{text} ({number_format.format(low)}–{number_format.format(high)})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20, help="of the long conversation; 0 skips it")
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--only", default="", help="names of agents, separated by commas")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=PATH", help="another version of clio")
    parser.add_argument("--chart", type=Path)
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder, InstantServer() as server:
        programs = [
            (program, path)
            for program in PROGRAMS
            if (not only or program.name in only) and (path := find_program(program))
        ]
        clio = next(program for program in PROGRAMS if program.name == "clio")
        for name, _, path in (text.partition("=") for text in options.also):
            programs.append((structs.replace(clio, name=name), path))
        setups = [
            AgentSetup(program, path, Path(folder) / str(number), server, options.files)
            for number, (program, path) in enumerate(programs)
        ]
        try:
            samples, failures = measure_all(setups, options.runs, options.turns)
        finally:
            end_leftover_processes(Path(folder))
    names = [setup.program.name for setup in setups]
    print(format_table(samples, names))
    print("\nSeconds of wall-clock time, unless the row names another unit.")
    for line in failures:
        print(f"not measured: {line}")
    if options.chart:
        panels = [
            (row, "s", {name: median(values) for name, values in samples[row].items()})
            for row in CHARTED
            if row in samples
        ]
        options.chart.write_text(draw_bars("Seconds against a server that answers at once", panels), encoding="utf-8")


if __name__ == "__main__":
    main()
