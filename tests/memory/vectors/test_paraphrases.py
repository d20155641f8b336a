"""How many questions of pairs.txt are near their answers, and how few are near other texts."""

import math
from pathlib import Path

from clio.text.embedding import HashedEmbedder, embed_text

PAIRS = Path(__file__).parent / "pairs.txt"


def pairs(mark: str) -> list[tuple[str, str]]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    found = [line[2:].split(" | ") for line in lines if line.startswith(mark)]
    return [(question, answer) for question, answer in found]


def near(question: str, answer: str) -> bool:
    return math.dist(embed_text(question), embed_text(answer)) < 1.0


def test_there_are_enough_pairs() -> None:
    assert len(pairs("=")) >= 80 and len(pairs("!")) >= 80


def test_most_paraphrases_are_near() -> None:
    related = pairs("=")
    assert sum(near(*pair) for pair in related) / len(related) > 0.6


def test_few_pairs_that_only_share_a_word_are_near() -> None:
    unrelated = pairs("!")
    assert sum(near(*pair) for pair in unrelated) / len(unrelated) < 0.08


def test_hardly_any_question_is_near_the_answer_of_another() -> None:
    related = pairs("=")
    vectors = [(embed_text(question), embed_text(answer)) for question, answer in related]
    wrong = [
        math.dist(question, answer) < 1.0
        for place, (question, _) in enumerate(vectors)
        for other, (_, answer) in enumerate(vectors)
        if abs(place - other) > 2  # neighbours in the file ask about the same subject
    ]
    assert sum(wrong) / len(wrong) < 0.002


def test_the_answer_is_among_the_three_nearest() -> None:
    related = pairs("=")
    answers = [embed_text(answer) for _, answer in related]
    found = 0
    for place, (question, _) in enumerate(related):
        vector = embed_text(question)
        order = sorted(range(len(answers)), key=lambda other: math.dist(vector, answers[other]))
        found += place in order[:3]
    assert found / len(related) > 0.9


def test_a_vector_has_length_one_or_zero() -> None:
    rows = HashedEmbedder().embed(["zebra", "the", "", "…", "ゼブラはどこ", "x" * 100_000])
    lengths = [math.sqrt(sum(value * value for value in row)) for row in rows]
    assert [round(length, 5) for length in lengths] == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    assert {len(row) for row in rows} == {384}
