"""Count the reads that trims forced: of lines that an earlier result showed, until a trim dropped it. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NUMBERED = re.compile(r"(?m)^ *(\d+)\|")


def count_forced_rereads(events: Iterable[Mapping[str, Any]], lost_by_trim: Mapping[str, Iterable[str]]) -> int:
    """The reads that show at least one line a trim had dropped and nothing else in the window still shows.

    Args:
        events: of one session, in order, as `--output stream-json` writes them.
        lost_by_trim: for each trim's handle, the ids of the messages that left the window or were cut.

    A file that was changed after the trim does not count: it had to be read again in any case.
    """
    asked: dict[str, str] = {}
    visible: dict[str, tuple[str, set[int]]] = {}  # id of the result: path and lines
    lost: dict[str, set[int]] = {}
    forced = 0
    for event in events:
        kind = event.get("type")
        if kind == "context_trimmed":
            for message_id in lost_by_trim.get(str(event.get("handle")), ()):
                if message_id in visible:
                    path, lines = visible.pop(message_id)
                    lost.setdefault(path, set()).update(lines)
        elif kind == "tool_finished":
            for path in event.get("files_changed", ()):
                lost.pop(path, None)
        elif kind == "message":
            message = event["message"]
            for call in message.get("tool_calls", ()):
                if call["name"] == "read_file":
                    asked[call["id"]] = _read_path(call["arguments"])
            if message.get("role") == "tool" and asked.get(message["tool_call_id"]):
                path = asked[message["tool_call_id"]]
                lines = {int(number) for number in _NUMBERED.findall(message.get("content", ""))}
                still = set[int]().union(*(shown for name, shown in visible.values() if name == path))
                forced += bool((lines & lost.get(path, set())) - still)
                lost.get(path, set()).difference_update(lines)
                visible[message["id"]] = (path, lines)
    return forced


def _read_path(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["path"]).removeprefix("./")
    except (ValueError, KeyError, TypeError):
        return ""
