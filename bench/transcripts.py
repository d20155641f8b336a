"""Read transcripts of other tools as clio's messages: SWE-agent's `.traj.json`, SpecStory's Markdown.

Missing values are left empty, and text that cannot be parsed is kept as text. A read becomes a call of `read_file`, a
change `edit_file` or `write_file`, a command `run_command`, as in clio's own sessions, but without side effects: a
summary has to find everything in names, arguments and outputs.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_HEADING = re.compile(r"^_\*\*(?P<who>User|Agent)(?P<side> - sidechain)? ?(?:\([^)\n]*\))?\*\*_$")
_TOOL = re.compile(r'^<tool-use(?: data-tool-type="(?P<type>[^"]*)")?(?: data-tool-name="(?P<name>[^"]*)")?')
_TOOL_END = "</details></tool-use>"
_INLINE = re.compile(r"^\s?`(?P<code>[^`\n].*?)`\s*$", re.M)
_CHANGED = re.compile(
    r"^(?:The file (?P<edited>\S+) has been updated|File created successfully at: (?P<made>\S+))", re.M
)
_ANSWER = re.compile(r"^\*\*Answer:\*\* (?P<answer>.*)", re.M | re.S)
_FAILED = ("<tool_use_error>", "The user doesn't want to proceed", "Exit code ")
_NAMES = {
    "Read": "read_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "Write": "write_file",
    "Bash": "run_command",
}
_OPEN_FILE = re.compile(r"\(Open file: (?P<path>[^)\n]+)\)|\[File: (?P<shown>\S+) \(\d+ lines total\)\]")
_EDIT_FAILED = re.compile(
    r"Your proposed edit has introduced|No replacement was performed|not found in file|Usage: ", re.I
)


class Transcript(Struct, frozen=True, kw_only=True):
    """One session. kind: the format of its file."""

    name: str
    kind: str
    messages: tuple[Message, ...]


def find_transcripts(folder: Path) -> list[tuple[Path, Transcript]]:
    """Return all transcripts with messages below a folder, sorted by path."""
    found = [(path, read_transcript(path)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(path, transcript) for path, transcript in found if transcript is not None and transcript.messages]


def read_transcript(path: Path) -> Transcript | None:
    """Read one file; None if it is not a transcript."""
    if path.name.endswith((".traj.json", ".traj")):
        document = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        return Transcript(
            name=path.name, kind="SWE-agent", messages=tuple(_from_history(document.get("history") or []))
        )
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8", errors="replace")
        if "_**User" in text or "_**Agent" in text:
            return Transcript(name=path.name, kind="SpecStory", messages=tuple(_from_markdown(text)))
    return None


# SWE-agent


def _from_history(history: list[dict[str, Any]]) -> Iterator[Message]:
    """Convert commands to calls and observations to results. An `edit` changes the file that is open."""
    open_file = ""
    pending: list[ToolCall] = []
    for number, entry in enumerate(history):
        text = _text(entry.get("content"))
        if entry.get("role") == "assistant":
            pending = list(_calls(entry, number, open_file))
            yield AssistantMessage(content=str(entry.get("thought") or text), tool_calls=tuple(pending))
        elif pending and entry.get("role") in ("user", "tool"):
            ids = [str(id) for id in entry.get("tool_call_ids") or []]
            call = next((call for call in pending if call.id in ids), pending[0])
            pending.remove(call)
            failed = bool(_EDIT_FAILED.search(text)) if call.name in ("edit_file", "write_file") else False
            yield ToolMessage(tool_call_id=call.id, name=call.name, content=text, ok=not failed)
            for match in _OPEN_FILE.finditer(text):
                open_file = match["path"] or match["shown"]
        elif entry.get("role") == "user" and not entry.get("is_demo"):
            yield UserMessage(content=text)


def _calls(entry: dict[str, Any], number: int, open_file: str) -> Iterator[ToolCall]:
    calls_with_names = [call for call in entry.get("tool_calls") or [] if isinstance(call, dict)]
    if not calls_with_names:
        action = str(entry.get("action") or "").strip()
        if action:
            yield _call(f"c{number}", action.split(None, 1)[0], action, open_file)
        return
    for place, call in enumerate(calls_with_names):
        function = call.get("function") or {}
        arguments = _object(function.get("arguments"))
        line = " ".join([str(function.get("name", "")), *(str(value) for value in arguments.values())])
        line = str(arguments.get("command", line)) if function.get("name") == "bash" else line
        yield _call(str(call.get("id") or f"c{number}.{place}"), str(function.get("name", "")), line, open_file)


def _call(id: str, verb: str, line: str, open_file: str) -> ToolCall:
    arguments = line.split()
    path = arguments[1] if len(arguments) > 1 else ""
    match verb:
        case "open":
            return _tool(id, "read_file", path=path)
        case "create":
            return _tool(id, "write_file", path=path)
        case "edit" | "insert":
            return _tool(id, "edit_file", path=open_file, line=line)
        case "str_replace_editor":
            return _tool(id, verb, command=path, path=arguments[2] if len(arguments) > 2 else "")
        case "find_file" | "search_file" | "search_dir":
            return _tool(id, "search_text", line=line)
        case "submit" | "scroll_down" | "scroll_up" | "goto" | "set_cursors":
            return _tool(id, verb, line=line)
        case _:
            return _tool(id, "run_command", command=line)


# SpecStory


def _from_markdown(markdown: str) -> Iterator[Message]:
    for number, (speaker, body) in enumerate(_sections(markdown)):
        if speaker == "User":
            text = body.strip().removesuffix("---").strip()
            if text:
                origin = "continue" if text.startswith("[Request interrupted") else "user"
                yield UserMessage(content=text, origin=origin)
            continue
        for part, block in enumerate(_blocks(body)):
            head = _TOOL.match(block)
            if head is None:
                text = block.strip().removesuffix("---").strip()
                if text and not text.startswith("<think>"):
                    yield AssistantMessage(content=text)
            else:
                yield from _tool_use(f"c{number}.{part}", head["name"] or head["type"] or "tool", block)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield speakers and their texts, without side conversations. Headings in tool output are output."""
    speaker, lines, in_tool = "", list[str](), False
    for line in text.splitlines():
        heading = None if in_tool else _HEADING.match(line)
        if heading:
            if speaker:
                yield speaker, "\n".join(lines)
            speaker, lines = "" if heading["side"] else heading["who"], []
            continue
        in_tool = line.strip() != _TOOL_END and (in_tool or bool(_TOOL.match(line)))
        lines.append(line)
    if speaker:
        yield speaker, "\n".join(lines)


def _blocks(body: str) -> Iterator[str]:
    """Yield prose and tool uses alternately."""
    lines: list[str] = []
    in_tool = False
    for line in body.splitlines():
        if not in_tool and _TOOL.match(line):
            yield "\n".join(lines)
            lines, in_tool = [], True
        lines.append(line)
        if in_tool and line.strip() == _TOOL_END:
            yield "\n".join(lines)
            lines, in_tool = [], False
    yield "\n".join(lines)


def _tool_use(id: str, tool: str, block: str) -> Iterator[Message]:
    body = "\n".join(block.splitlines()[2:]).removesuffix(_TOOL_END).strip("\n")
    input_text, output = _split_output(body)
    name = _NAMES.get(tool, tool)
    ok = not output.lstrip().startswith(_FAILED)
    inline = _INLINE.search(input_text)
    code = inline["code"] if inline else ""
    if name == "run_command":
        call = _tool(id, name, command=code or _fenced(input_text) or input_text.strip())
    elif name in ("edit_file", "write_file"):
        changed = _CHANGED.search(output)
        ok = ok and changed is not None
        call = _tool(id, name, path=(changed["edited"] or changed["made"]) if changed else code, content=input_text)
    elif name == "read_file":
        call = _tool(id, name, path=code)
    elif name == "AskUserQuestion":
        answer = _ANSWER.search(body)
        call, output = (
            _tool(id, "ask_user", question=body.partition("**Answer:**")[0].strip()),
            answer["answer"] if answer else "",
        )
    else:
        call = _tool(id, name, input=input_text.strip())
    yield AssistantMessage(tool_calls=(call,))
    yield ToolMessage(tool_call_id=id, name=call.name, content=output.strip("\n"), ok=ok)


def _split_output(body: str) -> tuple[str, str]:
    """Return the input of a tool, and its output, which is the last fenced block."""
    lines = body.splitlines()
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    if len(fences) < 2:
        return body, ""
    first = next((number for number in fences if lines[number] in ("```text", "```")), fences[0])
    if len(fences) % 2 == 0 and lines[fences[-2]] in ("```text", "```"):
        first = fences[-2] if all(lines[number] != "```text" for number in fences[:-2]) else first
    return "\n".join(lines[:first]), "\n".join(lines[first + 1 : fences[-1]])


def _fenced(text: str) -> str:
    match = re.search(r"^```\w*\n(.*?)^```", text + "\n", re.M | re.S)
    return match[1].strip() if match else ""


# Both


def _tool(id: str, name: str, **arguments: str) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
