"""Hooks written for Claude Code: their input and their answers in the names that those programs expect."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.config.loaded import Hook
from clio.hooks.hook_process import HookAnswer, HookResult, read_answer, run_hook
from clio.text.json_data import decode_json
from clio.text.translation import tr

_EVENTS = {
    "session_start": "SessionStart",
    "user_prompt": "UserPromptSubmit",
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "before_trim": "PreCompact",
    "stop": "Stop",
    "session_end": "SessionEnd",
}
_TOOLS = {
    "run_command": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "find_files": "Glob",
    "search_text": "Grep",
    "list_files": "LS",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "todo_operations": "TodoWrite",
    "delegate": "Task",
}
_FILE_TOOLS = ("read_file", "write_file", "edit_file")
_CONTEXT_EVENTS = ("session_start", "user_prompt")
"""Where plain output of such a program is text for the model; elsewhere it is only a log."""


def make_claude_input(data: bytes) -> bytes:
    """Return the input of a hook, given clio's JSON for the same event."""
    facts = msgspec.json.decode(data, type=dict[str, Any])
    event = facts["event"]
    found: dict[str, Any] = {
        "session_id": facts["session"],
        "transcript_path": "",
        "cwd": facts["project"],
        "hook_event_name": _EVENTS[event],
    }
    match event:
        case "user_prompt":
            found["prompt"] = facts["prompt"]
        case "session_start":
            found["source"] = "resume" if facts.get("resumed") else "startup"
        case "before_trim":
            found |= {"trigger": "auto", "custom_instructions": ""}
        case "stop":
            found["stop_hook_active"] = bool(facts.get("continued"))
        case "session_end":
            found["reason"] = "other"
        case _:
            tool = facts["tool"]
            found |= {"tool_name": _name_tool(tool), "tool_input": _name_arguments(tool, facts["arguments"])}
            if event == "after_tool":
                found["tool_response"] = {"success": facts.get("ok"), "content": facts.get("result")}
    return msgspec.json.encode(found)


def _name_tool(tool: str) -> str:
    if tool.startswith("mcp_"):
        server, _, name = tool.removeprefix("mcp_").partition("_")
        return f"mcp__{server}__{name}"
    return _TOOLS.get(tool, tool)


def _name_arguments(tool: str, arguments: Any) -> Any:
    if tool not in _FILE_TOOLS or not isinstance(arguments, dict):
        return arguments
    named = cast("dict[str, Any]", arguments)
    return {("file_path" if key == "path" else key): value for key, value in named.items()}


class _Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    permission_decision: Literal["allow", "deny", "ask", "defer", ""] = ""
    permission_decision_reason: str = ""
    additional_context: str = ""


class _ClaudeOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    decision: Literal["block", "approve", "allow", ""] = ""
    reason: str = ""
    stop_reason: str = ""
    system_message: str = ""
    continue_: bool = msgspec.field(default=True, name="continue")
    hook_specific_output: _Decision = _Decision()


async def run_claude_hook(hook: Hook, data: bytes, *, cwd: Path, env: Mapping[str, str]) -> HookAnswer:
    """Run such a hook. data: clio's input for it. Raises ToolFailed if it cannot be started."""
    env = {**env, "CLAUDE_PROJECT_DIR": str(cwd)}
    result = await run_hook(hook.run, make_claude_input(data), cwd=cwd, env=env, timeout_s=hook.timeout_s)
    return read_claude_answer(result, hook.event, hook.timeout_s)


def read_claude_answer(result: HookResult, event: str, timeout_s: float) -> HookAnswer:
    """Interpret the result of such a hook. What it allows is still asked about: a hook can only restrict."""
    text = result.output.strip()
    if result.exit_code != 0:
        return read_answer(result, timeout_s)
    if not text.startswith("{"):
        return HookAnswer(context=text if event in _CONTEXT_EVENTS else "")
    try:
        output = decode_json(text, type=_ClaudeOutput)
    except (msgspec.DecodeError, RecursionError) as error:
        return HookAnswer(problem=tr("printed invalid JSON: {error}", error=error))
    inner = output.hook_specific_output
    context = inner.additional_context.strip()
    if output.decision == "block" or inner.permission_decision == "deny":
        reason = inner.permission_decision_reason or output.reason
        return HookAnswer(refusal=reason.strip() or "no reason given", context=context)
    if not output.continue_ and event not in ("stop", "session_end"):
        return HookAnswer(refusal=output.stop_reason.strip() or "no reason given", context=context)
    return HookAnswer(context=context)
