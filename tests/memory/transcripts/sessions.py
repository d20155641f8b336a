"""Real sessions on a real disk, for tests of recall."""

from pathlib import Path

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore


def make_messages(*words: str) -> list[Message]:
    """Return messages of user and model, in turn."""
    return [
        AssistantMessage(content=text) if number % 2 else UserMessage(content=text) for number, text in enumerate(words)
    ]


def called(tool: str, arguments: str, output: str, **result: object) -> list[Message]:
    """Return a call and its result."""
    call = ToolCall(id=f"call-{tool}-{len(output)}", name=tool, arguments=arguments)
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name=tool, content=output, **result),  # pyright: ignore[reportArgumentType]
    ]


def saved(store: SessionStore, messages: list[Message], name: str | None = None) -> str:
    """Save a closed session of these messages; return its id."""
    session = store.new(Path("/project"), name=name)
    for message in messages:
        session.append(message)
    session.close()
    return session.id
