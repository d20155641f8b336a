"""A small language model in numpy: the published similarities with its weights, its properties with random ones."""

import importlib.util
import json
import math
import random
import struct
import sys
from array import array
from pathlib import Path

import pytest

from clio.memory.vectors.model_embedders import PACKAGE, MiniLmEmbedder, split_wordpiece_words
from clio.text.embedding import EmbeddingFailed

WIDTH, INNER = 384, 64
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "port", "the", "data", "##base", "is", "open", ".", "a"]


def made_up_weights(folder: Path) -> Path:
    """Write one layer of random weights in the format of the real ones."""
    rng = random.Random(1)
    shapes = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (256, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
        "encoder.layer.0.intermediate.dense.weight": (INNER, WIDTH),
        "encoder.layer.0.intermediate.dense.bias": (INNER,),
        "encoder.layer.0.output.dense.weight": (WIDTH, INNER),
        "encoder.layer.0.output.dense.bias": (WIDTH,),
        "encoder.layer.0.output.LayerNorm.weight": (WIDTH,),
        "encoder.layer.0.output.LayerNorm.bias": (WIDTH,),
        "encoder.layer.0.attention.output.dense.weight": (WIDTH, WIDTH),
        "encoder.layer.0.attention.output.dense.bias": (WIDTH,),
        "encoder.layer.0.attention.output.LayerNorm.weight": (WIDTH,),
        "encoder.layer.0.attention.output.LayerNorm.bias": (WIDTH,),
    }
    for part in ("query", "key", "value"):
        shapes[f"encoder.layer.0.attention.self.{part}.weight"] = (WIDTH, WIDTH)
        shapes[f"encoder.layer.0.attention.self.{part}.bias"] = (WIDTH,)
    header, data = dict[str, object](), b""
    for name, shape in shapes.items():
        block = array("f", [rng.gauss(0, 0.1) for _ in range(math.prod(shape))]).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> MiniLmEmbedder:
    return MiniLmEmbedder(made_up_weights(tmp_path_factory.mktemp("weights")))


def test_a_text_has_the_same_vector_alone_and_in_a_batch_with_a_longer_one(made_up: MiniLmEmbedder) -> None:
    [alone] = made_up.embed(["the port is open"])
    beside = made_up.embed(["the port is open", "the database is open. " * 20])[0]
    assert list(alone) == pytest.approx(list(beside), abs=1e-5)
    assert math.hypot(*alone) == pytest.approx(1.0, abs=1e-5)


def test_vectors_are_in_the_order_of_the_texts(made_up: MiniLmEmbedder) -> None:
    texts = [" ".join(["port is open"] * (number * 7 % 23 + 1)) for number in range(40)]
    alone = [list(made_up.embed([text])[0]) for text in texts]
    assert [list(row) for row in made_up.embed(texts)] == [pytest.approx(row, abs=1e-5) for row in alone]


def test_word_order_matters_and_case_does_not(made_up: MiniLmEmbedder) -> None:
    one, other, loud = made_up.embed(["the port is open", "is the port open", "THE PORT IS OPEN"])
    assert list(one) == list(loud)
    assert math.dist(one, other) > 1e-3


def test_text_beyond_the_models_limit_is_ignored(made_up: MiniLmEmbedder) -> None:
    long, longer = made_up.embed(["port " * 254, "port " * 900])
    assert list(long) == pytest.approx(list(longer), abs=1e-6)


def test_empty_text_and_unknown_words_have_vectors_too(made_up: MiniLmEmbedder) -> None:
    assert made_up.embed([]) == []
    for row in made_up.embed(["", "漢字 🎉", "x" * 500]):
        assert math.hypot(*row) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The database, is OPEN.", ["the", "database", ",", "is", "open", "."]),
        ("naïve café", ["naive", "cafe"]),
        ("snake_case x+y", ["snake", "_", "case", "x", "+", "y"]),
        ("漢字", ["漢", "字"]),
        ("zero\u200bwidth\x00nul", ["zerowidth", "nul"]),
        ("", []),
    ],
)
def test_text_is_split_into_tokens(text: str, expected: list[str]) -> None:
    assert list(split_wordpiece_words(text)) == expected


def test_missing_and_corrupt_weights_give_an_error_message(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingFailed, match="cannot be read"):
        MiniLmEmbedder(tmp_path).embed(["a"])
    (tmp_path / "vocab.txt").write_text("a", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"garbage, and not enough of it")
    with pytest.raises(EmbeddingFailed, match="cannot be read"):
        MiniLmEmbedder(tmp_path).embed(["a"])


@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="the weights are not installed (90 MB)")
def test_similarities_match_the_published_ones() -> None:
    """The values on the model's page: 0.6660, 0.1046 and 0.1411."""
    rows = MiniLmEmbedder().embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )

    def cosine(one: int, other: int) -> float:
        return sum(a * b for a, b in zip(rows[one], rows[other], strict=True))

    assert [cosine(0, 1), cosine(0, 2), cosine(1, 2)] == pytest.approx([0.6660, 0.1046, 0.1411], abs=2e-4)


def test_without_numpy_the_error_tells_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(EmbeddingFailed, match=r"needs numpy; `.*install.*numpy>=2.*` adds it"):
        MiniLmEmbedder(made_up_weights(tmp_path)).embed(["the port is open"])
