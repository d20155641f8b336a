"""Hard limits in every request, whole, however small the window is."""

import asyncio

import pytest

from tests.support.chat_server import error, text
from tests.support.desk import Desk
from tests.turns.conftest import MakeDesk

LIMIT = "never print the contents of " + ", ".join(f"secrets/{number}.pem" for number in range(60))


def systems(desk: Desk) -> list[str]:
    return [request.body["messages"][0]["content"] for request in desk.server.requests]


async def ask(desk: Desk) -> None:
    desk.app.memory.preferences.add(LIMIT, score=0.5, explicit=True)
    for number in range(40):
        desk.app.memory.preferences.add(f"liking number {number}", score=10.0)
    await desk.turn("hello")
    await desk.app.close()


@pytest.mark.parametrize("window", [8_192, 16_384, 128_000])
def test_no_window_is_too_small_for_them(make_desk: MakeDesk, window: int) -> None:
    desk = make_desk([text("Hello.")], models=[{"id": "test-model", "max_model_len": window}])
    asyncio.run(ask(desk))
    [system] = systems(desk)
    assert f"- {LIMIT}\n" in system


def test_a_prompt_that_has_to_become_smaller_keeps_them(make_desk: MakeDesk) -> None:
    refused = error(400, {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}})
    desk = make_desk([refused, refused, text("Hello.")], models=[{"id": "test-model", "max_model_len": 128_000}])
    (desk.project / "AGENTS.md").write_text("Run make test.\n" * 400, encoding="utf-8")
    asyncio.run(ask(desk))
    seen = systems(desk)
    assert len(seen) == 3
    assert len(seen[0]) > len(seen[1]) > len(seen[2])
    assert ["make test" in system for system in seen] == [True, True, False]
    assert all(f"- {LIMIT}\n" in system for system in seen)
