"""What 162 questions must and must not recall: detects changes that find less or add irrelevant memories.

`python bench/ranker.py` prints the whole table. The thresholds are a few points below the measured values.
"""

import pytest

from tests.memory.retrieval.quality import Answer, answers, groups, quality, read


@pytest.fixture(scope="module")
def found() -> dict[str, list[Answer]]:
    return groups(answers(read()))


def test_there_are_enough_questions_of_every_kind(found: dict[str, list[Answer]]) -> None:
    assert len(found["all"]) >= 150
    assert len(found["held out"]) >= 60
    assert len(found["long questions"]) >= 12
    assert sum(not answer.case.want for answer in found["all"]) >= 40


@pytest.mark.parametrize(
    ("group", "precision", "recall", "best"),
    [("tuning", 0.95, 0.95, 0.95), ("held out", 0.93, 0.88, 0.88), ("long questions", 0.9, 0.83, 0.8)],
)
def test_answers_are_recalled_and_hardly_anything_else(
    found: dict[str, list[Answer]], group: str, precision: float, recall: float, best: float
) -> None:
    measured = quality(found[group])
    assert measured.precision >= precision
    assert measured.recall >= recall
    assert measured.best >= best


def test_questions_without_a_relevant_memory_recall_nothing(found: dict[str, list[Answer]]) -> None:
    assert quality(found["all"]).silent >= 0.95
