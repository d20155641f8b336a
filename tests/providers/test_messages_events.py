"""Answers of Anthropic Messages without a recording: other vendors, truncated streams, server tools, errors."""

import json
from typing import Any

import pytest

from clio.providers.failure import TransportFailed
from clio.providers.messages import MessagesDecoder
from tests.providers.recorded import JoinedAnswer, join_answer
from tests.support.rows import each_row

ORIGIN = "messages h m"


def start(index: int, kind: str, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **block}}


def delta(index: int, kind: str, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def decode(*events: dict[str, Any]) -> JoinedAnswer:
    return join_answer(MessagesDecoder(ORIGIN), list(events))


def saved_items(answer: JoinedAnswer) -> list[tuple[dict[str, Any], int, int]]:
    return [(json.loads(item.data), item.text, item.calls) for item in answer.items]


def test_blocks_keep_their_order_between_text_and_calls() -> None:
    answer = decode(
        start(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "signature_delta", signature="s1"),
        stop(0),
        start(1, "text", text=""),
        delta(1, "text_delta", text="Four"),
        stop(1),
        start(2, "redacted_thinking", data="xx"),
        stop(2),
        start(3, "tool_use", id="t1", name="git", input={}),
        delta(3, "input_json_delta", partial_json=""),
        delta(3, "input_json_delta", partial_json='{"a"'),
        delta(3, "input_json_delta", partial_json=": 1}"),
        stop(3),
        start(4, "thinking", thinking="", signature=""),
        delta(4, "thinking_delta", thinking="Ha"),
        delta(4, "signature_delta", signature="s2"),
        stop(4),
        start(5, "tool_use", id="t2", name="read", input={}),
        stop(5),
        end("tool_use"),
    )
    assert saved_items(answer) == [
        ({"type": "thinking", "thinking": "Hm", "signature": "s1"}, 0, 0),
        ({"type": "redacted_thinking", "data": "xx"}, 4, 0),
        ({"type": "thinking", "thinking": "Ha", "signature": "s2"}, 4, 1),
    ]
    assert answer.calls == [("t1", "git", '{"a": 1}'), ("t2", "read", "")]
    assert (answer.text, answer.reasoning, answer.finish) == ("Four", "Hm\n\nHa", "tool_calls")


def test_hidden_thinking_is_sent_back() -> None:
    answer = decode(
        start(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="s1"),
        stop(0),
        start(1, "text", text="Yes."),
        end("end_turn"),
    )
    assert (answer.reasoning, answer.text) == ("", "Yes.")
    assert saved_items(answer) == [({"type": "thinking", "thinking": "", "signature": "s1"}, 0, 0)]


def test_unsigned_thinking_is_sent_back_to_its_server() -> None:
    answer = decode(
        start(0, "thinking", thinking=""),
        delta(0, "thinking_delta", thinking="Hm"),
        stop(0),
        start(1, "thinking", thinking=""),
        stop(1),
        end("end_turn"),
    )
    assert saved_items(answer) == [({"type": "thinking", "thinking": "Hm", "signature": ""}, 0, 0)]


def test_truncated_thinking_is_not_saved() -> None:
    answer = decode(start(0, "thinking", thinking="Hm", signature=""), end("max_tokens"))
    assert (answer.reasoning, answer.items, answer.finish) == ("Hm", (), "length")


@pytest.mark.parametrize("pieces", [[], ['{"path": ', '"a"}']])
def test_arguments_that_arrive_complete_are_used_once(pieces: list[str]) -> None:
    answer = decode(
        start(0, "tool_use", id="t1", name="read", input={"path": "a"}),
        *(delta(0, "input_json_delta", partial_json=piece) for piece in pieces),
        stop(0),
        end("tool_use"),
    )
    assert [(call[0], call[1], json.loads(call[2])) for call in answer.calls] == [("t1", "read", {"path": "a"})]


SERVER_TOOL = (
    start(0, "text", text="Searching."),
    start(1, "server_tool_use", id="srv1", name="web_search", input={}),
    delta(1, "input_json_delta", partial_json='{"query": "x"}'),
    stop(1),
    start(2, "web_search_tool_result", tool_use_id="srv1", content=[]),
    stop(2),
)


def test_blocks_of_server_tools_are_sent_back_only_with_a_paused_answer() -> None:
    assert decode(*SERVER_TOOL, end("end_turn")).items == ()
    paused = decode(*SERVER_TOOL, end("pause_turn"))
    assert paused.finish == "pause_turn"
    assert [block for block, _, _ in saved_items(paused)] == [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
    ]


@each_row(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "model_context_window_exceeded"),
        ("refusal", "refusal"),
        ("something_new", "something_new"),
    ],
)
def test_the_stop_reason_is_normalized(reason: str, finish: str) -> None:
    assert decode(start(0, "text", text="x"), end(reason)).finish == finish


def test_a_window_without_space_for_an_answer_is_an_overflow() -> None:
    with pytest.raises(TransportFailed) as caught:
        decode(end("model_context_window_exceeded"))
    assert "context_length_exceeded" in caught.value.failure.body


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"error": {"message": "no", "type": "server_error"}},
        {"type": "error", "message": "no"},
    ],
)
def test_an_error_in_the_stream_is_a_failure(event: dict[str, Any]) -> None:
    decoder = MessagesDecoder()
    decoder.take(start(0, "text", text="x"))
    with pytest.raises(TransportFailed) as caught:
        decoder.take(event)
    assert caught.value.failure.kind == "in_stream"


def test_usage_at_the_start_and_the_end_is_combined() -> None:
    begin: dict[str, Any] = {
        "input_tokens": 7,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 30,
        "output_tokens": 1,
    }
    begin["cache_creation"] = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    answer = decode(
        {"type": "message_start", "message": {"usage": begin}},
        start(0, "text", text="x"),
        end("end_turn", output_tokens=55),
        {"type": "message_stop"},
    )
    usage = answer.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (127, 90, 55)
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens) == (30, 20)


@each_row(
    "event",
    [{}, {"type": "ping"}, {"type": "content_block_stop", "index": 9}, delta(9, "text_delta"), {"type": "new_event"}],
)
def test_events_without_content_are_ignored(event: dict[str, Any]) -> None:
    assert not MessagesDecoder().take(event)
