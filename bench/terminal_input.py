"""What typing costs: completing "@" over 20,000 files, labels under the line, searching earlier lines, a large paste.

    python bench/terminal.py input

Prints milliseconds a key, the median and the slowest; asserts nothing.
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
_IDLE_S = 3.0  # as somebody looks at the prompt before the first key; the files are listed meanwhile
WORDS = (
    "app user order invoice parser token stream prompt line screen model config session memory brain recall store "
    "index cache driver router handler view test util core api schema layer policy worker queue"
).split()
QUERIES = ("prompt_line", "plin", "userorderhandler", "e", "tts", "Model", "apirouter.go", "xq")


def file_names(rng: random.Random) -> list[str]:
    """Paths as a large project has them."""
    names: set[str] = set()
    while len(names) < FILES:
        folders = "/".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))
        base = "_".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
        names.add(f"{folders}/{base}{rng.choice(('.py', '.ts', '.md', '.go', '_test.py'))}")
    return sorted(names)


def keys(names: FuzzyNames) -> Iterator[float]:
    """Seconds for each key of each query, typed from the left."""
    for query in QUERIES:
        for end in range(len(query) + 1):
            yield seconds(lambda query=query, end=end: names.find_best(query[:end], 60))


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def tell(what: str, times: list[float]) -> None:
    """One line."""
    print(f"{what:<58} median {statistics.median(times) * 1e3:7.2f} ms, slowest {max(times) * 1e3:7.2f} ms")


async def paste(text: str) -> float:
    """From the first byte of a paste to its stand-in on the line."""
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
        began = time.perf_counter()
        await asyncio.to_thread(pipe.send_text, f"\x1b[200~{text}\x1b[201~\r")
        await reading
        return time.perf_counter() - began


def menu(folder: Path, files: list[str]) -> Iterator[float]:
    """Seconds from each key, "@" and behind it, to the last byte of what it changes, in a real terminal."""
    with ChatServer() as server:
        place = make_place(folder, server)
        make_repository(place.project, dict.fromkeys(files, ""))
        with place.clio() as clio:
            yield from _menu_keys(clio)


def _menu_keys(clio: PtySession) -> Iterator[float]:
    clio.wait_for("test-model")
    ends = time.perf_counter() + _IDLE_S
    while time.perf_counter() < ends:
        clio.take_in(0.05)
    for query in QUERIES:
        clio.send("\x15")
        _last_byte(clio)
        for letter in f"@{query}":
            clio.send(letter)
            yield _last_byte(clio)


def _last_byte(clio: PtySession) -> float:
    """Seconds until the last byte before a silence."""
    began = last = time.perf_counter()
    while time.perf_counter() - last < _SILENCE_S:
        before = len(clio.raw)
        clio.take_in(0.002)
        if len(clio.raw) > before:
            last = time.perf_counter()
    return last - began


def report() -> None:
    """Measure everything."""
    rng = random.Random(7)
    files = file_names(rng)
    names: list[FuzzyNames] = []
    tell(f"index of {FILES:,} names", [seconds(lambda: names.append(FuzzyNames(files)))])
    tell("mentions: a key, typed on", list(keys(names[0])))
    fresh = {query: FuzzyNames(files) for query in QUERIES}
    tell("mentions: a whole query at once", [seconds(lambda q=q: fresh[q].find_best(q, 60)) for q in QUERIES])
    with tempfile.TemporaryDirectory() as folder:
        tell(
            f"@ in a terminal, {FILES:,} files: a key until the menu stands", list(menu(Path(folder) / "place", files))
        )
        project = Path(folder)
        (project / "app.py").write_text("x = 1\n" * 50_000, encoding="utf-8")
        chips = MentionLabels(project)
        line = "why does @app.py:10-40 fail, and not @app.py?"
        tell(
            "chips: a key of a line with two mentions", [seconds(lambda: chips.label_mentions(line)) for _ in range(50)]
        )
        history = LineHistory(project / "history", project)
        entries = (" ".join(rng.choices(WORDS, k=8)) for _ in range(5_000))
        text = "".join(format_history_entry(entry, f"2026-01-01 10:00:00 {project}") for entry in entries)
        history.path.write_text(text, encoding="utf-8")
        search = HistorySearch(history)
        tell("Ctrl-R: reading 5,000 earlier lines", [seconds(search.load_entries)])
        tell("Ctrl-R: a key", [seconds(lambda q=q: search.find_matches(q)) for q in ("use", "parserl", "zzz", "i")])
    log = "".join(f"line {number} of a long log\n" for number in range(40_000))
    tell(f"paste of {len(log):,} characters", [asyncio.run(paste(log)) for _ in range(5)])


if __name__ == "__main__":
    report()
