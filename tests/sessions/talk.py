"""Messages and checks for session tests."""

from pathlib import Path

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.sessions.store import SessionStore


def store_in(project: Path) -> SessionStore:
    return SessionStore(project / ".clio" / "sessions")


def a_turn(number: int = 0) -> list[Message]:
    """Return question, call, result, answer."""
    call = ToolCall(id=f"call_{number}", name="read_file", arguments='{"path": "a.py"}')
    return [
        UserMessage(content=f"question {number} – naïve 漢字", context="<date>today</date>", created=100.0 + number),
        AssistantMessage(content="", tool_calls=(call,), reasoning="hm", created=101.0 + number),
        ToolMessage(
            tool_call_id=call.id, name="read_file", content='"quoted"\n\\ line\u2028two', blob="0123456789abcdef"
        ),
        AssistantMessage(content="done 🎉", finish_reason="stop", created=102.0 + number),
    ]


def say(session: Session, messages: list[Message]) -> None:
    for message in messages:
        session.append(message)


def kill(session: Session) -> None:
    """End a session as a kill does: descriptors closed, nothing else."""
    assert session._disk is not None
    session._disk.release()


def files(folder: Path) -> list[str]:
    """Names of all files below a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
