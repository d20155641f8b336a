"""Rules of the prompt line: when a line is complete, prefixes such as `!` and `#`, large pastes. Pure functions."""

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_OPENERS.values())
_EMOTICON = re.compile(r"[:;=8][-o^']?[(\[{]")  # the bracket of ":-(" opens nothing
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MAX_CHECKED_CHARS = 20_000  # characters; a longer text was pasted, not typed, and is sent as it is


def find_unfinished_part(text: str) -> str:
    """Return what the text still lacks: "```", an open bracket, a backslash, or "" if it is complete and Enter sends
    it.

    An open bracket waits for its end or for an empty line, an open ``` fence for its end or for two empty lines, a
    backslash at the end for one more line. Brackets inside of `code` and in faces such as ":(" are ignored.
    """
    if text.lstrip().startswith(("/", "!")) or len(text) > _MAX_CHECKED_CHARS:
        return ""
    if text.count("```") % 2:
        return "" if _ends_with_empty_lines(text, 2) else "```"
    if text.endswith("\\"):
        return "\\"
    bracket = _find_open_bracket(text)
    return "" if not bracket or _ends_with_empty_lines(text, 1) else bracket


def fit_parts(parts: Sequence[str], width: int, joint: str = " · ") -> str:
    """Join parts to one line of at most `width` columns; drop the last ones first, and truncate the first if needed."""
    shown = [part for part in parts if part]
    while len(shown) > 1 and _count_columns(joint.join(shown)) > width:
        shown.pop()
    line = joint.join(shown)
    if _count_columns(line) <= width:
        return line
    while line and _count_columns(line) > width - 1:
        line = line[:-1]
    return line + "…"


def fit_parts_counted(parts: Sequence[str], width: int, joint: str = "  ") -> str:
    """Join parts to one line of at most `width` columns; the last ones are dropped first, and counted."""
    shown = list(parts)
    for kept in range(len(parts) - 1, 0, -1):
        if _count_columns(joint.join(shown)) <= width:
            break
        shown = [*parts[:kept], f"+ {len(parts) - kept} more"]
    return fit_parts(shown, width, joint)


def _count_columns(text: str) -> int:
    """Return the text's width on a screen; a wide character takes two columns."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _ends_with_empty_lines(text: str, count: int) -> bool:
    lines = text.split("\n")
    return len(lines) > count and not any(line.strip() for line in lines[-count:])


def _find_open_bracket(text: str) -> str:
    """Return the innermost unclosed bracket; a closing bracket without an opening one, as in "a)", is ignored."""
    waiting: list[str] = []
    for char in _EMOTICON.sub("", _CODE.sub("", text)):
        if char in _OPENERS:
            waiting.append(char)
        elif char in _CLOSERS and waiting and _OPENERS[waiting[-1]] == char:
            waiting.pop()
    return waiting[-1] if waiting else ""


_MEMORY = re.compile(r"#(?![#!\d]|(?:file|folder|codebase):)\s*(\S.*)")


class ShellLine(Struct, frozen=True, kw_only=True):
    """A shell command typed by the user. offers: its output is added to the next message."""

    command: str
    is_output_shared: bool


def parse_shell_line(text: str) -> ShellLine | None:
    """Parse a line such as `!git status` or, without offering its output, `!!git status`; None for any other line."""
    command = text.removeprefix("!").removeprefix("!").strip()
    if not text.startswith("!") or not command:
        return None
    return ShellLine(command=command, is_output_shared=not text.startswith("!!"))


def parse_memory_line(text: str) -> str:
    """Return the text to remember from a line such as `#we deploy on Fridays`; "" for any other line.

    `#12` is an issue number, `##` a heading, `#file:a.py` a mention, and several lines are a message.
    """
    match = _MEMORY.fullmatch(text)
    return match[1].strip() if match else ""


def describe_line_prefix(text: str) -> str:
    """Return a hint for what Enter will do with such a line; "" for a message."""
    if line := parse_shell_line(text):
        return "Enter runs this; the output goes with your next message" if line.is_output_shared else "Enter runs this"
    return "Enter keeps this as a memory" if parse_memory_line(text) else ""


MAX_PASTE_CHARS = 4_000
MAX_PASTE_LINES = 40


class PastedTexts:
    """The texts pasted into lines of this run, by their placeholders."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def convert(self, data: str) -> str:
        """Return what to insert for pasted text: the text, or its placeholder if it would fill the screen."""
        text = data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= MAX_PASTE_CHARS and lines <= MAX_PASTE_LINES:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        stand_in = f"[pasted text {len(self._texts) + 1}: {size}]"
        self._texts[stand_in] = text
        return stand_in

    def expand(self, line: str) -> str:
        """Replace every placeholder in the line by its text."""
        for stand_in, text in self._texts.items():
            line = line.replace(stand_in, text)
        return line

    def collapse(self, text: str) -> str:
        """Replace every complete paste in the text by its placeholder; the inverse of `expand`."""
        for stand_in, pasted in self._texts.items():
            text = text.replace(pasted.rstrip("\n") or pasted, stand_in)
        return text

    def measure_final_placeholder(self, line: str) -> int:
        """Return the length of the placeholder that the line ends with; 0 if it does not end with one."""
        return next((len(stand_in) for stand_in in self._texts if line.endswith(stand_in)), 0)
