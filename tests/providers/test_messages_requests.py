"""Requests of Anthropic Messages: what is sent, and what the maker's own package says of it."""

import json
from functools import cache
from typing import Any

import pytest
from msgspec import Raw
from pydantic import TypeAdapter, ValidationError

from clio.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningItem,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.providers.base import EFFORTS, ChatRequest, ToolSpec
from clio.providers.messages import MessagesProtocol, make_headers
from tests.support.rows import each_row

ORIGIN = "messages api.anthropic.com claude-sonnet-5-5"
TOOLS = (
    ToolSpec(name="git", description="Runs git.", parameters=Raw(b'{"type":"object","properties":{}}')),
    ToolSpec(name="read", description="Reads.", parameters=Raw(b'{"type":"object","properties":{}}')),
)
THOUGHT = ReasoningItem(data='{"type":"thinking","thinking":"Hm.","signature":"c2ln"}')
HIDDEN = ReasoningItem(data='{"type":"redacted_thinking","data":"eHh4"}', text=8)
PICTURE = ImagePart(blob="b1", media_type="image/png", name="a.png", size=3)
LOOP: tuple[Message, ...] = (
    UserMessage(content="look", context="<context>x</context>", images=(PICTURE,)),
    AssistantMessage(
        content="Looking.",
        reasoning_items=(THOUGHT, HIDDEN),
        reasoning_origin=ORIGIN,
        tool_calls=(ToolCall(id="c1", name="git", arguments='{"a": 1}'), ToolCall(id="c2", name="read")),
    ),
    ToolMessage(tool_call_id="c1", name="git", content="clean"),
    ToolMessage(tool_call_id="c2", name="read", content="", images=(PICTURE,), ok=False),
)


@cache
def params() -> TypeAdapter[Any]:
    """What the maker's package takes. Its import takes 1.4 s, which a run without these tests need not spend."""
    from anthropic.types import MessageCreateParams

    return TypeAdapter(MessageCreateParams)


def request(messages: tuple[Message, ...] = LOOP, **options: Any) -> ChatRequest:
    given: dict[str, Any] = {"tools": TOOLS, "max_output_tokens": 64_000, "images": {"b1": b"png"}} | options
    return ChatRequest(system="Be brief.", messages=messages, **given)


def protocol(model: str = "claude-sonnet-5-5", **options: Any) -> MessagesProtocol:
    return MessagesProtocol(model, images=True, origin=ORIGIN, **options)


def sent(speaks: MessagesProtocol, asked: ChatRequest) -> dict[str, Any]:
    """The body, which the package's types allow: no field but theirs, and of their kinds."""
    body = json.loads(speaks.encode(asked))
    checked = params().validate_python(body)
    assert _without_iterators(checked) == body
    return body


def _without_iterators(value: Any) -> Any:
    """What pydantic made of it; it leaves `Iterable` fields to be read, and drops fields that are not the type's."""
    if isinstance(value, dict):
        return {key: _without_iterators(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else [_without_iterators(item) for item in value]


def points(body: dict[str, Any]) -> list[str]:
    """Where the cache points are, as paths."""
    found = [f"tools.{at}" for at, row in enumerate(body.get("tools", [])) if "cache_control" in row]
    found += [f"system.{at}" for at, row in enumerate(body.get("system", [])) if "cache_control" in row]
    for number, message in enumerate(body["messages"]):
        found += [f"{number}.{at}" for at, row in enumerate(message["content"]) if "cache_control" in row]
    return found


def test_the_check_of_the_types_can_fail() -> None:
    good = json.loads(protocol().encode(request()))
    for change in ({"stop": 1}, {"thinking": {"type": "adaptive", "depth": 3}}, {"messages": [{"role": "system"}]}):
        with pytest.raises((ValidationError, AssertionError)):
            assert _without_iterators(params().validate_python(good | change)) == good | change


def test_a_whole_request() -> None:
    body = sent(protocol(), request((*LOOP, UserMessage(content="hurry", steers=True))))
    assert (body["model"], body["max_tokens"], body["stream"]) == ("claude-sonnet-5-5", 64_000, True)
    first, answer, results = body["messages"]
    assert [block["type"] for block in first["content"]] == ["text", "image"]
    assert [block["type"] for block in answer["content"]] == [
        "thinking",
        "text",
        "redacted_thinking",
        "tool_use",
        "tool_use",
    ]
    assert [block["type"] for block in results["content"]] == ["tool_result", "tool_result", "text"]
    assert results["content"][1]["is_error"]
    assert [block["type"] for block in results["content"][1]["content"]] == ["image"]
    assert points(body) == ["tools.1", "system.0", "0.1", "2.2"]


@each_row(
    "model",
    [
        "claude-sonnet-5-5",
        "claude-fable-5-1",
        "claude-opus-4-6",
        "claude-sonnet-4-5-20250929",
        "claude-3-7-sonnet-20250219",
        "claude-3-5-haiku-20241022",
        "MiniMax-M3",
        "deepseek-v4-pro",
    ],
)
@each_row("effort", ["auto", *EFFORTS])
@each_row("lifetime", ["5m", "1h"])
def test_every_model_and_effort_makes_a_valid_request(model: str, effort: str, lifetime: str) -> None:
    speaks = protocol(model, lifetime=lifetime)
    body = sent(speaks, request(effort=effort))
    if (thinking := body.get("thinking", {})).get("type") == "enabled":
        assert 1_024 <= thinking["budget_tokens"] < body["max_tokens"]
    assert {block["cache_control"].get("ttl", "5m") for block in body["system"]} == {lifetime}


@each_row(
    ("model", "effort", "thinking", "config"),
    [
        ("claude-sonnet-5-5", "auto", {"type": "adaptive", "display": "summarized"}, None),
        ("claude-sonnet-5-5", "xhigh", {"type": "adaptive", "display": "summarized"}, {"effort": "xhigh"}),
        ("claude-sonnet-5-5", "minimal", {"type": "adaptive", "display": "summarized"}, {"effort": "low"}),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive", "display": "summarized"}, {"effort": "high"}),
        ("claude-opus-5", "none", {"type": "disabled"}, None),
        ("claude-fable-5", "none", {"type": "adaptive", "display": "summarized"}, {"effort": "low"}),
        ("claude-sonnet-4-5-20250929", "auto", {"type": "enabled", "budget_tokens": 10_000}, None),
        ("claude-opus-4-1@20250805", "max", {"type": "enabled", "budget_tokens": 48_000}, None),
        ("claude-haiku-4-5", "none", {"type": "disabled"}, None),
        ("claude-3-5-sonnet-20241022", "high", None, None),
        ("MiniMax-M3", "auto", None, None),
        ("glm-5", "none", {"type": "disabled"}, None),
        ("kimi-k3", "high", {"type": "enabled", "budget_tokens": 24_000}, None),
        ("deepseek-v4-pro", "max", {"type": "enabled", "budget_tokens": 48_000}, {"effort": "max"}),
    ],
)
def test_each_generation_is_asked_in_its_own_way(
    model: str, effort: str, thinking: dict[str, Any] | None, config: dict[str, Any] | None
) -> None:
    body = sent(protocol(model), request((UserMessage(content="hi"),), effort=effort))
    assert (body.get("thinking"), body.get("output_config")) == (thinking, config)


@each_row(
    ("model", "wanted"),
    [
        ("claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-20250514", True),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("claude-3-7-sonnet-latest", False),
        ("claude-opus-4-6", False),
        ("claude-sonnet-5-5", False),
        ("MiniMax-M3", False),
    ],
)
def test_only_some_generations_need_the_header_to_think_between_calls(model: str, wanted: bool) -> None:
    assert ("interleaved-thinking-2025-05-14" in make_headers(model, {}).get("anthropic-beta", "")) is wanted


def test_a_short_answer_leaves_no_room_for_a_budget() -> None:
    assert "thinking" not in sent(protocol("claude-sonnet-4-5"), request(max_output_tokens=1_500))


def test_no_more_than_four_points_however_long_the_conversation() -> None:
    messages: list[Message] = []
    for step in range(30):
        messages.append(UserMessage(content=f"do {step}"))
        calls = tuple(ToolCall(id=f"c{step}_{n}", name="read") for n in range(25))
        messages.append(AssistantMessage(tool_calls=calls))
        messages += [ToolMessage(tool_call_id=call.id, content="x") for call in calls]
        messages.append(AssistantMessage(content="Done."))
    speaks = protocol()
    for end in (1, 27, 28, 29, 55, len(messages)):
        body = sent(speaks, request(tuple(messages[:end])))
        assert len(points(body)) <= 4
        assert points(body)[:2] == ["tools.1", "system.0"]


def test_each_request_marks_the_end_of_the_one_before() -> None:
    """With 25 calls a step, 50 blocks lie between two requests, and a server looks back over 20 only."""
    speaks = protocol()
    messages: list[Message] = [UserMessage(content="go")]
    ends: list[str] = []
    for step in range(4):
        ends.append(points(sent(speaks, request(tuple(messages))))[-1])
        calls = tuple(ToolCall(id=f"c{step}_{n}", name="read") for n in range(25))
        messages.append(AssistantMessage(content="More.", tool_calls=calls))
        messages += [ToolMessage(tool_call_id=call.id, content="x") for call in calls]
        assert points(sent(speaks, request(tuple(messages))))[-2] == ends[-1]


def test_points_are_the_only_bytes_that_change_before_the_end() -> None:
    speaks = protocol()
    before = sent(speaks, request(LOOP))
    after = sent(speaks, request((*LOOP, AssistantMessage(content="ok"), UserMessage(content="next"))))

    def bare(body: dict[str, Any]) -> list[Any]:
        return json.loads(json.dumps(body["messages"]).replace(', "cache_control": {"type": "ephemeral"}', ""))

    assert bare(after)[: len(before["messages"])] == bare(before)
    assert (before["system"], before["tools"]) == (after["system"], after["tools"])


def test_what_says_nothing_is_not_sent() -> None:
    messages = (
        SystemMessage(content="  "),
        UserMessage(content=" \n"),
        UserMessage(content="hi"),
        AssistantMessage(content="  ", finish_reason="interrupted"),
        AssistantMessage(content="\n\nWell", reasoning_items=(ReasoningItem(data=THOUGHT.data, text=2),)),
        UserMessage(content="and?"),
    )
    body = sent(protocol(), request(messages))
    texts = [block["text"] for message in body["messages"] for block in message["content"]]
    assert texts == ["hi", "\n\nWell", "and?"]


def test_no_answer_ends_with_its_reasoning() -> None:
    cut = AssistantMessage(
        content="Well", reasoning_items=(ReasoningItem(data=THOUGHT.data, text=4),), reasoning_origin=ORIGIN
    )
    body = sent(protocol(), request((UserMessage(content="hi"), cut, UserMessage(content="go on"))))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]


def test_a_paused_answer_goes_back_as_the_last_message() -> None:
    paused = AssistantMessage(content="Searching \n", finish_reason="pause_turn")
    body = sent(protocol(), request((UserMessage(content="hi"), paused)))
    assert body["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "Searching"}]}


def test_ids_and_names_are_in_the_letters_allowed_and_stay_different() -> None:
    calls = (
        ToolCall(id="call.1", name="shell tool"),
        ToolCall(id="call:1", name="漢字"),
        ToolCall(id="", name=""),
        ToolCall(id="toolu_1", name="git"),
    )
    results = tuple(ToolMessage(tool_call_id=call.id, content="x") for call in calls)
    body = sent(protocol(), request((UserMessage(content="hi"), AssistantMessage(tool_calls=calls), *results)))
    used = body["messages"][1]["content"]
    ids = [block["id"] for block in used]
    assert len(set(ids)) == 4
    assert ids[3] == "toolu_1"
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ids
    for block in used:
        assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in block["id"] + block["name"])
        assert block["name"]


@pytest.mark.parametrize("origin", ["responses api.openai.com gpt-6", ""])
def test_reasoning_of_another_model_is_not_sent(origin: str) -> None:
    foreign = AssistantMessage(content="x", reasoning_items=(THOUGHT,), reasoning_origin=origin)
    body = sent(protocol(), request((UserMessage(content="hi"), foreign, UserMessage(content="on"))))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]


def test_a_loop_that_began_without_thinking_goes_on_without_it() -> None:
    """A budget model refuses a tool loop that does not begin with its own thinking: one of another model, say."""
    call = ToolCall(id="c1", name="git")
    loop = (
        UserMessage(content="hi"),
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id="c1", content="x"),
    )
    speaks = protocol("claude-sonnet-4-5")
    assert sent(speaks, request(loop))["thinking"] == {"type": "disabled"}
    ended = (*loop, AssistantMessage(content="Done."), UserMessage(content="next"))
    assert sent(speaks, request(ended))["thinking"]["type"] == "enabled"
    assert sent(protocol("claude-sonnet-5-5"), request(loop))["thinking"]["type"] == "adaptive"


# What refusals teach


def refused(speaks: MessagesProtocol, asked: ChatRequest, *refusals: str) -> list[dict[str, Any]]:
    """The bodies sent after each refusal, the first one before all."""
    bodies = [sent(speaks, asked)]
    for text in refusals:
        assert speaks.adapt(json.dumps({"type": "error", "error": {"message": text}})) is not None, text
        bodies.append(sent(speaks, asked))
    return bodies


NOT_ENABLED = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
NOT_ADAPTIVE = "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported."


def kind(body: dict[str, Any]) -> str:
    return body.get("thinking", {}).get("type", "")


def test_a_newer_model_than_its_name_tells_thinks_adaptively() -> None:
    lessons: dict[str, object] = {}
    bodies = refused(protocol("claude-haiku-4-5", lessons=lessons), request(effort="high"), NOT_ENABLED)
    assert [kind(body) for body in bodies] == ["enabled", "adaptive"]
    assert bodies[1]["output_config"] == {"effort": "high"}
    assert kind(sent(protocol("claude-haiku-4-5", lessons=lessons), request())) == "adaptive"


@pytest.mark.parametrize(
    "text",
    [
        NOT_ADAPTIVE,
        "adaptive thinking is not supported on this model",
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: "
        "'disabled', 'enabled'",
        "thinking.type: Input should be 'enabled' or 'disabled'",
    ],
)
def test_an_older_server_thinks_within_a_budget(text: str) -> None:
    assert [kind(body) for body in refused(protocol(), request(effort="high"), text)] == ["adaptive", "enabled"]


def test_refusals_both_ways_end() -> None:
    speaks = protocol()
    bodies = refused(speaks, request(), NOT_ADAPTIVE, NOT_ENABLED)
    assert [kind(body) for body in bodies] == ["adaptive", "enabled", ""]
    assert speaks.adapt(NOT_ADAPTIVE) is None
    assert speaks.adapt(NOT_ENABLED) is None


def test_an_effort_that_is_refused_becomes_the_nearest() -> None:
    speaks = protocol()
    text = "This model does not support effort level 'max'. Supported levels: high, low, medium."
    bodies = refused(speaks, request(effort="max"), text)
    assert [body["output_config"]["effort"] for body in bodies] == ["max", "high"]
    assert [kind(body) for body in bodies] == ["adaptive", "adaptive"]


def test_a_model_that_always_thinks_thinks_least() -> None:
    text = '"thinking.type.disabled" is not supported for this model.'
    bodies = refused(protocol("claude-opus-9"), request(effort="none"), text)
    assert (kind(bodies[0]), kind(bodies[1]), bodies[1]["output_config"]) == ("disabled", "adaptive", {"effort": "low"})


def test_a_server_without_display_is_not_asked_for_it() -> None:
    bodies = refused(protocol(), request(), "thinking.adaptive.display: Extra inputs are not permitted")
    assert bodies[1]["thinking"] == {"type": "adaptive"}


@each_row(
    "text",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation.",
        "messages.1.content.0.thinking.signature: Field required",
        "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        "Content block is not a thinking block",
    ],
)
@each_row("model", ["claude-sonnet-5-5", "claude-sonnet-4-5"])
def test_reasoning_that_is_refused_is_left_out_from_then_on(text: str, model: str) -> None:
    speaks = protocol(model)
    before, after = refused(speaks, request(), text)
    assert "thinking" in [block["type"] for block in before["messages"][1]["content"]]
    assert [block["type"] for block in after["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]
    assert kind(after) == ("adaptive" if model == "claude-sonnet-5-5" else "disabled")
    newer = AssistantMessage(content="ok", reasoning_items=(THOUGHT,), reasoning_origin=ORIGIN)
    later = sent(speaks, request((*LOOP, newer, UserMessage(content="on"))))
    assert [block["type"] for block in later["messages"][3]["content"]] == ["thinking", "text"]
    assert kind(later) != "disabled"


@each_row(
    "text",
    [
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block.",
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
    ],
)
@each_row("model", ["claude-sonnet-5-5", "claude-sonnet-4-5", "deepseek-v4-pro"])
def test_where_reasoning_is_missed_the_loop_goes_on_without(text: str, model: str) -> None:
    speaks = protocol(model)
    assert kind(refused(speaks, request(), text)[1]) == "disabled"
    ended = (*LOOP, AssistantMessage(content="Done."), UserMessage(content="next"))
    assert kind(sent(speaks, request(ended))) != "disabled"


def test_refused_reasoning_is_dropped_once_and_then_the_refusal_remains() -> None:
    speaks = protocol("claude-opus-4-1")
    text = "messages.1.content.0: Invalid `signature` in `thinking` block"
    tries = 0
    sent(speaks, request())
    while speaks.adapt(text) is not None:
        tries += 1
        sent(speaks, request())
        assert tries < 5
    assert tries >= 1


def test_a_server_without_cache_points_gets_none() -> None:
    lessons: dict[str, object] = {}
    speaks = protocol(lessons=lessons, lifetime="1h")
    with_life, without_life, without = refused(
        speaks,
        request(),
        "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted",
        "system.0.cache_control: Extra inputs are not permitted",
    )
    assert with_life["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert without_life["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert points(without) == []
    assert points(sent(protocol(lessons=lessons), request())) == []


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-x", 8_192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("max_tokens is too large: 64000. This model supports at most 16384 completion tokens", 16_384),
    ],
)
def test_the_longest_answer_is_learned(text: str, most: int) -> None:
    lessons: dict[str, object] = {}
    speaks = protocol("claude-haiku-4-5", lessons=lessons)
    assert refused(speaks, request(), text)[1]["max_tokens"] == most
    assert sent(protocol("claude-haiku-4-5", lessons=lessons), request())["max_tokens"] == most
    assert speaks.adapt(text) is None


def test_an_answer_too_long_for_the_window_becomes_shorter_until_a_trim() -> None:
    speaks = protocol("claude-sonnet-4-5")
    text = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length"
    assert refused(speaks, request(), text)[1]["max_tokens"] == 37_500
    full = text.replace("150000", "195000")
    assert speaks.adapt(full) is None
    assert sent(speaks, request(LOOP[:1]))["max_tokens"] == 64_000


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 200001 tokens > 200000 maximum",
        "Your credit balance is too low to access the Anthropic API.",
        "tools.0.name: String should match pattern",
    ],
)
def test_other_refusals_teach_nothing(text: str) -> None:
    speaks = protocol()
    before = sent(speaks, request())
    assert speaks.adapt(text) is None
    assert sent(speaks, request()) == before


def test_stop_words_are_stop_sequences() -> None:
    assert json.loads(protocol().encode(request(stop=("END", "## Next"))))["stop_sequences"] == ["END", "## Next"]
    assert "stop_sequences" not in json.loads(protocol().encode(request()))
