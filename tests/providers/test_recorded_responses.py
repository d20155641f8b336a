"""Recorded answers of OpenAI Responses: clio reads what the vendor's own package reads."""

import json
from typing import TYPE_CHECKING

from clio.providers.failure import TransportFailed
from clio.providers.responses import MESSAGE_START, ResponsesDecoder
from tests.providers.recorded import Recorded, answering, events_of, join_answer, recordings, run
from tests.support.rows import each_row

if TYPE_CHECKING:
    import openai


RECORDINGS = list(recordings("responses"))


async def package_reads(recorded: Recorded) -> "openai.types.responses.Response":
    import openai  # 0.6 s, so it is imported only here

    client = openai.AsyncOpenAI(api_key="k", http_client=answering(recorded.stream), max_retries=0)
    last: openai.types.responses.Response | None = None
    async for event in await client.responses.create(model="m", input="x", stream=True):
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            last = event.response
    assert last is not None
    return last


@each_row("recorded", RECORDINGS, ids=[each.source[-60:] for each in RECORDINGS])
@each_row("cut", [0, 7])
def test_clio_reads_what_the_package_reads(recorded: Recorded, cut: int) -> None:
    joined = join_answer(ResponsesDecoder("responses h m"), events_of(recorded.stream, cut))
    response = run(package_reads(recorded))
    assert joined.text == response.output_text
    calls = [item for item in response.output if item.type == "function_call"]
    assert joined.calls == [(call.call_id, call.name, call.arguments) for call in calls]
    reasoning = [item for item in response.output if item.type == "reasoning"]
    summaries = [part.text for item in reasoning for part in item.summary]
    contents = [part.text for item in reasoning for part in item.content or []]
    assert joined.reasoning == "\n\n".join(summaries or contents)
    kept = [json.loads(item.data) for item in joined.items]
    wanted = [item for item in reasoning if item.encrypted_content or item.content]
    assert [item["id"] for item in kept if item["type"] != MESSAGE_START] == [item.id for item in wanted]
    assert joined.finish == ("tool_calls" if calls else "stop")
    assert response.usage is not None
    assert (joined.usage.prompt_tokens, joined.usage.completion_tokens) == (
        response.usage.input_tokens,
        response.usage.output_tokens,
    )
    assert joined.usage.cached_tokens == response.usage.input_tokens_details.cached_tokens
    assert joined.usage.reasoning_tokens == response.usage.output_tokens_details.reasoning_tokens


ODD = (None, [], {}, 7, -1, True, "x", [[]], [7], {"a": []}, 1e400)


def _spoiled(event: object) -> list[object]:
    """Yield the event with each of its fields, three levels deep, replaced by each of the odd values."""

    def variants(value: object, depth: int) -> list[object]:
        if not isinstance(value, dict) or depth == 3:
            return list(ODD)
        inner = [value | {name: odd} for name, item in value.items() for odd in variants(item, depth + 1)]
        return [*inner, *ODD]

    return variants(event, 0)


def test_any_odd_event_is_tolerated() -> None:
    """Any stream ends in an answer or in a named failure."""
    kinds: dict[str, object] = {}
    for recorded in RECORDINGS:
        for event in events_of(recorded.stream):
            kinds.setdefault(f"{event['type']} {event.get('item', {}).get('type')}", event)  # type: ignore[index, attr-defined]
    events = list(kinds.values())
    count = 0
    for place, event in enumerate(events):
        for odd in _spoiled(event):
            decoder = ResponsesDecoder()
            try:
                for each in (*events[:place], odd, *events[place + 1 :]):
                    decoder.take(each)
            except TransportFailed:
                continue
            decoder.ending()
            count += 1
    assert count > 500
