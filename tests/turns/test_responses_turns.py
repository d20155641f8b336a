"""Turns over OpenAI Responses: reasoning is sent back with its calls, also after a restart."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import Notice, ReasoningDelta
from clio.providers.lesson_book import LESSONS_FILE_NAME
from tests.providers.test_responses import check
from tests.support.chat_server import ChatServer, error, text
from tests.support.harness import Harness
from tests.support.responses_script import answer, function_call, message, reasoning, reasons, says
from tests.turns.conftest import MakeHarness

READ = ("read_file", {"path": "calc.py"})


def kinds(body: dict[str, Any]) -> list[str]:
    return [row.get("type") or row["role"] for row in body["input"]]


async def run_turns(harness: Harness, *prompts: str) -> None:
    for prompt in prompts:
        assert (await harness.turn(prompt)).status == "done"
    await harness.app.close()


@pytest.mark.parametrize("transport", ["lean", "openai"])
def test_reasoning_survives_the_tool_loop_and_a_restart(
    make_harness: MakeHarness, transport: str, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text(f"transport: {transport}\n", encoding="utf-8")
    missing = function_call("read_file", {"path": "missing.py"})
    parallel = answer(
        reasoning("I look at both."), function_call(*READ), missing, message("Reading.", phase="commentary")
    )
    harness = make_harness([parallel, reasons([READ], "Once more."), says("It subtracts.")], api="responses")
    asyncio.run(run_turns(harness, "what does calc do?"))
    assert harness.shown.endswith("It subtracts.")
    assert "".join(event.text for event in harness.seen(ReasoningDelta)).startswith("I look at both.")
    bodies = [sent.body for sent in harness.server.requests]
    for body in bodies:
        check(body)
    step = ["reasoning", "function_call", "function_call", "assistant", "function_call_output", "function_call_output"]
    assert kinds(bodies[1])[-6:] == step
    assert kinds(bodies[2])[-10:] == [*step, "reasoning", "assistant", "function_call", "function_call_output"]
    sent = {row["encrypted_content"] for row in bodies[2]["input"] if row.get("type") == "reasoning"}
    assert len(sent) == 2
    session = harness.app.session.id

    harness.app = harness.build()  # clio -r
    harness.server.add(says("Still."))
    harness.app.open_session(session)
    asyncio.run(run_turns(harness, "sure?"))
    resumed = harness.server.requests[-1].body
    check(resumed)
    assert {row["encrypted_content"] for row in resumed["input"] if row.get("type") == "reasoning"} == sent

    harness.app = harness.build()
    harness.server.add(says("Another."))
    harness.app.open_session(session)
    harness.app.set_model("another-model")  # it gets no reasoning of another model
    asyncio.run(run_turns(harness, "and you?"))
    assert "reasoning" not in kinds(harness.server.requests[-1].body)


def test_a_refused_effort_is_reported_once_and_not_sent_again(make_harness: MakeHarness, tmp_path: Path) -> None:
    words = "Unsupported value: 'max' is not supported with this model. Supported values are: 'low' and 'high'."
    notices = _turns_after(make_harness, error(400, {"error": {"message": words, "param": "reasoning.effort"}}))
    assert [notice for notice in notices if "effort" in notice] == [
        "test-model does not support effort 'max': using 'high'"
    ]
    assert (tmp_path / "home" / LESSONS_FILE_NAME).exists()


def _turns_after(make_harness: MakeHarness, refusal: Any) -> list[str]:
    """Return the notices of two clios, one after the other, with a server that refuses the effort `max`."""

    def decide(body: dict[str, Any]) -> Any:
        return refusal if body.get("reasoning", {}).get("effort") == "max" else says("Yes.")

    harness = make_harness(decide, api="responses")
    for _ in range(2):
        harness.app = harness.build()
        _ask_for(harness, "max")
        asyncio.run(run_turns(harness, "go", "on"))
    assert sum(sent.body["reasoning"].get("effort") == "max" for sent in harness.server.requests) == 1
    return [event.text for event in harness.seen(Notice)]


def _ask_for(harness: Harness, effort: str) -> None:
    """Set the effort of every request of this clio."""
    from msgspec import structs

    provider = harness.app.provider
    stream = provider.stream
    provider.stream = lambda request: stream(structs.replace(request, effort=effort))  # type: ignore[method-assign]


@pytest.mark.parametrize("incognito", [False, True])
def test_a_server_without_responses_is_used_over_chat(tmp_path: Path, incognito: bool) -> None:
    flags = ["--incognito"] if incognito else []
    with ChatServer([error(404, "404 page not found"), text("hello"), text("again")], responses=True) as server:
        env = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CLIO_MODEL": "m"}
        env |= {"CLIO_HOME": str(tmp_path / "home"), "CLIO_API": "responses"}
        runs: list[subprocess.CompletedProcess[str]] = []
        for number in range(2):
            if incognito and number:
                server.replies.insert(0, error(404, "404 page not found"))
            runs.append(
                subprocess.run(
                    [sys.executable, "-m", "clio", *flags, "-p", "hi"],
                    cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60,
                )
            )  # fmt: skip
    assert [run.stdout for run in runs] == ["hello\n", "again\n"], runs
    paths = [sent.path.removeprefix("/v1") for sent in server.requests]
    first = ["/responses", "/chat/completions"]
    assert paths == (first * 2 if incognito else [*first, "/chat/completions"])
    assert (tmp_path / "home" / LESSONS_FILE_NAME).exists() is not incognito
    if not incognito:
        stored = json.loads((tmp_path / "home" / LESSONS_FILE_NAME).read_text(encoding="utf-8"))
        assert [entry["protocol"] for entry in stored["servers"].values()] == ["chat"]
    assert "Chat Completions" in runs[0].stderr
