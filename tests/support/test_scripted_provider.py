"""The provider that returns scripted replies."""

import asyncio

import pytest

from clio.errors import RateLimited, StreamBroken
from clio.messages import AssistantMessage, ToolCall, Usage, UserMessage
from clio.providers.base import ChatRequest, Chunk, Provider, ToolCallDelta
from tests.support.scripted_provider import Reply, ScriptedProvider

REQUEST = ChatRequest(system="", messages=(UserMessage(content="hi"),))


async def collect(provider: Provider) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(REQUEST)]


def play(*replies: Reply) -> list[Chunk]:
    return asyncio.run(collect(ScriptedProvider(replies)))


def test_text_is_streamed_and_completed() -> None:
    assert play("Hello") == [Chunk(text="Hello"), Chunk(finish_reason="stop")]


def test_a_whole_message_is_returned() -> None:
    usage = Usage(prompt_tokens=3)
    message = AssistantMessage(content="Look", tool_calls=(ToolCall(id="c", name="git", arguments="{}"),), usage=usage)
    assert play(message) == [
        Chunk(text="Look", tool_calls=(ToolCallDelta(index=0, id="c", name="git", arguments="{}"),)),
        Chunk(finish_reason="tool_calls", usage=usage),
    ]


def test_an_error_is_raised() -> None:
    with pytest.raises(RateLimited):
        play(RateLimited("slow"))


def test_a_stream_can_break() -> None:
    async def watch() -> list[str]:
        seen: list[str] = []
        with pytest.raises(StreamBroken):
            async for chunk in ScriptedProvider([(Chunk(text="ha"), StreamBroken("gone"))]).stream(REQUEST):
                seen.append(chunk.text)
        return seen

    assert asyncio.run(watch()) == ["ha"]


def test_the_end_of_the_script_is_an_error() -> None:
    provider = ScriptedProvider(["one"])
    asyncio.run(collect(provider))
    with pytest.raises(LookupError, match="no reply to request 2"):
        asyncio.run(collect(provider))
    assert provider.requests == [REQUEST, REQUEST]


def test_it_implements_the_provider_protocol() -> None:
    provider: Provider = ScriptedProvider([], context_window=8_000)
    assert (provider.name, provider.model) == ("scripted", "scripted")
    assert asyncio.run(provider.limits()).context_window == 8_000
    asyncio.run(provider.close())
