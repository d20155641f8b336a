"""The best memories by the formula of the specification are found without scoring all of them."""

import random

from clio.memory.store.memory_index import MemoryIndex, rank_records
from clio.memory.store.record import MemoryRecord
from clio.text.scoring import DAY_S, compute_recall_score, compute_recency

NOW = 1_750_000_000.0
WORDS = (
    "staging port server deploy database parser index cache worker queue retry token session release branch test "
    "timeout memory config file user backup migration what when is the of we use runs after before every"
).split()


def make_records(rng: random.Random, count: int) -> list[MemoryRecord]:
    """Return facts of few words, with keywords, example files, and a few long texts among them."""
    found: list[MemoryRecord] = []
    for number in range(count):
        content = " ".join(rng.choices(WORDS, k=rng.choice((3, 6, 9)))) + f" n{number % 40}"
        found.append(
            MemoryRecord(
                id=f"m{number:04}",
                kind=rng.choice(("fact", "event", "note")),
                content=content if number % 50 else f"{content}. " * 30,
                importance=rng.choice((0.1, 0.5, 0.9)),
                keywords=(" ".join(rng.choices(WORDS, k=rng.choice((1, 2)))),) if number % 9 == 0 else (),
                examples=(f"src/{rng.choice(WORDS)}.py",) if number % 13 == 0 else (),
                accessed=NOW - rng.random() * 60 * DAY_S,
                updated=NOW - rng.random() * 200 * DAY_S,
            )
        )
    return found


def make_questions(rng: random.Random, count: int) -> list[str]:
    """Return questions of one to twelve words, some with a name that few records contain."""
    return [
        " ".join((*rng.choices(WORDS, k=rng.choice((1, 2, 5, 12))), *([f"n{rng.randrange(60)}"] * (number % 3 == 0))))
        for number in range(count)
    ]


def test_the_best_records_are_those_found_by_scoring_all() -> None:
    rng = random.Random(9)
    index = MemoryIndex()
    for record in make_records(rng, 600):
        index.put(record)
    for question in make_questions(rng, 150):
        asked = frozenset(question.split())
        scored: list[tuple[float, float, str]] = []
        for id, hits in index.matches(asked).items():
            record = index.records[id]
            similarity = hits / (len(asked) + len(index.terms[id]) - hits)
            recency = compute_recency(NOW - record.accessed)
            scored.append((-compute_recall_score(hits, similarity, record.importance, recency), -record.updated, id))
        for limit in (1, 20, 1_000):
            found = rank_records(index, asked, limit, NOW)
            assert [hit.record.id for hit in found] == [id for *_, id in sorted(scored)[:limit]], question
