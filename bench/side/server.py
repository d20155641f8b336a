"""A server in its own process that answers every agent at once, in the agent's protocol.

    with InstantServer() as server: ...   # server.url ends in /v1, server.root does not

Supports Chat Completions, Responses and Messages, streamed or not, and Gemini's generateContent. A message with TASK
is answered by three tool calls, one after the other, with the tools that the agent offers: read a.py, change it, run
it; then by text. Any other message is answered by "reply-" and the number of its turn.
"""

import asyncio
import json
import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

READ, EDIT, RUN = "cat a.py", "sed -i 's/41/42/' a.py", "python3 a.py"
_COMMANDS = (READ, EDIT, RUN)
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # how mini-swe-agent ends its work
_numbers = count(1)
Call = tuple[str, dict[str, Any]]


class InstantServer:
    """The server as a child process."""

    def __enter__(self) -> "InstantServer":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.side.server"], cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.root = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self.url = f"{self.root}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)


def calls_for(tools: set[str], folder: str) -> list[Call]:
    """Return the three calls for an agent with these tools; none if it has no tools for files and commands."""
    if "read_file" in tools and "edit_file" in tools:
        return [
            ("read_file", {"path": "a.py"}),
            ("edit_file", {"path": "a.py", "old_string": "41", "new_string": "42"}),
            ("run_command", {"command": RUN}),
        ]
    if {"Read", "Edit", "Bash"} <= tools:
        path = f"{folder}/a.py"
        return [
            ("Read", {"file_path": path}),
            ("Edit", {"file_path": path, "old_string": "41", "new_string": "42"}),
            ("Bash", {"command": RUN, "description": "Runs it"}),
        ]
    if {"read_file", "replace", "run_shell_command"} <= tools:
        path = f"{folder}/a.py"
        edit = {"instruction": "make it 42", "old_string": "41", "new_string": "42"}
        return [
            ("read_file", {"file_path": path}),
            ("replace", {"file_path": path} | edit),
            ("run_shell_command", {"command": RUN, "description": "Runs it"}),
        ]
    if "exec_command" in tools:
        return [("exec_command", {"cmd": command}) for command in _COMMANDS]
    if "shell" in tools:
        return [("shell", {"command": ["bash", "-lc", command]}) for command in _COMMANDS]
    if "bash" in tools:
        return [("bash", {"command": command}) for command in (*_COMMANDS, _SUBMIT)]
    return []


def decide(body: dict[str, Any]) -> tuple[Call | None, str]:
    """Return the next call and "", or None and the text of the answer."""
    tools = {str(tool.get("name") or tool.get("function", {}).get("name")) for tool in body.get("tools") or []}
    rows: list[dict[str, Any]] = body.get("messages") or []
    entries = body.get("input")
    rows = rows + (entries if isinstance(entries, list) else [])
    request, results = "", 0
    for row in rows:
        content = row.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        results_in_row = [block for block in blocks if block.get("type") == "tool_result"]
        results += len(results_in_row) + (row.get("role") == "tool") + str(row.get("type", "")).endswith("_call_output")
        if row.get("role") == "user" and not results_in_row:
            request = content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in blocks)
    task = re.search(r'TASK in ([^\s:"]+)', request)
    if task:
        calls = calls_for(tools, task[1])
        if results < len(calls):
            return calls[results], ""
    numbers = re.findall(r"turn (\d+)", request)
    return None, f"reply-{numbers[-1] if numbers else 0}"


def chat(body: dict[str, Any]) -> bytes:
    """Answer a request of Chat Completions."""
    call, text = decide(body)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{next(_numbers)}", "type": "function", "function": function}]
    finish = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    base = {"id": "c1", "created": 1, "model": "test", "usage": usage}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps(base | {"object": "chat.completion", "choices": [choice]}).encode()
    first = {"index": 0, "delta": message, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": finish}
    kind = {"object": "chat.completion.chunk"}
    rows = [base | kind | {"choices": [choice]} for choice in (first, last)]
    return b"".join(b"data: %b\n\n" % json.dumps(row).encode() for row in rows) + b"data: [DONE]\n\n"


def responses(body: dict[str, Any]) -> bytes:
    """Answer a request of Responses."""
    call, text = decide(body)
    if call:
        arguments = json.dumps(call[1])
        item: dict[str, Any] = {"type": "function_call", "call_id": f"call_{next(_numbers)}", "name": call[0]}
        item |= {"id": "i1", "arguments": arguments, "status": "completed"}
    else:
        content_part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "role": "assistant", "id": "i1", "status": "completed", "content": [content_part]}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, "input_tokens_details": None}
    answer = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    rows = [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ]
    return b"".join(b"event: %b\ndata: %b\n\n" % (row["type"].encode(), json.dumps(row).encode()) for row in rows)  # type: ignore[attr-defined]


def messages(body: dict[str, Any]) -> bytes:
    """Answer a request of Messages."""
    call, text = decide(body)
    block: dict[str, Any] = {"type": "text", "text": text}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": call[0], "input": call[1]}
    usage = {"input_tokens": 100, "output_tokens": 10}
    base = {"id": "m1", "type": "message", "role": "assistant", "model": "test", "usage": usage}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    if not body.get("stream"):
        return json.dumps(base | stop | {"content": [block]}).encode()
    initial_block = block | ({"input": {}} if call else {"text": ""})
    delta = {"type": "text_delta", "text": text}
    if call:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    rows = [
        {"type": "message_start", "message": base | {"content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": initial_block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(b"event: %b\ndata: %b\n\n" % (row["type"].encode(), json.dumps(row).encode()) for row in rows)  # type: ignore[attr-defined]


def contents(body: dict[str, Any]) -> bytes:
    """Answer a streamed generateContent request of Gemini."""
    rows: list[dict[str, Any]] = []
    for entry in body.get("contents") or []:
        for part in entry["parts"]:
            rows.append({"role": "tool" if "functionResponse" in part else entry["role"], "content": part.get("text")})
    declared = [one for tools in body.get("tools") or [] for one in tools.get("functionDeclarations") or []]
    shown_rows = [row for row in rows if row["content"] or row["role"] == "tool"]
    call, text = decide({"messages": shown_rows, "tools": declared})
    part: dict[str, Any] = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": text}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "test"}
    return b"data: %b\n\n" % json.dumps(answer).encode()


DIALECTS = {
    "/chat/completions": chat,
    "/responses": responses,
    "/messages": messages,
    ":streamGenerateContent": contents,
}


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode().partition("?")[0]
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body: dict[str, Any] = json.loads(await reader.readexactly(int(length[1]))) if length else {}
            dialect = next((make for end, make in DIALECTS.items() if path.endswith(end)), None)
            if dialect:
                streams = body.get("stream") or dialect in (responses, contents)
                kind, answer = "text/event-stream" if streams else "application/json", dialect(body)
            else:
                rows = [{"id": "test", "object": "model", "context_window": 200_000}]
                kind, answer = (
                    "application/json",
                    json.dumps({"data": rows, "models": [], "input_tokens": 100}).encode(),
                )
            lines = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
            writer.write(lines.encode() + answer)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serve until standard input is closed."""
    server = await asyncio.start_server(_connection, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
