"""Measure `clio sessions list` and similar commands in a project of many sessions.

    python bench/session_list.py [--sessions 5000] [--runs 15]

Prints the medians of CPU and wall-clock milliseconds, and their difference to `clio --version`, which only starts clio.
Asserts nothing.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import run_process  # noqa: E402 the path must be set first
from clio.messages import AssistantMessage, UserMessage  # noqa: E402
from clio.sessions.store import SessionStore  # noqa: E402

SCRIPT = Path(sys.executable).with_name("clio")
CLIO = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "clio"]
BARE = ("--version",)
ROWS = (
    BARE,
    ("sessions", "list"),
    ("sessions", "list", "--json"),
    ("sessions", "list", "--all"),
    ("sessions", "show", "1"),
    ("memory", "list"),
)
Sample = tuple[float, float]
"""CPU and wall milliseconds."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        make_sessions(project, arguments.sessions)
        samples: dict[tuple[str, ...], list[Sample]] = {row: [] for row in ROWS}
        for round_number in range(arguments.runs + 1):
            for row in ROWS:
                sample = run_clio(project, row)
                if round_number:  # the first round warms up the caches
                    samples[row].append(sample)
    print(f"{arguments.sessions} sessions; last columns: difference to {' '.join(('clio', *BARE))}")
    bare_ms = [median(column) for column in zip(*samples[BARE], strict=True)]
    for row in ROWS:
        cpu, wall = (median(column) for column in zip(*samples[row], strict=True))
        above = f"{cpu - bare_ms[0]:+7.1f} {wall - bare_ms[1]:+7.1f}"
        print(f"clio {' '.join(row):<24} {cpu:7.1f} ms CPU {wall:7.1f} ms wall   {above}")


def make_sessions(project: Path, count: int) -> None:
    """Store `count` sessions of eight messages, a third of them named."""
    store = SessionStore(project / ".clio" / "sessions")
    for number in range(count):
        session = store.new(project, name=f"topic {number}" if number % 3 == 0 else None)
        for _ in range(4):
            session.append(UserMessage(content=f"why does part {number} fail? " * 3))
            session.append(AssistantMessage(content="because the token is empty. " * 20))
        session.close()


def run_clio(project: Path, arguments: tuple[str, ...]) -> Sample:
    """Run clio once."""
    env = os.environ | {"HOME": str(project), "CLIO_HOME": str(project / "home"), "PYTHONPATH": str(ROOT)}
    return run_process([*CLIO, *arguments], cwd=project, env=env)


if __name__ == "__main__":
    main()
