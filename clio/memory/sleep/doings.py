"""What was done in a stretch of conversation, call by call, in the order of the calls."""

from collections.abc import Iterable

from msgspec import Struct

from clio.messages import AssistantMessage, Deeds, Message, ToolCall, ToolMessage
from clio.sessions.side_effects import deeds_of

# What stands in the place of an output where nothing ran: a person said no, a sibling call failed, Esc was pressed.
_NOT_RUN = ("the user doesn't want to proceed", "<tool_use_error>", "interrupted", "denied", "not allowed", "[denied")


class Doing(Struct, frozen=True, kw_only=True):
    """One call that was answered. place: index of its result in the messages. output: the text of the result."""

    place: int
    deeds: Deeds
    output: str


def doings_of(messages: Iterable[Message]) -> list[Doing]:
    """What was done, call by call; a call that never ran did nothing and is left out.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, ToolCall] = {}
    found: list[Doing] = []
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked.update((call.id, call) for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            call = asked.pop(message.tool_call_id, None)
            if call is None or (message.deeds is None and _never_ran(message)):
                continue
            deeds = deeds_of(call, message)
            if deeds.command or deeds.changed or deeds.commits or deeds.question:
                found.append(Doing(place=place, deeds=deeds, output=message.content))
    return found


def _never_ran(message: ToolMessage) -> bool:
    return not message.ok and message.content[:80].casefold().lstrip().startswith(_NOT_RUN)
