"""A fallback model takes over a step if the first server fails, each over HTTP in its own protocol."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clio.agent.user_interface import Notice, Retrying, StreamRestarted
from clio.messages import AssistantMessage
from tests.support.chat_server import Script, cut, error
from tests.support.harness import Harness, make_repository
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer
from tests.support.wording import mentions

FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
PRICES = "currency: USD\n'*':\n  first: {input: 1, output: 1, as_of: 2026-11-01}\n"
Make = Callable[..., tuple[Harness, ProtocolServer, ProtocolServer]]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay: the delays have their own tests."""
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda attempt, after_s, rng: 0.0)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a function that makes a project with two servers: `first` for chat, `second` for messages."""
    with ExitStack() as stack:

        def build(
            first: list[ProtocolAnswer | Script],
            second: list[ProtocolAnswer | Script],
            more: str = "",
            prices: str = "",
            alias: str = "",
            **overrides: Any,
        ) -> tuple[Harness, ProtocolServer, ProtocolServer]:
            servers = [stack.enter_context(ProtocolServer(answers)) for answers in (first, second)]
            project, home = tmp_path / "project", tmp_path / "home"
            if not project.exists():
                make_repository(project, FILES)
            home.mkdir(exist_ok=True)
            url = servers[1].url.removesuffix("/v1") + "/anthropic"
            (home / "config.yaml").write_text(
                f"models: {{second: {{{alias}base_url: '{url}', model: claude-x, context_window: 60000}}}}\n"
                f"fallback: [second]\n{more}"
            )
            if prices:
                (home / "prices.yaml").write_text(prices)
            harness = Harness(project, home, servers[0], **({"model": "first", "context_window": "60000"} | overrides))
            return harness, servers[0], servers[1]

        yield build


def posts(server: ProtocolServer) -> list[Any]:
    return [request for request in server.requests if request.method == "POST"]


def notices(harness: Harness) -> list[str]:
    return [event.text for event in harness.seen(Notice)]


BUSY = [error(429, headers={"Retry-After": "0"}), error(500), error(529), error(503), error(502)]


def test_the_next_model_takes_over_after_the_retries(make: Make) -> None:
    harness, first, second = make([*BUSY], [ProtocolAnswer(text="from the second")])
    assert harness.app.answering is harness.app.provider
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.text) == ("done", "from the second")
    assert harness.app.answering.model == "claude-x"  # as the status line shows it
    assert len(posts(first)) == 5
    assert posts(second)[0].path == "/anthropic/v1/messages"
    assert posts(second)[0].body["model"] == "claude-x"
    assert len([text for text in notices(harness) if "claude-x at 127.0.0.1" in text and "switching to" in text]) == 1
    assert [m.model for m in harness.app.session.messages if isinstance(m, AssistantMessage)] == ["claude-x"]
    assert [(bill.model, bill.server) for bill in harness.app.session.bills] == [
        ("claude-x", second.url.removeprefix("http://").removesuffix("/v1"))
    ]


def test_the_fallback_can_happen_within_a_tool_loop(make: Make) -> None:
    call = ProtocolAnswer(reasoning="look", calls=[("read_file", {"path": "calc.py"})])
    again = ProtocolAnswer(reasoning="more", calls=[("find_files", {"pattern": "*.py"})])
    harness, first, second = make([call, *BUSY], [again, ProtocolAnswer(text="It subtracts.")])
    finished = asyncio.run(harness.turn("what does add do?"))
    assert (finished.status, finished.text, finished.steps) == ("done", "It subtracts.", 3)
    body = posts(second)[0].body
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    assert [block["name"] for block in blocks if block["type"] == "tool_use"] == ["read_file"]
    (result,) = [block for block in blocks if block["type"] == "tool_result"]
    assert "return a - b" in str(result["content"])
    assert not [block for block in blocks if block["type"] == "thinking"]  # none of the first model
    models = [m.model for m in harness.app.session.messages if isinstance(m, AssistantMessage)]
    assert models == ["first", "claude-x", "claude-x"]
    assert len(posts(first)) == 6  # no third request to it in this step


def test_the_first_is_tried_once_after_the_cooldown_and_then_used_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    harness, first, _ = make(
        [*BUSY, error(503), ProtocolAnswer(text="I am back"), ProtocolAnswer(text="still here")],
        [ProtocolAnswer(text="one"), ProtocolAnswer(text="two"), ProtocolAnswer(text="three")],
        more="fallback_cooldown_s: 60\n",
    )
    monkeypatch.setattr("clio.agent.model_choice.time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def turns() -> list[str]:
        answers = [(await harness.turn("1")).text]
        clock[0] += 59
        answers.append((await harness.turn("2")).text)
        assert len(posts(first)) == 5
        clock[0] += 2
        answers.append((await harness.turn("3")).text)  # one try, then the second again
        assert len(posts(first)) == 6
        clock[0] += 61
        answers += [(await harness.turn("4")).text, (await harness.turn("5")).text]
        return answers

    assert asyncio.run(turns()) == ["one", "two", "three", "I am back", "still here"]
    assert [text for text in notices(harness) if "is available again" in text] == [
        f"first at {harness.app.provider.name} is available again"
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_errors_that_the_user_must_fix_use_no_fallback(make: Make, status: int) -> None:
    harness, _, second = make([error(status)] * 3, [ProtocolAnswer(text="never")])
    assert asyncio.run(harness.turn("?")).status in ("refused", "failed")
    assert posts(second) == []


def test_an_exhausted_quota_uses_the_fallback(make: Make) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    harness, first, _ = make([error(429, body)], [ProtocolAnswer(text="here")])
    assert asyncio.run(harness.turn("?")).text == "here"
    assert len(posts(first)) == 1


def test_an_unreachable_server_uses_the_fallback(make: Make) -> None:
    harness, _, _ = make([], [ProtocolAnswer(text="here")], base_url="http://127.0.0.1:9/v1")
    assert asyncio.run(harness.turn("?")).text == "here"
    assert any("connection refused" in text for text in notices(harness))


def test_a_broken_answer_is_replaced(make: Make) -> None:
    harness, _, _ = make([cut("I think it is")] * 5, [ProtocolAnswer(text="It is two.")])
    asyncio.run(harness.turn("?"))
    assert harness.shown == "It is two."
    assert harness.seen(StreamRestarted)
    kept = [m.content for m in harness.app.session.messages if isinstance(m, AssistantMessage)]
    assert kept == ["It is two."]


def test_if_all_fail_the_last_failure_is_reported(make: Make) -> None:
    harness, first, second = make([error(500)] * 5, [error(529)] * 5)
    finished = asyncio.run(harness.turn("?"))
    assert finished.status == "failed"
    assert (len(posts(first)), len(posts(second))) == (5, 5)
    assert len(harness.seen(Retrying)) == 8


def test_a_fallback_of_unknown_price_is_not_used_under_a_limit(make: Make) -> None:
    of_a_maker = "provider: moonshot, "  # servers on this machine are free
    harness, _, second = make([*BUSY], [ProtocolAnswer(text="never")], prices=PRICES, max_cost="5", alias=of_a_maker)
    assert asyncio.run(harness.turn("?")).status == "failed"
    assert posts(second) == []
    assert any("--max-cost cannot be enforced" in text for text in notices(harness))


def test_the_cost_limit_applies_to_the_fallback(make: Make) -> None:
    dear = PRICES + "  claude-x: {input: 500000, output: 500000, as_of: 2026-11-01}\n"
    harness, _, second = make([*BUSY], [ProtocolAnswer(text="never")], prices=dear, max_cost="1")
    assert asyncio.run(harness.turn("?")).status == "max_cost"
    assert posts(second) == []


def test_the_fallbacks_smaller_window_causes_a_trim(make: Make, tmp_path: Path) -> None:
    long = "word " * 9_000
    harness, first, second = make(
        [ProtocolAnswer(text="noted"), ProtocolAnswer(text="noted too"), *BUSY, ProtocolAnswer(text="mine again")],
        [ProtocolAnswer(text="small")],
        more="",
    )
    config = tmp_path / "home" / "config.yaml"
    config.write_text(config.read_text().replace("context_window: 60000", "context_window: 24000"))
    harness = Harness(harness.project, tmp_path / "home", first, model="first", context_window="60000")

    async def turns() -> str:
        await harness.turn(long)
        await harness.turn(long)
        return (await harness.turn("go on")).text

    assert asyncio.run(turns()) == "small"
    assert len(posts(second)[0].raw) < len(posts(first)[-1].raw) * 0.7
    context = harness.app.window
    assert context is not None
    assert context.limits.context_window == 60_000


def test_an_invalid_alias_is_reported_and_skipped(make: Make) -> None:
    harness, _, _ = make([*BUSY], [ProtocolAnswer(text="here")])
    text = (harness.loaded.home / "config.yaml").read_text()
    (harness.loaded.home / "config.yaml").write_text(
        text.replace("fallback: [second]", "fallback: [wrong, second]").replace(
            "models: {", "models: {wrong: {provider: nosuch}, "
        )
    )
    harness = Harness(harness.project, harness.loaded.home, harness.server, model="first", context_window="60000")
    assert asyncio.run(harness.turn("?")).text == "here"
    assert any(mentions(text, "'wrong'", "unknown provider 'nosuch'") for text in notices(harness))
