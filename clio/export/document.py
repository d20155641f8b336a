"""The exported form of a session, shared by all output formats, and the formatting of times, numbers and calls."""

import time
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.messages import Origin, ToolCall, Usage
from clio.sessions.state import Bill, Todo
from clio.text.formatting import describe_cache_use, truncate_line
from clio.text.json_data import decode_json
from clio.text.translation import tr, tr_count

SCHEMA = "clio.export"
VERSION = 1


class ExportedResult(Struct, frozen=True, kw_only=True):
    """The result of a call. `output` is complete except for `left_out` characters in its middle."""

    message_id: str
    created: float
    ok: bool
    summary: str
    seconds: float
    output: str
    left_out: int = 0


class ExportedCall(Struct, frozen=True, kw_only=True):
    """One tool call. arguments: JSON, or text if they are not valid JSON. result: None if there is none yet."""

    id: str
    name: str
    arguments: Any
    result: ExportedResult | None = None


class ExportedMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message; the results of its calls are stored with the calls.

    Attributes:
        anchor: unique in the export, "m-" and characters that are valid in a link.
        step: for answers of the model, the number of the request within the turn, from 1.
    """

    anchor: str
    id: str
    role: Literal["system", "user", "assistant", "tool"]
    created: float
    text: str
    origin: Origin = "user"
    context: str = ""
    reasoning: str = ""
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    step: int = 0
    calls: tuple[ExportedCall, ...] = ()


class ExportedTrim(Struct, frozen=True, kw_only=True, tag_field="type", tag="trim"):
    """A point where messages were removed from the model's window. summary: the summary that replaced them."""

    anchor: str
    handle: str
    created: float
    messages: int
    shrunk: int
    freed_tokens: int
    first_anchor: str = ""
    last_anchor: str = ""
    summary: str = ""


Entry = ExportedMessage | ExportedTrim


class Totals(Struct, frozen=True, kw_only=True):
    """Counts over the whole session, with tokens as billed.

    `prompt_tokens` includes those read from and written to a prompt cache.
    """

    messages: int
    turns: int
    calls: int
    failed_calls: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int


class ExportedSession(Struct, frozen=True, kw_only=True):
    """A session. Times are seconds since the epoch; `project` is the name of its folder, not the path."""

    schema: str = SCHEMA
    version: int = VERSION
    exported_at: float
    id: str
    title: str
    named: bool
    project: str
    parent: str | None
    created: float
    last_active: float
    models: tuple[str, ...]
    totals: Totals
    todos: tuple[Todo, ...]
    bills: tuple[Bill, ...]
    entries: tuple[Entry, ...]


TITLE_CHARS = 100
_PATH_CHARS = 48
# The arguments that describe a call best, in order of preference.
_TITLE_ARGUMENTS = (
    "command path file_path old_path paths pattern query url question handle name key glob job revision fact error "
    "patch"
).split()


def format_minute(seconds: float) -> str:
    """Return date and minute in UTC; "" for an invalid time."""
    return _format(seconds, "%Y-%m-%d %H:%M")


def format_clock(seconds: float) -> str:
    """Return the time of day in UTC."""
    return _format(seconds, "%H:%M:%S")


def format_machine_time(seconds: float) -> str:
    """Return the time in the format of RFC 3339."""
    return _format(seconds, "%Y-%m-%dT%H:%M:%SZ")


def _format(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.gmtime(seconds)) if seconds > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""


def format_span(seconds: float) -> str:
    """Return a duration: "0.3 s", "4 min", "2 h 5 min", "3 days"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return tr("{minutes} min", minutes=minutes)
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return tr("{hours} h {minutes} min", hours=hours, minutes=minutes) if minutes else f"{hours} h"
    return tr("{hours} days", hours=hours // 24)


def format_tokens(usage: Usage) -> str:
    """Return the tokens of one request."""
    cached = describe_cache_use(usage.cached_tokens, usage.cache_write_tokens)
    return tr(
        "{prompt_tokens:,} in{cached} · {completion_tokens:,} out",
        prompt_tokens=usage.prompt_tokens,
        cached=cached,
        completion_tokens=usage.completion_tokens,
    )


def describe_trim(trim: ExportedTrim) -> str:
    """Return the effects of a trim in one line."""
    effects: list[str] = []
    if trim.messages:
        effects.append(tr("{messages} removed from the context window", messages=tr_count(trim.messages, "message")))
    if trim.shrunk:
        effects.append(tr("{messages} shortened in it", messages=tr_count(trim.shrunk, "message")))
    if trim.freed_tokens > 0:
        effects.append(tr("about {freed_tokens:,} tokens freed", freed_tokens=trim.freed_tokens))
    return ", ".join(effects) or tr("the context window was trimmed")


def format_call_title(call: ExportedCall) -> str:
    """Return the operation and the main argument of a call on one line."""
    value: Any = call.arguments
    if not isinstance(value, dict):
        return truncate_line(format_plain(value), TITLE_CHARS)
    arguments = cast("dict[str, Any]", value)
    parts = [str(arguments["operation"])] if isinstance(arguments.get("operation"), str) else []
    main = next((key for key in _TITLE_ARGUMENTS if arguments.get(key)), None)
    if main is not None:
        text = format_plain(arguments[main])
        parts.append(_shorten_path(text) if "path" in main else text)
    elif not parts:
        parts = [format_plain(value) for value in arguments.values() if isinstance(value, (str, int, float))]
    return truncate_line(" ".join(parts), TITLE_CHARS)


_CALL_WORDS = {
    "read_file": "read", "list_files": "list", "find_files": "find", "search_text": "search", "run_command": "run",
    "edit_file": "edit", "write_file": "write", "apply_patch": "patch", "web_fetch": "fetch", "web_search": "search",
    "ask_user": "ask:", "todo_operations": "todos", "memory_operations": "memory", "job_output": "output of",
    "job_stop": "stop", "code_lookup": "look up",
}  # fmt: skip
"""The operation of a tool call, in the words of its row in the terminal."""


def format_named_call(call: ToolCall) -> str:
    """Return the title of a stored call, in the words of the row that showed it."""
    if call.name == "todo_operations":
        return _CALL_WORDS[call.name]
    arguments: Any
    try:
        arguments = decode_json(call.arguments)
    except msgspec.DecodeError:
        arguments = call.arguments
    words = _CALL_WORDS.get(call.name) or call.name.replace("_", " ")
    return f"{words} {format_call_title(ExportedCall(id=call.id, name=call.name, arguments=arguments))}".strip()


def _shorten_path(path: str) -> str:
    """Return the last folders of a long path, which identify it better than the first."""
    if len(path) <= _PATH_CHARS or "\n" in path:
        return path
    cut = path.find("/", len(path) - _PATH_CHARS)
    return "…" + (path[cut:] if cut >= 0 else path[-_PATH_CHARS:])


def format_plain(value: Any) -> str:
    """Return a JSON value for a reader: strings as they are, lists of short strings on one line, the rest indented."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and all(isinstance(item, str) and "\n" not in item and len(item) <= TITLE_CHARS for item in items):
            return ", ".join(items)
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8")
