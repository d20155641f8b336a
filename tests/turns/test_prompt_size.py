"""The tokens of a trivial first request, counted with the average of a real tokenizer, not clio's own estimate."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness

CHARS_A_TOKEN = 4.2  # counted with cl100k: 4.3 for the prompt, 4.4 for the schemas of the tools


def first_request(make_harness: MakeHarness, **model: Any) -> dict[str, Any]:
    harness = make_harness([text("hi")], models=[{"id": "test-model", **model}])
    asyncio.run(harness.turn("hi"))
    return harness.server.requests[0].body


def fixed_tokens(body: dict[str, Any]) -> float:
    return (len(body["messages"][0]["content"]) + len(msgspec.json.encode(body["tools"]))) / CHARS_A_TOKEN


def test_the_full_profile_is_within_its_limit(make_harness: MakeHarness) -> None:
    body = first_request(make_harness, max_model_len=128_000)
    assert fixed_tokens(body) <= 3_550
    assert len(body["messages"][0]["content"]) / CHARS_A_TOKEN <= 900
    assert {"apply_patch", "web_fetch", "git", "job_stop"} <= {tool["function"]["name"] for tool in body["tools"]}


def test_the_compact_profile_for_small_windows_is_within_its_limit(make_harness: MakeHarness) -> None:
    body = first_request(make_harness, max_model_len=16_384)
    assert fixed_tokens(body) <= 1_500
    assert {"read_file", "edit_file", "run_command"} <= {tool["function"]["name"] for tool in body["tools"]}


@pytest.mark.parametrize("window", [16_384, 128_000])
def test_tools_that_descriptions_mention_are_offered(make_harness: MakeHarness, window: int) -> None:
    body = first_request(make_harness, max_model_len=window)
    tools = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    # The answer of a background command says to read with job_output.
    assert ("background" in tools["run_command"]["parameters"]["properties"]) == ("job_output" in tools)
    assert "PDF" in tools["read_file"]["description"]
    assert "notebook" in tools["read_file"]["description"]
    assert "# %% [code]" in tools["write_file"]["description"]
    assert "always put to the user" not in tools["git"]["description"]  # in mode `all` the user is not asked
