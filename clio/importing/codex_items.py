"""The items a conversation of Codex is made of: words, calls, outputs."""

import re
import shlex
from typing import Any, cast

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.importing.pieces import Json, Picture, as_json, mapping, mappings, text
from clio.messages import ToolCall, ToolMessage

_DATA_URL = LatePattern(r"data:(image/[a-z+.-]+);base64,", re.IGNORECASE)
_EXIT = LatePattern(r"\A(?:.{0,300}?\n)?(?:Exit code:|Process exited with code) (-?\d+)", re.DOTALL)
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
    "image_generation_call": "revised_prompt",
    "mcp_tool_call": "arguments",
}
"""The kinds of calls, and where each has its arguments."""
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)
_NAMES = {"local_shell_call": "shell", "web_search_call": "web_search", "tool_search_call": "tool_search"}


def words_of(content: Any) -> tuple[str, list[Picture]]:
    """The words of a message and its pictures."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for part in mappings(content):
        url = text(part.get("image_url"))
        if match := _DATA_URL.match(url):
            pictures.append(Picture(media_type=match[1].lower(), data=url[match.end() :]))
        elif url:
            texts.append("[picture]")
        else:
            texts.append(text(part.get("text")))
    return "\n\n".join(one for one in texts if one.strip()), pictures


def call_of(item: Json) -> ToolCall | None:
    """The call of an item; None where it is none."""
    kind = text(item.get("type"))
    if kind not in _CALLS:
        return None
    name = _NAMES.get(kind) or text(item.get("name")) or kind.removesuffix("_call")
    id = text(item.get("call_id")) or text(item.get("id"))
    return ToolCall(id=id, name=name, arguments=_arguments(kind, item.get(_CALLS[kind])))


def output_of(item: Json, id: str, at: float) -> ToolMessage | None:
    """The result in an item; None where it holds none."""
    if item.get("type") not in _OUTPUTS:
        return None
    output = item.get("output", item.get("tools"))
    inside = _decoded(output) if isinstance(output, str) and output.startswith("{") else output
    code: Any = None
    ok = True
    if isinstance(inside, dict):
        whole = mapping(inside)
        code = mapping(whole.get("metadata")).get("exit_code")
        ok = whole.get("success") is not False
        found = whole.get("output", whole.get("content"))
        words = _text_of(output if found is None else found)
    else:
        words = _text_of(output)
    if code is None and (match := _EXIT.search(words[:600])):
        code = int(match[1])
    summary = f"exit {code}" if isinstance(code, int) and not isinstance(code, bool) else ""
    return ToolMessage(
        tool_call_id=text(item.get("call_id")),
        content=words,
        ok=ok and code in (None, 0),
        summary=summary,
        id=id,
        created=at,
    )


def _text_of(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(text(part.get("text")) or f"[{text(part.get('type')) or 'part'}]" for part in mappings(output))
    return "" if output is None else as_json(output)


def _arguments(kind: str, value: Any) -> str:
    if kind == "custom_tool_call" and isinstance(value, str):
        return as_json({"input": value})
    inside = mapping(_decoded(value) if isinstance(value, str) else value)
    command = inside.get("command")
    if isinstance(command, list):
        return as_json(inside | {"command": _typed(cast(list[Any], command))})
    if isinstance(value, str):
        return value if inside else as_json({"input": value} if value.strip() else {})
    return as_json(value or {})


def _typed(command: list[Any]) -> str:
    """A command as a person would have typed it: that is what is searched for."""
    words = [str(word) for word in command]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _decoded(value: str) -> Any:
    try:
        return decode_json(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
