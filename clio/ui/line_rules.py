"""Rules of the prompt line: when a line is complete, prefixes such as `!` and `#`, large pastes. Pure functions."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clio.text.translation import mark, tr
from clio.text.untrusted_text import PASTED_TEXT, mark_pasted_text, unmark_pasted_text

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_OPENERS.values())
_EMOTICON = re.compile(r"[:;=8][-o^']?[(\[{]")  # the bracket of ":-(" opens nothing
_CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MAX_CHECKED_CHARS = 20_000  # characters; a longer text was pasted, not typed, and is sent as it is


def find_unfinished_part(text: str) -> str:
    """Return what makes the text unfinished: "```", an open bracket or a backslash; "" if Enter may send it.

    A bracket is open until it is closed or an empty line follows; a ``` fence until it is closed or two empty lines
    follow; a backslash at the end asks for one more line. Brackets inside of `code` and in emoticons are ignored.
    """
    if text.lstrip().startswith(("/", "!")) or len(text) > _MAX_CHECKED_CHARS:
        return ""
    if text.count("```") % 2:
        return "" if _has_final_empty_lines(text, 2) else "```"
    if text.endswith("\\"):
        return "\\"
    bracket = _find_open_bracket(text)
    return "" if not bracket or _has_final_empty_lines(text, 1) else bracket


def fit_parts(parts: Sequence[str], width: int, separator: str = " · ") -> str:
    """Join parts to one line of at most `width` columns; drop the last ones first, and truncate the first if needed."""
    visible = [part for part in parts if part]
    while len(visible) > 1 and _count_columns(separator.join(visible)) > width:
        visible.pop()
    line = separator.join(visible)
    if _count_columns(line) <= width:
        return line
    while line and _count_columns(line) > width - 1:
        line = line[:-1]
    return line + "…"


def wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Join parts by " · " to rows of at most `width` columns, broken between parts; a longer part between its words."""
    from clio.ui.terminal_text import wrap_text

    rows: list[str] = []
    for part in filter(None, parts):
        if rows and _count_columns(f"{rows[-1]} · {part}") <= width:
            rows[-1] += f" · {part}"
        else:
            rows += wrap_text("  " * bool(rows) + part, width, hanging_indent=2).split("\n")
    return rows


def fit_parts_counted(parts: Sequence[str], width: int) -> str:
    """Join parts by two blanks to one line of at most `width` columns; the last ones are dropped first, and counted."""
    visible = list(parts)
    for count in range(len(parts) - 1, 0, -1):
        if _count_columns("  ".join(visible)) <= width:
            break
        visible = [*parts[:count], tr("+ {count} more", count=len(parts) - count)]
    return fit_parts(visible, width, "  ")


def _count_columns(text: str) -> int:
    """Return the text's width on a screen; a wide character takes two columns."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _has_final_empty_lines(text: str, count: int) -> bool:
    lines = text.split("\n")
    return len(lines) > count and not any(line.strip() for line in lines[-count:])


def _find_open_bracket(text: str) -> str:
    """Return the innermost unclosed bracket; a closing bracket without an opening one, as in "a)", is ignored."""
    open_brackets: list[str] = []
    for char in _EMOTICON.sub("", _CODE_SPAN.sub("", text)):
        if char in _OPENERS:
            open_brackets.append(char)
        elif char in _CLOSERS and open_brackets and _OPENERS[open_brackets[-1]] == char:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else ""


_ANNOUNCED_NOTE = re.compile(r"(?:note|remember)(?: that|:)?\s+(?=\S)", re.IGNORECASE)
_MEMORY_LINE = re.compile(
    r"#(?![#!\d]|(?i:(?:file|folder|codebase):)"  # a heading, "#!/bin/sh", an issue number, a mention
    r"|(?i:codebase)(?:\s*\Z|\s+(?:how|where|what|which|why|who|find|show|explain|list)\b)"  # as other programs have it
    r"|(?=[a-f]*\d)[a-f\d]{6}\b"  # a colour
    r"|\[|include\s*[<\"]|define\s+[A-Z_]+\b|(?:pragma|undef|ifn?def)\s+\w+|endif\b|endregion\b)"  # pasted code
    r"\s*(\S.*)"
)


class ShellLine(Struct, frozen=True, kw_only=True):
    """A shell command typed by the user. is_output_shared: its output is added to the next message."""

    command: str
    is_output_shared: bool


def parse_shell_line(text: str) -> ShellLine | None:
    """Parse a line such as `!git status`, or `!!git status`, whose output is not shared; None for any other line."""
    command = text.removeprefix("!").removeprefix("!").strip()
    if not text.startswith("!") or not command:
        return None
    return ShellLine(command=command, is_output_shared=not text.startswith("!!"))


_COMMAND_SIGNS = re.compile(r"[./~$(\[{]|\w+=")
_SHELL_WORDS = frozenset(
    ". [ alias bg break case cd command continue declare eval exec exit export fg for function if jobs popd pushd read"
    " return set source test time trap type ulimit umask unalias unset until wait while".split()
)


def names_program(text: str) -> bool:
    """Whether the text may be a command line: its first word is a path, a program on PATH or a word of the shell."""
    import shutil

    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first in _SHELL_WORDS or bool(_COMMAND_SIGNS.match(first) or "/" in first or shutil.which(first))


def parse_memory_line(text: str) -> str:
    """Return the text to remember from a line such as `#we deploy on Fridays`; "" for any other line.

    A word that only announces it is left out: `#note we deploy on Fridays`. `#12` is an issue number, `##` a heading,
    `#file:a.py` a mention, `#ff8800` a colour, `#include <stdio.h>` code, and several lines are a message.
    """
    match = _MEMORY_LINE.fullmatch(text)
    line = match[1].strip() if match else ""
    return _ANNOUNCED_NOTE.sub("", line, count=1) if line else ""


def make_memory_command(text: str) -> str:
    """Return the command that saves a line such as `#we deploy on Fridays`; "" for any other line."""
    memory = parse_memory_line(text)
    return f"/memory remember --type auto -- {memory}" if memory else ""  # `--`: the text may begin like an option


def describe_line_prefix(text: str) -> str:
    """Return a hint for what Enter will do with such a line; "" for a message."""
    if line := parse_shell_line(text):
        return (
            tr("Enter to run · output included in your next message") if line.is_output_shared else tr("Enter to run")
        )
    return tr("Enter to save to memory") if parse_memory_line(text) else ""


MAX_PASTE_CHARS = 4_000
MAX_PASTE_LINES = 40


CLEAR_BELOW = "\x1b7\x1b[K\x1b[B\x1b[J\x1b8"
"""Clears from the cursor at the beginning of a row to the end of the screen, but not from the screen's first cell.

tmux scrolls a screen that is cleared from there into its history.
"""
USER_SIGN = "❯ "
"""Sign before the line that is typed, and before the user's messages in the conversation."""
_PLACEHOLDERS = (
    mark("Ask clio, @file, !command, #remember, /help"),
    mark("Ask clio, @file, !command, /help"),
    mark("Ask clio, @file, /help"),
    mark("Ask clio"),
)


def fit_placeholder(width: int) -> str:
    """Return what an empty line shows: what can be typed, as much as fits."""
    return next((text for text in map(tr, _PLACEHOLDERS) if len(text) <= width), tr(_PLACEHOLDERS[-1])[: max(width, 0)])


_MAX_UNSENT_PASTES = 20
_MAX_RECALLED_CHARS = 30_000  # a longer line is in the history with its placeholders
_MAX_VALUE_WORDS = 3
"""Words of a paste within a typed sentence that are a part of it: "never use " and a pasted name."""
_WIDE_CHARS_PER_WORD = 3  # of Chinese and Japanese, which are written without spaces
_ENDS_BEFORE_SENTENCE = frozenset(".:;?!,)]\"'”»…—–-。、\n\uff0c\uff1a\uff1b\uff01\uff1f")
"""The last character of a text behind which a sentence or a quotation begins."""
_EDITED_SHARE = 0.6
"""Share of a line's characters, at its two ends, that it has in common with the pasted line that it was edited from."""


class PastedTexts:
    """The texts pasted into lines of this run."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        """Texts too long for the line, by the placeholder that is inserted for each."""
        self._shown: dict[str, str] = {}
        """Texts of several lines that were short enough to be inserted as they are."""
        self._unsent: list[str] = []
        """Texts inserted as they are that no sent line contained yet; the user may have edited them."""
        self._sent: dict[str, str] = {}
        """Lines that were sent with marks, as the user sees them in the history, and with the marks."""

    def convert(self, data: str) -> str:
        """Return what to insert for pasted text: the text, or its placeholder if it would fill the screen."""
        text = data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= MAX_PASTE_CHARS and lines <= MAX_PASTE_LINES:
            if shown := text.strip():
                self._unsent = [*self._unsent[1 - _MAX_UNSENT_PASTES :], shown]
                if "\n" in shown:
                    self._shown[shown] = shown
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder = f"[pasted text {len(self._texts) + 1}: {size}]"
        self._texts[placeholder] = text
        return placeholder

    def expand(self, line: str) -> str:
        """Replace every placeholder in the line by its text."""
        return self._replace(line, self._texts, lambda text: text)

    def expand_message(self, line: str) -> str:
        """Replace every placeholder in a line that is sent by its text, and put every pasted text between tags.

        Then nothing that was only pasted becomes a memory, limit or preference. Two pastes are the user's own text: one
        of a single line that is the whole message, and a value of up to three words within a typed sentence. Lines that
        begin with `!` or `#` take the bare text: the user runs or saves it. So do built-in commands, for which it is
        unmarked when they run.
        """
        if line.startswith("!") or parse_memory_line(line):
            return self.expand(line)
        if known := self._sent.get(self.expand(line)):
            return known
        marked = self._mark(line)
        if marked != line and len(marked) <= _MAX_RECALLED_CHARS:
            self._sent[self.expand(line)] = marked
        return marked

    def get_marked(self, line: str) -> str:
        """Return a sent line as it was sent: with marks around what was pasted into it."""
        return self._sent.get(line.rstrip(), line)

    def restore(self, marked: str) -> str:
        """Return a line that an earlier run sent, without marks; it gets them again when it is sent."""
        line = unmark_pasted_text(marked)
        if line != marked:
            self._sent[line.rstrip()] = marked
            texts = (unmark_pasted_text(found[0]) for found in PASTED_TEXT.finditer(marked))
            self._shown |= {text: text for text in texts if "\n" in text}
        return line

    def _mark(self, line: str) -> str:
        found = [paste for paste in self._unsent if paste in line]
        edited = [paste for paste in self._unsent if "\n" in paste and paste not in line]
        self._unsent = [paste for paste in self._unsent if paste not in line]
        is_whole = line.strip() in found and "\n" not in line.strip()
        # What is already marked stays as it is: a text that came too late to steer a turn.
        kept = frozenset(match.span() for match in PASTED_TEXT.finditer(line))
        spans = [*kept]
        for paste in () if is_whole else (*self._texts, *(one for one in self._shown if one in line), *found):
            spans += [
                match.span()
                for match in re.finditer(re.escape(paste), line)
                if "\n" in paste or paste in self._texts or _is_statement(paste, line[: match.start()])
            ]
        for paste in edited:
            if lines := _find_edited_lines(line, paste):
                spans += lines
                self._unsent.remove(paste)
        command = re.match(r"/\S*\s*", line)
        done = shown = command.end() if command else 0  # the name of a command stays readable, also a pasted one
        pieces = [line[:done]]
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if end > done and (start >= done or done == shown):
                part = line[max(start, done) : end]
                pieces += (
                    line[done:start],
                    part if (start, end) in kept else mark_pasted_text(self._texts.get(part, part)),
                )
                done = end
        return "".join((*pieces, line[done:]))

    def _replace(self, line: str, texts: Mapping[str, str], render: Callable[[str], str]) -> str:
        """Replace the keys of `texts` in the line itself: a pasted text may contain the placeholder of another one."""
        choices = "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
        return re.sub(choices, lambda found: render(texts[found[0]]), line) if choices else line

    def collapse(self, text: str) -> str:
        """Replace every complete paste in the text by its placeholder; the inverse of `expand`."""
        for placeholder, pasted in self._texts.items():
            text = text.replace(pasted.rstrip("\n") or pasted, placeholder)
        return text

    def measure_final_placeholder(self, line: str) -> int:
        """Return the length of the placeholder that the line ends with; 0 if it does not end with one."""
        return next((len(placeholder) for placeholder in self._texts if line.endswith(placeholder)), 0)


def _is_statement(paste: str, before: str) -> bool:
    """Whether a pasted line beside typed text can be a sentence of its own. before: the text in front of it."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in paste)
    typed = before.rstrip(" \t")
    begins = not typed or typed[-1] in _ENDS_BEFORE_SENTENCE
    words = len(paste.split()) + wide // _WIDE_CHARS_PER_WORD
    return words > (1 if begins else _MAX_VALUE_WORDS)


def _find_edited_lines(text: str, paste: str) -> list[tuple[int, int]]:
    """Return where the lines of a paste are in a text, of which some were changed or removed since.

    Lines that only the user wrote, in front of the others, behind or between them, are in no range.
    """
    pasted = [line.strip() for line in paste.split("\n") if line.strip()]
    ranges: list[tuple[int, int]] = []
    place, is_inside = 0, False
    for line in text.split("\n"):
        start, end = place, place + len(line)
        place = end + 1
        if not line.strip():
            continue
        first, last = pasted[0], pasted[-1]
        if any(_is_edited_from(line.strip(), other) for other in pasted):
            pass
        elif line.endswith(first):
            start, is_inside = end - len(first), False
        elif line.startswith(last):
            end = start + len(last)
        else:
            is_inside = False
            continue
        if is_inside:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
        is_inside = True
    return ranges


def _is_edited_from(line: str, pasted: str) -> bool:
    """Whether a line is a pasted one, changed at one place at most."""
    if line == pasted:
        return True
    shorter = min(len(line), len(pasted))
    head = next((at for at in range(shorter) if line[at] != pasted[at]), shorter)
    tail = next((at for at in range(shorter - head) if line[-1 - at] != pasted[-1 - at]), shorter - head)
    return head + tail >= _EDITED_SHARE * max(len(line), len(pasted))
