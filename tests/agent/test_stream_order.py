"""Held-back ends of thoughts and words are shown in the order they came."""

import asyncio
from collections.abc import AsyncGenerator

from clio.agent.model_request import AnswerDisplay, ModelAnswer, receive_answer
from clio.agent.user_interface import Event, ReasoningDelta, TextDelta
from clio.providers.base import ChatRequest, Chunk
from clio.security.redaction.redactor import Redactor


class Says:
    """A provider that streams these chunks."""

    name = model = "m"

    def __init__(self, *chunks: Chunk) -> None:
        self._chunks = chunks

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        for chunk in self._chunks:
            yield chunk


def shown(*chunks: Chunk) -> list[tuple[str, str]]:
    events: list[Event] = []
    answer = ModelAnswer()
    provider = Says(*chunks)
    request = ChatRequest(system="", messages=())
    asyncio.run(receive_answer(provider, request, answer, AnswerDisplay(events.append), Redactor()))  # type: ignore[arg-type]
    runs: list[tuple[str, str]] = []
    for event in events:
        assert isinstance(event, TextDelta | ReasoningDelta)
        kind = "text" if isinstance(event, TextDelta) else "thought"
        if runs and runs[-1][0] == kind:
            runs[-1] = (kind, runs[-1][1] + event.text)
        else:
            runs.append((kind, event.text))
    return runs


def test_reasoning_ends_before_the_text_begins() -> None:
    words = [Chunk(text=part) for part in ("The ", "last ", "word")]
    assert shown(Chunk(reasoning="I think"), *words) == [("thought", "I think"), ("text", "The last word")]


def test_a_chunk_with_both_is_reasoning_then_text() -> None:
    chunks = (Chunk(reasoning="I "), Chunk(reasoning="think", text="So "), Chunk(text="it is"))
    assert shown(*chunks) == [("thought", "I think"), ("text", "So it is")]


def test_reasoning_between_texts_stays_between_them() -> None:
    chunks = (Chunk(text="One"), Chunk(reasoning="hm"), Chunk(text="two"))
    assert shown(*chunks) == [("text", "One"), ("thought", "hm"), ("text", "two")]
