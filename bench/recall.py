"""Times what finding earlier sessions costs. `python -m bench.recall [--part small large list real] [--from FOLDER]`.

small: 200 sessions of 100 messages. large: 5,000 sessions, 200 MB; with `--sessions 11600` 500,000 messages. list:
names of 5,000 sessions. real: transcripts of other tools below FOLDER (`bench.transcripts`). Data is made by
`bench.recall_data` in a temporary folder.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.recall_data import Words, make_sessions, write_session
from bench.transcripts import find_transcripts
from clio.memory.transcripts.session_search import SessionRecall
from clio.messages import ToolMessage, message_text
from clio.sessions.store import SessionStore
from clio.text.vocabulary import STOP_WORDS, tokenize

QUERIES = 200
KNOWN = 400
"""Number of messages that are searched by some of their words."""
TICK_S = 0.002


def timed(act: Callable[[], object]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    act()
    return (time.perf_counter() - begin) * 1e3


def folder_bytes(folder: Path) -> int:
    """Sizes of all files below a folder, added up."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def varied_queries(words: Words, count: int, seed: int = 7) -> list[str]:
    """Rare names, common words, phrases, questions full of stop words, long pastes, outputs, and nonsense."""
    rng = random.Random(seed)
    made: list[Callable[[], str]] = [
        lambda: rng.choice(words.names),
        lambda: f"{rng.choice(words.names)} {words.prose(2)}",
        lambda: words.prose(2),
        lambda: words.prose(5),
        lambda: f'"{words.prose(3)}"',
        lambda: f"which session did we say that {words.prose(3)} is the {words.prose(2)} of it",
        lambda: "the file is not in the class",
        lambda: "error return value self object string list",
        lambda: words.prose(60),
        lambda: f"tests/test_{rng.choice(words.names)}.py",
        lambda: f"{rng.choice(words.names)} in:output",
        lambda: f"xyzzy{rng.randrange(999)}",
    ]
    return [made[number % len(made)]() for number in range(count)]


def report_queries(recall: SessionRecall, words: Words) -> None:
    """Print the spread of warm queries, and the slowest one."""
    queries = varied_queries(words, QUERIES)
    for query in queries[:12]:
        recall.search(query)
    took: list[float] = []
    cpu: list[float] = []
    for query in queries:
        begin = time.process_time()
        took.append(timed(lambda query=query: recall.search(query)))
        cpu.append((time.process_time() - begin) * 1e3)
    spread = statistics.quantiles(took, n=20)
    slowest = max(zip(took, queries, strict=True))
    print(f"warm query: median {statistics.median(took):.1f} ms, p95 {spread[-1]:.1f} ms")
    print(f"  CPU: median {statistics.median(cpu):.1f} ms, mean {statistics.mean(cpu):.1f} ms")
    print(f"  slowest {slowest[0]:.1f} ms: {slowest[1][:60]!r}")
    kinds = [statistics.median(took[kind::12]) for kind in range(12)]
    print("  medians by kind: " + " ".join(f"{took:.1f}" for took in kinds))


def report_known(store: SessionStore, recall: SessionRecall) -> None:
    """Print how often a random message is found again by two to five of its words, and the CPU time of that."""
    rng = random.Random(11)
    ids = sorted(path.stem for path in store.folder.glob("*.json"))
    ranks: list[int] = []
    cpu: list[float] = []
    while len(ranks) < KNOWN:
        session = rng.choice(ids)
        message = rng.choice([one for one in store.read(session) if not isinstance(one, ToolMessage)])
        words = [word for word in dict.fromkeys(tokenize(message_text(message))) if is_asked(word)]
        if len(words) < 6:
            continue
        places = sorted(rng.sample(range(len(words)), rng.randrange(2, 6)))
        begin = time.process_time()
        found = recall.search_turns(" ".join(words[place] for place in places), limit=10).turns
        cpu.append((time.process_time() - begin) * 1e3)
        keys = [(hit.where.session, hit.id) for hit in found if hit.where]
        ranks.append(keys.index((session, message.id)) + 1 if (session, message.id) in keys else 11)
    shares = ", ".join(f"{100 * sum(rank <= k for rank in ranks) / KNOWN:.1f} %" for k in (1, 5, 10))
    print(f"{KNOWN} messages by 2 to 5 of their words: {shares} in the first 1, 5, 10")
    print(f"  CPU: median {statistics.median(cpu):.1f} ms")


def is_asked(word: str) -> bool:
    """Whether someone would search for a word."""
    return len(word) > 2 and word.isalpha() and word not in STOP_WORDS


def report_stall(store: SessionStore, cache: Path, seconds: float) -> None:
    """Print the longest time the event loop could not run while the index was built in the background."""
    recall = SessionRecall(store, cache)
    stop = threading.Event()

    async def ticks() -> list[float]:
        late: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            begin = time.perf_counter()
            await asyncio.sleep(TICK_S)
            late.append((time.perf_counter() - begin - TICK_S) * 1e3)
        return late

    async def run() -> tuple[list[float], list[float], float]:
        alone = await ticks()
        thread = threading.Thread(target=recall.refresh, args=(stop.is_set,))
        thread.start()
        beside = await ticks()
        begin = time.perf_counter()
        stop.set()
        thread.join()
        return alone, beside, (time.perf_counter() - begin) * 1e3

    alone, beside, ended = asyncio.run(run())
    recall.close()
    p99 = statistics.quantiles(beside, n=100)[-1]
    print(
        f"event loop late by: idle at most {max(alone):.1f} ms; building p99 {p99:.1f} ms, at most {max(beside):.1f} ms"
    )
    print(f"  stopped within {ended:.1f} ms")


def report_first(store: SessionStore, cache: Path, query: str) -> SessionRecall:
    """Print the first answer without an index, the whole build and its size; the recall with all of it."""
    recall = SessionRecall(store, cache)
    cpu = time.process_time()
    begin = time.perf_counter()
    answer = recall.search(query)
    print(
        f"first answer without an index: {time.perf_counter() - begin:.2f} s, {answer.unsearched} sessions not searched"
    )
    while recall.search(query).unsearched:
        pass
    print(f"all words: {time.process_time() - cpu:.1f} s CPU, {share(store, cache)}")
    while recall.search(query + " in:output").unsearched:
        pass
    print(f"and all outputs: {time.process_time() - cpu:.1f} s CPU, {share(store, cache)}")
    return recall


def share(store: SessionStore, cache: Path) -> str:
    """The size of the index beside that of the sessions."""
    index, sessions = folder_bytes(cache), folder_bytes(store.folder)
    return f"index {index / 1e6:.1f} MB of {sessions / 1e6:.1f} MB, {100 * index / sessions:.0f} %"


def report_growth(store: SessionStore, recall: SessionRecall, words: Words) -> None:
    """Print what one new session adds to the next query, and one message to a running one."""
    recall.search("warm")
    write_session(store.folder, words, 1_000_000, age=0, size=40_000)
    took = timed(lambda: recall.search("warm"))
    print(f"query after one new session: {took:.1f} ms, the next one {timed(lambda: recall.search('warm')):.1f} ms")
    running = store.new(Path("/project"))
    for message in store.read(sorted(path.stem for path in store.folder.glob("*.json"))[0]):
        running.append(message)
    recall.search("warm")
    running.append(store.read(running.id)[0])
    print(f"query after one message in another session: {timed(lambda: recall.search('warm')):.1f} ms")
    running.close()


def small(folder: Path) -> None:
    """200 sessions of 100 messages."""
    words = make_sessions(folder / "sessions", 200, size=85_000, even=True)
    store = SessionStore(folder / "sessions")
    report_queries(report_first(store, folder / "cache", words.prose(3)), words)


def large(folder: Path, sessions: int) -> None:
    """Sessions of 40,000 bytes."""
    words = make_sessions(folder / "sessions", sessions, size=28_000)
    store = SessionStore(folder / "sessions")
    report_stall(store, folder / "stalled", 8.0)
    recall = report_first(store, folder / "cache", words.prose(3))
    report_queries(recall, words)
    report_known(store, recall)
    report_growth(store, recall, words)
    recall.close()
    began = time.perf_counter()
    later = SessionRecall(store, folder / "cache")
    later.search(words.names[0])
    print(f"first query of another process' index: {(time.perf_counter() - began) * 1e3:.1f} ms")


def listing(folder: Path) -> None:
    """What `clio sessions list` does beyond a bare start."""
    make_sessions(folder / ".clio" / "sessions", 5_000, size=2_000)
    store = SessionStore(folder / ".clio" / "sessions")
    took = sorted(timed(store.list) for _ in range(7))
    print(f"store.list() of 5,000 sessions: median {took[3]:.1f} ms")
    for command in (["--version"], ["sessions", "list"]):
        took = sorted(timed(lambda command=command: run_clio(command, folder)) for _ in range(7))
        print(f"clio {' '.join(command)}: median {took[3]:.1f} ms")


def run_clio(arguments: list[str], folder: Path) -> None:
    """One start of the program in a folder."""
    env = os.environ | {"CLIO_HOME": str(folder / "home")}
    subprocess.run([sys.executable, "-m", "clio", *arguments], cwd=folder, env=env, capture_output=True, check=True)


def real(folder: Path, transcripts: Path) -> None:
    """Transcripts of other tools."""
    store = SessionStore(folder / "sessions")
    for _, transcript in find_transcripts(transcripts):
        session = store.new(folder)
        for message in transcript.messages:
            session.append(message)
        session.close()
    report_first(store, folder / "cache", "error in the tests")


def main() -> None:
    """Print the figures of the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--part", nargs="+", choices=("small", "large", "list", "real"), default=["small", "large", "list"]
    )
    parser.add_argument("--sessions", type=int, default=5_000, help="of the part large")
    parser.add_argument("--from", dest="transcripts", type=Path, default=Path.cwd())
    asked = parser.parse_args()
    for part in asked.part:
        print(f"-- {part}")
        with tempfile.TemporaryDirectory() as folder:
            match part:
                case "small":
                    small(Path(folder))
                case "large":
                    large(Path(folder), asked.sessions)
                case "list":
                    listing(Path(folder))
                case _:
                    real(Path(folder), asked.transcripts)


if __name__ == "__main__":
    main()
