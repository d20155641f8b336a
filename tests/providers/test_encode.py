"""Requests on the wire."""

import json
from typing import Any

import pytest
from msgspec import Raw, structs

from clio.messages import AssistantMessage, Message, ReasoningItem, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.chat_requests import NO_SIGNATURE, ChatProtocol
from clio.providers.profiles import Quirks

PLAIN = Quirks()
TOOL = ToolSpec(name="git", description="Runs git.", parameters=Raw(b'{"type":"object","properties":{}}'))
CALL = AssistantMessage(content="", reasoning="hm", tool_calls=(ToolCall(id="c1", name="git", arguments='{"a": 1}'),))
ROUND: tuple[Message, ...] = (
    UserMessage(content="hi", context="<environment>x</environment>"),
    CALL,
    ToolMessage(tool_call_id="c1", name="git", content="clean"),
    AssistantMessage(content="It is clean.", reasoning="hm"),
)


def body(*messages: Message, quirks: Quirks = PLAIN, **options: Any) -> dict[str, Any]:
    request = ChatRequest(system="Be brief.", messages=messages, **options)
    return json.loads(ChatProtocol("m", quirks).encode(request))


def test_a_whole_request() -> None:
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


def test_what_is_not_set_is_not_sent() -> None:
    assert set(body(UserMessage(content="hi"))) == {"model", "stream", "stream_options", "messages"}
    assert set(body(UserMessage(content="hi"), quirks=Quirks(stream_usage=False))) == {"model", "stream", "messages"}


def test_system_messages_keep_their_place() -> None:
    sent = body(UserMessage(content="hi"), SystemMessage(content="<thread_summary>…</thread_summary>"))["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "system"]


def test_quirks() -> None:
    quirks = Quirks(
        max_tokens_field="max_completion_tokens",
        effort_none_with_tools=True,
        echo_reasoning=True,
        thought_signatures=True,
    )
    sent = body(*ROUND, quirks=quirks, tools=(TOOL,), max_output_tokens=9)
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (9, "none")
    assert sent["messages"][2]["reasoning_content"] == "hm"
    assert sent["messages"][2]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": NO_SIGNATURE}}
    assert "reasoning_content" not in sent["messages"][4]
    assert "reasoning_effort" not in body(*ROUND, quirks=quirks)


def test_known_signatures_go_back() -> None:
    encoder = ChatProtocol("m", Quirks(thought_signatures=True), origin="chat h m")
    items = (ReasoningItem(data='{"thought_signature":"c2ln"}', calls=0),)
    signed = tuple(
        structs.replace(message, reasoning_items=items, reasoning_origin="chat h m")
        if isinstance(message, AssistantMessage) and message.tool_calls
        else message
        for message in ROUND
    )
    sent = json.loads(encoder.encode(ChatRequest(system="", messages=signed)))
    assert sent["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_a_model_without_tools_gets_none() -> None:
    request = ChatRequest(system="", messages=(UserMessage(content="hi"),), tools=(TOOL,))
    assert "tools" not in json.loads(ChatProtocol("m", PLAIN, tools=False).encode(request))


def test_an_answer_without_a_word_is_left_out() -> None:
    sent = body(UserMessage(content="hi"), AssistantMessage(finish_reason="interrupted"), UserMessage(content="go on"))
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == "hi\n\ngo on"


@pytest.mark.parametrize("written", ['{"path": "x', "", "[1]", "null", "read it", '"{}"'])
def test_arguments_that_are_no_object_are_quoted(written: str) -> None:
    message = AssistantMessage(tool_calls=(ToolCall(id="c1", name="git", arguments=written),))
    sent = body(message)["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"invalid_json": written}


def test_text_that_utf8_cannot_carry() -> None:
    sent = body(UserMessage(content="a\ud800b \u0000 漢字 😀"), AssistantMessage(content="\udcff"))["messages"]
    assert [message["content"] for message in sent[1:]] == ["a\ufffdb \u0000 漢字 😀", "\ufffd"]


def test_requests_share_all_bytes_but_the_end() -> None:
    encoder = ChatProtocol("m", PLAIN)
    earlier = encoder.encode(ChatRequest(system="s", messages=ROUND, tools=(TOOL,)))
    more = (*ROUND, UserMessage(content="and now?"))
    later = encoder.encode(ChatRequest(system="s", messages=more, tools=(TOOL,)))
    assert later.startswith(earlier.removesuffix(b"]}"))
    assert later == ChatProtocol("m", PLAIN).encode(ChatRequest(system="s", messages=more, tools=(TOOL,)))


def test_a_shortened_copy_is_sent_as_it_is_now() -> None:
    encoder = ChatProtocol("m", PLAIN)
    whole = ToolMessage(tool_call_id="c1", content="long " * 100)
    short = ToolMessage(tool_call_id="c1", content="short", id=whole.id)
    encoder.encode(ChatRequest(system="", messages=(CALL, whole)))
    sent = json.loads(encoder.encode(ChatRequest(system="", messages=(CALL, short))))
    assert sent["messages"][-1]["content"] == "short"


def test_messages_no_longer_sent_are_forgotten() -> None:
    encoder = ChatProtocol("m", PLAIN)
    for number in range(1_000):
        encoder.encode(ChatRequest(system="", messages=(UserMessage(content=str(number)),)))
    assert len(encoder._known) < 300


def test_users_words_in_a_row_are_one_message() -> None:
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
