"""What comes back by itself for the questions of tests/memory/data/brain_cases.json, and what asking costs.

python bench/ranker.py [--misses]

precision: of what came, the share that was to come. recall: of what was to come, the share that came. best: of the
questions with an answer, those where one stands first. silent: of the questions about nothing remembered, those that
brought nothing. exact: all that was to come came, and nothing else. The homes "held out" were not looked at while the
ranker was tuned. "one store": all memories of a part in one store, so that most of them are about something else; what
comes from another home counts as wrong there, also where it fits.
--misses: each question that went wrong.
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
from clio.memory.retrieval.scoring import Candidate, Scored, rank
from clio.memory.retrieval.turn_memory import find_memories
from clio.memory.store.memory_store import MemoryStore
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
    """Print quality, then times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    book = read()
    found = answers(book)
    print_quality(found, book)
    if parser.parse_args().misses:
        print_misses(found)
    print_times()


def print_quality(found: list[Answer], book: Book) -> None:
    """One row for each group of questions."""
    print(f"{'':15} {'questions':>9} {'precision':>9} {'recall':>7} {'best':>6} {'silent':>6} {'exact':>6}")
    rows = {name: quality(group) for name, group in groups(found).items()}
    rows |= {f"one store, {part}": quality(in_one_store(book, part)) for part in ("tuning", "held out")}
    for name, one in rows.items():
        shares = (one.precision, one.recall, one.best, one.silent, one.exact)
        print(f"{name:20} {one.cases:4}", *(f"{share:8.1%}" for share in shares))


def print_misses(found: list[Answer]) -> None:
    """What was missed and what was wrong, of the questions the ranker was tuned on."""
    for answer in found:
        if answer.part == "tuning" and (answer.wrong or answer.missed):
            print(f"{answer.case.home}: {answer.case.ask}")
            print(f"   missed {sorted(answer.missed)}, wrong {sorted(answer.wrong)}")


def print_times() -> None:
    """Milliseconds of ranking, and of finding what to rank."""
    rng = random.Random(7)
    vocabulary = [f"{rng.randrange(16**5):05x}w" for _ in range(3_000)]

    def text() -> str:
        words = [rng.choice(vocabulary) for _ in range(10)]
        return " ".join((*words, rng.choice(("staging", "port", "profile", "machine", "account"))))

    candidates = [Candidate(source="memory", id=str(number), text=text(), when=NOW) for number in range(500)]
    print(f"\n{'500 candidates':36} {'median ms':>9} {'worst':>7}")
    for name, question in (("a short question", "which port does staging use"), (f"{len(LONG.split())} words", LONG)):
        row(
            f"{name}, texts new",
            lambda asked=question: rank(asked, candidates, now=NOW),
            before=extract_text_stems.cache_clear,
        )
        row(f"{name}, texts seen before", lambda asked=question: rank(asked, candidates, now=NOW))
    with TemporaryDirectory() as folder:
        memories = filled(Path(folder) / "many", ())
        records = [MemoryRecord(id=f"m{number}", kind="fact", content=text(), accessed=NOW) for number in range(10_000)]
        memories.project.put("filled", records)
        print(f"\n{'10,000 memories, found and ranked':36}")
        for name, question in (("a short question", "which port does staging use"), ("the long one", LONG)):
            row(
                name,
                lambda asked=question: rank(asked, find_memories(memories, asked, NOW), now=NOW, limit=8),
            )


def recall(memories: MemoryStore, question: str) -> list[Scored]:
    """What a turn with this text is given."""
    return rank(question, find_memories(memories, question, NOW), now=NOW, limit=8)[0]


def row(name: str, call: Callable[[], object], before: Callable[[], None] | None = None) -> None:
    """Measure a call and print a line."""
    took: list[float] = []
    for _ in range(RUNS):
        if before:
            before()
        began = time.perf_counter()
        call()
        took.append((time.perf_counter() - began) * 1000)
    print(f"{name:36} {statistics.median(took):9.2f} {max(took):7.2f}")


if __name__ == "__main__":
    main()
