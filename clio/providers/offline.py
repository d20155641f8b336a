"""Answers without a language model: looks things up with the same tools, and quotes what it finds.

It never reasons. Its plan comes from rules (`offline_plan`), its answer from the results (`offline_answer`).
"""

from collections.abc import AsyncIterator, Sequence

import msgspec

from clio.algorithms.json_data import decode_json
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.providers.base import ChatRequest, Chunk, Limits, ToolCallDelta
from clio.providers.offline_answer import compose, further_lookups
from clio.providers.offline_memory import Found
from clio.providers.offline_plan import Lookup, plan

_WINDOW = 1_000_000  # nothing is sent anywhere, so nothing has to fit
_MAX_ROUNDS = 2


class OfflineProvider:
    """The model that is none."""

    name = "offline"
    model = "offline"

    async def limits(self) -> Limits:
        """A window that never fills."""
        return Limits(context_window=_WINDOW, max_output_tokens=_WINDOW, source="profile")

    async def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """Tool calls first, the answer when their results are there."""
        offered = {tool.name for tool in request.tools}
        question, rounds = _this_turn(request.messages)
        todo = plan(question)
        lookups: Sequence[Lookup] = ()
        if not rounds:
            lookups = todo.lookups
        elif len(rounds) < _MAX_ROUNDS:
            lookups = further_lookups(todo, rounds[0])
        calls = tuple(_delta(index, lookup) for index, lookup in enumerate(lookups) if lookup.tool in offered)
        if calls:
            yield Chunk(tool_calls=calls, finish_reason="tool_calls", usage=Usage())
            return
        first = not any(isinstance(message, AssistantMessage) and message.content for message in request.messages)
        yield Chunk(text=compose(todo, rounds, introduce=first), finish_reason="stop", usage=Usage())

    async def close(self) -> None:
        """Nothing to let go of."""


def _delta(index: int, lookup: Lookup) -> ToolCallDelta:
    return ToolCallDelta(index=index, name=lookup.tool, arguments=msgspec.json.encode(lookup.arguments).decode(), id="")


def _this_turn(messages: Sequence[Message]) -> tuple[str, list[list[Found]]]:
    """The newest words of the user, and for each step since then what the calls found."""
    last = max((i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)
    question = messages[last].content if last >= 0 else ""
    rounds: list[list[Found]] = []
    calls: dict[str, ToolCall] = {}
    for message in messages[last + 1 :]:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = {call.id: call for call in message.tool_calls}
            rounds.append([])
        elif isinstance(message, ToolMessage) and message.tool_call_id in calls:
            call = calls[message.tool_call_id]
            arguments = decode_json(call.arguments, type=dict[str, str | int | bool])
            rounds[-1].append(Found(lookup=Lookup(tool=call.name, arguments=arguments), result=message))
    return question, rounds
