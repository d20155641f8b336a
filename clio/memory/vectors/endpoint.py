"""Vectors from a server: brought to 384 numbers and length one whatever its model makes."""

import threading
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from clio.config.schema import Config
from clio.errors import ProviderError, UserError
from clio.memory.vectors.embedders import EmbeddingFailed, Row
from clio.memory.vectors.numeric import load_numpy
from clio.providers.embeddings import EmbeddingServer, embedding_server
from clio.providers.urls import without_login
from clio.text.embedding import DIMENSIONS

PIECE_WORDS = 150
_KEPT_QUESTIONS = 8
_SEED = 384


class EndpointEmbedder:
    """Asks a server. After the first failure it is not asked again: whoever asks is told at once.

    connect: gives the server; what it raises counts as a failure. label: of the server and its model.
    """

    piece_words = PIECE_WORDS
    remote = True

    def __init__(self, connect: Callable[[], EmbeddingServer], label: str) -> None:
        self._connect = connect
        self._name = f"endpoint-{zlib.crc32(label.encode('utf-8', 'replace')):08x}"
        self._server: EmbeddingServer | None = None
        self._failed = ""
        self._questions: dict[str, Row] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Of server and model: another one's vectors lie elsewhere."""
        return self._name

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """See `Embedder`. The last questions are remembered, as turns and documents are asked the same."""
        if len(texts) == 1 and (known := self._questions.get(texts[0])) is not None:
            return [known]
        if self._failed:
            raise EmbeddingFailed(self._failed)
        try:
            server = self._ready()
            rows = fitted(server.embed(texts))
        except (ProviderError, UserError) as error:
            self._failed = (
                f"{error}; until clio is started again, turns and documents are compared by their words alone"
            )
            raise EmbeddingFailed(self._failed) from error
        if len(texts) == 1:
            with self._lock:
                self._questions[texts[0]] = rows[0]
                while len(self._questions) > _KEPT_QUESTIONS:
                    del self._questions[next(iter(self._questions))]
        return rows

    def _ready(self) -> EmbeddingServer:
        with self._lock:
            if self._server is None:
                self._server = self._connect()
            return self._server


def endpoint_embedder(config: Config, env: Mapping[str, str]) -> EndpointEmbedder:
    """The server the configuration names. Opens no connection; what is wrong with it shows when it is asked."""
    where = config.embedding_base_url or config.base_url or env.get("OPENAI_BASE_URL", "") or config.provider or ""
    label = f"{without_login(where) if '//' in where else where} {config.embedding_model}"
    return EndpointEmbedder(lambda: embedding_server(config, env, DIMENSIONS), label)


def fitted(vectors: Sequence[Sequence[float]]) -> list[Row]:
    """Vectors of any one length as unit vectors of 384 numbers; what is no number makes a row of zeros.

    Shorter ones are filled up with zeros, which changes no distance. Longer ones are multiplied by a fixed random
    matrix, which keeps distances to within about 5 %. Source: Johnson and Lindenstrauss 1984.
    """
    numpy = load_numpy()
    rows: Any = numpy.asarray(vectors, dtype=numpy.float32)
    rows = numpy.where(numpy.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
    length = rows.shape[1]
    if length < DIMENSIONS:
        rows = numpy.pad(rows, ((0, 0), (0, DIMENSIONS - length)))
    elif length > DIMENSIONS:
        rows = rows @ _projection(length)
    norms: Any = numpy.linalg.norm(rows, axis=1, keepdims=True)
    rows = (rows / numpy.where(norms > 0, norms, 1.0)).astype(numpy.float32)
    return [array("f", row.tobytes()) for row in rows]


@cache
def _projection(length: int) -> Any:
    numpy = load_numpy()
    return numpy.random.RandomState(_SEED).standard_normal((length, DIMENSIONS)).astype(numpy.float32)
