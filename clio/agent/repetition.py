"""Notices a model that makes the same call again and again with the same result, tells it, and ends the turn."""

from typing import Any

import msgspec
from msgspec import Struct

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.messages import ToolCall, ToolMessage

HINT_AT = 2
"""Identical failures after which the model is told what to change."""
STOP_AT = 4
"""Identical failures that end the turn."""
UNCHANGED_HINT_AT = 3
UNCHANGED_STOP_AT = 12
"""Identical successful calls with an unchanged result: told, and ended."""

_TIMING = LatePattern(r"\b(?:in|Time:|after)\s+\d+\.\d+ ?m?s\b|\b\d+\.\d{2,}s\b")
"""How long a command, a compiler or a test run took, as they print it: not a different result."""
_WAITS = LatePattern(
    r"(?:^|[;&|({\n`]|\b(?:do|then|else|kubectl|docker|podman|run)\b)\s*"
    r"(?:sleep|usleep|wait|watch|until|Start-Sleep)\b|\.sleep\(|--(?:wait|watch|follow)\b"
)
_ADVICE = {
    "edit_file": "Copy the lines shown above as old_string, or read that part of the file again and quote fewer lines.",
    "apply_patch": "Copy the lines shown above into the hunk, or read that part of the file again; send fewer lines.",
    "write_file": "Read the file first, or do what the message above says.",
    "run_command": "Change the command or what it works on; to wait for something, wait in the command.",
    "read_file": "Use list_files or find_files to see which files there are.",
    "search_text": "Change the pattern, the path or the glob.",
    "job_output": "Use wait_s to wait for the job.",
}
_GENERAL = "Change the arguments, or go another way."


class Judged(Struct, frozen=True, kw_only=True):
    """What to do about one result. hint: to be put below it, "" for nothing. stop: why the turn is to end, or ""."""

    hint: str = ""
    stop: str = ""


class _Seen(Struct):
    """One call: its newest result, and how often in a row of its own it was the same."""

    result: str
    ok: bool
    step: int
    count: int = 1


class RepetitionGuard:
    """Counts identical calls with identical results over the steps of one turn.

    A call that may have changed something, or a wait, lies between: the count begins again. Calls of one step count
    once, as the model has not seen their results.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}

    def judge(self, call: ToolCall, result: ToolMessage, *, step: int, changes: bool) -> Judged:
        """Take note of a result. changes: whether the call may have changed anything, as far as its tool says."""
        arguments = _decode(call.arguments)
        key = (call.name, repr(sorted(arguments.items())) if arguments else call.arguments)
        text = _TIMING.sub("", result.content)
        if _waits(call.name, arguments):
            self._seen.clear()  # things may stand otherwise after a wait
            return Judged()
        seen = self._seen.get(key)
        if changes and result.ok:
            self._seen = {key: seen} if seen is not None else {}
        if seen is None or (seen.result, seen.ok) != (text, result.ok):
            self._seen[key] = _Seen(result=text, ok=result.ok, step=step)
            return Judged()
        if seen.step != step:
            seen.count, seen.step = seen.count + 1, step
        return _failed(call, result, seen.count) if not result.ok else _unchanged(call, seen.count)


def _failed(call: ToolCall, result: ToolMessage, count: int) -> Judged:
    if count >= STOP_AT:
        return Judged(stop=f"{call.name} failed {count} times in the same way: {result.summary}")
    if count < HINT_AT:
        return Judged()
    left = STOP_AT - count
    last = "the next one like it ends the turn" if left == 1 else f"{left} more like it end the turn"
    return Judged(hint=f"[This is the same call as before with the same failure; {last}. {_advice(call)}]")


def _unchanged(call: ToolCall, count: int) -> Judged:
    if count >= UNCHANGED_STOP_AT:
        return Judged(stop=f"{call.name} was called {count} times in the same way, with the same result each time")
    if count < UNCHANGED_HINT_AT:
        return Judged()
    advice = _ADVICE["job_output"] if call.name == "job_output" else "Go on with what it says, or go another way."
    return Judged(hint=f"[Called {count} times in the same way, and the result is the same each time. {advice}]")


def _waits(name: str, arguments: dict[str, Any]) -> bool:
    if name == "run_command":
        return bool(_WAITS.search(str(arguments.get("command", ""))))
    return name == "ask_user" or bool(arguments.get("wait_s"))


def _decode(arguments: str) -> dict[str, Any]:
    try:
        return decode_json(arguments, dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _advice(call: ToolCall) -> str:
    return _ADVICE.get(call.name, _GENERAL)
