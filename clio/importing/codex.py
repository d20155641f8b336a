"""Conversations of Codex: `rollout-*.jsonl` under `~/.codex/sessions/YYYY/MM/DD/`, in each form it has had."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.importing.reading import (
    ImportedMessage,
    Json,
    Picture,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_json,
    as_mapping,
    as_text,
    iterate_mappings,
    kind_of,
    parse_seconds,
    read_elements,
    read_records,
)
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.text.json_data import decode_json

_DATA_URL = re.compile(r"data:(image/[a-z+.-]+);base64,", re.IGNORECASE)
_EXIT = re.compile(r"\A(?:.{0,300}?\n)?(?:Exit code:|Process exited with code) (-?\d+)", re.DOTALL)
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


def extract_text_and_pictures(content: Any) -> tuple[str, list[Picture]]:
    """The words of a message and its pictures."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for part in iterate_mappings(content):
        url = as_text(part.get("image_url"))
        if match := _DATA_URL.match(url):
            pictures.append(Picture(media_type=match[1].lower(), data=url[match.end() :]))
        elif url:
            texts.append("[picture]")
        else:
            texts.append(as_text(part.get("text")))
    return "\n\n".join(one for one in texts if one.strip()), pictures


def convert_call(item: Json) -> ToolCall | None:
    """The call of an item; None where it is none."""
    kind = as_text(item.get("type"))
    if kind not in _CALLS:
        return None
    name = _NAMES.get(kind) or as_text(item.get("name")) or kind.removesuffix("_call")
    id = as_text(item.get("call_id")) or as_text(item.get("id"))
    return ToolCall(id=id, name=name, arguments=_arguments(kind, item.get(_CALLS[kind])))


def convert_output(item: Json, id: str, at: float) -> ToolMessage | None:
    """The result in an item; None where it holds none."""
    if item.get("type") not in _OUTPUTS:
        return None
    output = item.get("output", item.get("tools"))
    inside = _decoded(output) if isinstance(output, str) and output.startswith("{") else output
    code: Any = None
    ok = True
    if isinstance(inside, dict):
        whole = as_mapping(inside)
        code = as_mapping(whole.get("metadata")).get("exit_code")
        ok = whole.get("success") is not False
        found = whole.get("output", whole.get("content"))
        words = _text_of(output if found is None else found)
    else:
        words = _text_of(output)
    if code is None and (match := _EXIT.search(words[:600])):
        code = int(match[1])
    summary = f"exit {code}" if isinstance(code, int) and not isinstance(code, bool) else ""
    return ToolMessage(
        tool_call_id=as_text(item.get("call_id")),
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
        return "\n".join(
            as_text(part.get("text")) or f"[{as_text(part.get('type')) or 'part'}]" for part in iterate_mappings(output)
        )
    return "" if output is None else as_json(output)


def _arguments(kind: str, value: Any) -> str:
    if kind == "custom_tool_call" and isinstance(value, str):
        return as_json({"input": value})
    inside = as_mapping(_decoded(value) if isinstance(value, str) else value)
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


_SILENT_LINES = frozenset("event_msg ghost_commit world_state inter_agent_communication_metadata".split())
_SILENT_ITEMS = frozenset(
    "reasoning ghost_snapshot compaction compaction_trigger context_compaction other item_reference".split()
)
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_FOLDER = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: (.+)")


def read_codex(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The conversation of one file. Raises OSError, and what `progress` raises."""
    reader = _Reader(path, tally)
    if path.suffix == ".json":
        for name, value in read_elements(path, frozenset({"items"}), tally, progress):
            if name == "session":
                yield from reader.head(as_mapping(value))
            elif name == "items":
                yield from reader.item(as_mapping(value), 0.0)
    else:
        for _, line in read_records(path, tally, progress):
            yield from reader.line(line)
    yield from reader.flush()


def read_directory(path: Path, line: Json) -> str:
    """Where the conversation was held, if this line says so."""
    payload = as_mapping(line.get("payload"))
    if cwd := as_text(payload.get("cwd")) or as_text(line.get("cwd")):
        return cwd
    words, _ = extract_text_and_pictures((payload or line).get("content"))
    found = _FOLDER.search(words) if words.startswith(_INJECTED) else None
    return (found[1] or found[2] or "").strip() if found else ""


class _Reader:
    """calls: those of the answer that is still coming, as each is an item of its own."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._key = ""
        self._model = ""
        self._at = 0.0
        self._folder_told = False
        self._calls: list[ToolCall] = []

    def line(self, line: Json) -> Iterator[Piece]:
        kind, payload, at = line.get("type"), as_mapping(line.get("payload")), parse_seconds(line.get("timestamp"))
        if "record_type" in line:
            return
        if kind is None and "id" in line:  # the second form's head
            yield from self.head(line)
        elif "payload" not in line:
            yield from self.item(line, at)
        elif kind == "session_meta":
            yield from self.head(as_mapping(payload.get("meta")) or payload)
        elif kind == "response_item":
            yield from self.item(payload, at)
        elif kind == "turn_context":
            self._model = as_text(payload.get("model")) or self._model
        elif kind == "compacted":
            yield from self._compacted(payload, at)
        elif kind not in _SILENT_LINES:
            self._tally.kinds[kind_of(kind)] += 1

    def head(self, head: Json) -> Iterator[Piece]:
        """What is known of the conversation; one that was branched off has the heads of those before it too."""
        if self._key or not (key := as_text(head.get("id"))):
            return
        self._key = key
        self._at = parse_seconds(head.get("timestamp"))
        origin = as_mapping(as_mapping(head.get("source")).get("subagent"))
        spawned = as_mapping(origin.get("thread_spawn"))
        directory = as_text(head.get("cwd"))
        self._folder_told = bool(directory)
        name = as_text(spawned.get("agent_nickname")) or as_text(spawned.get("agent_role"))
        yield SessionAbout(
            key=key,
            title=f"sub-agent {name}".strip() if origin else "",
            directory=directory,
            within=as_text(spawned.get("parent_thread_id")),
        )

    def item(self, item: Json, at: float) -> Iterator[Piece]:
        """One item of the conversation. at: its time, 0.0 where the form has none."""
        self._key = self._key or self._path.stem
        self._at = at or self._at
        kind = item.get("type") or ("message" if "role" in item else None)
        id = as_text(item.get("id"))
        if kind == "message":
            yield from self._message(item, id)
        elif call := convert_call(item):
            self._calls.append(call)
            if kind in ("web_search_call", "image_generation_call"):  # the server answered them itself
                yield from self.flush()
        elif output := convert_output(item, id, self._at):
            yield from self.flush()
            yield self._said(output)
        elif kind not in _SILENT_ITEMS:
            self._tally.kinds[kind_of("item", kind)] += 1

    def flush(self) -> Iterator[Piece]:
        """The calls so far as one answer."""
        if self._calls:
            calls, self._calls = tuple(self._calls), []
            yield self._said(AssistantMessage(tool_calls=calls, model=self._model, id="", created=self._at))

    def _message(self, item: Json, id: str) -> Iterator[Piece]:
        words, pictures = extract_text_and_pictures(item.get("content"))
        role = item.get("role")
        if not self._folder_told and (directory := read_directory(self._path, item)):
            self._folder_told = True
            yield SessionAbout(key=self._key, directory=directory)
        if role == "assistant":
            yield from self.flush()
            if words.strip():
                yield self._said(AssistantMessage(content=words, model=self._model, id=id, created=self._at))
        elif role == "user":
            yield from self.flush()
            injected = words.startswith(_INJECTED)
            if words.strip() or pictures:
                origin = "continue" if injected else "user"
                said = UserMessage(content=words.strip(), origin=origin, id=id, created=self._at)
                yield self._said(said, tuple(pictures))
        elif role not in ("developer", "system"):
            self._tally.kinds[kind_of("role", role)] += 1

    def _compacted(self, payload: Json, at: float) -> Iterator[Piece]:
        self._key, self._at = self._key or self._path.stem, at or self._at
        words = as_text(payload.get("message"))
        if not words:  # a later form: the history that stands for what was before
            kept = [
                extract_text_and_pictures(item.get("content"))[0]
                for item in iterate_mappings(payload.get("replacement_history"))
            ]
            words = kept[-1] if kept else ""
        yield from self.flush()
        if words.strip():
            yield self._said(UserMessage(content=words, origin="recovery", id="", created=self._at))

    def _said(self, message: Message, pictures: tuple[Picture, ...] = ()) -> ImportedMessage:
        return ImportedMessage(key=self._key, message=message, pictures=pictures)
