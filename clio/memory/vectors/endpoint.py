"""Vectors from an embeddings endpoint: the request, and the endpoint the settings name."""

import socket
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clio.config.schema import Config
from clio.errors import ConfigError, ProviderError, ProviderRefused, ServerFailed, UserError
from clio.memory.vectors.embedders import EmbeddingFailed, Row
from clio.memory.vectors.vector_index import load_numpy
from clio.providers.failure import TransportFailed, read_retry_after
from clio.providers.profiles import PRESETS, find_preset, find_preset_by_url
from clio.providers.urls import is_loopback, normalise_base_url, strip_login, url_host
from clio.text.embedding import EMBEDDING_DIMENSIONS
from clio.text.json_data import decode_json

if TYPE_CHECKING:
    import urllib.request

    from clio.providers.key_command import KeyCommand


BATCH = 64
QUESTION_TIMEOUT_S = 5.0
"""For a single text, with all attempts: the user waits for the answer."""
BATCH_TIMEOUT_S = 60.0
_PAUSES_S = (0.3, 1.0)
_LONGEST_PAUSE_S = 5.0
_LEAST_TIMEOUT_S = 0.5
_LARGEST_ANSWER = 64_000_000
_OPENAI_MODEL = "text-embedding-3-small"
_AGAIN = frozenset((408, 409, 425, 429, 500, 502, 503, 504))


class _Row(Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _Answer(Struct, frozen=True):
    data: list[_Row]


class EmbeddingServer:
    """One server and one of its models.

    command: prints the key, in place of `key`; it runs when the first request needs it, and again after a 401.
    dimensions: asked for; a server that does not know the wish is asked without it, and gives what it has.
    """

    def __init__(
        self, base_url: str, key: str, model: str, dimensions: int, command: "KeyCommand | None" = None
    ) -> None:
        self.base_url = base_url
        self.model = model
        self._key = key
        self._command = command
        self._dimensions: int | None = dimensions
        self._opener: urllib.request.OpenerDirector | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in their order, of whatever length the model makes.

        Raises ServerFailed or ProviderRefused, after up to two more attempts where that may help.
        """
        self._read_key()
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._batch(texts[start : start + BATCH])
        return rows

    def _read_key(self, refused: str = "") -> bool:
        """Get the key from its command, where one prints it; whether it is another one than `refused`."""
        if self._command is None:
            return False
        try:
            self._key = self._command.read_key(refused)
        except TransportFailed as error:
            raise ProviderRefused(error.failure.detail) from None
        return self._key != refused

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        pauses = list(_PAUSES_S)
        timeout_s = QUESTION_TIMEOUT_S if len(texts) == 1 else BATCH_TIMEOUT_S
        end = time.monotonic() + (timeout_s if len(texts) == 1 else 3 * timeout_s)
        while True:
            try:
                return self._ask(texts, min(timeout_s, end - time.monotonic()))
            except ServerFailed as error:
                pause = pauses.pop(0) if error.retryable and pauses else None
                if pause is not None and error.retry_after_s is not None:
                    pause = max(pause, min(error.retry_after_s, _LONGEST_PAUSE_S))
                if pause is None or time.monotonic() + pause >= end - _LEAST_TIMEOUT_S:
                    raise
                time.sleep(pause)

    def _ask(self, texts: Sequence[str], timeout_s: float, *, may_renew: bool = True) -> list[list[float]]:
        import urllib.error
        from http.client import HTTPException

        place = strip_login(self.base_url)
        try:
            return self._read(self._post(texts, timeout_s), len(texts), place)
        except urllib.error.HTTPError as error:
            with error:
                said = " ".join(error.read(2_000).decode("utf-8", "replace").split())[:200]
            if error.code in (400, 422) and self._dimensions is not None:
                self._dimensions = None
                return self._ask(texts, timeout_s)
            if error.code == 401 and may_renew and self._read_key(refused=self._key):
                return self._ask(texts, timeout_s, may_renew=False)
            raise _refused(error.code, dict(error.headers.items()), said, place, self.model) from error
        except (OSError, HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            refused = isinstance(reason, (ConnectionRefusedError, socket.gaierror))
            raise ServerFailed(f"no answer from {place} ({reason})", retryable=not refused) from error

    def _post(self, texts: Sequence[str], timeout_s: float) -> bytes:
        import urllib.request

        body: dict[str, object] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "clio"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(f"{self.base_url}/embeddings", msgspec.json.encode(body), headers)
        if self._opener is None:
            self._opener = _make_opener(self.base_url)
        with self._opener.open(request, timeout=timeout_s) as answer:
            return answer.read(_LARGEST_ANSWER)

    @staticmethod
    def _read(data: bytes, count: int, place: str) -> list[list[float]]:
        try:
            rows = decode_json(data, type=_Answer).data
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServerFailed(f"{place} answered something that is no list of vectors", retryable=False) from error
        if all(row.index is not None for row in rows):
            rows = sorted(rows, key=lambda row: row.index or 0)
        if len(rows) != count or len({len(row.embedding) for row in rows}) != 1 or not rows[0].embedding:
            raise ServerFailed(f"{place} gave {len(rows)} vectors for {count} texts, or none", retryable=False)
        return [row.embedding for row in rows]


def embedding_server(config: Config, env: Mapping[str, str], dimensions: int) -> EmbeddingServer:
    """The server the configuration means: `embedding_base_url`, else the one of the chat. Opens no connection.

    A key goes only to the server it belongs to: `api_key` and what `api_key_command` prints to the host of the chat, a
    preset's variable to the preset.
    Raises ConfigError where no server or no model is named.
    """
    chat = _chat_url(config, env)
    text = config.embedding_base_url or chat
    if not text:
        raise ConfigError("no server for embeddings is named: set embedding_base_url")
    url = normalise_base_url(text)
    model = config.embedding_model or (_OPENAI_MODEL if url_host(url) == "api.openai.com" else "")
    if not model:
        raise ConfigError(f"no model for embeddings at {strip_login(url)} is named: set embedding_model")
    preset = find_preset_by_url(url)
    key = preset.find_key(env)[1] if preset else env.get("OPENAI_API_KEY", "").strip()
    command = None
    if chat and url_host(normalise_base_url(chat)) == url_host(url):
        key = config.api_key or key
        if config.api_key_command:
            from clio.providers.key_command import KeyCommand

            command = KeyCommand(config.api_key_command, env, ttl_s=config.api_key_command_ttl_s)
    return EmbeddingServer(url, key, model, dimensions, command)


def _chat_url(config: Config, env: Mapping[str, str]) -> str:
    if config.base_url:
        return config.base_url
    if config.provider:
        preset = find_preset(config.provider)
        return preset.base_url if preset else ""
    if url := env.get("OPENAI_BASE_URL", "").strip():
        return url
    if config.api_key or config.api_key_command:
        preset = find_preset("openai")
        return preset.base_url if preset else ""
    return next((one.base_url for one in PRESETS if one.key_required and env.get(one.key_variable, "").strip()), "")


def _refused(
    status: int, headers: Mapping[str, str], said: str, place: str, model: str
) -> ServerFailed | ProviderRefused:
    quoted = f": {said}" if said else ""
    if status in _AGAIN:
        wait = read_retry_after({name.lower(): value for name, value in headers.items()}, time.time())
        return ServerFailed(f"{place} failed (status {status}){quoted}", retry_after_s=wait)
    if status in (401, 403):
        return ProviderRefused(f"{status}: API key for embeddings rejected by {place}")
    if status == 404:
        return ProviderRefused(f"{place} has no model {model!r} for embeddings, or makes none (status 404)")
    return ProviderRefused(f"{place} refused to make vectors (status {status}){quoted}")


def _make_opener(base_url: str) -> "urllib.request.OpenerDirector":
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req: object, fp: object, code: int, msg: str, headers: object, newurl: str) -> None:
            return None

    direct = [urllib.request.ProxyHandler({})] if is_loopback(url_host(base_url)) else []
    return urllib.request.build_opener(NoRedirects(), *direct)


PIECE_WORDS = 150
_KEPT_QUESTIONS = 8
_SEED = 384


class EndpointEmbedder:
    """Asks a server. After the first failure it is not asked again: each later call fails at once.

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
    label = f"{strip_login(where) if '//' in where else where} {config.embedding_model}"
    return EndpointEmbedder(lambda: embedding_server(config, env, EMBEDDING_DIMENSIONS), label)


def fitted(vectors: Sequence[Sequence[float]]) -> list[Row]:
    """Vectors of any one length as unit vectors of 384 numbers; what is no number makes a row of zeros.

    Shorter ones are filled up with zeros, which changes no distance. Longer ones are multiplied by a fixed random
    matrix, which keeps distances to within about 5 %. Source: Johnson and Lindenstrauss 1984.
    """
    numpy = load_numpy()
    rows: Any = numpy.asarray(vectors, dtype=numpy.float32)
    rows = numpy.where(numpy.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
    length = rows.shape[1]
    if length < EMBEDDING_DIMENSIONS:
        rows = numpy.pad(rows, ((0, 0), (0, EMBEDDING_DIMENSIONS - length)))
    elif length > EMBEDDING_DIMENSIONS:
        rows = rows @ _projection(length)
    norms: Any = numpy.linalg.norm(rows, axis=1, keepdims=True)
    rows = (rows / numpy.where(norms > 0, norms, 1.0)).astype(numpy.float32)
    return [array("f", row.tobytes()) for row in rows]


@cache
def _projection(length: int) -> Any:
    numpy = load_numpy()
    return numpy.random.RandomState(_SEED).standard_normal((length, EMBEDDING_DIMENSIONS)).astype(numpy.float32)
