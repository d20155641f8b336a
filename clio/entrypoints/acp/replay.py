"""A stored conversation told again, as if it had just been held."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from clio.entrypoints.acp.diffs import Sides
from clio.entrypoints.acp.listener import decoded, fenced
from clio.entrypoints.acp.updates import Place, Said, Shown, UpdateMaker
from clio.export.document import Call, call_title
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.ui.plain import clean, clean_line

Places = Callable[[str, object], list[Place]]
"""The files a call of that name with these arguments is about."""


def replay(messages: Sequence[Message], make: UpdateMaker, places: Places, put: Callable[[Any], None]) -> None:
    """Hand everything a person saw of a conversation to `put`, oldest first; calls come with their results."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case UserMessage(origin="user"):
                put(Said("user_message_chunk", clean(message.content)))
            case AssistantMessage():
                if message.reasoning.strip():
                    put(Said("agent_thought_chunk", clean(message.reasoning)))
                if message.content.strip():
                    put(Said("agent_message_chunk", clean(message.content)))
                calls.update((call.id, call) for call in message.tool_calls)
            case ToolMessage():
                _call(message, calls.get(message.tool_call_id), make, places, put)
            case _:
                pass  # what clio itself said to keep the conversation going was not seen


def _call(
    result: ToolMessage, call: ToolCall | None, make: UpdateMaker, places: Places, put: Callable[[Any], None]
) -> None:
    given = decoded(call.arguments) if call else None
    title = call_title(Call(id=call.id, name=call.name, arguments=given)) if call else ""
    named = places(result.name, given)
    id = result.tool_call_id
    status = "completed" if result.ok else "failed"
    words = clean_line(f"{result.name} {title}")
    put(make.call_started(id, result.name, words, status=status, places=named, given=given))
    changed = _changed(result, given) if named else None
    shown = Shown(changes=((named[0].path, changed),)) if changed else Shown(text=fenced(clean(result.content)))
    put(make.call_news(id, shown=shown))


def _changed(result: ToolMessage, given: object) -> Sides | None:
    """What an edit changed, as far as the call itself says it."""
    if not result.ok or not isinstance(given, dict):
        return None
    arguments = cast(dict[str, object], given)
    match result.name:
        case "edit_file":
            old, new = arguments.get("old_string"), arguments.get("new_string")
        case "write_file":
            old, new = None, arguments.get("content")
        case _:
            return None
    if not isinstance(new, str) or not isinstance(old, str | None):
        return None
    return Sides(old=old, new=new, line=1)
