"""Recorded answers of Anthropic Messages: clio reads what the vendor's own package reads."""

import json
from typing import TYPE_CHECKING

from clio.providers.messages import MessagesDecoder
from tests.providers.recorded import Recorded, answering, events_of, join_answer, recordings, run
from tests.support.rows import each_row

if TYPE_CHECKING:
    import anthropic


RECORDINGS = list(recordings("messages"))
FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


async def package_reads(recorded: Recorded) -> "anthropic.types.Message":
    import anthropic  # 1.4 s, so it is imported only here

    client = anthropic.AsyncAnthropic(api_key="k", http_client=answering(recorded.stream), max_retries=0)
    async with client.messages.stream(max_tokens=10, messages=[{"role": "user", "content": "x"}], model="m") as stream:
        return await stream.get_final_message()


@each_row("recorded", RECORDINGS, ids=[each.source[-60:] for each in RECORDINGS])
@each_row("cut", [0, 7])
def test_clio_reads_what_the_package_reads(recorded: Recorded, cut: int) -> None:
    joined = join_answer(MessagesDecoder("messages h m"), events_of(recorded.stream, cut))
    message = run(package_reads(recorded))
    blocks = [block.model_dump(exclude_none=True) for block in message.content]
    assert joined.text == "".join(block["text"] for block in blocks if block["type"] == "text")
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    assert joined.reasoning == "\n\n".join(thoughts)
    calls = [block for block in blocks if block["type"] == "tool_use"]
    assert [(call_id, name, json.loads(given or "{}")) for call_id, name, given in joined.calls] == [
        (call["id"], call["name"], call["input"]) for call in calls
    ]
    assert joined.finish == FINISH.get(message.stop_reason or "", message.stop_reason)
    kept = [json.loads(item.data) for item in joined.items]
    assert kept == [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]
    usage = message.usage
    written, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    assert (joined.usage.prompt_tokens, joined.usage.completion_tokens) == (
        usage.input_tokens + written + read,
        usage.output_tokens,
    )
    assert (joined.usage.cached_tokens, joined.usage.cache_write_tokens) == (read, written)
