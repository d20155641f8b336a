"""Chunks of all servers are converted to one form."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.agent.model_request import ModelAnswer
from clio.messages import Usage
from clio.providers.base import Chunk, ToolCallDelta
from clio.providers.chat import REASONING_FIELD, ChatDecoder, merge_chunks, read_cost, read_usage
from clio.providers.failure import TransportFailed
from tests.support.rows import each_row


def event(delta: dict[str, Any] | None, finish: str | None = None, **extra: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"object": "chat.completion.chunk", "choices": choices} | extra


def call(
    index: int | None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}, "id": call_id}
    return row if index is None else row | {"index": index}


def play(*events: Any) -> tuple[list[Chunk], ChatDecoder]:
    decoder = ChatDecoder()
    chunks = [chunk for item in events for chunk in decoder.take(item)]
    return [*chunks, decoder.ending()], decoder


def calls_of(chunks: list[Chunk]) -> list[tuple[str, str, str]]:
    """Return the calls as the loop joins them: id and name replaced, arguments appended."""
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        for delta in chunk.tool_calls:
            row = calls.setdefault(delta.index, ["", "", ""])
            row[0], row[1] = delta.id or row[0], delta.name or row[1]
            row[2] += delta.arguments
    return [(row[0], row[1], row[2]) for _, row in sorted(calls.items())]


def test_text_finish_reason_and_usage() -> None:
    bill = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    chunks, _ = play(
        event({"role": "assistant", "content": ""}),
        event({"content": "Hel"}),
        event({"content": "lo"}),
        event({}, "stop"),
        event(None, usage=bill),
    )
    usage = Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=4)
    assert chunks == [Chunk(text="Hel"), Chunk(text="lo"), Chunk(finish_reason="stop", usage=usage)]


def test_usage_in_the_chunk_with_the_finish_reason() -> None:
    chunks, _ = play(event({"content": "a"}), event({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 1}))
    assert chunks[-1] == Chunk(finish_reason="stop", usage=Usage(prompt_tokens=3, completion_tokens=1))


def test_usage_in_other_places() -> None:
    bill = {"prompt_tokens": 3, "completion_tokens": 1}
    assert play(event({}, "stop", x_groq={"id": "r", "usage": bill}))[0][-1].usage == Usage(
        prompt_tokens=3, completion_tokens=1
    )
    timings = {"prompt_n": 7, "cache_n": 90, "predicted_n": 5}
    assert play(event({}, "stop", timings=timings))[0][-1].usage == Usage(
        prompt_tokens=97, completion_tokens=5, cached_tokens=90
    )
    assert play(event({}, "stop", timings={"prompt_n": 7, "predicted_n": 5}))[0][-1].usage is None


def test_usage_repeated_in_every_chunk_is_counted_once() -> None:
    chunks, _ = play(
        *(event({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": n}) for n in (1, 2, 3)),
        event({}, "stop", usage=None),
    )
    assert [chunk.usage for chunk in chunks] == [None, None, None, Usage(prompt_tokens=3, completion_tokens=3)]


@each_row(
    ("bill", "usage"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": -1, "completion_tokens": "x"}, None),
        ({"prompt_tokens": 10**15, "completion_tokens": 0}, None),
        ({"prompt_tokens": True, "completion_tokens": float("nan")}, None),
        ({"prompt_tokens": 10**15, "completion_tokens": 4}, None),
        ({"prompt_tokens": 5.0, "completion_tokens": "2"}, Usage(prompt_tokens=5, completion_tokens=2)),
        ({"input_tokens": 5, "output_tokens": 2}, Usage(prompt_tokens=5, completion_tokens=2)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3},
            Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=3),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=5),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None},
            Usage(prompt_tokens=5, completion_tokens=1),
        ),
    ],
)
def test_usage_formats(bill: Any, usage: Usage | None) -> None:
    assert read_usage(bill) == usage


@each_row(
    ("bill", "micro_dollars"),
    [
        ({"cost": 0.0421}, 42_100),
        ({"cost": 0}, 0),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 21_000),
        ({"cost": 0.001, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}}, 1_000),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": True}, None),
        ({"cost": "0.1"}, None),
        ({"cost": 10**9}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_cost_in_a_usage_object(bill: Any, micro_dollars: int | None) -> None:
    assert read_cost(bill) == micro_dollars


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_fields(key: str) -> None:
    chunks, _ = play(event({key: "hm", "content": None}), event({"content": "yes"}, "stop"))
    assert chunks[:-1] == [Chunk(reasoning="hm"), Chunk(text="yes")]
    assert chunks[-1].finish_reason == "stop"
    assert [json.loads(item.data) for item in chunks[-1].reasoning_items] == [{REASONING_FIELD: key}]


def test_content_as_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    chunks, _ = play(event({"content": parts}, "stop"))
    assert chunks[:2] == [Chunk(reasoning="hm"), Chunk(text="yes")]


def test_a_refusal_text_is_the_answer() -> None:
    assert play(event({"refusal": "I cannot."}, "stop"))[0][0] == Chunk(text="I cannot.")


def test_empty_lists_and_nulls_are_ignored() -> None:
    chunks, decoder = play(event({"role": "assistant", "content": None, "tool_calls": []}), event({"tool_calls": None}))
    assert chunks == [Chunk()]
    assert not decoder.has_content
    assert not decoder.is_whole


def test_parallel_calls_in_pieces() -> None:
    chunks, _ = play(
        event({"tool_calls": [call(0, "a", "read_file", "")]}),
        event({"tool_calls": [call(0, None, None, '{"path":')]}),
        event({"tool_calls": [call(0, None, None, ' "x"}')]}),
        event({"tool_calls": [call(1, "b", "git", '{"operation"'), call(0, None, None, "")]}),
        event({"tool_calls": [call(1, None, None, ': "log"}')]}, "tool_calls"),
    )
    assert calls_of(chunks) == [("a", "read_file", '{"path": "x"}'), ("b", "git", '{"operation": "log"}')]


def test_id_and_name_repeated_in_every_piece() -> None:
    pieces = [event({"tool_calls": [call(0, "a", "read_file", piece)]}) for piece in ('{"pa', 'th": ', '"x"}')]
    assert calls_of(play(*pieces)[0]) == [("a", "read_file", '{"path": "x"}')]


def test_single_characters() -> None:
    first = event({"tool_calls": [call(0, "a", "run", "")]})
    rest = [event({"tool_calls": [call(0, arguments=letter)]}) for letter in '{"command": "ls"}']
    assert calls_of(play(first, *rest)[0]) == [("a", "run", '{"command": "ls"}')]


def test_calls_without_an_index() -> None:
    chunks, _ = play(
        event({"tool_calls": [call(None, "a", "one", '{"x"')]}),
        event({"tool_calls": [call(None, None, None, ": 1}")]}),
        event({"tool_calls": [call(None, "b", "two", "{}")]}),
        event({"tool_calls": [call(None, "a", None, " ")]}),
    )
    assert calls_of(chunks) == [("a", "one", '{"x": 1} '), ("b", "two", "{}")]


def test_calls_that_all_have_index_zero() -> None:
    chunks, _ = play(
        event({"tool_calls": [call(0, "a", "one", "{}")]}),
        event({"tool_calls": [call(0, "b", "two", "{}")]}),
    )
    assert calls_of(chunks) == [("a", "one", "{}"), ("b", "two", "{}")]


def test_a_new_id_in_every_piece_is_still_one_call() -> None:
    chunks, _ = play(
        event({"tool_calls": [call(0, "a", "one", '{"x"')]}),
        event({"tool_calls": [call(0, "b", None, ": 1}")]}),
    )
    assert calls_of(chunks) == [("a", "one", '{"x": 1}')]


def test_arguments_as_an_object() -> None:
    assert calls_of(play(event({"tool_calls": [call(0, "a", "one", {"x": [1, "é"]})]}))[0]) == [
        ("a", "one", '{"x":[1,"é"]}')
    ]


def test_calls_without_an_id() -> None:
    chunks, _ = play(event({"tool_calls": [call(0, None, "one", "{}")]}))
    assert chunks[0].tool_calls == (ToolCallDelta(index=0, name="one", arguments="{}"),)


def test_the_old_function_call_field() -> None:
    chunks, _ = play(
        event({"function_call": {"name": "one", "arguments": "{"}}), event({"function_call": {"arguments": "}"}})
    )
    assert calls_of(chunks) == [("", "one", "{}")]


def test_a_complete_answer_that_is_not_streamed() -> None:
    message = {
        "role": "assistant",
        "content": "Look:",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "one", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}},
        ],
    }
    chunks, decoder = play(
        {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 4, "completion_tokens": 2},
        }
    )
    assert (chunks[0].text, chunks[0].reasoning) == ("Look:", "hm")
    assert calls_of(chunks) == [("a", "one", "{}"), ("b", "one", '{"x": 1}')]
    assert chunks[-1].finish_reason == "tool_calls"
    assert chunks[-1].usage == Usage(prompt_tokens=4, completion_tokens=2)
    assert decoder.is_whole


@each_row(
    ("sent", "read"),
    [
        ("model_context_window_exceeded", "model_context_window_exceeded"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("function_call", "tool_calls"),
        ("eos_token", "stop"),
        ("sensitive", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("something_new", "something_new"),
    ],
)
def test_finish_reasons_are_normalized(sent: str, read: str) -> None:
    assert play(event({"content": "a"}, sent))[0][-1].finish_reason == read
    assert play(event({"content": "a"}, ""), event({}, sent))[0][-1].finish_reason == read


@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource", "abort"])
def test_an_answer_that_the_server_could_not_complete_is_a_failure(reason: str) -> None:
    with pytest.raises(TransportFailed) as caught:
        play(event({"content": "a"}), event({"content": ""}, reason))
    assert reason in caught.value.failure.body


def test_an_error_within_a_choice_is_a_failure() -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "no"}}
    with pytest.raises(TransportFailed) as caught:
        play({"choices": [choice]})
    assert json.loads(caught.value.failure.body)["error"]["code"] == 502


def test_reasoning_details_are_joined_and_kept_unchanged() -> None:
    def detail(**fields: Any) -> Any:
        return event({"reasoning_details": [fields]})

    chunks, _ = play(
        detail(type="reasoning.text", text="I ", format="f", index=0),
        detail(type="reasoning.text", text="think", format="f", index=0),
        detail(type="reasoning.text", signature="sig", format="f", index=0),
        detail(type="reasoning.encrypted", data="one", id="tool_a", format="f", index=0),
        detail(type="reasoning.encrypted", data="two", id="tool_b", format="f", index=0),
        detail(type="reasoning.summary", summary="short", index=1, id=None),
        event({"content": "done"}, "stop"),
    )
    assert [json.loads(item.data) for item in chunks[-1].reasoning_items] == [
        {"type": "reasoning.text", "text": "I think", "format": "f", "index": 0, "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "one", "id": "tool_a", "format": "f", "index": 0},
        {"type": "reasoning.encrypted", "data": "two", "id": "tool_b", "format": "f", "index": 0},
        {"type": "reasoning.summary", "summary": "short", "index": 1, "id": None},
    ]
    assert "".join(chunk.reasoning for chunk in chunks) == "I thinkshort"


def test_think_tags_that_repeat_the_reasoning_are_removed() -> None:
    chunks, _ = play(
        event({"content": "<think>hm</think>", "reasoning_content": "hm"}), event({"content": "yes"}, "stop")
    )
    assert "".join(chunk.reasoning for chunk in chunks) == "hm"
    assert "".join(chunk.text for chunk in chunks) == "yes"


def test_a_cost_in_ticks_does_not_invalidate_the_token_count() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "cost_in_usd_ticks": 450_000_000}
    chunks, _ = play(event({"content": "a"}, "stop"), {"choices": [], "usage": usage})
    assert chunks[-1].usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert chunks[-1].cost == 45_000  # micro-dollars


@each_row(
    ("sent", "read"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 30}}, (40, 30)),
        ({"prompt_tokens_details": {"cached_tokens": 40}, "cache_creation_input_tokens": 30}, (40, 30)),
        ({"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}, (40, 0)),
        ({"cached_tokens": 40}, (40, 0)),
        ({"prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 30}}, (90, 10)),
    ],
)
def test_tokens_read_from_and_written_to_the_cache(sent: Any, read: tuple[int, int]) -> None:
    usage = read_usage({"prompt_tokens": 100, "completion_tokens": 5, **sent})
    assert usage is not None
    assert (usage.cached_tokens, usage.cache_write_tokens) == read


def test_an_answer_without_a_finish_reason_is_complete_unless_a_call_is_cut() -> None:
    assert play(event({"content": "a"}))[1].is_whole
    assert play(event({"tool_calls": [call(0, "a", "one", "{}")]}))[1].is_whole
    assert not play(event({"tool_calls": [call(0, "a", "one", '{"x": ')]}))[1].is_whole


def test_signatures_of_calls() -> None:
    signed = call(0, "a", "one", "{}") | {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    items = play(event({"tool_calls": [signed]}))[1].ending().reasoning_items
    assert [(item.data, item.calls) for item in items] == [('{"thought_signature":"c2ln"}', 0)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "index",
                    "id",
                    "name",
                    "arguments",
                    "usage",
                    "prompt_tokens",
                    "finish_reason",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=4))
def test_any_json_is_tolerated(events: list[Any]) -> None:
    chunks, decoder = play(*events)
    assert decoder.events == len(events)
    assert isinstance(chunks[-1], Chunk)


@given(st.text(max_size=80), st.integers(1, 9), st.booleans())
def test_a_call_split_anywhere_is_the_same(value: str, size: int, repeat: bool) -> None:
    arguments = json.dumps({"value": value})
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    events = [
        event({"tool_calls": [call(0, "a" if repeat or not n else None, "one" if repeat or not n else None, piece)]})
        for n, piece in enumerate(pieces)
    ]
    assert calls_of(play(*events)[0]) == [("a", "one", arguments)]


chunks_of_any_kind = st.builds(
    Chunk,
    text=st.sampled_from(["", "a", "b\n"]),
    reasoning=st.sampled_from(["", "why"]),
    tool_calls=st.sampled_from([(), (ToolCallDelta(index=0, id="x", name="one", arguments="{"),)]),
)


@given(st.lists(chunks_of_any_kind))
def test_joined_chunks_are_the_same_answer_in_the_same_order(chunks: list[Chunk]) -> None:
    fewer = list(merge_chunks(chunks))
    whole, parts = ModelAnswer(), ModelAnswer()
    for chunk in chunks:
        parts.add_chunk(chunk)
    for chunk in fewer:
        whole.add_chunk(chunk)
    assert (whole.text, whole.reasoning, whole.make_calls("s")) == (parts.text, parts.reasoning, parts.make_calls("s"))
    assert in_order(fewer) == in_order(chunks)


def in_order(chunks: list[Chunk]) -> str:
    """Return text in lower case, reasoning in upper case and calls in brackets, as they are shown."""
    return "".join(
        chunk.reasoning.upper() + chunk.text + "".join(f"[{call.arguments}]" for call in chunk.tool_calls)
        for chunk in chunks
    )


def test_consecutive_texts_are_one_piece() -> None:
    call_delta = ToolCallDelta(index=0, id="x", name="one", arguments="{}")
    chunks = [
        Chunk(reasoning="w"),
        Chunk(reasoning="hy"),
        Chunk(text="b"),
        Chunk(text="y"),
        Chunk(tool_calls=(call_delta,)),
    ]
    assert list(merge_chunks(chunks)) == [Chunk(reasoning="why"), Chunk(text="by"), chunks[-1]]


def test_reasoning_and_text_of_one_event_stay_in_order() -> None:
    chunks, _ = play(event({"content": "<think>one</think>yes\n<think>two</think>no"}, "stop"))
    assert [chunk.reasoning or chunk.text for chunk in chunks] == ["one", "yes\n", "two", "no", ""]
    parts = [{"type": "text", "text": "yes"}, {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "no"}]
    chunks, _ = play(event({"content": parts}, "stop"))
    assert [chunk.reasoning or chunk.text for chunk in chunks] == ["yes", "hm", "no", ""]
