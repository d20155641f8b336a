"""Puts an answer's text, reasoning items and tool calls back into the order its server sent them in."""

from collections.abc import Iterator

from clio.messages import AssistantMessage, ReasoningItem, ToolCall


def parts_in_order(message: AssistantMessage, origin: str) -> Iterator[str | ReasoningItem | ToolCall]:
    """Pieces of text, reasoning items and calls of one answer, in order.

    Reasoning items of another origin are left out.
    Text comes before the calls unless a reasoning item stood between them.
    """
    text, calls = 0, 0
    for item in message.reasoning_items if message.reasoning_origin == origin else ():
        if item.text > text:
            yield message.content[text : item.text]
            text = item.text
        yield from message.tool_calls[calls : item.calls]
        calls = max(calls, item.calls)
        yield item
    if message.content[text:]:
        yield message.content[text:]
    yield from message.tool_calls[calls:]
