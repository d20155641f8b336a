"""Count the reads that trims caused: reads of lines that an earlier result had shown, until a trim dropped it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NUMBERED = re.compile(r"(?m)^ *(\d+)\|")


def count_forced_rereads(events: Iterable[Mapping[str, Any]], lost_by_trim: Mapping[str, Iterable[str]]) -> int:
    """Count the reads that show a line that a trim had dropped and that no other result in the window shows.

    Args:
        events: of one session, in order, as `--output stream-json` writes them.
        lost_by_trim: the ids of the messages that were dropped or shortened, by the handle of the trim.

    Reads of a file that was changed after the trim do not count, because they are necessary in any case.
    """
    read_paths: dict[str, str] = {}
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
                    read_paths[call["id"]] = _read_path(call["arguments"])
            if message.get("role") == "tool" and read_paths.get(message["tool_call_id"]):
                path = read_paths[message["tool_call_id"]]
                lines = {int(number) for number in _NUMBERED.findall(message.get("content", ""))}
                still_visible = set[int]().union(*(shown for name, shown in visible.values() if name == path))
                forced += bool((lines & lost.get(path, set())) - still_visible)
                lost.get(path, set()).difference_update(lines)
                visible[message["id"]] = (path, lines)
    return forced


def _read_path(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["path"]).removeprefix("./")
    except (ValueError, KeyError, TypeError):
        return ""
