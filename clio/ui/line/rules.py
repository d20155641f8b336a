"""When a typed line is finished, and what may be shown under it: pure rules of the prompt line."""

import re
import unicodedata
from collections.abc import Sequence

from clio.text.lazy_regex import LazyRegex

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_OPENERS.values())
_FACE = LazyRegex(r"[:;=8][-o^']?[(\[{]")  # ":-(" opens nothing
_CODE = LazyRegex(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MAX_CHECKED = 20_000  # characters; a longer text was pasted, not typed, and is sent as it is


def open_part(text: str) -> str:
    """What the text still lacks: "```", an open bracket, a backslash, or "" when it is complete and Enter sends it.

    Open brackets wait for their end or for an empty line, an open ``` fence for its end or for two empty lines, a
    backslash at the end for one more line. Brackets inside of `code` and faces such as ":(" open nothing.
    """
    if text.lstrip().startswith(("/", "!")) or len(text) > _MAX_CHECKED:
        return ""
    if text.count("```") % 2:
        return "" if _ends_with_empty_lines(text, 2) else "```"
    if text.endswith("\\"):
        return "\\"
    bracket = _open_bracket(text)
    return "" if not bracket or _ends_with_empty_lines(text, 1) else bracket


def fit(parts: Sequence[str], width: int, joint: str = " · ") -> str:
    """The parts on one line of at most `width` columns; the last ones are left out first, the first is cut."""
    shown = [part for part in parts if part]
    while len(shown) > 1 and _columns(joint.join(shown)) > width:
        shown.pop()
    line = joint.join(shown)
    if _columns(line) <= width:
        return line
    while line and _columns(line) > width - 1:
        line = line[:-1]
    return line + "…"


def fit_counted(parts: Sequence[str], width: int, joint: str = "  ") -> str:
    """The parts on one line of at most `width` columns; the last ones are left out first, and counted."""
    shown = list(parts)
    for kept in range(len(parts) - 1, 0, -1):
        if _columns(joint.join(shown)) <= width:
            break
        shown = [*parts[:kept], f"+ {len(parts) - kept} more"]
    return fit(shown, width, joint)


def _columns(text: str) -> int:
    """What the text takes on a screen; a wide character takes two."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _ends_with_empty_lines(text: str, count: int) -> bool:
    lines = text.split("\n")
    return len(lines) > count and not any(line.strip() for line in lines[-count:])


def _open_bracket(text: str) -> str:
    """The innermost bracket that lacks its end; an end without a beginning, as in "a)", counts for nothing."""
    waiting: list[str] = []
    for char in _FACE.sub("", _CODE.sub("", text)):
        if char in _OPENERS:
            waiting.append(char)
        elif char in _CLOSERS and waiting and _OPENERS[waiting[-1]] == char:
            waiting.pop()
    return waiting[-1] if waiting else ""
