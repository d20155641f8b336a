"""Signatures, buckets and guards: which texts count as similar, and which must never be merged."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.embedding import EMBEDDING_DIMENSIONS, embed_text
from clio.text.similarity import (
    BAND_COUNT,
    ROWS_PER_BAND,
    LshIndex,
    compute_jaccard,
    compute_signature,
    estimate_jaccard,
    extract_distinctive_words,
    find_differences,
)
from tests.support.rows import each_row

WORDS = st.lists(st.text("abcdefgh", min_size=3, max_size=5), max_size=12)


@given(WORDS, WORDS)
def test_similarity_is_symmetric_and_one_only_for_equal_sets(one: list[str], other: list[str]) -> None:
    assert compute_jaccard(one, other) == compute_jaccard(other, one)
    assert (compute_jaccard(one, other) == 1.0) == (bool(one) and set(one) == set(other))
    assert estimate_jaccard(compute_signature(one), compute_signature(other)) == estimate_jaccard(
        compute_signature(other), compute_signature(one)
    )
    assert compute_signature(one) == compute_signature(list(reversed(one)))


def test_the_estimate_is_near_the_true_value() -> None:
    rng = random.Random(4)
    errors: list[float] = []
    for trial in range(300):
        words = [f"{trial}w{place}" for place in range(20)]
        shared = rng.randint(0, 10)
        one, other = words[:10], words[10 - shared : 20 - shared]
        errors.append(
            abs(estimate_jaccard(compute_signature(one), compute_signature(other)) - compute_jaccard(one, other))
        )
    assert max(errors) < 0.25
    assert sum(errors) / len(errors) < 0.06


def test_buckets_find_similar_texts_as_often_as_the_formula_says() -> None:
    rng = random.Random(6)
    for shared, total in ((10, 12), (8, 12), (7, 13), (3, 17)):  # of ten words each
        found = 0
        for trial in range(200):
            index: LshIndex[int] = LshIndex()
            words = [f"{trial}-{shared}-{place}-{rng.random()}" for place in range(total)]
            index.add(1, compute_signature(words[:10]))
            found += 1 in index.find_candidates(compute_signature(words[total - 10 :]))
        expected = 1.0 - (1.0 - (shared / total) ** ROWS_PER_BAND) ** BAND_COUNT
        assert abs(found / 200 - expected) < 0.12, (shared / total, found / 200, expected)


@given(st.lists(st.tuples(st.integers(0, 5), WORDS), max_size=15))
def test_an_index_contains_the_latest_signatures(steps: list[tuple[int, list[str]]]) -> None:
    index: LshIndex[int] = LshIndex()
    texts_by_key: dict[int, list[str]] = {}
    for key, words in steps:
        if key == 5:
            index.remove(len(words))
            texts_by_key.pop(len(words), None)
        else:
            index.add(key, compute_signature(words))
            texts_by_key[key] = words
    assert len(index) == len(texts_by_key)
    for key, words in texts_by_key.items():
        assert key in index.find_candidates(compute_signature(words))


@each_row(
    ("one", "other", "difference"),
    [
        ("the port is 8080", "the port is 8081", "number"),
        ("needs python 3.11", "needs python 3.12", "number"),
        ("host db1", "host db2", "number"),
        ("logs in /var/log", "logs in /srv/log", "path"),
        ("edit src/app.py first", "edit src/main.py first", "path"),
        ("run the tests", "never run the tests", "negation"),
        ("we deploy on fridays", "we don't deploy on fridays", "negation"),
        ("the editor is vim", "the editor is emacs", "value"),
        ("用户喜欢深色模式", "用户喜欢浅色模式", "script"),
        ("не использовать эмодзи", "использовать эмодзи", "script"),
    ],
)
def test_differences_are_named(one: str, other: str, difference: str) -> None:
    assert difference in find_differences(one, other)
    assert difference in find_differences(other, one)


@each_row(
    ("one", "other"),
    [
        ("Use ruff.", "use ruff"),
        ("use   ruff", "use ruff"),
        ("tests run fast", "fast tests run"),
        ("the editor is vim", "the editor is vim with plugins"),
        ("用户喜欢深色模式", "用户喜欢深色模式"),
    ],
)
def test_texts_with_the_same_meaning_have_no_differences(one: str, other: str) -> None:
    assert find_differences(one, other) == frozenset()


def test_numbers_versions_and_paths_are_single_words() -> None:
    assert extract_distinctive_words("Port 8080, python 3.11.2, src/app.py") == {
        "port",
        "8080",
        "python",
        "3.11.2",
        "src/app.py",
    }


def test_a_point_is_the_same_in_every_process_and_of_length_one() -> None:
    text = "the staging database listens on port 5433"
    code = f"from clio.text.embedding import embed_text; print(list(embed_text({text!r})))"
    elsewhere = subprocess.check_output([sys.executable, "-c", code], env={"PYTHONHASHSEED": "7"}, text=True)
    vector = embed_text(text)
    assert str(list(vector)) == elsewhere.strip()
    assert len(vector) == EMBEDDING_DIMENSIONS
    assert sum(value * value for value in vector) == pytest.approx(1.0, abs=1e-5)
    assert not any(embed_text(""))
