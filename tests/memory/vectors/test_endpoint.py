"""Vectors from a real HTTP server, correct and faulty."""

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config
from clio.errors import ConfigError
from clio.memory.system import make_embedder
from clio.memory.vectors.model_embedders import fit_dimensions, make_embedding_server
from clio.memory.vectors.semantic_index import SemanticIndex
from clio.messages import UserMessage
from clio.text.embedding import EMBEDDING_DIMENSIONS, EmbeddingFailed, HashedEmbedder, embed_text
from tests.memory.vectors.support import a_session, drop, make_messages

Answer = tuple[int, Any]


class Server:
    """Answers POSTs with a function of the body; records the requests."""

    def __init__(self, answer: Callable[[dict[str, Any]], Answer]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.asked.append(body | {"path": self.path})
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, reply = answer(body)
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                if status in (301, 302, 307):
                    self.send_header("Location", "/elsewhere")
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def vectors_of(body: dict[str, Any], length: int | None = None) -> Answer:
    """Return the answer of a correct server; hashed vectors stand for those of a model."""
    rows = [list(embed_text(text))[:length] for text in body["input"]]
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    return 200, {"object": "list", "data": data[::-1], "model": body["model"]}


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[dict[str, Any]], Answer]], Server]]:
    running: list[Server] = []

    def start(answer: Callable[[dict[str, Any]], Answer]) -> Server:
        running.append(Server(answer))
        return running[-1]

    yield start
    for server in running:
        server.close()


def config(url: str, **settings: Any) -> Config:
    return Config(**{"embedder": "endpoint", "embedding_model": "m", "embedding_base_url": url} | settings)


Serve = Callable[[Callable[[dict[str, Any]], Answer]], Server]


def test_texts_are_sent_in_batches_and_rows_are_put_in_order(serve: Serve) -> None:
    server = serve(vectors_of)
    texts = [f"text number {number}" for number in range(100)]
    rows = make_embedder(config(server.url), {"OPENAI_API_KEY": "sk-test-1"}).embed(texts)
    assert [len(body["input"]) for body in server.asked] == [64, 36]
    assert server.asked[0]["path"] == "/v1/embeddings"
    assert {key: server.asked[0][key] for key in ("model", "dimensions", "encoding_format")} == {
        "model": "m",
        "dimensions": 384,
        "encoding_format": "float",
    }
    assert server.headers[0]["authorization"] == "Bearer sk-test-1"
    assert max(abs(one - other) for one, other in zip(rows[99], embed_text(texts[99]), strict=True)) < 1e-6


def test_a_server_without_the_dimensions_parameter_is_called_without_it(serve: Serve) -> None:
    server = serve(lambda body: (400, {"error": "dimensions?"}) if "dimensions" in body else vectors_of(body))
    embedder = make_embedder(config(server.url), {})
    embedder.embed(["a", "b"])
    embedder.embed(["c", "d"])
    assert ["dimensions" in body for body in server.asked] == [True, False, False]
    assert "authorization" not in server.headers[0]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("length", [3, 383, 384, 385, 1_536])
def test_vectors_of_any_length_become_384_numbers_of_unit_length(length: int) -> None:
    rows = fit_dimensions([[math.sin(place * number + place) for place in range(length)] for number in (1, 2, 9)])
    assert [len(row) for row in rows] == [EMBEDDING_DIMENSIONS] * 3
    assert [math.sqrt(sum(value * value for value in row)) for row in rows] == pytest.approx([1.0] * 3, abs=1e-5)


@pytest.mark.usefixtures("engine")
def test_longer_vectors_keep_their_distances_approximately_and_reproducibly() -> None:
    def wave(shift: float) -> list[float]:
        return [math.sin(place * 0.37 + shift) + math.cos(place * place * 0.11) for place in range(1_024)]

    def unit(vector: list[float]) -> list[float]:
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector]

    one, other = fit_dimensions([wave(0.0), wave(1.3)])
    assert math.dist(one, other) == pytest.approx(math.dist(unit(wave(0.0)), unit(wave(1.3))), rel=0.12)
    assert [round(float(value), 4) for value in fit_dimensions([[1.0] + [0.0] * 1_023])[0][:3]] == [
        -0.0366,
        0.0486,
        0.0486,
    ]


@pytest.mark.usefixtures("engine")
def test_a_vector_with_nan_is_near_to_nothing() -> None:
    [row] = fit_dimensions([[float("nan"), 1.0]])
    assert len(row) == EMBEDDING_DIMENSIONS and not any(row)


def test_vectors_made_without_numpy_are_comparable_with_those_made_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [[math.cos(place * place * number) for place in range(768)] for number in (0.1, 0.7)]
    with_numpy = fit_dimensions(given)
    monkeypatch.setitem(sys.modules, "numpy", None)
    for one, other in zip(with_numpy, fit_dimensions(given), strict=True):
        assert math.dist(one, other) < 1e-6


def test_a_busy_server_is_tried_again(serve: Serve) -> None:
    answers = iter([(503, {}), (429, {})])
    server = serve(lambda body: next(answers, None) or vectors_of(body))
    assert make_embedder(config(server.url), {}).embed(["a text"])
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ((401, {}), "401: API key"),
        ((404, {}), "has no embedding model 'm'"),
        ((500, {}), "failed (status 500)"),
        ((302, {}), "rejected the embedding request (status 302)"),
        ((200, b"<html>"), "other than a list of vectors"),
        ((200, {"data": []}), "0 vectors for 1 texts"),
        ((200, {"data": [{"embedding": []}]}), "or vectors of unequal length"),
    ],
)
def test_a_failing_server_is_called_once_and_named(serve: Serve, answer: Answer, reply: str) -> None:
    server = serve(lambda body: answer)
    embedder = make_embedder(config(server.url), {})
    with pytest.raises(EmbeddingFailed, match="compared only by their words") as error:
        embedder.embed(["a text"])
    assert reply in str(error.value) and "127.0.0.1" in str(error.value)
    before = len(server.asked)
    with pytest.raises(EmbeddingFailed):
        embedder.embed(["another"])
    assert len(server.asked) == before
    assert {body["path"] for body in server.asked} == {"/v1/embeddings"}


def test_an_unreachable_server_is_named() -> None:
    with pytest.raises(EmbeddingFailed, match=r"can.t connect to http://127\.0\.0\.1:9/v1"):
        make_embedder(config("http://127.0.0.1:9"), {}).embed(["a text"])


def test_the_last_queries_are_not_sent_again(serve: Serve) -> None:
    server = serve(vectors_of)
    embedder = make_embedder(config(server.url), {})
    assert embedder.embed(["question"]) == embedder.embed(["question"])
    for number in range(8):
        embedder.embed([f"other {number}"])
    assert len(server.asked) == 9
    embedder.embed(["question"])
    assert len(server.asked) == 10


def test_each_server_and_model_has_its_own_name() -> None:
    settings = [config("http://a/v1"), config("http://b/v1"), config("http://a/v1", embedding_model="n")]
    names = [make_embedder(one, {}).name for one in settings]
    assert len({*names, HashedEmbedder().name}) == 4
    assert names[0] == make_embedder(settings[0], {}).name and names[0].replace("-", "").isalnum()


def test_by_default_the_hashed_embedder_is_used() -> None:
    assert isinstance(make_embedder(Config(), {}), HashedEmbedder)


@pytest.mark.parametrize(
    ("settings", "env", "url", "key", "model"),
    [
        ({"embedding_model": "m"}, {"OPENAI_BASE_URL": "localhost:8080"}, "http://localhost:8080/v1", "", "m"),
        ({"embedding_model": "m", "base_url": "http://a:1/v1"}, {"OPENAI_API_KEY": "k"}, "http://a:1/v1", "k", "m"),
        (
            {"embedding_model": "m", "provider": "groq"}, {"GROQ_API_KEY": "k"},
            "https://api.groq.com/openai/v1", "k", "m",
        ),
        ({}, {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "k", "text-embedding-3-small"),
        (
            {"embedding_model": "m", "embedding_base_url": "http://b:1", "base_url": "http://a:1", "api_key": "secret"},
            {}, "http://b:1/v1", "", "m",
        ),
        (
            {"embedding_model": "m", "embedding_base_url": "http://a:1", "base_url": "http://a:1", "api_key": "secret"},
            {}, "http://a:1/v1", "secret", "m",
        ),
    ],
)  # fmt: skip
def test_server_and_key_belong_together(
    settings: dict[str, Any], env: dict[str, str], url: str, key: str, model: str
) -> None:
    server = make_embedding_server(Config(embedder="endpoint", **settings), env, 384)
    assert (server.base_url, server._key, server.model) == (url, key, model)  # pyright: ignore[reportPrivateUsage]


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="set embedding_base_url"):
        make_embedding_server(Config(embedder="endpoint"), {}, 384)
    with pytest.raises(ConfigError, match="set embedding_model"):
        make_embedding_server(Config(embedder="endpoint", base_url="http://a:1"), {}, 384)
    with pytest.raises(EmbeddingFailed, match="set embedding_base_url"):
        make_embedder(Config(embedder="endpoint"), {}).embed(["a"])


def test_turns_are_found_with_a_server_and_without_it_after_it_fails(serve: Serve, tmp_path: Path) -> None:
    working = [True]
    server = serve(lambda body: vectors_of(body) if working[0] else (500, {}))
    meaning = SemanticIndex(
        tmp_path, make_embedder(config(server.url), {}), persist=True, redact=lambda text: text, clock=lambda: 1.0
    )
    session = a_session(tmp_path, make_messages("the staging database listens on port 5433"))
    meaning.archived_turns.index(session)
    meaning.archived_turns.wait()
    asked = "which port does staging listen on"
    assert len(meaning.archived_turns.search(asked, sessions=[session.id])) == 1
    assert meaning.pop_notices() == []
    working[0] = False
    assert len(meaning.archived_turns.search("the port of staging's database", sessions=[session.id])) == 1
    [notice] = meaning.pop_notices()
    assert "failed (status 500)" in notice
    assert meaning.pop_notices() == []
    meaning.close()


def test_a_query_is_not_repeated_after_its_time_limit(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.memory.vectors.model_embedders.QUESTION_TIMEOUT_S", 0.6)
    server = serve(lambda body: (503, {}))
    with pytest.raises(EmbeddingFailed):
        make_embedder(config(server.url), {}).embed(["a text"])
    assert len(server.asked) == 1


def test_a_hanging_server_delays_no_later_turn(serve: Serve, tmp_path: Path) -> None:
    go_on, asked = threading.Event(), list[int]()

    def answer_late(body: dict[str, Any]) -> tuple[int, Any]:
        asked.append(len(body["input"]))
        go_on.wait(10)
        return vectors_of(body)

    server = serve(answer_late)
    meaning = SemanticIndex(
        tmp_path, make_embedder(config(server.url), {}), persist=True, redact=lambda text: text, clock=lambda: 1.0
    )
    session = a_session(tmp_path, make_messages("the staging database listens on port 5433"))
    began = time.monotonic()
    meaning.archived_turns.index(session)
    for number in range(3):
        session.append(UserMessage(content=f"the zebra number {number} sleeps in the barn"))
        drop(session, len(session.messages), handle=f"t{number + 2}")
        meaning.archived_turns.index(session)
    assert time.monotonic() - began < 4  # one text times out after 5 s
    assert len(asked) <= 1
    go_on.set()
    meaning.archived_turns.wait()
    assert len(asked) == 4
    hits = meaning.archived_turns.search(
        "the zebra number 2 sleeps in the barn", sessions=[session.id], count=9, limit=3.0
    )
    assert {hit.message for hit in hits} == {message.id for message in session.messages}
