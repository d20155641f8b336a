"""A window size learned from refusals over real HTTP: the next clio sends no more than that."""

import asyncio
import json
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.context.learned_limits import WINDOWS_FILE_NAME
from tests.support.chat_server import Reply, empty_stream, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness
from tests.turns.test_windows import openai

WINDOW = 14_000  # tokens that the server accepts without announcing it
WORDS = "a sentence that fills the window, with nothing in it that anybody asked for. " * 180
NAMED = openai(f"This model's maximum context length is {WINDOW} tokens.")


class Silent:
    """A server that refuses larger requests with one of the usual errors, at four bytes per token."""

    def __init__(self, refusal: Reply) -> None:
        self.refusal = refusal
        self.refused = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        if len(json.dumps(body, ensure_ascii=False)) / 4 > WINDOW:
            self.refused += 1
            return self.refusal
        return self.answer(body)

    def answer(self, body: dict[str, Any]) -> Reply:
        return text("Yes.")


async def run_turns(harness: Harness, turns: int = 4) -> None:
    for number in range(turns):
        assert (await harness.turn(f"{number}: {WORDS}")).status == "done"
    await harness.app.close()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "refusal", [NAMED, openai("prompt is too long"), empty_stream()], ids=["named", "bare", "empty"]
)
def test_the_next_clio_causes_no_refusals(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch, refusal: Reply
) -> None:
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda *_: 0.0)
    server = Silent(refusal)
    harness = make_harness(server)
    asyncio.run(run_turns(harness))
    paid = server.refused
    assert paid > 0
    session = harness.app.session.id

    harness.app = harness.build()  # a new conversation
    asyncio.run(run_turns(harness))
    harness.app = harness.build()  # clio -c
    harness.app.open_session(session)
    asyncio.run(run_turns(harness))
    assert server.refused == paid
    assert 0.85 * WINDOW < next(iter(stored(harness).values()))["tokens"] <= 1.15 * WINDOW


def stored(harness: Harness) -> dict[str, Any]:
    return json.loads((harness.app.home / WINDOWS_FILE_NAME).read_text(encoding="utf-8"))["windows"]


def test_a_larger_window_announced_later_is_used(make_harness: MakeHarness) -> None:
    harness = make_harness(Silent(NAMED))
    asyncio.run(run_turns(harness))
    assert [row["tokens"] for row in stored(harness).values()] == [WINDOW]
    harness.server.models = [{"id": "test-model", "max_model_len": 65_536}]
    harness.app = harness.build()

    async def window() -> int:
        limits = (await harness.app.open_window()).limits
        await harness.app.close()
        return limits.context_window

    assert asyncio.run(window()) == 65_536


def test_a_sub_agent_learns_for_those_after_it(make_harness: MakeHarness) -> None:
    class Sender(Silent):
        sent = 0

        def answer(self, body: dict[str, Any]) -> Reply:
            reads = sum(message["role"] == "tool" for message in body["messages"])
            if "sub-agent of clio" in body["messages"][0]["content"]:
                self.sent += reads == 0
                return tool_calls([("read_file", {"path": f"big{reads}.txt"})]) if reads < 6 else text("Read.")
            asked = body["messages"][-1]["role"] == "user"
            return tool_calls([("delegate", {"task": "Read it all."})]) if asked else text("Done.")

    server = Sender(NAMED)
    harness = make_harness(server)
    for number in range(6):
        lines = "".join(f"{number}.{line} a line of words to be read and weighed\n" for line in range(260))
        (harness.project / f"big{number}.txt").write_text(lines, encoding="utf-8")

    async def run() -> int:
        assert (await harness.turn("begin")).status == "done"
        paid = server.refused
        assert (await harness.turn("begin again")).status == "done"
        await harness.app.close()
        return paid

    paid = asyncio.run(run())
    assert (server.sent, paid > 0) == (2, True)
    assert server.refused == paid
    assert [row["tokens"] for row in stored(harness).values()] == [WINDOW]


def test_incognito_saves_nothing(make_harness: MakeHarness) -> None:
    server = Silent(NAMED)
    harness = make_harness(server, incognito=True)
    asyncio.run(run_turns(harness))
    assert server.refused > 0
    assert not harness.app.home.exists()
    assert not [event.text for event in harness.seen(Notice) if event.level == "warning"]
