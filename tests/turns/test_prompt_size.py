"""What a trivial first request costs, counted with a real tokeniser's average rather than clio's own estimate."""

import asyncio
from typing import Any

import msgspec

from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness

CHARS_A_TOKEN = 4.2  # counted with cl100k: 4.3 for the prompt, 4.4 for the schemas of the tools


def first_request(make_harness: MakeHarness, **model: Any) -> dict[str, Any]:
    harness = make_harness([text("hi")], models=[{"id": "test-model", **model}])
    asyncio.run(harness.turn("hi"))
    return harness.server.requests[0].body


def fixed_tokens(body: dict[str, Any]) -> float:
    return (len(body["messages"][0]["content"]) + len(msgspec.json.encode(body["tools"]))) / CHARS_A_TOKEN


def test_the_whole_profile(make_harness: MakeHarness) -> None:
    body = first_request(make_harness, max_model_len=128_000)
    assert fixed_tokens(body) <= 3_550
    assert len(body["messages"][0]["content"]) / CHARS_A_TOKEN <= 900
    assert {"apply_patch", "web_fetch", "git", "job_stop"} <= {tool["function"]["name"] for tool in body["tools"]}


def test_the_compact_profile_for_small_windows(make_harness: MakeHarness) -> None:
    body = first_request(make_harness, max_model_len=16_384)
    assert fixed_tokens(body) <= 1_500
    assert {"read_file", "edit_file", "run_command"} <= {tool["function"]["name"] for tool in body["tools"]}
