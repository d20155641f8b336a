"""Finish reasons of answers, and their effect on the turn; over HTTP."""

import asyncio

import pytest

from clio.agent.user_interface import Notice, Retrying, ToolFinished
from clio.messages import AssistantMessage, ToolMessage
from tests.support.chat_server import chunk, error, finish, raw_sse, text, tool_calls
from tests.support.waiting import wait_until_async
from tests.turns.conftest import MakeHarness


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay: the delays have their own tests."""
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda attempt, after_s, rng: 0.0)


@pytest.mark.parametrize(
    "reason", ["length", "max_tokens", "model_length", "pause_turn", "model_context_window_exceeded"]
)
def test_a_truncated_answer_is_continued(make_harness: MakeHarness, reason: str) -> None:
    harness = make_harness([finish(reason, "One, two, ", usage=(900, 100)), text("three.")])
    finished = asyncio.run(harness.turn("count"))
    assert (finished.status, finished.text) == ("done", "One, two, three.")
    roles = [message["role"] for message in harness.server.requests[1].body["messages"]]
    assert roles[-2:] == ["assistant", "user"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [("content_filter", "content filter"), ("sensitive", "content filter"), ("refusal", "declined")],
)
def test_a_filtered_answer_is_reported_and_ends_the_turn(make_harness: MakeHarness, reason: str, words: str) -> None:
    harness = make_harness([finish(reason, "I will not")])
    finished = asyncio.run(harness.turn("do it"))
    assert (finished.status, finished.text) == ("done", "I will not")
    warnings = [notice.text for notice in harness.seen(Notice) if notice.level == "warning"]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert "/rewind" in warnings[0]


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_calls_of_a_filtered_answer_are_not_run(make_harness: MakeHarness, reason: str) -> None:
    call = tool_calls([("write_file", {"path": "new.py", "content": "x"})], finish_reason=reason)
    harness = make_harness([call], approve="all")
    finished = asyncio.run(harness.turn("write"))
    assert finished.status == "done"
    assert len(harness.server.requests) == 1
    assert not (harness.project / "new.py").exists()
    assert [m.ok for m in harness.app.session.messages if isinstance(m, ToolMessage)] == [False]


def test_a_full_window_is_learned(make_harness: MakeHarness) -> None:
    call = tool_calls(
        [("read_file", {"path": "calc.py"})], finish_reason="model_context_window_exceeded", usage=(30_000, 500)
    )
    harness = make_harness([call, text("ok")])
    finished = asyncio.run(harness.turn("read"))
    assert finished.status == "done"
    window = asyncio.run(harness.app.open_window())
    assert (window.limits.context_window, window.limits.source) == (30_500, "named")
    assert any("window is full" in notice.text for notice in harness.seen(Notice))


@pytest.mark.parametrize("status", [400, 200])
def test_a_tool_call_that_the_server_could_not_parse_is_requested_again(make_harness: MakeHarness, status: int) -> None:
    """Groq's error, before an answer and inside one."""
    body = {
        "error": {
            "message": "Tool call validation failed: attempted to call tool 'x' which was not in request.tools",
            "type": "invalid_request_error",
            "code": "tool_use_failed",
            "failed_generation": '{"name": "x"}',
        }
    }
    first = error(400, body) if status == 400 else raw_sse(["event: error", body])
    harness = make_harness([first, text("Done.")])
    finished = asyncio.run(harness.turn("do it"))
    assert (finished.status, finished.text) == ("done", "Done.")
    assert len(harness.seen(Retrying)) == 1


def test_an_error_in_the_middle_of_an_answer_is_retried(make_harness: MakeHarness) -> None:
    """OpenRouter's error, with the finish reason "error"."""
    broken = {
        "error": {"code": "server_error", "message": "Provider disconnected unexpectedly"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    }
    harness = make_harness([raw_sse([chunk({"content": "Half"}), broken]), text("Half and half.")])
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.text) == ("done", "Half and half.")
    assert "disconnected" in harness.seen(Retrying)[0].reason


@pytest.mark.parametrize("reason", ["length", None])
def test_an_output_limit_reported_as_an_error_is_no_failure(make_harness: MakeHarness, reason: str | None) -> None:
    """OpenRouter's error, after the finish reason or instead of it."""
    error_chunk = {"error": {"code": 400, "message": "Token limit reached"}, "choices": [{"index": 0, "delta": {}}]}
    harness = make_harness([raw_sse([chunk({"content": "One, "}), chunk({}, reason), error_chunk]), text("two.")])
    finished = asyncio.run(harness.turn("count"))
    assert (finished.status, finished.text) == ("done", "One, two.")
    assert harness.seen(Retrying) == []


def test_a_server_that_keeps_failing_ends_the_turn_with_a_next_step(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [error(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})] * 9
    )
    finished = asyncio.run(harness.turn("?"))
    assert finished.status == "failed"
    assert len(harness.server.requests) == 5
    assert "--model" in finished.error


def test_a_request_refused_by_the_filter_is_not_sent_again(make_harness: MakeHarness) -> None:
    body = {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}
    harness = make_harness([error(400, body), text("never")])
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.exit_code) == ("refused", 2)
    assert len(harness.server.requests) == 1
    assert "/rewind" in finished.error


def test_reasoning_that_led_to_calls_is_sent_back_in_every_later_request(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls([("read_file", {"path": "calc.py"})], reasoning="read it first"),
            tool_calls([("read_file", {"path": "test_calc.py"})], reasoning="then the test"),
            text("It subtracts.", reasoning="done", reasoning_key="reasoning_content"),
            text("Yes."),
        ],
        model="deepseek-v4",
    )
    asyncio.run(harness.turn("what is wrong?"))
    asyncio.run(harness.turn("sure?"))
    assert [call.ok for call in harness.seen(ToolFinished)] == [True, True]
    sent = [message for message in harness.server.requests[3].body["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in sent] == ["read it first", "then the test", "done"]


def test_reasoning_details_and_signatures_survive_a_resume(make_harness: MakeHarness) -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "c2ln", "index": 0, "format": "f"}]
    call = {
        "index": 0,
        "id": "call_a",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path": "calc.py"}'},
        "extra_content": {"google": {"thought_signature": "Z29vZ2xl"}},
    }
    first = raw_sse(
        [
            chunk({"reasoning_details": [{**details[0], "text": "h", "signature": None}]}),
            chunk({"reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}]}),
            chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "index": 0}]}),
            chunk({"tool_calls": [call]}, "tool_calls"),
        ]
    )
    harness = make_harness([first, text("Done.")])
    asyncio.run(harness.turn("read"))
    answer = next(m for m in harness.app.session.messages if isinstance(m, AssistantMessage) and m.tool_calls)
    asyncio.run(harness.app.close())
    reopened = harness.build().open_session(harness.app.session.id)
    again = next(m for m in reopened.messages if isinstance(m, AssistantMessage) and m.tool_calls)
    assert again.reasoning_items == answer.reasoning_items
    assert again.reasoning_origin == answer.reasoning_origin != ""
    assert '"signature":"c2ln"' in again.reasoning_items[0].data
    assert "Z29vZ2xl" in again.reasoning_items[-1].data


def test_reasoning_with_a_secret_is_sent_back_redacted(make_harness: MakeHarness) -> None:
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    harness = make_harness(
        [tool_calls([("read_file", {"path": "calc.py"})], reasoning=f"the key is {secret} I see"), text("ok")],
        model="deepseek-v4",
    )
    asyncio.run(harness.turn("read"))
    sent = harness.server.requests[1].body["messages"]
    back = next(message["reasoning_content"] for message in sent if message.get("tool_calls"))
    assert back.startswith("the key is ")
    assert back.endswith(" I see")
    assert secret not in harness.server.requests[1].raw.decode()


def test_reasoning_of_an_interrupted_answer_is_not_sent_back(make_harness: MakeHarness) -> None:
    slow = text("I was about to say", reasoning="half a thought", chunk_size=5, pause_s=0.2)
    harness = make_harness([slow, text("ok")], model="deepseek-v4")

    async def interrupted() -> None:
        turn = asyncio.create_task(harness.app.run_turn("go"))
        await wait_until_async(lambda: harness.shown)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        await harness.turn("again")

    asyncio.run(interrupted())
    assert "half a thought" not in harness.server.requests[1].raw.decode()
