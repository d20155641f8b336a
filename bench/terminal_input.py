"""Measure typing: completing "@" in 20,000 files, labels below the line, searching the history, a large paste.

    python bench/terminal.py input

Prints milliseconds per key, the median and the slowest. Asserts nothing.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from clio.text.fuzzy import FuzzyNames
from clio.ui.completer import LineCompleter, MentionLabels
from clio.ui.history import HistorySearch, LineHistory, format_history_entry
from clio.ui.prompt_line import PromptLine
from tests.entrypoints.repl_support import make_place
from tests.support.chat_server import ChatServer
from tests.support.harness import make_repository
from tests.support.pty_session import PtySession

FILES = 20_000
_SILENCE_S = 0.25
_IDLE_S = 3.0  # as a user waits before the first key; clio lists the files meanwhile
WORDS = (
    "app user order invoice parser token stream prompt line screen model config session memory brain recall store "
    "index cache driver router handler view test util core api schema layer policy worker queue"
).split()
QUERIES = ("prompt_line", "plin", "userorderhandler", "e", "tts", "Model", "apirouter.go", "xq")


def make_file_names(rng: random.Random) -> list[str]:
    """Return the paths of a large project."""
    names: set[str] = set()
    while len(names) < FILES:
        folders = "/".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))
        base = "_".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
        names.add(f"{folders}/{base}{rng.choice(('.py', '.ts', '.md', '.go', '_test.py'))}")
    return sorted(names)


def measure_keys(names: FuzzyNames) -> Iterator[float]:
    """Yield the seconds of each key of each query."""
    for query in QUERIES:
        for end in range(len(query) + 1):
            yield time_s(lambda query=query, end=end: names.find_best(query[:end], 60))


def time_s(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def print_row(label: str, times: list[float]) -> None:
    """Print one row."""
    print(f"{label:<58} median {statistics.median(times) * 1e3:7.2f} ms, slowest {max(times) * 1e3:7.2f} ms")


async def measure_paste(text: str) -> float:
    """Return the seconds from the first byte of a paste until the line is read with its placeholder."""
    with create_pipe_input() as pipe:
        line = PromptLine(
            text="> ",
            history=InMemoryHistory(),
            completer=LineCompleter(lambda: None, lambda: ()),
            status=lambda: (),
            input=pipe,
            output=DummyOutput(),
        )
        ready = asyncio.Event()
        reading = asyncio.create_task(line.read(on_ready=ready.set))
        await ready.wait()
        started = time.perf_counter()
        await asyncio.to_thread(pipe.send_text, f"\x1b[200~{text}\x1b[201~\r")
        await reading
        return time.perf_counter() - started


def measure_menu(folder: Path, files: list[str]) -> Iterator[float]:
    """Yield the seconds from each key of "@QUERY" to the last byte that it draws, in a terminal."""
    with ChatServer() as server:
        place = make_place(folder, server)
        make_repository(place.project, dict.fromkeys(files, ""))
        with place.clio() as clio:
            yield from _measure_menu_keys(clio)


def _measure_menu_keys(clio: PtySession) -> Iterator[float]:
    clio.wait_for("test-model")
    deadline = time.perf_counter() + _IDLE_S
    while time.perf_counter() < deadline:
        clio.take_in(0.05)
    for query in QUERIES:
        clio.send("\x15")
        _wait_for_silence_s(clio)
        for letter in f"@{query}":
            clio.send(letter)
            yield _wait_for_silence_s(clio)


def _wait_for_silence_s(clio: PtySession) -> float:
    """Wait until nothing is written for a while, and return the seconds until the last byte."""
    started = last_byte = time.perf_counter()
    while time.perf_counter() - last_byte < _SILENCE_S:
        before = len(clio.raw)
        clio.take_in(0.002)
        if len(clio.raw) > before:
            last_byte = time.perf_counter()
    return last_byte - started


def report() -> None:
    """Measure and print."""
    rng = random.Random(7)
    files = make_file_names(rng)
    names: list[FuzzyNames] = []
    print_row(f"index of {FILES:,} names", [time_s(lambda: names.append(FuzzyNames(files)))])
    print_row("mentions: a key", list(measure_keys(names[0])))
    indexes = {query: FuzzyNames(files) for query in QUERIES}
    print_row("mentions: a whole query at once", [time_s(lambda q=q: indexes[q].find_best(q, 60)) for q in QUERIES])
    with tempfile.TemporaryDirectory() as folder:
        print_row(
            f"@ in a terminal, {FILES:,} files: a key until the menu is drawn",
            list(measure_menu(Path(folder) / "place", files)),
        )
        project = Path(folder)
        (project / "app.py").write_text("x = 1\n" * 50_000, encoding="utf-8")
        labels = MentionLabels(project)
        line = "why does @app.py:10-40 fail, and not @app.py?"
        print_row(
            "labels: a key of a line with two mentions",
            [time_s(lambda: labels.label_mentions(line)) for _ in range(50)],
        )
        history = LineHistory(project / "history", project)
        entries = (" ".join(rng.choices(WORDS, k=8)) for _ in range(5_000))
        text = "".join(format_history_entry(entry, f"2026-01-01 10:00:00 {project}") for entry in entries)
        history.path.write_text(text, encoding="utf-8")
        search = HistorySearch(history)
        print_row("Ctrl-R: reading 5,000 earlier lines", [time_s(search.load_entries)])
        print_row("Ctrl-R: a key", [time_s(lambda q=q: search.find_matches(q)) for q in ("use", "parserl", "zzz", "i")])
    log = "".join(f"line {number} of a long log\n" for number in range(40_000))
    print_row(f"paste of {len(log):,} characters", [asyncio.run(measure_paste(log)) for _ in range(5)])


if __name__ == "__main__":
    report()
