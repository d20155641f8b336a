"""The classifier of intents: its file, its features, and how well it reads messages that it was not trained with."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.training import fit
from clio.memory.preferences.intents import INTENTS, LASTING, MODEL, classify, find_parts, list_features
from clio.text.linear_model import BUCKETS, LinearModel

DATA = Path(__file__).parents[3] / "bench" / "data" / "intents.jsonl"


def test_the_file_has_a_byte_for_each_feature_and_intent() -> None:
    assert MODEL.path.stat().st_size == BUCKETS * len(INTENTS)


def test_features_ignore_case_numbers_and_the_names_of_files() -> None:
    assert list_features("Never touch src/a.py 12 times") == list_features("never touch lib/b.go 7 times")
    assert list_features("never touch it") != list_features("touch it")
    assert all(0 <= one < BUCKETS for one in list_features("提交信息用中文"))


@pytest.mark.parametrize("text", ["", "?", "add a test", "never push to main", "以后都用中文回答" * 100])
def test_probabilities_sum_to_1(text: str) -> None:
    assert sum(classify(text)) == pytest.approx(1.0)


def test_a_sentence_is_divided_where_its_parts_do_different_things() -> None:
    sentence = "fix the flaky upload test, and by the way i always want short answers"
    first, *_, last = find_parts(sentence)
    assert first.intent == "other" and sentence[: first.end].startswith("fix the flaky upload test")
    assert last.intent == "wish" and sentence[last.start : last.end].endswith("short answers")


@pytest.mark.parametrize(("half", "least_found", "most_wrong"), [("test", 0.93, 0.10), ("second test", 0.95, 0.09)])
def test_lasting_statements_are_found_in_messages_of_other_writers(
    half: str, least_found: float, most_wrong: float
) -> None:
    messages = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    found, wrong = [], []
    for text, intent in (part for one in messages if one["half"] == half for part in one["parts"]):
        lasting = sum(classify(text)[INTENTS.index(one)] for one in LASTING)
        (found if intent in LASTING else wrong).append(lasting >= 0.5)
    assert np.mean(found) >= least_found
    assert np.mean(wrong) <= most_wrong


def test_weights_are_fitted_to_examples(tmp_path: Path) -> None:
    """Also to those of which only is known what they do not mean."""
    texts = ["never push", "never merge", "run the tests", "add a test", "never mind"]
    allowed = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 1]], float)
    features = [list_features(text) for text in texts]
    weights = fit(features, allowed, [1.0] * len(texts), epochs=60)
    (path := tmp_path / "weights.bin").write_bytes(weights)
    model = LinearModel(path, 3)
    probabilities = [model.list_probabilities(one) for one in features]
    assert [one.index(max(one)) for one in probabilities[:4]] == [0, 0, 1, 1]
    assert probabilities[4][0] < 0.5
    assert weights == fit(features, allowed, [1.0] * len(texts), epochs=60)
