"""What a refusal changes in later requests: a header, a protocol, a cache lifetime, a key; over real HTTP."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config
from clio.memory.vectors.model_embedders import make_embedding_server
from clio.messages import UserMessage
from clio.providers.base import ChatRequest
from clio.providers.http_provider import HttpProvider
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider
from tests.support.chat_server import ChatServer, Recorded, Reply, error, json_reply
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer

ASK = ChatRequest(system="s", messages=(UserMessage(content="hello"),))


class VectorServer(ChatServer):
    """Answers POST /embeddings with its script."""

    def _choose(self, request: Recorded) -> Reply:
        self.others.append(request)
        return self._next(request)


def ask(config: Config, home: Path, times: int = 1) -> list[str]:
    """Return the texts of this many answers, each from a new provider, as in later runs of clio."""

    async def one() -> str:
        provider = make_provider(config, {"OPENAI_API_KEY": "k"}, book=LessonBook(home))
        try:
            return "".join([chunk.text async for chunk in provider.stream(ASK)])
        finally:
            await provider.close()

    return [asyncio.run(one()) for _ in range(times)]


@pytest.mark.parametrize(
    "words",
    [
        "Unexpected value(s) `interleaved-thinking-2025-05-14` for the `anthropic-beta` header.",
        "invalid beta flag",
    ],
)
def test_a_refused_beta_header_is_omitted_and_this_is_remembered(words: str, tmp_path: Path) -> None:
    refusal = error(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})
    with ProtocolServer([refusal, ProtocolAnswer(text="one"), ProtocolAnswer(text="two")]) as server:
        config = Config(base_url=server.url, api="messages", model="claude-sonnet-4-5", context_window=100_000)
        assert ask(config, tmp_path, 2) == ["one", "two"]
        headers = [{name.lower() for name in request.headers} for request in server.requests]
    assert ["anthropic-beta" in names for names in headers] == [True, False, False]


@pytest.mark.parametrize(
    "words",
    [
        "The model 'nvidia.nemotron-nano-9b-v2' does not support the '/openai/v1/responses' API",
        "This model isn't supported on this route",
        "The Responses API is not available for this model",
        "model m is not available on this endpoint",
        "/v1/responses is not supported",
    ],
)
def test_a_model_not_available_over_responses_is_used_over_chat(words: str, tmp_path: Path) -> None:
    refusal = error(400, {"error": {"message": words, "type": "invalid_request_error"}})
    with ProtocolServer([refusal, ProtocolAnswer(text="one"), ProtocolAnswer(text="two")]) as server:
        config = Config(base_url=server.url, api="responses", model="m", context_window=100_000)
        assert ask(config, tmp_path, 2) == ["one", "two"]
        paths = [request.path.rsplit("/", 1)[-1] for request in server.requests]
    assert paths == ["responses", "completions", "completions"]


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported value: 'max' is not supported with this model.",
        "The model `m` does not exist or you do not have access to it.",
        "The image endpoint of your message could not be read",
    ],
)
def test_another_refusal_does_not_change_the_protocol(words: str, tmp_path: Path) -> None:
    refusal = error(400, {"error": {"message": words, "type": "invalid_request_error"}})
    with ProtocolServer([refusal] * 3) as server:
        config = Config(base_url=server.url, api="responses", model="m", context_window=100_000)
        with pytest.raises(Exception, match="m"):
            ask(config, tmp_path)
        assert {request.path.rsplit("/", 1)[-1] for request in server.requests} == {"responses"}


@pytest.mark.parametrize(("lifetime", "written"), [("5m", b'"ttl"'), ("1h", b'"ttl":"1h"')])
def test_cache_points_through_a_router_have_the_configured_lifetime(lifetime: Any, written: bytes) -> None:
    config = Config(
        base_url="https://openrouter.ai/api/v1", api_key="k", model="anthropic/claude-sonnet-5-5", cache_ttl=lifetime
    )
    provider = make_provider(config, {})
    assert isinstance(provider, HttpProvider)
    body = provider.encode(ASK)
    assert b'"cache_control"' in body and (written in body) == (lifetime == "1h")


def test_vectors_use_the_key_printed_by_a_command_and_again_after_a_401(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("first\nsecond\n", encoding="utf-8")
    script = tmp_path / "key.py"
    script.write_text(
        f"import pathlib\np = pathlib.Path({str(keys)!r})\na = p.read_text().split()\nprint(a[0])\n"
        "p.write_text(' '.join(a[1:] or a))\n",
        encoding="utf-8",
    )
    rows = json_reply({"data": [{"embedding": [1.0, 2.0], "index": 0}]})
    with VectorServer([error(401, {"error": {"message": "no"}}), rows]) as server:
        config = Config(
            base_url=server.url, api_key_command=f"{sys.executable} {script}", embedding_model="e", model="m"
        )
        assert make_embedding_server(config, {}, 384).embed(["text"]) == [[1.0, 2.0]]
        headers_seen = [{name.lower(): value for name, value in request.headers.items()} for request in server.others]
        sent = [headers["authorization"] for headers in headers_seen]
    assert sent == ["Bearer first", "Bearer second"]
