"""Recorded answers of Chat Completions: clio reads what the `openai` package reads."""

import json
import re
from typing import Any

from msgspec import Struct

from clio.providers.chat import REASONING_FIELD, ChatDecoder
from tests.providers.recorded import Recorded, answering, events_of, join_answer, recordings, run
from tests.support.rows import each_row

RECORDINGS = list(recordings("chat"))
THINK = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)


class PackageAnswer(Struct, kw_only=True):
    """An answer joined from the package's chunks."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, list[str]] = {}
    finish: str = ""
    details: list[dict[str, Any]] = []
    usage: Any = None


async def package_reads(recorded: Recorded) -> PackageAnswer:
    import openai  # 0.6 s, so it is imported only here

    client = openai.AsyncOpenAI(api_key="k", http_client=answering(recorded.stream), max_retries=0)
    read = PackageAnswer(calls={}, details=[])
    stream = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
    async for chunk in stream:
        read.usage = chunk.usage or read.usage
        for choice in chunk.choices[:1]:
            delta, extra = choice.delta, choice.delta.model_extra or {}
            read.text += delta.content or ""
            details = extra.get("reasoning_details") or []
            reasoning_text = "".join(detail.get("text") or detail.get("summary") or "" for detail in details)
            read.reasoning += extra.get("reasoning_content") or extra.get("reasoning") or reasoning_text
            read.details += details
            for call in delta.tool_calls or []:
                whole = read.calls.setdefault(call.index, ["", "", ""])
                whole[0] = call.id or whole[0]
                whole[1] = (call.function and call.function.name) or whole[1]
                whole[2] += (call.function and call.function.arguments) or ""
            read.finish = choice.finish_reason or read.finish
    if found := THINK.match(read.text):
        read.reasoning, read.text = read.reasoning + found[1], read.text[found.end() :]
    return read


@each_row("recorded", RECORDINGS, ids=[each.source[-60:] for each in RECORDINGS])
def test_clio_reads_what_the_package_reads(recorded: Recorded) -> None:
    read = run(package_reads(recorded))
    for cut in (0, 1, 7):
        joined = join_answer(ChatDecoder("chat h m"), events_of(recorded.stream, cut))
        assert (joined.text, joined.reasoning, joined.finish) == (read.text, read.reasoning, read.finish)
        assert joined.calls == [tuple(call) for _, call in sorted(read.calls.items())]
        kept = [json.loads(item.data) for item in joined.items]
        for kind in ("text", "summary", "data", "signature"):  # joined, nothing is lost and nothing is added
            assert "".join(item.get(kind) or "" for item in kept) == "".join(
                detail.get(kind) or "" for detail in read.details
            )
        if not read.details:
            assert all(set(item) == {REASONING_FIELD} for item in kept)
        assert (read.usage is None) == (joined.usage is None)
        if read.usage is not None:
            details = read.usage.prompt_tokens_details
            cached = (details and details.cached_tokens) or 0
            thought = read.usage.completion_tokens_details
            assert (joined.usage.prompt_tokens, joined.usage.completion_tokens, joined.usage.cached_tokens) == (
                read.usage.prompt_tokens,
                read.usage.completion_tokens,
                cached,
            )
            assert joined.usage.reasoning_tokens == ((thought and thought.reasoning_tokens) or 0)


def test_reasoning_is_read_from_every_field_a_server_uses() -> None:
    fields = {
        field
        for recorded in RECORDINGS
        for field in ("reasoning_content", "reasoning", "reasoning_details")
        if f'"{field}":' in recorded.stream
    }
    assert fields == {"reasoning_content", "reasoning", "reasoning_details"}
