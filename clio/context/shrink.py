"""Shorter views of messages: what a later call has made stale, and what is too large to be sent whole. Pure.

Only copies are made shorter; the session keeps every message whole, and the copy says how to get at it. The same
message and the same length give the same copy, so that requests repeat it byte for byte.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from clio.algorithms.json_data import decode_json
from clio.context.units import Unit
from clio.messages import UNCHANGED, AssistantMessage, Message, ToolCall, ToolMessage

STALE = 0
"""Characters shown of what a later call has superseded: a placeholder of one line."""
LEAST_CHARS = 160
"""No text is cut shorter than this; head, notice and tail would say nothing."""
_WORTHWHILE = 400  # characters; a placeholder in place of less would free next to nothing
_TOOL_FLOOR = 600  # down to here tool outputs alone give way, then arguments and answers too
_NOTICE_CHARS = 240
IMAGE_CHARS = 4_000
"""What a picture of a tool's result counts as: it is left out where texts of that length are cut."""
_NO_IMAGE = "[its picture is left out; read it again to see it]"
_READERS = frozenset({"read_file", "read", "view", "open_file", "cat"})
_REPEATED = _READERS | {
    *("run_command", "bash", "shell", "terminal_operations", "execute", "git", "version_control", "web_fetch"),
    *("search_text", "grep", "rg", "find_files", "glob", "list_files", "ls", "list_dir", "file_operations"),
    *("read_output", "todo_operations"),
}
_PATHS = ("path", "file_path", "filename", "file")
_IRRELEVANT = ("timeout_s", "timeout", "description", "background")
_COVERED = 0.9  # share of an earlier reading's lines that a later one must repeat to make it stale

Key = tuple[str, str]


def stale_results(units: Sequence[Unit]) -> list[str]:
    """Ids of the outputs a later one in the same units supersedes, oldest first.

    The same call made again, or a later reading of the same file that shows (nearly) every line of the earlier one.
    """
    again: set[Key] = set()
    readings: dict[str, list[ToolMessage]] = {}
    found: list[str] = []
    for call, result in reversed(list(_exchanges(units))):
        if call.name not in _REPEATED or result.summary == UNCHANGED:
            continue
        is_reading = call.name in _READERS
        key = (call.name, _canonical(call))
        if len(result.content) < _WORTHWHILE and not result.images:
            again |= {key} if result.ok or not is_reading else set()
        elif key in again:
            found.append(result.id)
        elif not is_reading:
            again.add(key)
        elif result.ok:
            again.add(key)
            later = readings.setdefault(_path(_arguments(call)), [])
            if any(_covers(each, result) for each in later):
                found.append(result.id)
            else:
                later.append(result)
    return found[::-1]


def shortened(message: Message, chars: int) -> Message:
    """The view of a message in which no long text shows more than `chars` characters; STALE gives a placeholder.

    Of tool results the output, of answers the words and each text in the arguments of the calls. The user's words
    are returned as they are.
    """
    match message:
        case ToolMessage():
            text = _placeholder(message) if chars == STALE else cut_text(message.content, chars, _way(message))
            if message.images and chars < IMAGE_CHARS:
                text, images = f"{text}\n{_NO_IMAGE}", ()
            else:
                images = message.images
            return msgspec.structs.replace(message, content=text, images=images)
        case AssistantMessage() if chars > STALE:
            way = _way(message)
            calls = tuple(_shorter_call(call, chars, way) for call in message.tool_calls)
            return msgspec.structs.replace(message, content=cut_text(message.content, chars, way), tool_calls=calls)
        case _:
            return message


def cut_text(text: str, chars: int, way: str) -> str:
    """Head and tail of a text with a notice between, at most `chars` characters beside the notice; whole if shorter.

    way: how to get at the rest.
    """
    if len(text) <= chars + _NOTICE_CHARS:
        return text
    head, tail = chars * 3 // 5, chars - chars * 3 // 5
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out; {way} …]\n{text[len(text) - tail :]}"


def fit_units(units: Sequence[Unit], limit: float, weigh: Callable[[Message], float]) -> dict[str, int]:
    """How far to cut which messages for the units to weigh at most `limit`; as far as that goes where it does not.

    Returns characters by message id. Every text longer than a common length gives way, tool outputs first; so the
    largest give the most, and what is short stays whole.
    """
    messages = [message for unit in units for message in unit.messages]
    total = sum(map(weigh, messages))
    cuts: dict[str, int] = {}
    for floor, kinds in ((_TOOL_FLOOR, (ToolMessage,)), (LEAST_CHARS, (ToolMessage, AssistantMessage))):
        candidates = [message for message in messages if isinstance(message, kinds)]
        length = max((longest_text(message) for message in candidates), default=0)
        while total > limit and length > floor:
            length = max(length * 2 // 3, floor)
            total = _apply(candidates, length, cuts, total, weigh)
    return cuts


def longest_text(message: Message) -> int:
    """Characters of the longest text in a message that may be cut."""
    if isinstance(message, AssistantMessage):
        return max([len(message.content), *(len(call.arguments) for call in message.tool_calls)])
    if isinstance(message, ToolMessage):
        return max(len(message.content), IMAGE_CHARS if message.images else 0)
    return 0


def _apply(
    messages: Iterable[Message], length: int, cuts: dict[str, int], total: float, weigh: Callable[[Message], float]
) -> float:
    """Cut to `length` where that is shorter, noting it in `cuts`; the new total weight."""
    for message in messages:
        if longest_text(message) <= length:
            continue
        before = shortened(message, cuts[message.id]) if message.id in cuts else message
        after = shortened(message, length)
        saved = weigh(before) - weigh(after)
        if saved > 0:
            cuts[message.id] = length
            total -= saved
    return total


def _placeholder(message: ToolMessage) -> str:
    count = len(message.content)
    if count < _WORTHWHILE:  # a picture: its text is kept
        return message.content
    return f"[{count:,} characters left out: a later call gave the newer state; {_way(message)}]"


def _way(message: Message) -> str:
    if isinstance(message, ToolMessage) and message.blob:
        return f'whole: read_output(handle="{message.blob}")'
    return f'whole: memory_operations(operation="recall_messages", from="{message.id}")'


def _shorter_call(call: ToolCall, chars: int, way: str) -> ToolCall:
    """The call with long texts inside its arguments cut; still valid JSON of the same shape."""
    if len(call.arguments) <= chars + _NOTICE_CHARS:
        return call
    try:
        arguments = decode_json(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"invalid_json": call.arguments}
    texts = _shorter_value(cast("dict[str, Any]", arguments), chars, way)
    return msgspec.structs.replace(call, arguments=_encoded(texts))


def _shorter_value(value: Any, chars: int, way: str) -> Any:
    if isinstance(value, str):
        return cut_text(value, chars, way)
    if isinstance(value, dict):
        return {key: _shorter_value(item, chars, way) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if len(_encoded(items)) > chars + _NOTICE_CHARS and len(items) > 1:
            return [*(_shorter_value(item, chars // 2, way) for item in items[:1]), f"[… {len(items) - 1:,} left out]"]
        return [_shorter_value(item, chars, way) for item in items]
    return value


def _encoded(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which the request could not carry either
        return msgspec.json.encode(repr(value)).decode("utf-8")


def _exchanges(units: Sequence[Unit]) -> Iterator[tuple[ToolCall, ToolMessage]]:
    for unit in units:
        head, results = unit.messages[0], unit.messages[1:]
        if results and isinstance(head, AssistantMessage):
            by_id = {result.tool_call_id: result for result in results if isinstance(result, ToolMessage)}
            yield from ((call, by_id[call.id]) for call in head.tool_calls if call.id in by_id)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = decode_json(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


def _canonical(call: ToolCall) -> str:
    """The arguments without those that do not change what is asked, such as a time limit."""
    if not any(f'"{name}"' in call.arguments for name in _IRRELEVANT):
        return call.arguments
    wanted = {key: value for key, value in _arguments(call).items() if key not in _IRRELEVANT}
    return msgspec.json.encode(wanted, order="sorted").decode("utf-8")


def _path(arguments: dict[str, Any]) -> str:
    return next((str(arguments[key]) for key in _PATHS if isinstance(arguments.get(key), str)), "")


def _covers(later: ToolMessage, earlier: ToolMessage) -> bool:
    lines = set(earlier.content.splitlines())
    return len(lines & set(later.content.splitlines())) >= _COVERED * len(lines)
