"""Reads conversations of Codex, in all its formats: `rollout-*.jsonl` in `~/.codex/sessions/YYYY/MM/DD/`."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.importing.reading import (
    ImportedImage,
    ImportedMessage,
    Json,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_json,
    as_mapping,
    as_text,
    iterate_mappings,
    join_kind,
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
"""Kinds of calls, and the field with their arguments."""
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)
_TOOL_NAMES = {"local_shell_call": "shell", "web_search_call": "web_search", "tool_search_call": "tool_search"}


def extract_text_and_images(content: Any) -> tuple[str, list[ImportedImage]]:
    """Return the text and the images of a message."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    images: list[ImportedImage] = []
    for part in iterate_mappings(content):
        url = as_text(part.get("image_url"))
        if match := _DATA_URL.match(url):
            images.append(ImportedImage(media_type=match[1].lower(), data=url[match.end() :]))
        elif url:
            texts.append("[image]")
        else:
            texts.append(as_text(part.get("text")))
    return "\n\n".join(text for text in texts if text.strip()), images


def convert_call(item: Json) -> ToolCall | None:
    """Return the call of an item; None if it is not a call."""
    kind = as_text(item.get("type"))
    if kind not in _CALLS:
        return None
    name = _TOOL_NAMES.get(kind) or as_text(item.get("name")) or kind.removesuffix("_call")
    id = as_text(item.get("call_id")) or as_text(item.get("id"))
    return ToolCall(id=id, name=name, arguments=_read_arguments(kind, item.get(_CALLS[kind])))


def convert_output(item: Json, id: str, at: float) -> ToolMessage | None:
    """Return the result in an item; None if there is none."""
    if item.get("type") not in _OUTPUTS:
        return None
    output = item.get("output", item.get("tools"))
    data = _decode_object(output) if isinstance(output, str) and output.startswith("{") else output
    code: Any = None
    ok = True
    if isinstance(data, dict):
        fields = as_mapping(data)
        code = as_mapping(fields.get("metadata")).get("exit_code")
        ok = fields.get("success") is not False
        found = fields.get("output", fields.get("content"))
        text = _read_output(output if found is None else found)
    else:
        text = _read_output(output)
    if code is None and (match := _EXIT.search(text[:600])):
        code = int(match[1])
    summary = f"exit {code}" if isinstance(code, int) and not isinstance(code, bool) else ""
    return ToolMessage(
        tool_call_id=as_text(item.get("call_id")),
        content=text,
        ok=ok and code in (None, 0),
        summary=summary,
        id=id,
        created=at,
    )


def _read_output(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(
            as_text(part.get("text")) or f"[{as_text(part.get('type')) or 'part'}]" for part in iterate_mappings(output)
        )
    return "" if output is None else as_json(output)


def _read_arguments(kind: str, value: Any) -> str:
    if kind == "custom_tool_call" and isinstance(value, str):
        return as_json({"input": value})
    fields = as_mapping(_decode_object(value) if isinstance(value, str) else value)
    command = fields.get("command")
    if isinstance(command, list):
        return as_json(fields | {"command": _join_command(cast(list[Any], command))})
    if isinstance(value, str):
        return value if fields else as_json({"input": value} if value.strip() else {})
    return as_json(value or {})


def _join_command(command: list[Any]) -> str:
    """Return a command as a user would type it, so that a search finds it."""
    words = [str(word) for word in command]
    # Codex wraps each command line in a shell; a search should find what was meant.
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _decode_object(value: str) -> Any:
    try:
        return decode_json(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


_IGNORED_LINES = frozenset("event_msg ghost_commit world_state inter_agent_communication_metadata".split())
_IGNORED_ITEMS = frozenset(
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
    """Yield the conversation of one file. Raises OSError, and what `progress` raises."""
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
    """Return the working directory if this line contains it."""
    payload = as_mapping(line.get("payload"))
    if cwd := as_text(payload.get("cwd")) or as_text(line.get("cwd")):
        return cwd
    text, _ = extract_text_and_images((payload or line).get("content"))
    found = _FOLDER.search(text) if text.startswith(_INJECTED) else None
    return (found[1] or found[2] or "").strip() if found else ""


class _Reader:
    """Converts the lines of one file. Each call is a separate item; `_calls` are those of an incomplete answer."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._key = ""
        self._model = ""
        self._time = 0.0
        self._has_directory = False
        self._calls: list[ToolCall] = []

    def line(self, line: Json) -> Iterator[Piece]:
        kind, payload, at = line.get("type"), as_mapping(line.get("payload")), parse_seconds(line.get("timestamp"))
        if "record_type" in line:
            return
        if kind is None and "id" in line:  # the head in Codex's second format
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
            yield from self._convert_compacted(payload, at)
        elif kind not in _IGNORED_LINES:
            self._tally.kinds[join_kind(kind)] += 1

    def head(self, head: Json) -> Iterator[Piece]:
        """Yield the metadata. A branched conversation also has the heads of its predecessors, which are ignored."""
        if self._key or not (key := as_text(head.get("id"))):
            return
        self._key = key
        self._time = parse_seconds(head.get("timestamp"))
        origin = as_mapping(as_mapping(head.get("source")).get("subagent"))
        spawned = as_mapping(origin.get("thread_spawn"))
        directory = as_text(head.get("cwd"))
        self._has_directory = bool(directory)
        name = as_text(spawned.get("agent_nickname")) or as_text(spawned.get("agent_role"))
        yield SessionAbout(
            key=key,
            title=f"sub-agent {name}".strip() if origin else "",
            directory=directory,
            within=as_text(spawned.get("parent_thread_id")),
        )

    def item(self, item: Json, at: float) -> Iterator[Piece]:
        """Yield one item of the conversation. at: its time, 0.0 if the format has none."""
        self._key = self._key or self._path.stem
        self._time = at or self._time
        kind = item.get("type") or ("message" if "role" in item else None)
        id = as_text(item.get("id"))
        if kind == "message":
            yield from self._convert_message(item, id)
        elif kind == "agent_message":
            yield from self._convert_agent_message(item, id)
        elif call := convert_call(item):
            self._calls.append(call)
            if kind in ("web_search_call", "image_generation_call"):  # calls without a result item
                yield from self.flush()
        elif output := convert_output(item, id, self._time):
            yield from self.flush()
            yield self._wrap(output)
        elif kind not in _IGNORED_ITEMS:
            self._tally.kinds[join_kind("item", kind)] += 1

    def flush(self) -> Iterator[Piece]:
        """Yield the calls so far as one answer."""
        if self._calls:
            calls, self._calls = tuple(self._calls), []
            yield self._wrap(AssistantMessage(tool_calls=calls, model=self._model, id="", created=self._time))

    def _convert_message(self, item: Json, id: str) -> Iterator[Piece]:
        text, images = extract_text_and_images(item.get("content"))
        role = item.get("role")
        if not self._has_directory and (directory := read_directory(self._path, item)):
            self._has_directory = True
            yield SessionAbout(key=self._key, directory=directory)
        if role == "assistant":
            yield from self.flush()
            if text.strip():
                yield self._wrap(AssistantMessage(content=text, model=self._model, id=id, created=self._time))
        elif role == "user":
            yield from self.flush()
            # Codex sends its own text in the user's name; it must not count as something the user said.
            injected = text.startswith(_INJECTED)
            if text.strip() or images:
                origin = "continue" if injected else "user"
                message = UserMessage(content=text.strip(), origin=origin, id=id, created=self._time)
                yield self._wrap(message, tuple(images))
        elif role not in ("developer", "system"):
            self._tally.kinds[join_kind("role", role)] += 1

    def _convert_agent_message(self, item: Json, id: str) -> Iterator[Piece]:
        """Yield a message of the agent, or one that another agent sent to it, which is not the user's."""
        text = as_text(item.get("message")) or as_text(item.get("text"))
        text = text or extract_text_and_images(item.get("content"))[0]
        yield from self.flush()
        if not text.strip():
            return
        if author := as_text(item.get("author")):
            content = f"[message from {author}]\n{text}"
            yield self._wrap(UserMessage(content=content, origin="continue", id=id, created=self._time))
        else:
            yield self._wrap(AssistantMessage(content=text, model=self._model, id=id, created=self._time))

    def _convert_compacted(self, payload: Json, at: float) -> Iterator[Piece]:
        self._key, self._time = self._key or self._path.stem, at or self._time
        text = as_text(payload.get("message"))
        if not text:  # newer format: the history that replaces the earlier messages
            texts = [
                extract_text_and_images(item.get("content"))[0]
                for item in iterate_mappings(payload.get("replacement_history"))
            ]
            text = texts[-1] if texts else ""
        yield from self.flush()
        if text.strip():
            yield self._wrap(UserMessage(content=text, origin="recovery", id="", created=self._time))

    def _wrap(self, message: Message, images: tuple[ImportedImage, ...] = ()) -> ImportedMessage:
        return ImportedMessage(key=self._key, message=message, images=images)
