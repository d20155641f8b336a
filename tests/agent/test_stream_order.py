"""Delayed ends of reasoning and text are shown in the order they arrived."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from clio.agent.model_request import AnswerDisplay, ModelAnswer, receive_answer
from clio.agent.user_interface import Event, ReasoningDelta, TextDelta
from clio.providers.base import ChatRequest, Chunk
from clio.security.redaction.redactor import Redactor


class ChunkProvider:
    """A provider that streams these chunks."""

    name = model = "m"

    def __init__(self, *chunks: Chunk) -> None:
        self._chunks = chunks

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        for chunk in self._chunks:
            yield chunk


def list_shown(*chunks: Chunk) -> list[tuple[str, str]]:
    events: list[Event] = []
    answer = ModelAnswer()
    provider = ChunkProvider(*chunks)
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
    assert list_shown(Chunk(reasoning="I think"), *words) == [("thought", "I think"), ("text", "The last word")]


def test_a_chunk_with_both_is_reasoning_then_text() -> None:
    chunks = (Chunk(reasoning="I "), Chunk(reasoning="think", text="So "), Chunk(text="it is"))
    assert list_shown(*chunks) == [("thought", "I think"), ("text", "So it is")]


def test_reasoning_between_texts_stays_between_them() -> None:
    chunks = (Chunk(text="One"), Chunk(reasoning="hm"), Chunk(text="two"))
    assert list_shown(*chunks) == [("text", "One"), ("thought", "hm"), ("text", "two")]


def test_consecutive_chunks_with_both_are_one_block_of_reasoning_before_the_text() -> None:
    chunks = (Chunk(reasoning="I ", text="So "), Chunk(reasoning="think", text="it "), Chunk(text="is so"))
    assert list_shown(*chunks) == [("thought", "I think"), ("text", "So it is so")]


_WORDS = st.text(st.sampled_from("ab \n"), max_size=8)


@given(st.lists(st.builds(lambda thought, text: Chunk(reasoning=thought, text=text), _WORDS, _WORDS), max_size=12))
def test_everything_is_shown_in_the_order_it_arrived(chunks: list[Chunk]) -> None:
    """The text of chunks with both waits for the end of their reasoning."""
    sent: list[tuple[str, str]] = []
    waiting = ""
    for chunk in chunks:
        sent.append(("thought", chunk.reasoning))
        if chunk.reasoning:
            waiting += chunk.text
        elif chunk.text:
            sent.append(("text", waiting + chunk.text))
            waiting = ""
    sent.append(("text", waiting))
    filled = [part for part in sent if part[1]]
    runs = [(kind, "".join(part[1] for part in run)) for kind, run in groupby(filled, lambda part: part[0])]
    assert list_shown(*chunks) == runs
