"""Rules of the prompt line: when a line is finished, signs such as `!` and `#`, large pastes. Pure."""

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_OPENERS.values())
_FACE = re.compile(r"[:;=8][-o^']?[(\[{]")  # ":-(" opens nothing
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
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


_MEMORY = re.compile(r"#(?![#!\d])\s*(\S.*)")


class ShellLine(Struct, frozen=True, kw_only=True):
    """A command a person typed. offers: its output goes with their next message."""

    command: str
    offers: bool


def shell_line(text: str) -> ShellLine | None:
    """The command of a line such as `!git status` or, not to be offered, `!!git status`; None for any other line."""
    command = text.removeprefix("!").removeprefix("!").strip()
    if not text.startswith("!") or not command:
        return None
    return ShellLine(command=command, offers=not text.startswith("!!"))


def memory_line(text: str) -> str:
    """What a line such as `#we deploy on Fridays` is to keep; "" for any other.

    `#12` is an issue's number, `##` a heading, and what has several lines is a message.
    """
    match = _MEMORY.fullmatch(text)
    return match[1].strip() if match else ""


def sign_hint(text: str) -> str:
    """What Enter will do with such a line; "" for a message."""
    if line := shell_line(text):
        return "Enter runs this; the output goes with your next message" if line.offers else "Enter runs this"
    return "Enter keeps this as a memory" if memory_line(text) else ""


MAX_CHARS = 4_000
MAX_LINES = 40


class Pastes:
    """What was pasted into the lines of this run, by its stand-in."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, data: str) -> str:
        """What to put on the line for pasted text: the text, or its stand-in where it would fill the screen."""
        text = data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= MAX_CHARS and lines <= MAX_LINES:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        stand_in = f"[pasted text {len(self._texts) + 1}: {size}]"
        self._texts[stand_in] = text
        return stand_in

    def expand(self, line: str) -> str:
        """The line with every stand-in replaced by what it stands for."""
        for stand_in, text in self._texts.items():
            line = line.replace(stand_in, text)
        return line

    def collapse(self, text: str) -> str:
        """The text with every paste that still stands in it as its stand-in again; the opposite of `expand`."""
        for stand_in, pasted in self._texts.items():
            text = text.replace(pasted.rstrip("\n") or pasted, stand_in)
        return text

    def ends_with(self, line: str) -> int:
        """How many characters at the end of the line are one stand-in; 0 where it ends with something else."""
        return next((len(stand_in) for stand_in in self._texts if line.endswith(stand_in)), 0)
