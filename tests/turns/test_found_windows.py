"""A window that refusals told, over real HTTP: the next clio asks for no more than that."""

import asyncio
import json
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.context.learned_limits import WINDOWS_FILE_NAME
from tests.support.chat_server import Reply, empty_stream, text, tool_calls
from tests.support.desk import Desk
from tests.turns.conftest import MakeDesk
from tests.turns.test_windows import openai

WINDOW = 14_000  # tokens the server really has; it says nothing of it
WORDS = "a sentence that fills the window, with nothing in it that anybody asked for. " * 180
NAMED = openai(f"This model's maximum context length is {WINDOW} tokens.")


class Silent:
    """A server that refuses what is too large in one of the usual ways, four bytes a token."""

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


async def talk(desk: Desk, turns: int = 4) -> None:
    for number in range(turns):
        assert (await desk.turn(f"{number}: {WORDS}")).status == "done"
    await desk.app.close()


@pytest.mark.parametrize(
    "refusal", [NAMED, openai("prompt is too long"), empty_stream()], ids=["named", "bare", "empty"]
)
def test_the_next_clio_pays_no_refusals(make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, refusal: Reply) -> None:
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda *_: 0.0)
    server = Silent(refusal)
    desk = make_desk(server)
    asyncio.run(talk(desk))
    paid = server.refused
    assert paid > 0
    session = desk.app.session.id

    desk.app = desk.build()  # a new conversation
    asyncio.run(talk(desk))
    desk.app = desk.build()  # clio -c
    desk.app.open_session(session)
    asyncio.run(talk(desk))
    assert server.refused == paid
    assert 0.85 * WINDOW < next(iter(stored(desk).values()))["tokens"] <= 1.15 * WINDOW


def stored(desk: Desk) -> dict[str, Any]:
    return json.loads((desk.app.home / WINDOWS_FILE_NAME).read_text(encoding="utf-8"))["windows"]


def test_a_server_that_says_more_now_is_believed(make_desk: MakeDesk) -> None:
    desk = make_desk(Silent(NAMED))
    asyncio.run(talk(desk))
    assert [row["tokens"] for row in stored(desk).values()] == [WINDOW]
    desk.server.models = [{"id": "test-model", "max_model_len": 65_536}]
    desk.app = desk.build()

    async def window() -> int:
        limits = (await desk.app.window()).limits
        await desk.app.close()
        return limits.context_window

    assert asyncio.run(window()) == 65_536


def test_a_sub_agent_teaches_those_after_it(make_desk: MakeDesk) -> None:
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
    desk = make_desk(server)
    for number in range(6):
        lines = "".join(f"{number}.{line} a line of words to be read and weighed\n" for line in range(260))
        (desk.project / f"big{number}.txt").write_text(lines, encoding="utf-8")

    async def run() -> int:
        assert (await desk.turn("begin")).status == "done"
        paid = server.refused
        assert (await desk.turn("begin again")).status == "done"
        await desk.app.close()
        return paid

    paid = asyncio.run(run())
    assert (server.sent, paid > 0) == (2, True)
    assert server.refused == paid
    assert [row["tokens"] for row in stored(desk).values()] == [WINDOW]


def test_an_incognito_clio_keeps_nothing(make_desk: MakeDesk) -> None:
    server = Silent(NAMED)
    desk = make_desk(server, incognito=True)
    asyncio.run(talk(desk))
    assert server.refused > 0
    assert not desk.app.home.exists()
    assert not [event.text for event in desk.seen(Notice) if event.level == "warning"]
