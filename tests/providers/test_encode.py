"""Encoding of requests for Chat Completions."""

import json
from functools import cache
from typing import Any

import pytest
from msgspec import Raw, structs
from pydantic import TypeAdapter

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
from clio.providers.chat import NO_SIGNATURE, ChatProtocol
from clio.providers.profiles import ServerQuirks, find_preset_by_url, find_quirks
from tests.support.rows import each_row

PLAIN = ServerQuirks()
TOOL = ToolSpec(name="git", description="Runs git.", parameters=Raw(b'{"type":"object","properties":{}}'))
CALL = AssistantMessage(content="", reasoning="hm", tool_calls=(ToolCall(id="c1", name="git", arguments='{"a": 1}'),))
ROUND: tuple[Message, ...] = (
    UserMessage(content="hi", context="<environment>x</environment>"),
    CALL,
    ToolMessage(tool_call_id="c1", name="git", content="clean"),
    AssistantMessage(content="It is clean.", reasoning="hm"),
)


def body(*messages: Message, quirks: ServerQuirks = PLAIN, **options: Any) -> dict[str, Any]:
    request = ChatRequest(system="Be brief.", messages=messages, **options)
    return json.loads(ChatProtocol("m", quirks).encode(request))


def test_a_complete_request() -> None:
    assert body(*ROUND, tools=(TOOL,), max_output_tokens=500) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 500,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "git",
                    "description": "Runs git.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "<environment>x</environment>\n\nhi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "git", "arguments": '{"a": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "clean"},
            {"role": "assistant", "content": "It is clean."},
        ],
    }


def test_unset_fields_are_not_sent() -> None:
    assert set(body(UserMessage(content="hi"))) == {"model", "stream", "stream_options", "messages"}
    assert set(body(UserMessage(content="hi"), quirks=ServerQuirks(stream_usage=False))) == {
        "model",
        "stream",
        "messages",
    }


def test_system_messages_keep_their_place() -> None:
    sent = body(UserMessage(content="hi"), SystemMessage(content="<thread_summary>…</thread_summary>"))["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "system"]


def test_differences_between_servers() -> None:
    quirks = ServerQuirks(
        max_tokens_field="max_completion_tokens",
        effort_none_with_tools=True,
        echo_reasoning=True,
        thought_signatures=True,
    )
    sent = body(*ROUND, quirks=quirks, tools=(TOOL,), max_output_tokens=9)
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (9, "none")
    assert sent["messages"][2]["reasoning_content"] == " "  # of another server, but a call without any is refused
    assert sent["messages"][2]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": NO_SIGNATURE}}
    assert "reasoning_content" not in sent["messages"][4]
    assert "reasoning_effort" not in body(*ROUND, quirks=quirks)


def test_known_signatures_are_sent_back() -> None:
    encoder = ChatProtocol("m", ServerQuirks(thought_signatures=True), origin="chat h m")
    items = (ReasoningItem(data='{"thought_signature":"c2ln"}', calls=0),)
    signed = tuple(
        structs.replace(message, reasoning_items=items, reasoning_origin="chat h m")
        if isinstance(message, AssistantMessage) and message.tool_calls
        else message
        for message in ROUND
    )
    sent = json.loads(encoder.encode(ChatRequest(system="", messages=signed)))
    assert sent["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_a_model_without_tool_support_gets_no_tools() -> None:
    request = ChatRequest(system="", messages=(UserMessage(content="hi"),), tools=(TOOL,))
    assert "tools" not in json.loads(ChatProtocol("m", PLAIN, tools=False).encode(request))


def test_an_answer_without_text_is_omitted() -> None:
    sent = body(UserMessage(content="hi"), AssistantMessage(finish_reason="interrupted"), UserMessage(content="go on"))
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == "hi\n\ngo on"


@each_row("written", ['{"path": "x', "", "[1]", "null", "read it", '"{}"'])
def test_arguments_that_are_not_an_object_are_quoted(written: str) -> None:
    message = AssistantMessage(tool_calls=(ToolCall(id="c1", name="git", arguments=written),))
    sent = body(message)["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"invalid_json": written}


def test_text_that_utf8_cannot_encode_is_replaced() -> None:
    sent = body(UserMessage(content="a\ud800b \u0000 漢字 😀"), AssistantMessage(content="\udcff"))["messages"]
    assert [message["content"] for message in sent[1:]] == ["a\ufffdb \u0000 漢字 😀", "\ufffd"]


def test_requests_have_a_common_prefix() -> None:
    encoder = ChatProtocol("m", PLAIN)
    earlier = encoder.encode(ChatRequest(system="s", messages=ROUND, tools=(TOOL,)))
    more = (*ROUND, UserMessage(content="and now?"))
    later = encoder.encode(ChatRequest(system="s", messages=more, tools=(TOOL,)))
    assert later.startswith(earlier.removesuffix(b"]}"))
    assert later == ChatProtocol("m", PLAIN).encode(ChatRequest(system="s", messages=more, tools=(TOOL,)))


def test_a_shortened_copy_of_a_message_is_sent_in_its_current_form() -> None:
    encoder = ChatProtocol("m", PLAIN)
    whole = ToolMessage(tool_call_id="c1", content="long " * 100)
    short = ToolMessage(tool_call_id="c1", content="short", id=whole.id)
    encoder.encode(ChatRequest(system="", messages=(CALL, whole)))
    sent = json.loads(encoder.encode(ChatRequest(system="", messages=(CALL, short))))
    assert sent["messages"][-1]["content"] == "short"


def test_messages_no_longer_sent_are_removed_from_the_cache() -> None:
    encoder = ChatProtocol("m", PLAIN)
    for number in range(1_000):
        encoder.encode(ChatRequest(system="", messages=(UserMessage(content=str(number)),)))
    assert len(encoder._encoded_messages) < 300


def test_consecutive_user_messages_are_joined() -> None:
    messages = (
        UserMessage(content='first "quoted"'),
        UserMessage(content="second\nline"),
        AssistantMessage(content="answer"),
        UserMessage(content="third"),
    )
    rows = body(*messages)["messages"]
    assert [(row["role"], row["content"]) for row in rows[1:]] == [
        ("user", 'first "quoted"\n\nsecond\nline'),
        ("assistant", "answer"),
        ("user", "third"),
    ]


def as_saved(message: AssistantMessage, *items: dict[str, Any]) -> AssistantMessage:
    """Return the answer as saved after it came from the server in use."""
    data = tuple(ReasoningItem(data=json.dumps(item)) for item in items)
    return structs.replace(message, reasoning_items=data, reasoning_origin="chat h m")


def answer_sent(message: AssistantMessage, quirks: ServerQuirks) -> dict[str, Any]:
    encoder = ChatProtocol("m", quirks, origin="chat h m")
    return json.loads(encoder.encode(ChatRequest(system="", messages=(message,))))["messages"][0]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_sent_back_in_its_own_field(field: str) -> None:
    for answer in (CALL, AssistantMessage(content="It is clean.", reasoning="hm")):
        own = as_saved(answer, {"reasoning_field": field})
        assert answer_sent(own, ServerQuirks(echo_field=True))[field] == "hm"
        assert answer_sent(own, ServerQuirks(echo_reasoning=True))["reasoning_content"] == "hm"
        assert "hm" not in json.dumps(answer_sent(own, PLAIN))
        foreign = structs.replace(own, reasoning_origin="chat other m")
        assert "hm" not in json.dumps(answer_sent(foreign, ServerQuirks(echo_field=True, echo_reasoning=True)))


def test_reasoning_details_are_sent_back_unchanged() -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "xyz", "id": "tool_1", "index": 1, "format": "google-gemini-v1"},
    ]
    own = as_saved(CALL, *details, {"reasoning_field": "reasoning"})
    sent = answer_sent(own, ServerQuirks(echo_details=True))
    assert sent["reasoning_details"] == details
    assert set(sent) == {"role", "content", "tool_calls", "reasoning_details"}
    assert "reasoning_details" not in answer_sent(own, PLAIN)
    assert answer_sent(own, ServerQuirks(echo_reasoning=True))["reasoning_content"] == "hm"


@each_row(
    ("field", "refusal"),
    [
        ("prompt_cache_key", "Validation: Unsupported parameter(s): `prompt_cache_key`"),
        ("prompt_cache_key", "Unrecognized request argument supplied: prompt_cache_key"),
        ("reasoning_details", '{"detail":[{"type":"extra_forbidden","loc":["messages",1,"reasoning_details"]}]}'),
        ("reasoning_content", "property 'reasoning_content' is unsupported"),
        ("cache_control", "messages.0.content.0.cache_control: Extra inputs are not permitted"),
    ],
)
def test_a_refused_field_is_omitted_from_then_on(field: str, refusal: str) -> None:
    quirks = ServerQuirks(cache_key=True, cache_points=True, echo_details=True, echo_field=True)
    item = (
        {"type": "reasoning.text", "text": "hm"}
        if field == "reasoning_details"
        else {"reasoning_field": "reasoning_content"}
    )
    messages = (UserMessage(content="hi"), as_saved(CALL, item), ToolMessage(tool_call_id="c1", content="clean"))
    request = ChatRequest(system="s", messages=messages, cache_key="k")
    lessons: dict[str, object] = {}
    first = ChatProtocol("m", quirks, origin="chat h m", lessons=lessons)
    assert field.encode() in first.encode(request)
    assert first.adapt(refusal) == ""
    assert field.encode() not in first.encode(request)
    assert first.adapt(refusal) is None
    assert field.encode() not in ChatProtocol("m", quirks, origin="chat h m", lessons=lessons).encode(request)


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified",
        "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    ],
)
def test_reasoning_that_a_server_cannot_read_is_dropped(refusal: str) -> None:
    encoder = ChatProtocol("m", ServerQuirks(echo_details=True), origin="chat h m")
    request = ChatRequest(system="", messages=(as_saved(CALL, {"type": "reasoning.text", "text": "hm"}),))
    assert b"reasoning_details" in encoder.encode(request)
    assert encoder.adapt(refusal) == ""
    assert b"reasoning_details" not in encoder.encode(request)
    assert encoder.adapt(refusal) is None


def test_a_signature_that_gemini_cannot_read_is_replaced() -> None:
    encoder = ChatProtocol("m", ServerQuirks(thought_signatures=True), origin="chat h m")
    request = ChatRequest(system="", messages=(as_saved(CALL, {"thought_signature": "c2ln"}),))
    assert b"c2ln" in encoder.encode(request)
    assert encoder.adapt("Thought signature is not valid") == ""
    sent = json.loads(encoder.encode(request))["messages"][0]["tool_calls"][0]
    assert sent["extra_content"]["google"]["thought_signature"] == NO_SIGNATURE


def test_a_refusal_of_a_field_that_was_not_sent_teaches_nothing() -> None:
    encoder = ChatProtocol("m", PLAIN)
    encoder.encode(ChatRequest(system="s", messages=ROUND, cache_key="k"))
    assert encoder.adapt("unknown field prompt_cache_key") is None


def test_a_refusal_that_requires_reasoning_is_no_refusal_of_the_effort() -> None:
    encoder = ChatProtocol("m", PLAIN)
    encoder.encode(ChatRequest(system="", messages=ROUND, effort="high"))
    refusal = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
    assert encoder.adapt(refusal) == ""
    sent = json.loads(encoder.encode(ChatRequest(system="", messages=ROUND, effort="high")))
    assert sent["reasoning_effort"] == "high"
    assert sent["messages"][1]["reasoning_content"] == " "


def test_cache_points_are_set() -> None:
    quirks = ServerQuirks(cache_points=True, cache_key=True)
    first, *later = body(*ROUND, UserMessage(content="and now?"), quirks=quirks, cache_key="k")["messages"]
    marked = [row for row in later if isinstance(row["content"], list)]
    assert first["content"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert [(row["role"], row["content"][-1]["text"]) for row in marked] == [("tool", "clean"), ("user", "and now?")]
    assert all(row["content"][-1]["cache_control"] == {"type": "ephemeral"} for row in marked)


def test_every_request_reads_the_cache_entry_of_the_one_before() -> None:
    """The second last point of a request is where the last point of the request before was."""
    encoder = ChatProtocol("m", ServerQuirks(cache_points=True))
    messages: list[Message] = [UserMessage(content="hi")]
    before: list[int] = []
    for number in range(12):
        rows = json.loads(encoder.encode(ChatRequest(system="s", messages=tuple(messages))))["messages"]
        places = [place for place, row in enumerate(rows) if isinstance(row["content"], list)]
        assert len(places) <= 3
        assert places[0] == 0
        assert not before or places[-2] == before[-1]
        before = places
        call = ToolCall(id=f"c{number}", name="git")
        messages += [AssistantMessage(tool_calls=(call,)), ToolMessage(tool_call_id=call.id, content="clean")]


def test_a_cache_point_with_a_long_lifetime() -> None:
    encoder = ChatProtocol("m", ServerQuirks(cache_points=True), lifetime="1h")
    sent = json.loads(encoder.encode(ChatRequest(system="s", messages=ROUND)))["messages"]
    assert sent[0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


PICTURE = ImagePart(blob="b1", media_type="image/png", name="shot.png", size=3)


def test_pictures_in_results_follow_all_results_of_their_step() -> None:
    calls = AssistantMessage(tool_calls=(ToolCall(id="c1", name="look"), ToolCall(id="c2", name="git")))
    messages = (
        calls,
        ToolMessage(tool_call_id="c1", name="look", content="shot.png, 3 bytes", images=(PICTURE,)),
        ToolMessage(tool_call_id="c2", name="git", content="clean"),
        AssistantMessage(content="A cat."),
    )
    encoder = ChatProtocol("m", PLAIN, images=True)
    for _ in range(2):
        rows = json.loads(encoder.encode(ChatRequest(system="", messages=messages, images={"b1": b"png"})))["messages"]
        assert [row["role"] for row in rows] == ["assistant", "tool", "tool", "user", "assistant"]
        text, picture = rows[3]["content"]
        assert "look" in text["text"]
        assert picture == {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    gone = json.loads(encoder.encode(ChatRequest(system="", messages=messages[:2])))["messages"]
    assert gone[-1]["role"] == "user"


def test_a_model_without_picture_support_is_reported() -> None:
    messages = (
        UserMessage(content="look", images=(PICTURE,)),
        CALL,
        ToolMessage(tool_call_id="c1", content="", images=(PICTURE,)),
    )
    rows = body(*messages)["messages"]
    assert [row["role"] for row in rows] == ["system", "user", "assistant", "tool"]
    assert all(
        "shot.png" in row["content"] and "does not support images" in row["content"] for row in (rows[1], rows[3])
    )


FULL: tuple[Message, ...] = (
    SystemMessage(content="summary"),
    UserMessage(content="look", images=(PICTURE,)),
    as_saved(
        CALL, {"type": "reasoning.text", "text": "hm"}, {"thought_signature": "s"}, {"reasoning_field": "reasoning"}
    ),
    ToolMessage(tool_call_id="c1", content="clean", images=(PICTURE,)),
    AssistantMessage(content="It is clean.", reasoning="hm"),
    UserMessage(content="more"),
)
VENDORS = {"reasoning", "reasoning_content", "reasoning_details", "extra_content", "cache_control", "reasoning_split"}
VENDORS |= {"thinking", "chat_template_kwargs", "enable_thinking"}


def without_vendors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_vendors(item) for key, item in value.items() if key not in VENDORS}
    return [without_vendors(item) for item in value] if isinstance(value, list) else value


@cache
def params() -> tuple[TypeAdapter[Any], set[str]]:
    """Return the request types of the vendor's package; importing it takes 0.6 s, so it is lazy."""
    from openai.types.chat import completion_create_params as made

    names = {*made.CompletionCreateParamsStreaming.__annotations__, *made.CompletionCreateParamsBase.__annotations__}
    return TypeAdapter(made.CompletionCreateParamsStreaming), names


@each_row(
    ("url", "model"),
    [
        ("https://api.openai.com/v1", "gpt-6-sol"),
        ("https://me.openai.azure.com/openai/v1", "gpt-5"),
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5"),
        ("https://openrouter.ai/api/v1", "google/gemini-3-pro"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3.6-flash"),
        ("https://api.deepseek.com/v1", "deepseek-v4-flash"),
        ("https://api.z.ai/api/paas/v4", "glm-5.2"),
        ("https://api.moonshot.ai/v1", "kimi-k2.6"),
        ("https://api.minimax.io/v1", "MiniMax-M3"),
        ("https://api.groq.com/openai/v1", "qwen/qwen3-32b"),
        ("https://api.mistral.ai/v1", "mistral-medium-latest"),
        ("http://localhost:8000/v1", "Qwen/Qwen3-32B"),
    ],
)
@each_row("effort", ["auto", *EFFORTS])
def test_requests_match_the_types_of_the_package(url: str, model: str, effort: str) -> None:
    adapter, names = params()
    encoder = ChatProtocol(model, find_quirks(find_preset_by_url(url), url, model), images=True, origin="chat h m")
    request = ChatRequest(
        system="s", messages=FULL, tools=(TOOL,), effort=effort, cache_key="k", max_output_tokens=9, images={"b1": b"x"}
    )
    sent = without_vendors(json.loads(encoder.encode(request)))
    if sent.get("reasoning_effort") == "default":  # a field of Groq
        del sent["reasoning_effort"]
    assert set(sent) <= names
    adapter.validate_python(sent, strict=False)
    for row in sent["messages"]:
        assert set(row) <= {"role", "content", "tool_calls", "tool_call_id"}
