"""Measure automatic recall on the questions of tests/memory/data/brain_cases.json, and its time.

    python bench/ranker.py [--misses]

precision: share of the recalled memories that are expected. recall: share of the expected memories that are recalled.
best: share of the questions with an answer that have one in first place. silent: share of the questions without an
answer for which nothing is recalled. exact: share of the questions for which exactly the expected memories are
recalled. The homes "held out" were not looked at while the ranker was tuned. "one store": all memories of a part in one
store, so that most of them are about other subjects; memories of another home count as wrong even if they match.
--misses: print each tuning question with missed or wrong memories.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.memory.retrieval.evidence import extract_text_stems
from clio.memory.retrieval.scoring import Candidate, rank
from clio.memory.retrieval.turn_memory import find_memories
from clio.memory.store.record import MemoryRecord
from tests.memory.retrieval.quality import (
    NOW,
    Answer,
    Book,
    answers,
    filled,
    groups,
    in_one_store,
    quality,
    read,
)

RUNS = 30
LONG = (
    "I want to move the monitoring to another machine this week, and before I touch the real account I would like to "
    "try all of it somewhere harmless; which profile was it that I use for experiments, and which port does staging use"
)


def main() -> None:
    """Print the quality, then the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    cases = read()
    results = answers(cases)
    print_quality(results, cases)
    if parser.parse_args().misses:
        print_misses(results)
    print_times()


def print_quality(results: list[Answer], cases: Book) -> None:
    """Print one row for each group of questions."""
    print(f"{'':15} {'questions':>9} {'precision':>9} {'recall':>7} {'best':>6} {'silent':>6} {'exact':>6}")
    rows = {name: quality(group) for name, group in groups(results).items()}
    rows |= {f"one store, {part}": quality(in_one_store(cases, part)) for part in ("tuning", "held out")}
    for name, result in rows.items():
        shares = (result.precision, result.recall, result.best, result.silent, result.exact)
        print(f"{name:20} {result.cases:4}", *(f"{share:8.1%}" for share in shares))


def print_misses(results: list[Answer]) -> None:
    """Print missed and wrong memories for the questions that the ranker was tuned on."""
    for answer in results:
        if answer.part == "tuning" and (answer.wrong or answer.missed):
            print(f"{answer.case.home}: {answer.case.ask}")
            print(f"   missed {sorted(answer.missed)}, wrong {sorted(answer.wrong)}")


def print_times() -> None:
    """Print the times of ranking, and of finding the candidates and ranking them."""
    rng = random.Random(7)
    vocabulary = [f"{rng.randrange(16**5):05x}w" for _ in range(3_000)]

    def text() -> str:
        words = [rng.choice(vocabulary) for _ in range(10)]
        return " ".join((*words, rng.choice(("staging", "port", "profile", "machine", "account"))))

    candidates = [Candidate(source="memory", id=str(number), text=text(), when=NOW) for number in range(500)]
    print(f"\n{'500 candidates':36} {'median ms':>9} {'worst':>7}")
    for name, question in (("a short question", "which port does staging use"), (f"{len(LONG.split())} words", LONG)):
        print_times_of(
            f"{name}, new texts",
            lambda asked=question: rank(asked, candidates, now=NOW),
            before=extract_text_stems.cache_clear,
        )
        print_times_of(f"{name}, cached texts", lambda asked=question: rank(asked, candidates, now=NOW))
    with TemporaryDirectory() as folder:
        memories = filled(Path(folder) / "many", ())
        records = [MemoryRecord(id=f"m{number}", kind="fact", content=text(), accessed=NOW) for number in range(10_000)]
        memories.project.put("filled", records)
        print(f"\n{'10,000 memories, found and ranked':36}")
        for name, question in (
            ("a short question", "which port does staging use"),
            (f"{len(LONG.split())} words", LONG),
        ):
            print_times_of(
                name,
                lambda asked=question: rank(asked, find_memories(memories, asked, NOW), now=NOW, limit=8),
            )


def print_times_of(name: str, call: Callable[[], object], before: Callable[[], None] | None = None) -> None:
    """Print the median and longest time of a call. before: called before each run, not measured."""
    times: list[float] = []
    for _ in range(RUNS):
        if before:
            before()
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    print(f"{name:36} {statistics.median(times):9.2f} {max(times):7.2f}")


if __name__ == "__main__":
    main()
