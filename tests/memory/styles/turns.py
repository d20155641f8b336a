"""Short descriptions of turns for tests of feedback: user text, calls with their side effects, an answer."""

from collections.abc import Iterable, Sequence

import msgspec

from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)

Step = tuple[str, dict[str, str], SideEffects]
"""A call's name, its arguments, and its side effects."""


def turn(words: str, steps: Iterable[Step] = (), answer: str = "Done.") -> list[Message]:
    """Return one turn with one call per step."""
    messages: list[Message] = [UserMessage(content=words)]
    for number, (name, arguments, effects) in enumerate(steps):
        call = ToolCall(id=f"call_{number}", name=name, arguments=msgspec.json.encode(arguments).decode())
        ok = effects.exit_code in (None, 0)
        messages.append(AssistantMessage(tool_calls=(call,)))
        messages.append(ToolMessage(tool_call_id=call.id, name=name, content="…", ok=ok, side_effects=effects))
    return [*messages, AssistantMessage(content=answer)]


def ran(command: str, exit_code: int | None = 0, commits: Sequence[str] = ()) -> Step:
    """Return a shell command with this exit code."""
    made = tuple(Commit(hash=name, subject="work") for name in commits)
    return "run_command", {"command": command}, SideEffects(command=command, exit_code=exit_code, commits=made)


def edited(path: str, old: str = "a", new: str = "b") -> Step:
    """Return an edit that replaces one text of a file."""
    arguments = {"path": path, "old_string": old, "new_string": new}
    return "edit_file", arguments, SideEffects(changed=(ChangedFile(path=path, kind="update"),))


def wrote(path: str) -> Step:
    """Return the creation of a file."""
    return "write_file", {"path": path, "content": "x"}, SideEffects(changed=(ChangedFile(path=path, kind="add"),))


def deleted(path: str) -> Step:
    """Return the deletion of a file."""
    return "delete_file", {"path": path}, SideEffects(changed=(ChangedFile(path=path, kind="delete"),))
