"""Requests of Anthropic Messages, checked with the types of the vendor's package."""

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
    """Return the request types of the vendor's package; importing it takes 1.4 s, so it is lazy."""
    from anthropic.types import MessageCreateParams

    return TypeAdapter(MessageCreateParams)


def request(messages: tuple[Message, ...] = LOOP, **options: Any) -> ChatRequest:
    given: dict[str, Any] = {"tools": TOOLS, "max_output_tokens": 64_000, "images": {"b1": b"png"}} | options
    return ChatRequest(system="Be brief.", messages=messages, **given)


def protocol(model: str = "claude-sonnet-5-5", **options: Any) -> MessagesProtocol:
    return MessagesProtocol(model, images=True, origin=ORIGIN, **options)


def sent(dialect: MessagesProtocol, asked: ChatRequest) -> dict[str, Any]:
    """Return the body after checking it with the package's types: no unknown fields, and correct values."""
    body = json.loads(dialect.encode(asked))
    checked = params().validate_python(body)
    assert _without_iterators(checked) == body
    return body


def _without_iterators(value: Any) -> Any:
    """Return pydantic's result as plain lists and dictionaries, reading its lazy `Iterable` fields."""
    if isinstance(value, dict):
        return {key: _without_iterators(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else [_without_iterators(item) for item in value]


def points(body: dict[str, Any]) -> list[str]:
    """Return the paths of the cache points."""
    found = [f"tools.{at}" for at, row in enumerate(body.get("tools", [])) if "cache_control" in row]
    found += [f"system.{at}" for at, row in enumerate(body.get("system", [])) if "cache_control" in row]
    for number, message in enumerate(body["messages"]):
        found += [f"{number}.{at}" for at, row in enumerate(message["content"]) if "cache_control" in row]
    return found


def test_the_type_check_can_fail() -> None:
    good = json.loads(protocol().encode(request()))
    for change in ({"stop": 1}, {"thinking": {"type": "adaptive", "depth": 3}}, {"messages": [{"role": "system"}]}):
        with pytest.raises((ValidationError, AssertionError)):
            assert _without_iterators(params().validate_python(good | change)) == good | change


def test_a_complete_request() -> None:
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
    dialect = protocol(model, lifetime=lifetime)
    body = sent(dialect, request(effort=effort))
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
def test_each_model_generation_is_asked_for_thinking_in_its_own_way(
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
def test_only_some_generations_need_the_header_for_interleaved_thinking(model: str, wanted: bool) -> None:
    assert ("interleaved-thinking-2025-05-14" in make_headers(model, {}).get("anthropic-beta", "")) is wanted


def test_a_short_answer_leaves_no_space_for_a_thinking_budget() -> None:
    assert "thinking" not in sent(protocol("claude-sonnet-4-5"), request(max_output_tokens=1_500))


def test_at_most_four_cache_points_however_long_the_conversation() -> None:
    messages: list[Message] = []
    for step in range(30):
        messages.append(UserMessage(content=f"do {step}"))
        calls = tuple(ToolCall(id=f"c{step}_{n}", name="read") for n in range(25))
        messages.append(AssistantMessage(tool_calls=calls))
        messages += [ToolMessage(tool_call_id=call.id, content="x") for call in calls]
        messages.append(AssistantMessage(content="Done."))
    dialect = protocol()
    for end in (1, 27, 28, 29, 55, len(messages)):
        body = sent(dialect, request(tuple(messages[:end])))
        assert len(points(body)) <= 4
        assert points(body)[:2] == ["tools.1", "system.0"]


def test_each_request_marks_the_end_of_the_one_before() -> None:
    """With 25 calls per step, 50 blocks are between two requests, and a server looks back over 20 only."""
    dialect = protocol()
    messages: list[Message] = [UserMessage(content="go")]
    ends: list[str] = []
    for step in range(4):
        ends.append(points(sent(dialect, request(tuple(messages))))[-1])
        calls = tuple(ToolCall(id=f"c{step}_{n}", name="read") for n in range(25))
        messages.append(AssistantMessage(content="More.", tool_calls=calls))
        messages += [ToolMessage(tool_call_id=call.id, content="x") for call in calls]
        assert points(sent(dialect, request(tuple(messages))))[-2] == ends[-1]


def test_only_cache_points_change_before_the_end() -> None:
    dialect = protocol()
    before = sent(dialect, request(LOOP))
    after = sent(dialect, request((*LOOP, AssistantMessage(content="ok"), UserMessage(content="next"))))

    def bare(body: dict[str, Any]) -> list[Any]:
        return json.loads(json.dumps(body["messages"]).replace(', "cache_control": {"type": "ephemeral"}', ""))

    assert bare(after)[: len(before["messages"])] == bare(before)
    assert (before["system"], before["tools"]) == (after["system"], after["tools"])


def test_messages_without_content_are_not_sent() -> None:
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


def test_a_paused_answer_is_sent_back_as_the_last_message() -> None:
    paused = AssistantMessage(content="Searching \n", finish_reason="pause_turn")
    body = sent(protocol(), request((UserMessage(content="hi"), paused)))
    assert body["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "Searching"}]}


def test_ids_and_names_use_the_allowed_letters_and_stay_different() -> None:
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


def test_a_tool_loop_begun_without_thinking_continues_without_it() -> None:
    """A model with a budget refuses a tool loop that does not begin with its own thinking."""
    call = ToolCall(id="c1", name="git")
    loop = (
        UserMessage(content="hi"),
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id="c1", content="x"),
    )
    dialect = protocol("claude-sonnet-4-5")
    assert sent(dialect, request(loop))["thinking"] == {"type": "disabled"}
    ended = (*loop, AssistantMessage(content="Done."), UserMessage(content="next"))
    assert sent(dialect, request(ended))["thinking"]["type"] == "enabled"
    assert sent(protocol("claude-sonnet-5-5"), request(loop))["thinking"]["type"] == "adaptive"


# What is learned from refusals


def refused(dialect: MessagesProtocol, asked: ChatRequest, *refusals: str) -> list[dict[str, Any]]:
    """Return the bodies sent after each refusal, the first one before all."""
    bodies = [sent(dialect, asked)]
    for text in refusals:
        assert dialect.adapt(json.dumps({"type": "error", "error": {"message": text}})) is not None, text
        bodies.append(sent(dialect, asked))
    return bodies


NOT_ENABLED = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
NOT_ADAPTIVE = "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported."


def kind(body: dict[str, Any]) -> str:
    return body.get("thinking", {}).get("type", "")


def test_a_model_newer_than_its_name_tells_uses_adaptive_thinking() -> None:
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
def test_an_older_server_uses_a_thinking_budget(text: str) -> None:
    assert [kind(body) for body in refused(protocol(), request(effort="high"), text)] == ["adaptive", "enabled"]


def test_refusals_of_both_variants_end() -> None:
    dialect = protocol()
    bodies = refused(dialect, request(), NOT_ADAPTIVE, NOT_ENABLED)
    assert [kind(body) for body in bodies] == ["adaptive", "enabled", ""]
    assert dialect.adapt(NOT_ADAPTIVE) is None
    assert dialect.adapt(NOT_ENABLED) is None


def test_a_refused_effort_is_replaced_by_the_nearest() -> None:
    dialect = protocol()
    text = "This model does not support effort level 'max'. Supported levels: high, low, medium."
    bodies = refused(dialect, request(effort="max"), text)
    assert [body["output_config"]["effort"] for body in bodies] == ["max", "high"]
    assert [kind(body) for body in bodies] == ["adaptive", "adaptive"]


def test_a_model_that_always_thinks_gets_the_lowest_effort() -> None:
    text = '"thinking.type.disabled" is not supported for this model.'
    bodies = refused(protocol("claude-opus-9"), request(effort="none"), text)
    assert (kind(bodies[0]), kind(bodies[1]), bodies[1]["output_config"]) == ("disabled", "adaptive", {"effort": "low"})


def test_a_server_without_the_display_field_gets_none() -> None:
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
def test_refused_reasoning_is_omitted_from_then_on(text: str, model: str) -> None:
    dialect = protocol(model)
    before, after = refused(dialect, request(), text)
    assert "thinking" in [block["type"] for block in before["messages"][1]["content"]]
    assert [block["type"] for block in after["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]
    assert kind(after) == ("adaptive" if model == "claude-sonnet-5-5" else "disabled")
    newer = AssistantMessage(content="ok", reasoning_items=(THOUGHT,), reasoning_origin=ORIGIN)
    later = sent(dialect, request((*LOOP, newer, UserMessage(content="on"))))
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
def test_if_reasoning_is_required_but_missing_the_loop_continues_without(text: str, model: str) -> None:
    dialect = protocol(model)
    assert kind(refused(dialect, request(), text)[1]) == "disabled"
    ended = (*LOOP, AssistantMessage(content="Done."), UserMessage(content="next"))
    assert kind(sent(dialect, request(ended))) != "disabled"


def test_refused_reasoning_is_dropped_once_and_then_the_refusal_is_reported() -> None:
    dialect = protocol("claude-opus-4-1")
    text = "messages.1.content.0: Invalid `signature` in `thinking` block"
    tries = 0
    sent(dialect, request())
    while dialect.adapt(text) is not None:
        tries += 1
        sent(dialect, request())
        assert tries < 5
    assert tries >= 1


def test_a_server_without_cache_points_gets_none() -> None:
    lessons: dict[str, object] = {}
    dialect = protocol(lessons=lessons, lifetime="1h")
    with_life, without_life, without = refused(
        dialect,
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
    dialect = protocol("claude-haiku-4-5", lessons=lessons)
    assert refused(dialect, request(), text)[1]["max_tokens"] == most
    assert sent(protocol("claude-haiku-4-5", lessons=lessons), request())["max_tokens"] == most
    assert dialect.adapt(text) is None


def test_an_answer_too_long_for_the_window_is_shortened_until_a_trim() -> None:
    dialect = protocol("claude-sonnet-4-5")
    text = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length"
    assert refused(dialect, request(), text)[1]["max_tokens"] == 37_500
    full = text.replace("150000", "195000")
    assert dialect.adapt(full) is None
    assert sent(dialect, request(LOOP[:1]))["max_tokens"] == 64_000


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 200001 tokens > 200000 maximum",
        "Your credit balance is too low to access the Anthropic API.",
        "tools.0.name: String should match pattern",
    ],
)
def test_other_refusals_teach_nothing(text: str) -> None:
    dialect = protocol()
    before = sent(dialect, request())
    assert dialect.adapt(text) is None
    assert sent(dialect, request()) == before


def test_stop_words_are_sent_as_stop_sequences() -> None:
    assert json.loads(protocol().encode(request(stop=("END", "## Next"))))["stop_sequences"] == ["END", "## Next"]
    assert "stop_sequences" not in json.loads(protocol().encode(request()))
