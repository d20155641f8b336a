"""Measure the start of clio, compared with Python and with the libraries that it needs.

    python bench/startup.py [--runs 15]

Every round runs each row once, so that other work on the machine slows all of them alike. Prints medians and ratios.
CPU is the user and system time of the process and its children. Asserts nothing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import read_cpu_s, run_process  # noqa: E402 the path must be set first
from tests.support.pty_session import PtySession  # noqa: E402

SCRIPT = Path(sys.executable).with_name("clio")
CLIO = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "clio"]
SAMPLES = {
    "python": "pass",
    "libraries": "import prompt_toolkit, rich",
    "openai": "from openai import OpenAI; OpenAI()",
}
PROMPTS = ("❯".encode(), b"> ")
Sample = tuple[float, float]
"""CPU and wall milliseconds."""


class Skipped(Exception):
    """The row cannot be measured here, for the reason in the message."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        bench = StartupBench(Path(folder))
        try:
            bench.report(bench.measure(runs))
        finally:
            bench.close()


class StartupBench:
    """A project, an empty home directory, a server that answers at once, and the rows to measure."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
        self.env = inherited | {"HOME": str(folder), "CLIO_HOME": str(folder / ".clio"), "PYTHONPATH": str(ROOT)}
        self.server = self._serve(folder)
        self.skipped: dict[str, str] = {}
        self.rows: dict[str, Callable[[], dict[str, Sample]]] = {
            **{name: lambda code=code: {"": self._run([sys.executable, "-c", code])} for name, code in SAMPLES.items()},
            "--version": lambda: {"": self._run([*CLIO, "--version"])},
            "shell": self._shell,
            "one-shot": self._one_shot,
        }

    def measure(self, runs: int) -> dict[str, list[Sample]]:
        """Return the samples of each row, without the first round, which warms up the caches."""
        samples: dict[str, list[Sample]] = {}
        for round_number in range(runs + 1):
            for name, row in self.rows.items():
                if name in self.skipped:
                    continue
                try:
                    parts = row()
                except Skipped as reason:
                    self.skipped[name] = str(reason)
                    continue
                for part, sample in parts.items():
                    if round_number:
                        samples.setdefault(f"{name} {part}".strip(), []).append(sample)
        return samples

    def report(self, samples: dict[str, list[Sample]]) -> None:
        """Print the medians, and the ratio of each row to what it is compared with."""
        cpu = {name: median(sample[0] for sample in found) for name, found in samples.items()}
        wall = {name: median(sample[1] for sample in found) for name, found in samples.items()}
        print(f"{'row':<18} {'CPU ms':>8} {'wall ms':>8}   compared with")
        for name in cpu:
            print(f"{name:<18} {cpu[name]:>8.1f} {wall[name]:>8.1f}   {self._format_comparison(name, cpu)}")
        for name, reason in self.skipped.items():
            print(f"{name:<18} {'-':>8} {'-':>8}   skipped: {reason}")

    def close(self) -> None:
        """Stop the server."""
        if self.server is not None:
            assert self.server.stdin is not None
            self.server.stdin.close()
            self.server.wait(timeout=10)

    def _format_comparison(self, name: str, cpu: dict[str, float]) -> str:
        comparisons = {
            "--version": ("python", "aim: 3.00"),
            "shell painted": ("python", "aim: 60 ms"),
            "shell usable": ("libraries", "aim: 2.00"),
            "one-shot": ("openai", "aim: 0.60"),
        }
        if name not in comparisons:
            return ""
        other, aim = comparisons[name]
        return f"{cpu[name] / cpu[other]:.2f} x {other} ({aim})"

    def _run(self, argv: list[str]) -> Sample:
        try:
            return run_process(argv, cwd=self.project, env=self.env | {"OPENAI_API_KEY": "sk-none"})
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace")[-300:]
            raise Skipped(f"{' '.join(argv)} ended with {error.returncode}: {last}") from error

    def _one_shot(self) -> dict[str, Sample]:
        if self.server is None:
            raise Skipped("the scripted server did not start")
        sample = self._run([*CLIO, "-p", "hi", "--base-url", self.url, "--model", "test", "--new"])
        shutil.rmtree(self.project / ".clio", ignore_errors=True)
        return {"": sample}

    def _shell(self) -> dict[str, Sample]:
        """Measure until the prompt is on the screen, and until the line editor draws a typed letter."""
        if not Path("/proc/self/schedstat").exists():
            raise Skipped("needs Linux to read the CPU time of a running process")
        started = time.perf_counter()
        with PtySession([*CLIO, "--provider", "offline"], cwd=self.project, env=self.env) as shell:
            _wait_until(shell, lambda raw: any(prompt in raw for prompt in PROMPTS))
            painted = read_cpu_s(shell.pid) * 1000, (time.perf_counter() - started) * 1000
            shell.send("W")
            _wait_until(shell, lambda raw: b"W" in raw.rpartition(PROMPTS[0])[2])
            usable = read_cpu_s(shell.pid) * 1000, (time.perf_counter() - started) * 1000
            shell.key("backspace")
            shell.key("ctrl-d")
            shell.wait_exit()
        return {"painted": painted, "usable": usable}

    def _serve(self, folder: Path) -> "subprocess.Popen[str] | None":
        script = folder / "script.json"
        script.write_text('[{"text": "hello"}]', encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.chat_server", str(script), "--repeat", "--no-record"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        self.url = process.stdout.readline().strip()
        return process if self.url else None


def _wait_until(shell: PtySession, condition: Callable[[bytes], bool]) -> None:
    end = time.monotonic() + 20
    while not condition(bytes(shell.raw)):
        if not shell.take_in(0.02) or time.monotonic() > end:
            raise Skipped(f"timeout; the last output: {bytes(shell.raw[-300:])!r}")


if __name__ == "__main__":
    main()
