"""Requests of servers to the user and the model, and lists that change, with a real server process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from clio.config.loaded import McpServer
from clio.mcp import connection
from clio.mcp.server_requests import (
    MAX_SAMPLING_CHARS,
    Sampler,
    SamplingAnswer,
    SamplingFailed,
    SamplingRequest,
    ServerRequests,
    asks_for_secret,
)
from clio.mcp.values import ElicitationQuestion
from tests.mcp.test_servers import opened, peer, run

pytestmark = pytest.mark.fast
SERVER = McpServer(name="peer", where="mcp.yaml:1", own=True, command="x")


def make_requests(answers: list[str], asked: list[str]) -> ServerRequests:
    async def ask(question: str, options: tuple[str, ...]) -> str:
        asked.append(question)
        return answers.pop(0)

    return ServerRequests(ask, lambda text: text.replace("sk-secret", "[REDACTED]"), lambda line: None)


def make_sampling_request(text: str = "What is 2 + 2?") -> SamplingRequest:
    return SamplingRequest(server="peer", system="", messages=(("user", text),), max_tokens=10)


def make_sampler(sent: list[SamplingRequest]) -> Sampler:
    async def answer(request: SamplingRequest) -> SamplingAnswer:
        sent.append(request)
        return SamplingAnswer(text="4", model="small")

    return Sampler(lambda: "small", answer)


def test_a_form_that_asks_for_a_password_has_a_warning() -> None:
    for text in ("Your password?", "API_KEY", "Bitte das Passwort", "card number", "the one-time code", "mot de passe"):
        assert asks_for_secret(text), text
    for text in ("Your name?", "Which branch", "the number of items", "colour", "a passage of the text"):
        assert not asks_for_secret(text), text
    asked: list[str] = []
    question = ElicitationQuestion(name="password", text="Log in again")

    async def fill(*answers: str) -> dict[str, str] | None:
        return await make_requests(list(answers), asked).fill_form("peer", "Hello", [question])

    assert asyncio.run(fill("Ada")) == {"password": "Ada"}
    assert asked[0].startswith("Warning:")
    # A real secret is sent only after a second question.
    assert asyncio.run(fill("sk-secret", "do not send it")) is None
    assert asyncio.run(fill("sk-secret", "send it")) == {"password": "sk-secret"}


def test_the_model_answers_a_server_only_with_consent() -> None:
    asked: list[str] = []
    sent: list[SamplingRequest] = []

    async def work() -> None:
        requests = make_requests(["no", "allow once", "no", "allow in this session"], asked)
        requests.sampler = make_sampler(sent)
        with pytest.raises(SamplingFailed, match="refused"):
            await requests.sample(SERVER, make_sampling_request())
        assert (await requests.sample(SERVER, make_sampling_request())).text == "4"
        with pytest.raises(SamplingFailed, match="refused"):
            await requests.sample(SERVER, make_sampling_request())
        await requests.sample(SERVER, make_sampling_request())
        await requests.sample(SERVER, make_sampling_request())  # allowed in this session
        assert (len(asked), len(sent)) == (4, 3)
        with pytest.raises(SamplingFailed, match="characters"):
            await requests.sample(SERVER, make_sampling_request("x" * (MAX_SAMPLING_CHARS + 1)))

    asyncio.run(work())
    assert "What is 2 + 2?" in asked[0]
    assert "small" in asked[0]


def test_no_text_can_leave_its_block() -> None:
    asked: list[str] = []

    async def work() -> None:
        requests = make_requests(["no"], asked)
        requests.sampler = make_sampler([])
        with pytest.raises(SamplingFailed):
            await requests.sample(SERVER, make_sampling_request("a\n````\nclio: this is harmless\n````"))

    asyncio.run(work())
    fence = asked[0].splitlines()[-1]
    assert fence == "`" * 5
    assert asked[0].count(fence) == 2


def test_without_a_user_the_model_is_available_only_if_the_configuration_says_so() -> None:
    requests = ServerRequests(None, str, lambda line: None)
    requests.sampler = make_sampler([])
    assert not requests.can_ask
    assert not requests.offers_sampling(SERVER)
    assert requests.offers_sampling(McpServer(name="peer", where="", own=True, command="x", sampling="allow"))
    asking = make_requests([], [])
    assert not asking.offers_sampling(SERVER), "no model"
    asking.sampler = make_sampler([])
    assert asking.offers_sampling(SERVER)
    assert not asking.offers_sampling(McpServer(name="peer", where="", own=True, command="x", sampling="off"))


def test_a_server_gets_the_models_answer_and_the_time_limit_is_paused_meanwhile(tmp_path: Path) -> None:
    async def work() -> None:
        asked: list[str] = []

        async def ask(question: str, options: tuple[str, ...]) -> str:
            asked.append(question)
            await asyncio.sleep(1.2)  # longer than the call's time limit
            return options[0]

        async with opened(tmp_path, peer(timeout_s=1.0), ask=ask) as (servers, _):
            # The server was started without a model; it is told of one at its next start.
            await servers.close()
            sent: list[SamplingRequest] = []
            servers.offer_model(make_sampler(sent))
            answer = json.loads((await servers.call("peer", "sample", {}, lambda line: None)).text)
            assert answer["content"]["text"] == "4"
            assert sent[0].messages == (("user", "hi"),)
            assert len(asked) == 1

    run(work)


async def _wait_until(is_true: Any) -> None:
    while not is_true():
        await asyncio.sleep(0.02)


def test_changed_lists_are_read_again_and_the_sessions_tools_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CHANGE_PAUSES_S", (0.01,))

    async def work() -> None:
        async with opened(tmp_path, peer("--changing")) as (servers, notices):
            before = servers.offered
            lines: list[str] = []
            await servers.call("peer", "change", {}, lines.append)
            await _wait_until(lambda: "later" in {prompt.name for _, prompt in servers.prompts()})
            assert servers.offered == before
            assert len(notices) == 1
            assert "/mcp reload" in notices[0]
            await servers.call("peer", "change", {}, lines.append)
            servers.adopt_changes()
            assert "mcp_peer_new" in {tool.name for tool in servers.offered}
            await servers.call("peer", "flood", {}, lines.append)
            assert 1 <= len(lines) < 200
            reply = await servers.call("peer", "file", {}, lines.append)
            stored = Path(reply.text.partition("stored in ")[2].rstrip("]"))
            assert stored.read_bytes() == b"%PDF-1.4\n"
            assert stored.suffix == ".pdf"
            assert tmp_path in stored.parents
        async with opened(tmp_path, peer("--changing")) as (servers, _):
            assert "mcp_peer_new" in {tool.name for tool in servers.offered}, "stored for the next session"

    run(work)
