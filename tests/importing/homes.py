"""Makes home folders of other agents with files in their formats."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clio.importing.reading import ImportedMessage, Piece, SessionAbout
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage

CLAUDE_ID = "6c073d8e-2bb1-45cb-90bc-a28ce44da090"
AT = "2025-11-30T11:09:33.123Z"


def write_lines(path: Path, *records: Any, end: str = "") -> Path:
    """Write a file of one JSON value per line. end: what follows the last line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + end, encoding="utf-8")
    return path


def claude_line(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of Claude Code. more: fields next to the message, and a dict `message` for those in it."""
    inside = {"role": kind, "content": content} | more.pop("message", {})
    line = {
        "type": kind,
        "uuid": uuid,
        "sessionId": CLAUDE_ID,
        "timestamp": AT,
        "isSidechain": False,
        "message": inside,
    }
    return line | more


def claude_conversation(folder: str, words: str = "Why does the login test hang?") -> list[dict[str, Any]]:
    """Return a turn with an answer in four lines, two calls with results in reverse order, and a last answer."""

    def answer(uuid: str, block: dict[str, Any], id: str = "m1") -> dict[str, Any]:
        return claude_line("assistant", uuid, [block], cwd=folder, message={"id": id, "model": "claude-opus-4-5"})

    return [
        {"type": "file-history-snapshot", "messageId": "x"},
        claude_line("user", "u1", words, cwd=folder),
        answer("a1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        answer("a2", {"type": "text", "text": "I look at the clock."}),
        answer(
            "a3", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest tests/test_login.py"}}
        ),
        answer("a4", {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "login.py"}}),
        claude_line(
            "user",
            "r2",
            [{"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "import x"}]}],
        ),
        claude_line(
            "user", "r1", [{"type": "tool_result", "tool_use_id": "t1", "content": "1 failed", "is_error": True}]
        ),
        answer("a5", {"type": "text", "text": "The frozen clock stops the heartbeat."}, "m2"),
    ]


def claude_file(home: Path, project: Path, *records: Any, name: str = CLAUDE_ID, end: str = "") -> Path:
    """Write a conversation where Claude Code saves those of a project; by default `claude_conversation`."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project.resolve()))
    lines = records or claude_conversation(str(project.resolve()))
    return write_lines(home / ".claude" / "projects" / slug / f"{name}.jsonl", *lines, end=end)


def codex_file(home: Path, project: Path, number: int = 1) -> Path:
    """Write a conversation in the newest format of Codex."""

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2025-12-01T10:00:00Z", "type": kind, "payload": payload}

    def words(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    return write_lines(
        home / ".codex" / "sessions" / "2025" / "12" / "01" / f"rollout-2025-12-01T10-00-00-{number}.jsonl",
        line("session_meta", id=f"codex-{number}", cwd=str(project.resolve())),
        words("user", "<environment_context>\n<cwd>/elsewhere</cwd></environment_context>"),
        words("user", "Which port does the broker listen on?"),
        line("event_msg", type="user_message", message="Which port does the broker listen on?"),
        line("turn_context", model="gpt-5-codex"),
        line("response_item", type="reasoning", summary=[], encrypted_content="gAAA"),
        line(
            "response_item",
            type="function_call",
            name="shell",
            arguments='{"command":["bash","-lc","rg port"]}',
            call_id="c1",
        ),
        line(
            "response_item",
            type="function_call_output",
            call_id="c1",
            output='{"output":"no such file","metadata":{"exit_code":2}}',
        ),
        words("assistant", "It listens on 1883."),
    )


def gemini_folder(home: Path, project: Path) -> Path:
    """Return the folder where Gemini CLI saves the conversations of a project."""
    folder = home / ".gemini" / "tmp" / hashlib.sha256(str(project.resolve()).encode()).hexdigest()
    (folder / "chats").mkdir(parents=True, exist_ok=True)
    return folder


def gemini_messages() -> list[dict[str, Any]]:
    """Return a turn with a call."""
    response = {"functionResponse": {"id": "x1", "name": "read_file", "response": {"output": "fly:\n\tship"}}}
    call = {"id": "x1", "name": "read_file", "args": {"path": "Makefile"}, "result": [response], "status": "success"}
    return [
        {
            "id": "g1",
            "timestamp": "2025-12-03T06:35:37.302Z",
            "type": "user",
            "content": "How do we deploy the zeppelin?",
        },
        {
            "id": "g2",
            "timestamp": "2025-12-03T06:35:51.334Z",
            "type": "gemini",
            "content": "With make fly.",
            "model": "gemini-2.5-pro",
            "thoughts": [{"subject": "Make", "description": "…"}],
            "toolCalls": [call],
        },
        {"id": "g3", "timestamp": "2025-12-03T06:36:51Z", "type": "info", "content": "Request cancelled."},
    ]


def messages_of(pieces: Iterable[Piece]) -> list[Message]:
    """Return the messages among pieces."""
    return [piece.message for piece in pieces if isinstance(piece, ImportedMessage)]


def about(pieces: Iterable[Piece]) -> list[SessionAbout]:
    """Return the information among pieces."""
    return [piece for piece in pieces if isinstance(piece, SessionAbout)]


def shape(messages: Iterable[Message]) -> list[str]:
    """Return messages in short form: "user: …", "answer: … [Bash t1]", "t1 ok: …"."""
    lines_of_text: list[str] = []
    for message in messages:
        match message:
            case UserMessage():
                who = "user" if message.origin == "user" else message.origin
                lines_of_text.append(f"{who}: {message.content}")
            case AssistantMessage():
                calls = "".join(f" [{call.name} {call.id} {call.arguments}]" for call in message.tool_calls)
                lines_of_text.append(f"answer: {message.content}{calls}")
            case ToolMessage():
                lines_of_text.append(f"{message.tool_call_id} {'ok' if message.ok else 'failed'}: {message.content}")
            case _:
                lines_of_text.append("system")
    return lines_of_text
