"""Faults of streams, and what the user sees of them."""

import asyncio
from contextlib import ExitStack

import pytest

from clio.agent.user_interface import Notice, ReasoningDelta, Retrying, StreamRestarted, ToolFinished
from clio.messages import AssistantMessage, ToolMessage
from tests.support.chat_server import ChatServer, cut, empty_stream, error, finish, text, tool_calls
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay: the delays have their own tests."""
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda attempt, after_s, rng: 0.0)


def test_a_broken_stream_is_not_shown_twice(make_harness: MakeHarness) -> None:
    harness = make_harness([cut("The answer is forty", after=14), text("The answer is forty-two.")])
    finished = asyncio.run(harness.turn("?"))
    assert finished.status == "done"
    assert "".join(e.text for e in harness.events if type(e).__name__ == "TextDelta") == "The answer is forty-two."
    assert harness.seen(StreamRestarted) == []
    assert len(harness.seen(Retrying)) == 1


def test_a_second_answer_that_differs_replaces_the_first(make_harness: MakeHarness) -> None:
    harness = make_harness([cut("I think it is one"), text("It is two.")])
    asyncio.run(harness.turn("?"))
    assert harness.shown == "It is two."
    assert len(harness.seen(StreamRestarted)) == 1
    kept = [m.content for m in harness.app.session.messages if isinstance(m, AssistantMessage)]
    assert kept == ["It is two."]


def test_a_second_answer_that_is_shorter_replaces_the_first(make_harness: MakeHarness) -> None:
    harness = make_harness([cut("Yes, and more"), text("Yes")])
    asyncio.run(harness.turn("?"))
    assert harness.shown == "Yes"


@pytest.mark.parametrize("failure", [error(429, headers={"Retry-After": "0"}), error(500), error(503), empty_stream()])
def test_temporary_failures_are_retried_visibly(make_harness: MakeHarness, failure: object) -> None:
    harness = make_harness([failure, failure, text("here")])
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.text) == ("done", "here")
    assert [(event.attempt, event.of) for event in harness.seen(Retrying)] == [(1, 4), (2, 4)]


def test_a_server_that_keeps_limiting_the_rate_ends_the_turn_with_a_next_step(make_harness: MakeHarness) -> None:
    harness = make_harness([error(429, headers={"Retry-After": "0"})] * 5)
    finished = asyncio.run(harness.turn("?"))
    assert finished.status == "failed"
    assert mentions(finished.error, "scripted error 429", "5 times", "minute", "model")
    assert all("minute" not in event.reason for event in harness.seen(Retrying))


def test_a_server_restarted_in_the_middle_of_an_answer_is_waited_for(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = make_harness([cut("The answer is")])
    port, requests_seen, waits = harness.server.port, list[str](), list[float | None]()
    with ExitStack() as stack:

        def delay(attempt: int, after_s: float | None, rng: object) -> float:
            requests_seen.append(harness.seen(Retrying)[-1].reason if harness.seen(Retrying) else "")
            waits.append(after_s)
            if attempt == 1:
                harness.server.stop()
            if attempt == 3:
                stack.enter_context(ChatServer([text("The answer is forty-two.")], port=port))
            return 0.0

        monkeypatch.setattr("clio.agent.model_request.retry_delay", delay)
        finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.text) == ("done", "The answer is forty-two.")
    assert requests_seen[1:] == [harness.seen(Retrying)[0].reason, harness.seen(Retrying)[1].reason]
    assert "connection refused" in harness.seen(Retrying)[1].reason
    assert waits == [None, 2.0, 8.0], "random for the broken stream, long enough for the server to start"


def test_an_address_that_never_answered_is_not_tried_again(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    harness.server.stop()
    finished = asyncio.run(harness.turn("?"))
    assert finished.status == "failed" and "connection refused" in finished.error
    assert harness.seen(Retrying) == []


def test_permanent_failures_end_the_turn_after_four_retries(make_harness: MakeHarness) -> None:
    harness = make_harness([error(500)] * 9)
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.exit_code) == ("failed", 1)
    assert len(harness.server.requests) == 5
    assert finished.error


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (401, None, "OPENAI_API_KEY"),
        (404, {"error": {"message": "model not found", "code": "model_not_found"}}, "model"),
    ],
)
def test_a_refusal_is_one_sentence_without_a_retry(
    make_harness: MakeHarness, status: int, body: object, word: str
) -> None:
    harness = make_harness([error(status, body)])
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.exit_code, len(harness.server.requests)) == ("refused", 2, 1)
    assert word in finished.error
    assert "\n" not in finished.error


def test_an_overflow_has_its_own_message_and_exit_code(make_harness: MakeHarness) -> None:
    body = {"error": {"message": "maximum context length is 100 tokens", "code": "context_length_exceeded"}}
    harness = make_harness([error(400, body)] * 4)
    finished = asyncio.run(harness.turn("?"))
    assert (finished.status, finished.exit_code) == ("context_full", 3)


def test_an_answer_cut_by_the_output_limit_is_continued(make_harness: MakeHarness) -> None:
    harness = make_harness([finish("length", "One, two, "), text("three.")])
    finished = asyncio.run(harness.turn("count"))
    assert finished.text == "One, two, three."
    last = harness.server.requests[1].body["messages"][-1]
    assert last["role"] == "user"
    assert "cut off" in last["content"]


def test_an_endless_answer_is_reported(make_harness: MakeHarness) -> None:
    harness = make_harness([finish("length", "more ")] * 9)
    finished = asyncio.run(harness.turn("count"))
    assert finished.status == "done"
    assert len(harness.server.requests) == 4
    assert any("cut off" in notice.text for notice in harness.seen(Notice))


def test_reasoning_is_shown_separately(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Four.", reasoning="two and two", reasoning_key="reasoning")])
    finished = asyncio.run(harness.turn("2+2?"))
    assert finished.text == "Four."
    assert "".join(event.text for event in harness.seen(ReasoningDelta)) == "two and two"


@pytest.mark.parametrize(
    "arguments",
    ["{'path': 'calc.py'}", '{"path": "calc.py",}', '{"path": "calc.py"', '{"arguments": {"path": "calc.py"}}'],
)
def test_broken_arguments_are_repaired(make_harness: MakeHarness, arguments: str) -> None:
    harness = make_harness([tool_calls([("read_file", arguments)]), text("ok")])
    asyncio.run(harness.turn("read"))
    assert [call.ok for call in harness.seen(ToolFinished)] == [True]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", '{"file": "calc.py"}', ["path"]),
        ("read_file", "calc.py please", ["JSON"]),
        ("read_file", '{"path": "calc.py", "limit": "many"}', ["limit"]),
        ("reed_file", '{"path": "calc.py"}', ["reed_file", "read_file"]),
    ],
)
def test_wrong_calls_are_answered_with_the_correct_usage(
    make_harness: MakeHarness, name: str, arguments: str, words: list[str]
) -> None:
    harness = make_harness([tool_calls([(name, arguments)]), text("ok")])
    asyncio.run(harness.turn("read"))
    result = next(m for m in harness.app.session.messages if isinstance(m, ToolMessage))
    assert not result.ok
    assert all(word in result.content for word in words), result.content


def test_a_call_cut_off_by_the_output_limit_is_not_completed_by_guessing(make_harness: MakeHarness) -> None:
    call = tool_calls([("write_file", '{"path": "new.py", "content": "x = ')], finish_reason="length")
    harness = make_harness([call, text("ok")], approve="all")
    asyncio.run(harness.turn("write"))
    assert not (harness.project / "new.py").exists()
    assert "cut off" in harness.server.requests[1].body["messages"][-1]["content"]


def test_the_same_failing_call_four_times_ends_the_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("read_file", {"path": "gone.py"})]) for _ in range(9)])
    finished = asyncio.run(harness.turn("read"))
    assert (finished.status, finished.exit_code) == ("failed", 1)
    assert len(harness.server.requests) == 4
    assert "4 times" in finished.error


def test_repeated_call_ids_are_distinguished(make_harness: MakeHarness) -> None:
    reply = [tool_calls([("read_file", {"path": name})], ids=["call_0"]) for name in ("calc.py", "test_calc.py")]
    harness = make_harness([*reply, text("ok")])
    asyncio.run(harness.turn("read both"))
    sent = harness.server.requests[2].body["messages"]
    ids = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert len(set(ids)) == 2


def test_max_steps_stops_with_a_reason(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("list_files", {})]) for _ in range(9)], max_steps=3)
    finished = asyncio.run(harness.turn("loop"))
    assert (finished.status, finished.steps, finished.exit_code) == ("max_steps", 3, 1)
    assert "3 steps" in finished.error
