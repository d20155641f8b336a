"""Classification of a complaint about an answer, from a few words."""

import importlib.util
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest

from clio.memory.styles.feedback import CATEGORIES, EXAMPLES, Category, infer_reason
from clio.memory.vectors.model_embedders import PACKAGE, MiniLmEmbedder
from clio.text.embedding import EmbeddingFailed, HashedEmbedder, Row

OF_EXAMPLE = {example: name for name, examples in EXAMPLES.items() for example in examples}


class Directions:
    """An embedder with one direction per reason and one that all texts share, as in real embedders.

    shares: how much of which reason's direction each text has that is not an example.
    """

    piece_words = 150
    remote = True

    def __init__(self, name: str, shares: dict[str, dict[Category, float]] | None = None, common: float = 1.0) -> None:
        self.name = name
        self.asked: list[Sequence[str]] = []
        self._shares = shares or {}
        self._common = common

    def embed(self, texts: Sequence[str]) -> list[Row]:
        self.asked.append(texts)
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> Row:
        shares = {OF_EXAMPLE[text]: 1.0} if text in OF_EXAMPLE else self._shares.get(text, {})
        return array("f", [self._common, *(shares.get(name, 0.0) for name in CATEGORIES), 0.1])


class Broken(Directions):
    def embed(self, texts: Sequence[str]) -> list[Row]:
        raise EmbeddingFailed("the server is gone")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("way too long", "too_verbose"),
        ("Please be more concise.", "too_verbose"),
        ("not enough detail", "too_brief"),
        ("don’t be so rude", "wrong_tone"),
        ("you missed the point", "not_helpful"),
        ("that function doesn’t exist", "incorrect_info"),
        ("meh", None),
        ("  ", None),
    ],
)
def test_english_complaints_need_no_embedder(text: str, reason: Category | None) -> None:
    assert infer_reason(text, None) == reason


def test_the_rules_are_tried_first() -> None:
    embedder = Directions("first")
    assert infer_reason("too long", embedder) == "too_verbose"
    assert embedder.asked == []


@pytest.mark.parametrize("common", [0.2, 1.0, 4.0])
def test_other_texts_are_compared_with_examples_even_if_all_texts_are_similar(common: float) -> None:
    shares: dict[str, dict[Category, float]] = {
        "bitte kürzer": {"too_verbose": 1.0},
        "hm": {},
        "ein wenig lang": {"too_verbose": 0.1},
    }
    embedder = Directions(f"far-{common}", shares, common)
    assert infer_reason("bitte kürzer", embedder) == "too_verbose"
    assert infer_reason("hm", embedder) is None
    assert infer_reason("ein wenig lang", embedder) is None  # below 0.6


def test_the_examples_are_embedded_once() -> None:
    embedder = Directions("once")
    infer_reason("eins", embedder)
    infer_reason("zwei", embedder)
    assert [len(texts) for texts in embedder.asked] == [1, len(OF_EXAMPLE), 1]


def test_the_hashed_embedder_is_never_used() -> None:
    assert infer_reason("bitte kürzer", HashedEmbedder()) is None


def test_a_failing_embedder_gives_no_reason_and_the_result_is_not_cached() -> None:
    assert infer_reason("bitte kürzer", Broken("mended")) is None
    assert infer_reason("bitte kürzer", Directions("mended", {"bitte kürzer": {"too_verbose": 1.0}})) == "too_verbose"


@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="the weights are not installed (90 MB)")
def test_a_small_language_model_finds_most_complaints_the_rules_miss_and_no_others() -> None:
    lines = (Path(__file__).parent / "reasons.txt").read_text(encoding="utf-8").splitlines()
    wanted = [tuple(part.strip() for part in line.split("|")) for line in lines if not line.startswith("#")]
    embedder = MiniLmEmbedder()
    given = [(reason, infer_reason(text, embedder)) for reason, text in wanted]
    assert sum(one == reason for reason, one in given) >= 18
    assert [one for reason, one in given if reason == "-" and one] == []
