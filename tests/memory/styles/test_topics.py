"""Similarity of a turn to the topics of a style."""

from array import array
from collections.abc import Sequence

import pytest

from clio.memory.styles.selection import compute_topic_similarity
from clio.text.embedding import EMBEDDING_DIMENSIONS, EmbeddingFailed, HashedEmbedder, Row


class Meaning:
    """A test embedder: words of one group have the same direction. It counts the texts it embeds."""

    piece_words = 100
    remote = True

    def __init__(self, name: str, groups: Sequence[set[str]], *, fails: bool = False) -> None:
        self.name = name
        self._groups, self._fails = groups, fails
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Row]:
        if self._fails:
            self.asked.extend(texts)
            raise EmbeddingFailed("no server")
        self.asked.extend(texts)
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> Row:
        row = array("f", [0.0] * EMBEDDING_DIMENSIONS)
        for place, group in enumerate(self._groups):
            if group & set(text.split()):
                row[place] = 1.0
        return row


@pytest.mark.parametrize(
    ("topics", "text"),
    [((), "anything"), (("kubernetes",), ""), (("kubernetes",), "?!"), (("--",), "anything")],
)
def test_without_topics_or_text_there_is_nothing_to_compare(topics: tuple[str, ...], text: str) -> None:
    assert compute_topic_similarity(topics, text, None) is None


@pytest.mark.parametrize(
    ("topic", "text", "similarity"),
    [
        ("step by step", "explain it Step by Step", 1.0),
        ("migration", "write the migrations", 1.0),
        ("error handling", "where are errors handled", 1.0),
        ("error handling", "what is this error", 0.5),
        ("what next", "what is this", 0.0),
        ("kubernetes", "rename the variable", 0.0),
    ],
)
def test_the_score_is_the_share_of_the_topics_words_in_the_message(topic: str, text: str, similarity: float) -> None:
    assert compute_topic_similarity((topic,), text, None) == similarity


def test_the_most_similar_topic_counts() -> None:
    assert compute_topic_similarity(("kubernetes", "error handling", "helm"), "the error", None) == 0.5


def test_the_default_embedder_adds_nothing_to_word_overlap() -> None:
    assert compute_topic_similarity(("kubernetes",), "the pods of the cluster", HashedEmbedder()) == 0.0


def test_a_semantic_embedder_finds_other_words_for_a_topic() -> None:
    embedder = Meaning("meaning-1", [{"kubernetes", "cluster"}, {"cake"}])

    assert compute_topic_similarity(("kubernetes",), "restart the cluster", embedder) == 1.0
    assert compute_topic_similarity(("cake",), "restart the cluster", embedder) == 0.0


def test_topics_are_embedded_once_per_embedder() -> None:
    first, second = Meaning("meaning-2", [{"kubernetes"}]), Meaning("meaning-3", [{"kubernetes"}])
    for text in ("one", "two"):
        compute_topic_similarity(("kubernetes",), text, first)
    compute_topic_similarity(("kubernetes",), "one", second)

    assert first.asked == ["one", "kubernetes", "two"]
    assert second.asked == ["one", "kubernetes"]


def test_without_an_answer_of_the_server_words_decide_and_no_text_is_waited_for_twice() -> None:
    embedder = Meaning("meaning-4", [], fails=True)

    assert compute_topic_similarity(("error handling",), "an error", embedder) == 0.5
    assert compute_topic_similarity(("kubernetes",), "an error", embedder) == 0.0
    assert embedder.asked == ["an error", "error handling"]
