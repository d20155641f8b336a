"""A session as it is exported: values for every form, and how times, numbers and calls are written."""

import time
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from clio.messages import Origin, ToolCall, Usage
from clio.sessions.state import Bill, Todo
from clio.text.formatting import describe_cache_use, format_count, truncate_line
from clio.text.json_data import decode_json

SCHEMA = "clio.export"
VERSION = 1


class ExportedResult(Struct, frozen=True, kw_only=True):
    """What a call gave. `output` is the whole of it but for `left_out` characters in its middle; `seconds` it took."""

    message_id: str
    created: float
    ok: bool
    summary: str
    seconds: float
    output: str
    left_out: int = 0


class ExportedCall(Struct, frozen=True, kw_only=True):
    """One tool call. `arguments` is JSON, or the text itself where it is none; `result` is None while there is none."""

    id: str
    name: str
    arguments: Any
    result: ExportedResult | None = None


class ExportedMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message; the results of its calls are with the calls.

    anchor: unique in the export, "m-" and letters that may stand in a link. step: number of the request within the
    turn, from 1, for answers of the model.
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
    """A place where messages left the model's window. `summary` says what happened in them."""

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
    """Counts over the whole session; tokens as billed. Those read from a prompt cache and written to it are part of
    `prompt_tokens`."""

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
    """The whole. Times are seconds since the epoch; `project` is the name of the folder, not its path."""

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
# What says most about a call, the first of them that it has.
_TELLING = (
    "command path file_path old_path paths pattern query url question handle name key glob job revision fact error "
    "patch"
).split()


def format_minute(seconds: float) -> str:
    """The date and the minute in UTC; empty where there is no such time."""
    return _format(seconds, "%Y-%m-%d %H:%M")


def format_clock(seconds: float) -> str:
    """The time of the day in UTC."""
    return _format(seconds, "%H:%M:%S")


def format_machine_time(seconds: float) -> str:
    """The time as a machine reads it, RFC 3339."""
    return _format(seconds, "%Y-%m-%dT%H:%M:%SZ")


def _format(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.gmtime(seconds)) if seconds > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""


def format_span(seconds: float) -> str:
    """How long something took: "0.3 s", "4 min", "2 h 5 min", "3 days"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} days"


def format_tokens(usage: Usage) -> str:
    """What one request cost."""
    cached = describe_cache_use(usage.cached_tokens, usage.cache_write_tokens)
    return f"{usage.prompt_tokens:,} in{cached} · {usage.completion_tokens:,} out"


def describe_trim(cut: ExportedTrim) -> str:
    """What a trim did, in one line."""
    done: list[str] = []
    if cut.messages:
        done.append(f"{format_count(cut.messages, 'message')} left the model's window")
    if cut.shrunk:
        done.append(f"{format_count(cut.shrunk, 'message')} shortened in it")
    if cut.freed_tokens > 0:
        done.append(f"about {cut.freed_tokens:,} tokens freed")
    return ", ".join(done) or "the window was trimmed"


def format_call_title(call: ExportedCall) -> str:
    """What a call was about, on one line: its operation and what it was done to."""
    given: Any = call.arguments
    if not isinstance(given, dict):
        return truncate_line(format_plain(given), TITLE_CHARS)
    arguments = cast("dict[str, Any]", given)
    parts = [str(arguments["operation"])] if isinstance(arguments.get("operation"), str) else []
    telling = next((key for key in _TELLING if arguments.get(key)), None)
    if telling is not None:
        text = format_plain(arguments[telling])
        parts.append(_short_path(text) if "path" in telling else text)
    elif not parts:
        parts = [format_plain(value) for value in arguments.values() if isinstance(value, (str, int, float))]
    return truncate_line(" ".join(parts), TITLE_CHARS)


def format_named_call(call: ToolCall) -> str:
    """A call as a message keeps it: the tool's name and what it was about."""
    arguments: Any
    try:
        arguments = decode_json(call.arguments)
    except msgspec.DecodeError:
        arguments = call.arguments
    return f"{call.name} {format_call_title(ExportedCall(id=call.id, name=call.name, arguments=arguments))}".strip()


def _short_path(path: str) -> str:
    """A long path by its last folders, which tell more than its first."""
    if len(path) <= _PATH_CHARS or "\n" in path:
        return path
    cut = path.find("/", len(path) - _PATH_CHARS)
    return "…" + (path[cut:] if cut >= 0 else path[-_PATH_CHARS:])


def format_plain(value: Any) -> str:
    """A JSON value as a person reads it: texts as they are, lists of words in a row, all else as indented JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and all(isinstance(item, str) and "\n" not in item and len(item) <= TITLE_CHARS for item in items):
            return ", ".join(items)
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8")
