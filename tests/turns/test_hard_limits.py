"""Hard limits are completely in every request, however small the window is."""

import asyncio
import re

import pytest

from clio.commands.registry import run_command
from tests.support.chat_server import error, text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

LIMIT = "never print the contents of " + ", ".join(f"secrets/{number}.pem" for number in range(60))


def systems(harness: Harness) -> list[str]:
    return [request.body["messages"][0]["content"] for request in harness.server.requests]


async def ask(harness: Harness) -> None:
    harness.app.memory.preferences.add(LIMIT, score=0.5, explicit=True)
    for number in range(40):
        harness.app.memory.preferences.add(f"liking number {number}", score=10.0)
    await harness.turn("hello")
    await harness.app.close()


@pytest.mark.parametrize("window", [8_192, 16_384, 128_000])
def test_they_are_sent_in_any_window(make_harness: MakeHarness, window: int) -> None:
    harness = make_harness([text("Hello.")], models=[{"id": "test-model", "max_model_len": window}])
    asyncio.run(ask(harness))
    [system] = systems(harness)
    assert f"- {LIMIT}\n" in system


def test_a_prompt_that_must_be_shortened_keeps_them(make_harness: MakeHarness) -> None:
    refused = error(400, {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}})
    harness = make_harness([refused, refused, text("Hello.")], models=[{"id": "test-model", "max_model_len": 128_000}])
    (harness.project / "AGENTS.md").write_text("Run make test.\n" * 400, encoding="utf-8")
    asyncio.run(ask(harness))
    seen = systems(harness)
    assert len(seen) == 3
    assert len(seen[0]) > len(seen[1]) > len(seen[2])
    assert ["make test" in system for system in seen] == [True, True, False]
    assert all(f"- {LIMIT}\n" in system for system in seen)


@pytest.mark.parametrize("window", [8_192, 128_000])
@pytest.mark.parametrize("scopes", [("user",), ("project",), ("user", "project")])
def test_both_reports_give_the_same_tokens_of_memory_in_the_prompt(
    make_harness: MakeHarness, window: int, scopes: tuple[str, ...]
) -> None:
    harness = make_harness([text("Hello.")], models=[{"id": "test-model", "max_model_len": window}])

    async def run() -> None:
        memory = harness.app.memory
        for scope in scopes:
            preferences = memory.preferences if scope == "user" else memory.project_preferences
            preferences.add(f"never touch the {scope} folder", score=0.5, explicit=True)
        run_command(harness.app, "/memory add we deploy with make ship")
        run_command(harness.app, "/memory add we deploy with make ship")
        await harness.turn("hello")
        why, use = run_command(harness.app, "/memory why"), harness.app.window.measure_usage()
        tokens = int(re.findall(r"with its headings: ([\d,]+) tokens", why.text)[0].replace(",", ""))
        assert tokens == use.memory == sum(part.tokens for part in use.parts if part.name != "missing_tools")
        assert why.table is not None
        assert [row[3] for row in why.table.rows if row[0] == "project"] == ["0.8"], "the confidence"
        await harness.app.close()

    asyncio.run(run())
