"""Messages that must stay together, and shortened views of them: one line, both ends, a range of lines.

Pure functions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.text.formatting import shorten_line
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.tokens import message_units

LineRange = tuple[int, int]
"""First and last line, counted from 1, both included."""

_ROW = LazyRegex(r"^[ \t]*(\d{1,9})(?:\||\t|→|: )", 8)  # re.MULTILINE
_PARTIAL = LazyRegex(r"^\[.*go on with |^\[… [\d,]+ (?:lines|characters)", 8)
_MOST_SHOWN, _HEAD_CHARS = 4, 400


def parse_shown_ranges(text: str) -> tuple[LineRange, ...]:
    """Return the line ranges that a numbered listing such as `  12|text` shows; empty for other text."""
    if not _ROW.search(text, 0, _HEAD_CHARS):
        return ()
    rows = [int(number) for number in _ROW.findall(text)]
    # A log whose lines begin with numbers is no listing of a file.
    if len(rows) * 2 < text.count("\n"):
        return ()
    return join_ranges((row, row) for row in rows)


def is_whole_file(listing: str, shown: Sequence[LineRange]) -> bool:
    """Whether a listing that shows these lines starts with the first line and mentions no further ones."""
    return bool(shown) and shown[0][0] == 1 and not _PARTIAL.search(listing)


def join_ranges(ranges: Iterable[LineRange]) -> tuple[LineRange, ...]:
    """Return the same lines as ascending ranges that neither overlap nor touch."""
    joined: list[LineRange] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def count_lines(ranges: Iterable[LineRange]) -> int:
    """Return the number of lines in ranges that do not overlap."""
    return sum(last - first + 1 for first, last in ranges)


def intersect_ranges(some: Sequence[LineRange], others: Sequence[LineRange]) -> tuple[LineRange, ...]:
    """Return the lines that are in both."""
    return tuple((max(a, c), min(b, d)) for a, b in some for c, d in others if max(a, c) <= min(b, d))


def describe_ranges(ranges: Sequence[LineRange]) -> str:
    """Return a description such as "lines 1-40 and 80"; of many ranges, the first ones and the number of others."""
    names = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if not names:
        return ""
    if len(names) > _MOST_SHOWN:
        names[_MOST_SHOWN - 1 :] = [f"{len(names) - _MOST_SHOWN + 1} more ranges"]
    word = "line" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "lines"
    return f"{word} {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


_ASSENT = frozenset(
    "yes y yep yeah ok okay sure go continue proceed next more please thanks thank you do it that on ahead and now "
    "good great fine right correct perfect sounds keep going carry again retry k no n stop".split()
)


class Unit(Struct, frozen=True, kw_only=True):
    """Messages that are kept or dropped together, in sending order, and their weight (see clio.tokens)."""

    messages: tuple[Message, ...]
    weight: float

    @property
    def first_id(self) -> str:
        """Id of its first message."""
        return self.messages[0].id

    @property
    def is_step(self) -> bool:
        """Whether it is an assistant message with tool calls, together with their results."""
        return len(self.messages) > 1


def split_units(messages: Iterable[Message], weigh: Callable[[Message], float]) -> list[Unit]:
    """Split a conversation into units, oldest first, repaired so that every server accepts them.

    Each result directly follows its call, in the order of the calls, however late it came. Calls without a result,
    results without a call, second results for a call and second calls with the same id in one message are dropped. An
    answer without text and calls is not a unit.
    """
    listed = list(messages)
    results = _find_first_results(listed)
    units: list[Unit] = []
    for message in listed:
        if isinstance(message, ToolMessage):
            continue  # it is placed with its call
        if isinstance(message, AssistantMessage) and (message.tool_calls or not message.content.strip()):
            group = _pair_with_results(message, results)
            if group:
                units.append(Unit(messages=group, weight=sum(map(weigh, group))))
        else:
            units.append(Unit(messages=(message,), weight=weigh(message)))
    return units


def _find_first_results(messages: Sequence[Message]) -> dict[tuple[str, str], ToolMessage]:
    """Return the first result of each call, by the id of the message with the call and the id of the call.

    Some servers count call ids from zero in every answer, so an id means the newest call that has it.
    """
    newest_caller: dict[str, str] = {}
    found: dict[tuple[str, str], ToolMessage] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            newest_caller.update((call.id, message.id) for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.tool_call_id in newest_caller:
            found.setdefault((newest_caller[message.tool_call_id], message.tool_call_id), message)
    return found


def _pair_with_results(message: AssistantMessage, results: dict[tuple[str, str], ToolMessage]) -> tuple[Message, ...]:
    if len(message.tool_calls) == 1:  # fast path: most messages have one call
        result = results.get((message.id, message.tool_calls[0].id))
        if result is not None:
            return (message, result)
    calls_with_result = tuple(
        {call.id: call for call in message.tool_calls if (message.id, call.id) in results}.values()
    )
    # Servers refuse an assistant message with neither text nor calls.
    if not calls_with_result and not message.content.strip():
        return ()
    if len(calls_with_result) < len(message.tool_calls):
        message = msgspec.structs.replace(message, tool_calls=calls_with_result)
    return (message, *(results[message.id, call.id] for call in calls_with_result))


def find_tail_start(units: Sequence[Unit], budget: float) -> int:
    """Return the index of the first unit of the longest tail within a weight; the newest unit is always included."""
    left = budget
    for index in range(len(units) - 1, -1, -1):
        left -= units[index].weight
        if left < 0:
            return min(index + 1, len(units) - 1)
    return 0


def find_recent_start(units: Sequence[Unit], steps: int) -> int:
    """Return the index of the first of the last `steps` steps, but go back over at most twice as many user messages."""
    start, step_count, user_count = len(units), 0, 0
    for index in range(len(units) - 1, -1, -1):
        if step_count == steps or user_count == 2 * steps:
            break
        if units[index].is_step:
            step_count += 1
            start = index
        elif isinstance(units[index].messages[0], UserMessage):
            user_count += 1
    return start


def find_task_index(units: Sequence[Unit]) -> int | None:
    """Return the index of the newest user message that states the task; None if the user has not written anything yet.

    Replies such as "yes" and "go on" do not state a task; if there is nothing else, the newest of them is used.
    Messages generated by clio are ignored.
    """
    newest: int | None = None
    for index in range(len(units) - 1, -1, -1):
        message = units[index].messages[0]
        if isinstance(message, UserMessage) and message.origin == "user":
            # After "yes, go on" the task is still the one stated before.
            if is_substantive(message.content):
                return index
            newest = index if newest is None else newest
    return newest


def is_substantive(text: str) -> bool:
    """Whether a user's text says more than "yes", "go on" and the like; a long text always does."""
    words = [word.strip(".,;:!?…'\"()") for word in text.casefold().split()]
    return any(word and word not in _ASSENT for word in words) or len(words) > 8


STALE, FIXED_LATER, ROUTINE, OLD_SEARCH, OLD_RECALL = 0, -1, -2, -3, -4
"""Reasons for showing an output as one line; stored in place of its number of characters, so never positive.

In this order: a later call superseded the output; the edit failed and a later one succeeded; the command succeeded and
printed only progress; an earlier search; an earlier recall from memory.
"""
MIN_TEXT_CHARS = 160
"""No text is cut shorter than this, because its beginning and end would be too short to be useful."""
MIN_REPLACED_CHARS = 400
"""Characters. Replacing shorter outputs by one line would free almost nothing."""
MIN_TOOL_CHARS = 600
"""Tool outputs alone are cut down to this length; below it, arguments and answers are cut too."""
_NOTICE_CHARS = 240
_GIST_CHARS = 120
_ARGUMENT_CHARS = 80
IMAGE_CHARS = 4_000
"""Length a picture in a tool's result counts as: it is left out when texts of this length are cut."""
_NO_IMAGE = "[its picture is left out; read it again to see it]"
_TRIES = 16


def make_call_key(message_id: str, call_id: str) -> str:
    """Return the key under which a cut of one call's arguments is recorded; cuts of messages use the message id."""
    return f"{message_id}#{call_id}"


def apply_cuts(message: Message, cuts: Mapping[str, int]) -> Message:
    """Return the message shortened as recorded in `cuts`; the same object if nothing is recorded for it."""
    if isinstance(message, AssistantMessage) and message.tool_calls:
        calls = tuple(
            _abbreviate_arguments(call) if make_call_key(message.id, call.id) in cuts else call
            for call in message.tool_calls
        )
        if calls != message.tool_calls:
            message = msgspec.structs.replace(message, tool_calls=calls)
    chars = cuts.get(message.id)
    return message if chars is None else shorten_message(message, chars)


def shorten_message(message: Message, chars: int) -> Message:
    """Return a copy of a message in which no long text exceeds `chars` characters.

    Tool outputs, answers and each string in the arguments of calls are shortened; the user's text is unchanged. If
    `chars` is STALE or another of these reasons, a tool output is replaced by one line.
    """
    match message:
        case ToolMessage():
            text = (
                _render_placeholder(message, chars)
                if chars <= STALE
                else cut_text(message.content, chars, _describe_retrieval(message))
            )
            if message.images and chars < IMAGE_CHARS:
                text, images = f"{text}\n{_NO_IMAGE}", ()
            else:
                images = message.images
            return msgspec.structs.replace(message, content=text, images=images)
        case AssistantMessage() if chars > STALE:
            way = _describe_retrieval(message)
            calls = tuple(_shorten_call(call, chars, way) for call in message.tool_calls)
            return msgspec.structs.replace(message, content=cut_text(message.content, chars, way), tool_calls=calls)
        case _:
            return message


def cut_text(text: str, chars: int, way: str) -> str:
    """Return the beginning and end of a long text with a notice between them; a short text is returned whole.

    Args:
        chars: characters of the text to keep, not counting the notice.
        way: how to get the rest; part of the notice.
    """
    if len(text) <= chars + _NOTICE_CHARS:
        return text
    # Both ends: outputs of commands have their result at the end.
    head, tail = chars * 3 // 5, chars - chars * 3 // 5
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out; {way} …]\n{text[len(text) - tail :]}"


def fit_units(
    units: Sequence[Unit],
    limit: float,
    whole: Callable[[Message], Message],
    *,
    floor: int = MIN_TEXT_CHARS,
    most: float = 0.0,
) -> dict[str, int]:
    """Return the length in characters to which each message must be cut for the units to weigh at most `limit`.

    All texts are cut to one common length, tool outputs first, so the largest are cut most and short ones stay whole.
    If that is not enough, the result is the smallest possible.

    Args:
        whole: returns the stored message for a view of it.
        floor: minimum length of a text.
        most: weight the units may have if that leaves one more text whole.
    """
    messages = [message for unit in units for message in unit.messages]
    weights = {message.id: message_units(message) for message in messages}
    cuts: dict[str, int] = {}
    # Outputs can be read again in full; arguments and answers are cut only where that is not enough.
    for least, kinds in ((max(MIN_TOOL_CHARS, floor), (ToolMessage,)), (floor, (ToolMessage, AssistantMessage))):
        total = sum(weights.values())
        if total <= limit:
            break
        candidates = [each for each in messages if isinstance(each, kinds) and measure_longest_text(each) > least]
        more = (limit - total, max(limit, most) - total)
        weights |= _cut_to_common_length(candidates, least, more, weights, cuts, whole)
    return cuts


def _cut_to_common_length(
    candidates: Sequence[Message],
    least: int,
    more: tuple[float, float],
    weights: Mapping[str, float],
    cuts: dict[str, int],
    whole: Callable[[Message], Message],
) -> dict[str, float]:
    """Cut the candidates to the greatest common length that reduces the total weight enough.

    The weight must change by at most `more[0]`, which is negative, or by at most `more[1]` if that leaves one more text
    whole. Adds the cuts to `cuts`; returns the new weights.
    """
    spare, most = more

    def at(length: int) -> dict[str, float]:
        long = (each for each in candidates if measure_longest_text(each) > length)
        return {each.id: min(message_units(shorten_message(whole(each), length)), weights[each.id]) for each in long}

    def gain(found: Mapping[str, float]) -> float:
        return sum(weight - weights[id] for id, weight in found.items())

    low, high = least, max(map(measure_longest_text, candidates), default=least)
    best = at(low)
    # Bisection: 16 steps find the length to the character for texts of up to 65,000.
    for _ in range(_TRIES):
        if high - low <= 1 or gain(best) > spare:
            break
        middle = (low + high) // 2
        found = at(middle)
        low, high, best = (middle, high, found) if gain(found) <= spare else (low, middle, best)
    over = most - gain(best)
    cut = {id: weight for id, weight in best.items() if weight < weights[id]}
    for id in sorted(cut, key=lambda id: weights[id] - cut[id]):  # texts that nearly fit stay whole
        missing = weights[id] - cut[id]
        if missing > over:
            break
        over -= missing
        del cut[id]
    cuts |= dict.fromkeys(cut, low)
    return cut


def measure_longest_text(message: Message) -> int:
    """Return the characters of the longest text in a message that may be cut."""
    if isinstance(message, AssistantMessage):
        return max([len(message.content), *(len(call.arguments) for call in message.tool_calls)])
    if isinstance(message, ToolMessage):
        return max(len(message.content), IMAGE_CHARS if message.images else 0)
    return 0


def _render_placeholder(message: ToolMessage, why: int) -> str:
    """Return the line that replaces an output that is no longer needed; it says how to get the whole output."""
    count = len(message.content)
    if count < MIN_REPLACED_CHARS:  # the result is here because of its picture; its short text stays
        return message.content
    omitted = f"{count:,} characters left out"
    match why:
        case -1:
            description = (
                f"failed: {_shorten_gist(message.content.strip().partition(chr(10))[0])}; fixed later; {omitted}"
            )
        case -2:
            description = f"succeeded: {_shorten_gist(_result_line(message.content))}; {omitted}"
        case -3:
            description = f"an earlier search{_summary(message)}; {omitted}"
        case -4:
            description = f"recalled earlier{_summary(message)}; {omitted}"
        case _:
            description = f"{omitted}: a later call gave the newer state"
    return f"[{description}; {_describe_retrieval(message)}]"


def _result_line(output: str) -> str:
    """Return the line of an output that states the result: the closing line of a test run, otherwise the last line."""
    from clio.context.command_results import parse_test_report

    report = parse_test_report(output)
    return report.counts if report is not None else output.rstrip().rpartition("\n")[2]


def _summary(message: ToolMessage) -> str:
    return f": {_shorten_gist(message.summary)}" if message.summary else ""


def _shorten_gist(text: str) -> str:
    return shorten_line(text.strip("=- "), _GIST_CHARS)


def _abbreviate_arguments(call: ToolCall) -> ToolCall:
    """Return the call with its long arguments replaced by a note; still valid JSON of the same shape.

    Used for calls that failed, because their arguments had no effect.
    """
    if len(call.arguments) < MIN_REPLACED_CHARS:
        return call
    return msgspec.structs.replace(call, arguments=_encode_json(_abbreviate_value(_decode_arguments(call.arguments))))


def _abbreviate_value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _ARGUMENT_CHARS else f"[{len(value):,} characters left out]"
    if isinstance(value, dict):
        return {key: _abbreviate_value(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [*map(_abbreviate_value, items[:1]), f"[{len(items) - 1:,} left out]"] if len(items) > 1 else items
    return value


def _describe_retrieval(message: Message) -> str:
    if isinstance(message, ToolMessage) and message.blob:
        return f'whole: read_output(handle="{message.blob}")'
    return f'whole: memory_operations(operation="read_messages", from="{message.id}")'


def _shorten_call(call: ToolCall, chars: int, way: str) -> ToolCall:
    """Return the call with long strings in its arguments cut; still valid JSON of the same shape."""
    if len(call.arguments) <= chars + _NOTICE_CHARS:
        return call
    texts = _shorten_value(_decode_arguments(call.arguments), chars, way)
    return msgspec.structs.replace(call, arguments=_encode_json(texts))


def _decode_arguments(text: str) -> dict[str, Any]:
    try:
        arguments = decode_json(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        arguments = None
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {"invalid_json": text}


def _shorten_value(value: Any, chars: int, way: str) -> Any:
    if isinstance(value, str):
        return cut_text(value, chars, way)
    if isinstance(value, dict):
        return {key: _shorten_value(item, chars, way) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if len(_encode_json(items)) > chars + _NOTICE_CHARS and len(items) > 1:
            return [*(_shorten_value(item, chars // 2, way) for item in items[:1]), f"[… {len(items) - 1:,} left out]"]
        return [_shorten_value(item, chars, way) for item in items]
    return value


def _encode_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which the request could not contain either
        return msgspec.json.encode(repr(value)).decode("utf-8")
