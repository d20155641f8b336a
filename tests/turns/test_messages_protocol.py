"""Turns over Anthropic Messages: a real clio, a real project, a scripted server over HTTP."""

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import Notice, Retrying
from clio.messages import AssistantMessage
from tests.providers.test_messages_requests import points
from tests.support.chat_server import ChatServer, Cut, Part, Pause, Recorded, Reply, Script
from tests.support.harness import Harness, make_repository
from tests.support.messages_server import (
    MessagesServer,
    answer,
    event,
    refusal,
    thinking,
    tool,
    whole,
)
from tests.support.waiting import wait_until_async

SIGNED = thinking("I should read it.", "c2lnbmF0dXJl")
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BAD_SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_repository(tmp_path / "project", {"calc.py": "def add(a, b):\n    return a + b\n", "b.py": "B = 1\n"})
    return tmp_path / "project"


def read(path: str) -> dict[str, Any]:
    return tool("read_file", path=path)


def make_harness(project: Path, home: Path, server: ChatServer, **settings: Any) -> Harness:
    """Return a clio that uses Messages with the server. settings: of the user configuration."""
    given = {"api": "messages", "model": "claude-sonnet-5-5", "base_url": server.url} | settings
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in given.items()), encoding="utf-8")
    return Harness(project, home, server, base_url=server.url, model=given["model"])


def run(
    project: Path, tmp_path: Path, replies: list[Script], *texts: str, **settings: Any
) -> tuple[Harness, list[Any]]:
    """Run the turns of one session; return the end of each."""

    async def all_turns(harness: Harness) -> list[Any]:
        try:
            return [await harness.turn(text) for text in texts]
        finally:
            await harness.app.close()

    with MessagesServer(replies) as server:
        harness = make_harness(project, tmp_path / "home", server, **settings)
        return harness, asyncio.run(all_turns(harness))


def bodies(harness: Harness) -> list[dict[str, Any]]:
    return [request.body for request in harness.server.requests]


def kinds(body: dict[str, Any], number: int) -> list[str]:
    return [block["type"] for block in body["messages"][number]["content"]]


def test_thinking_is_sent_back_with_its_calls_and_the_cache_points_advance(project: Path, tmp_path: Path) -> None:
    replies: list[Script] = [
        answer(SIGNED, "Reading.", read("calc.py"), read("b.py")),
        answer(thinking("Now I know.", "c2lnMg=="), "It adds."),
        answer("Nothing else."),
    ]
    harness, ends = run(project, tmp_path, replies, "what does it do?", "and?")
    assert [(end.status, end.text) for end in ends] == [("done", "It adds."), ("done", "Nothing else.")]
    first, second, third = bodies(harness)
    assert second["messages"][1]["content"][0] == SIGNED
    assert kinds(second, 1) == ["thinking", "text", "tool_use", "tool_use"]
    assert kinds(second, 2) == ["tool_result", "tool_result"]
    assert kinds(third, 3) == ["thinking", "text"]
    assert [points(body)[2:] for body in (first, second, third)] == [["0.0"], ["0.0", "2.1"], ["2.1", "4.0"]]
    headers = harness.server.requests[0].headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-api-key"] == "test-key"
    assert "anthropic-beta" not in headers


def test_an_older_model_thinks_between_its_calls(project: Path, tmp_path: Path) -> None:
    replies: list[Script] = [answer(SIGNED, read("calc.py")), answer(SIGNED, read("b.py")), answer("Done.")]
    harness, _ = run(project, tmp_path, replies, "go", model="claude-sonnet-4-5")
    assert {request.headers["anthropic-beta"] for request in harness.server.requests} == {
        "interleaved-thinking-2025-05-14"
    }
    assert len({str(body["thinking"]) for body in bodies(harness)}) == 1
    assert [kinds(bodies(harness)[-1], number)[0] for number in (1, 3)] == ["thinking", "thinking"]


def test_thinking_survives_a_restart_but_not_a_change_of_model(project: Path, tmp_path: Path) -> None:
    async def work(server: ChatServer) -> None:
        session = ""
        for model in ("claude-sonnet-5-5", "claude-sonnet-5-5", "claude-opus-5-5"):
            harness = make_harness(project, tmp_path / "home", server, model=model)
            if session:
                harness.app.open_session(session)
            await harness.turn("look")
            session = harness.app.session.id
            await harness.app.close()

    with MessagesServer([answer(SIGNED, "Well."), answer("Same."), answer("Other.")]) as server:
        asyncio.run(work(server))
        _, same, other = [request.body for request in server.requests]
    assert kinds(same, 1) == ["thinking", "text"]
    assert kinds(other, 1) == ["text"]


def test_refused_reasoning_is_dropped_and_the_turn_continues(project: Path, tmp_path: Path) -> None:
    replies: list[Script] = [
        answer(SIGNED, read("calc.py")),
        refusal(BAD_SIGNATURE),
        answer(thinking("Fresh.", "c2lnMw=="), read("b.py")),
        answer("Done."),
    ]
    harness, ends = run(project, tmp_path, replies, "go")
    assert (ends[0].status, ends[0].text) == ("done", "Done.")
    assert [kinds(body, 1) for body in bodies(harness)[1:]] == [["thinking", "tool_use"], ["tool_use"], ["tool_use"]]
    assert kinds(bodies(harness)[-1], 3) == ["thinking", "tool_use"]


def test_a_paused_turn_is_continued(project: Path, tmp_path: Path) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    replies: list[Script] = [answer("Searching", search, stop="pause_turn"), answer(" and found.")]
    harness, ends = run(project, tmp_path, replies, "go")
    assert (ends[0].status, ends[0].text) == ("done", "Searching and found.")
    assert bodies(harness)[1]["messages"][-1]["role"] == "assistant"
    assert bodies(harness)[1]["messages"][-1]["content"][1] == search


def test_a_refusal_ends_the_turn_with_a_message(project: Path, tmp_path: Path) -> None:
    harness, ends = run(project, tmp_path, [answer("I can", stop="refusal")], "go")
    assert ends[0].status == "done"
    assert "warning" in [notice.level for notice in harness.seen(Notice)]


def test_a_full_window_without_an_answer_is_trimmed_and_tried_again(project: Path, tmp_path: Path) -> None:
    replies: list[Script] = [
        answer("x" * 4_000),
        answer("y" * 4_000),
        answer(stop="model_context_window_exceeded"),
        answer("Now it fits."),
    ]
    harness, ends = run(project, tmp_path, replies, "one", "two", "three")
    assert (ends[2].status, ends[2].text) == ("done", "Now it fits.")
    sizes = [len(request.raw) for request in harness.server.requests]
    assert sizes[3] < sizes[2]


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error", "timeout_error"])
def test_an_error_inside_the_stream_is_retried(project: Path, tmp_path: Path, kind: str) -> None:
    def render(_: Recorded) -> Iterator[Part]:
        yield event("message_start", message={"usage": {"input_tokens": 5, "output_tokens": 1}})
        yield event("error", error={"type": kind, "message": "Overloaded, retry in 0.01s"})

    harness, ends = run(project, tmp_path, [Reply(render), answer("Hello.")], "go")
    assert (ends[0].status, ends[0].text) == ("done", "Hello.")
    assert len(harness.seen(Retrying)) == 1


def test_a_permanent_error_inside_the_stream_ends_the_turn(project: Path, tmp_path: Path) -> None:
    def render(_: Recorded) -> Iterator[Part]:
        yield event("error", error={"type": "authentication_error", "message": "invalid x-api-key"})

    harness, ends = run(project, tmp_path, [Reply(render)], "go")
    assert (ends[0].status, ends[0].exit_code) == ("refused", 2)
    assert not harness.seen(Retrying)


def test_an_interrupted_stream_is_requested_again(project: Path, tmp_path: Path) -> None:
    def render(_: Recorded) -> Iterator[Part]:
        yield event("message_start", message={"usage": {"input_tokens": 5, "output_tokens": 1}})
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hel"})
        yield Cut()

    harness, ends = run(project, tmp_path, [Reply(render), answer("Hello.")], "go")
    assert (ends[0].text, harness.shown) == ("Hello.", "Hello.")


def test_an_answer_that_is_not_streamed_is_read(project: Path, tmp_path: Path) -> None:
    harness, ends = run(
        project, tmp_path, [whole(SIGNED, "Reading.", read("b.py"), stop="tool_use"), whole("B.")], "go"
    )
    assert (ends[0].status, ends[0].text) == ("done", "B.")
    assert kinds(bodies(harness)[1], 1) == ["thinking", "text", "tool_use"]


def test_cache_reads_and_writes_are_billed(project: Path, tmp_path: Path) -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 1_000_000,
        "cache_creation_input_tokens": 200_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100_000, "ephemeral_1h_input_tokens": 100_000},
        "output_tokens": 1_000,
        "output_tokens_details": {"thinking_tokens": 400},
    }
    harness, ends = run(project, tmp_path, [answer("Ok.", usage=usage)], "go", provider="anthropic")
    bill = harness.app.session.bills[0]
    assert (bill.prompt_tokens, bill.cached_tokens, bill.cache_write_tokens) == (1_200_010, 1_000_000, 200_000)
    assert (bill.cache_write_1h_tokens, bill.reasoning_tokens) == (100_000, 400)
    # 10 × $2 + 1M × $0.10 + 0.1M × $2.50 + 0.1M × $4 + 1,000 × $10, per million tokens
    assert bill.cost == 20 + 100_000 + 250_000 + 400_000 + 10_000
    assert ends[0].usage.cache_write_tokens == 200_000


def test_the_lifetime_of_the_cache_is_configurable(project: Path, tmp_path: Path) -> None:
    harness, _ = run(project, tmp_path, [answer("Ok.")], "go", cache_ttl="1h")
    assert bodies(harness)[0]["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_parallel_calls_and_their_results_are_one_message_each(project: Path, tmp_path: Path) -> None:
    many = [read("calc.py" if number % 2 else "b.py") for number in range(25)]
    harness, ends = run(project, tmp_path, [answer(*many), answer("Done.")], "go")
    assert ends[0].status == "done"
    body = bodies(harness)[1]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == [call["id"] for call in many]
    assert points(body)[2:] == ["0.0", "2.24"]


def test_an_interrupted_turn_is_followed_by_one_the_server_accepts(project: Path, tmp_path: Path) -> None:
    async def work(harness: Harness) -> None:
        task = asyncio.create_task(harness.app.run_turn("go"))
        await wait_until_async(lambda: harness.shown)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await harness.turn("go on")).text == "Done."
        await harness.app.close()

    def render(_: Recorded) -> Iterator[Part]:
        yield event("message_start", message={"usage": {"input_tokens": 5, "output_tokens": 1}})
        yield event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
        yield event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"})
        yield event("content_block_start", index=1, content_block={"type": "text", "text": ""})
        yield event("content_block_delta", index=1, delta={"type": "text_delta", "text": "Working on it. " * 40})
        yield Pause(30)

    with MessagesServer([Reply(render), answer("Done.")]) as server:
        harness = make_harness(project, tmp_path / "home", server, model="claude-sonnet-4-5")
        asyncio.run(work(harness))
        body = server.requests[1].body
    assert kinds(body, 1) == ["text"]  # thinking without its signature is refused
    kept = [message for message in harness.app.session.messages if isinstance(message, AssistantMessage)]
    assert not kept[0].reasoning_items


@pytest.mark.parametrize("path", ["/anthropic", "/api/anthropic/v1", "/anthropic/v1/messages"])
def test_any_url_with_anthropic_in_its_path_uses_messages(project: Path, tmp_path: Path, path: str) -> None:
    with MessagesServer([answer("Hello.")]) as server:
        base = f"http://127.0.0.1:{server.port}{path}"
        env = dict(os.environ) | {
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": base,
            "CLIO_MODEL": "MiniMax-M3",
            "CLIO_HOME": str(tmp_path / "home"),
        }
        words = [sys.executable, "-m", "clio", "-p", "hi"]
        done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60, env=env)
        assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
        headers = server.requests[0].headers
        assert server.requests[0].path == f"{path.removesuffix('/messages').removesuffix('/v1')}/v1/messages"
    assert (headers["x-api-key"], headers["authorization"]) == ("test-key", "Bearer test-key")


@pytest.mark.parametrize(
    ("status", "text", "message"),
    [
        (401, "invalid x-api-key", "API key rejected"),
        (404, "model: claude-sonnet-5-5", "has no model"),
        (400, "Your credit balance is too low to access the Anthropic API.", "no credit left"),
    ],
)
def test_errors_that_only_the_user_can_fix_are_one_sentence(
    project: Path, tmp_path: Path, status: int, text: str, message: str
) -> None:
    kind = {401: "authentication_error", 404: "not_found_error"}.get(status, "invalid_request_error")
    _, ends = run(project, tmp_path, [refusal(text, status, kind)], "go")
    assert (ends[0].status, ends[0].exit_code) == ("refused", 2)
    assert message in ends[0].error


def test_refusals_of_both_variants_end_and_are_remembered(project: Path, tmp_path: Path) -> None:
    replies: list[Script] = [
        refusal("adaptive thinking is not supported on this model"),
        refusal('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'),
        answer("Well."),
        answer("Again."),
    ]
    harness, ends = run(project, tmp_path, replies, "one", "two", model="claude-sonnet-7-1")
    assert [end.text for end in ends] == ["Well.", "Again."]
    sent = [body.get("thinking", {}).get("type") for body in bodies(harness)]
    assert sent == ["adaptive", "enabled", None, None]


def test_a_server_that_refuses_everything_ends_the_turn(project: Path, tmp_path: Path) -> None:
    refusals: list[Script] = [refusal("thinking: signature, effort 'high', display: not supported")] * 20
    harness, ends = run(project, tmp_path, refusals, "go", model="claude-sonnet-8-1")
    assert ends[0].status == "failed"
    assert len(harness.server.requests) < 8


def test_a_picture_is_sent_with_the_text(project: Path, tmp_path: Path) -> None:
    (project / "dot.png").write_bytes(DOT)
    harness, _ = run(project, tmp_path, [answer("A dot.")], "what is on @dot.png?")
    first = bodies(harness)[0]["messages"][0]["content"]
    assert [block["type"] for block in first] == ["text", "image"]
    assert first[1]["source"] == {"type": "base64", "media_type": "image/png", "data": base64.b64encode(DOT).decode()}
