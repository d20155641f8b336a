"""Messages that must stay together, and the one walk over them.

A unit is an assistant message with tool calls and all its results, or any other single message. Servers refuse a call
without its result and a result without its call, so everything that trims moves whole units.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage

_ASSENT = frozenset(
    "yes y yep yeah ok okay sure go continue proceed next more please thanks thank you do it that on ahead and now "
    "good great fine right correct perfect sounds keep going carry again retry k no n stop".split()
)


class Unit(Struct, frozen=True, kw_only=True):
    """Whole messages in the order they are sent, and their weight (see clio.tokens)."""

    messages: tuple[Message, ...]
    weight: float

    @property
    def first_id(self) -> str:
        """Id of its first message."""
        return self.messages[0].id

    @property
    def is_step(self) -> bool:
        """Whether it is an answer that called tools, with their results."""
        return len(self.messages) > 1


def split_units(messages: Iterable[Message], weigh: Callable[[Message], float]) -> list[Unit]:
    """The units of a conversation, oldest first, healed so that any server takes them.

    A result stands directly behind its call, in the order of the calls, however late it came; a call nobody answered
    is taken out of its message, and so is a result nobody asked for, or the second of two for one call, or the second
    of two calls of one id in one message. An answer without a word and without a call is no unit.
    """
    listed = list(messages)
    results = _results(listed)
    units: list[Unit] = []
    for message in listed:
        if isinstance(message, ToolMessage):
            continue  # it is placed with its call
        if isinstance(message, AssistantMessage) and (message.tool_calls or not message.content.strip()):
            group = _with_results(message, results)
            if group:
                units.append(Unit(messages=group, weight=sum(map(weigh, group))))
        else:
            units.append(Unit(messages=(message,), weight=weigh(message)))
    return units


def _results(messages: Sequence[Message]) -> dict[tuple[str, str], ToolMessage]:
    """The first result of each call, by the id of the asking message and the id of the call.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, str] = {}
    found: dict[tuple[str, str], ToolMessage] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            asked.update((call.id, message.id) for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            found.setdefault((asked[message.tool_call_id], message.tool_call_id), message)
    return found


def _with_results(message: AssistantMessage, results: dict[tuple[str, str], ToolMessage]) -> tuple[Message, ...]:
    if len(message.tool_calls) == 1:  # most have one, and this is on the path of every request
        result = results.get((message.id, message.tool_calls[0].id))
        if result is not None:
            return (message, result)
    answered = tuple({call.id: call for call in message.tool_calls if (message.id, call.id) in results}.values())
    if not answered and not message.content.strip():
        return ()
    if len(answered) < len(message.tool_calls):
        message = msgspec.structs.replace(message, tool_calls=answered)
    return (message, *(results[message.id, call.id] for call in answered))


def tail_start(units: Sequence[Unit], budget: float) -> int:
    """Index of the first unit of the longest contiguous tail within a budget; the newest unit is always in it."""
    left = budget
    for index in range(len(units) - 1, -1, -1):
        left -= units[index].weight
        if left < 0:
            return min(index + 1, len(units) - 1)
    return 0


def recent_start(units: Sequence[Unit], steps: int) -> int:
    """Index of the first of so many last steps; none from before twice as many messages of the user."""
    start, called, asked = len(units), 0, 0
    for index in range(len(units) - 1, -1, -1):
        if called == steps or asked == 2 * steps:
            break
        if units[index].is_step:
            called += 1
            start = index
        elif isinstance(units[index].messages[0], UserMessage):
            asked += 1
    return start


def task_index(units: Sequence[Unit]) -> int | None:
    """Index of the newest message that says what is being worked on; None where the user has said nothing yet.

    "yes", "go on" and what clio wrote itself do not say it; where the user said nothing else, the newest of those does.
    """
    newest: int | None = None
    for index in range(len(units) - 1, -1, -1):
        message = units[index].messages[0]
        if isinstance(message, UserMessage) and message.origin == "user":
            if is_substantive(message.content):
                return index
            newest = index if newest is None else newest
    return newest


def is_substantive(text: str) -> bool:
    """Whether a user's words are more than a nod: something other than a few words of assent or impatience."""
    words = [word.strip(".,;:!?…'\"()") for word in text.casefold().split()]
    return any(word and word not in _ASSENT for word in words) or len(words) > 8
