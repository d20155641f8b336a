"""Lines, their endings and their indentation; and text with its white space made visible."""

from collections.abc import Sequence

from clio.algorithms.late_pattern import LatePattern

NEWLINE = LatePattern(r"\r\n|\n|\r")
_LINE = LatePattern(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_INDENT = LatePattern(r"[ \t]*")
_VISIBLE = str.maketrans({"\t": "→", "\r": "␍", "\u00a0": "⍽"})

_MARKED = LatePattern(r"(?m)^(?:file  \| )?([·→⍽]*)(.*?)([·→⍽␍]*)$")
_UNMARK = str.maketrans({"·": " ", "→": "\t", "␍": "", "⍽": "\u00a0"})

LEGEND = "· space, → tab, ␍ carriage return, ⍽ no-break space"


def split_lines(text: str) -> list[str]:
    r"""The lines with their endings, where `\n`, `\r\n` and a lone `\r` end a line and nothing else does."""
    return _LINE.findall(text)


def body(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


def ending(line: str) -> str:
    """The ending of a line, empty for a last line without one."""
    return line[len(body(line)) :]


def indent(line: str) -> str:
    """The spaces and tabs a line begins with."""
    match = _INDENT.match(line)
    return match[0] if match else ""


def unix(text: str) -> str:
    """The text with every line ending as a newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def main_ending(text: str) -> str:
    """The line ending a text uses most; a newline where it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    return "\r\n" if crlf > lf else "\n"


def line_number(text: str, offset: int) -> int:
    """The number, from 1, of the line an offset lies in, as editors and compilers count: by newlines only."""
    return text.count("\n", 0, offset) + 1


def visible(line: str) -> str:
    """A line whose blanks at both ends, tabs and carriage returns can be told apart; see LEGEND."""
    line = line.removesuffix("\n")
    core = line.strip(" \t\r")
    if not core:
        return line.replace(" ", "·").translate(_VISIBLE)
    start = line.index(core)
    head, tail = line[:start], line[start + len(core) :]
    return (head.replace(" ", "·") + core + tail.replace(" ", "·")).translate(_VISIBLE)


def unmarked(text: str) -> str:
    """The text with the marks of `visible` as the blanks they mean; the same text where it has none."""
    if not any(mark in text for mark in "·→␍⍽"):
        return text
    return _MARKED.sub(
        lambda match: match[1].translate(_UNMARK) + match[2].replace("→", "\t") + match[3].translate(_UNMARK), text
    )


def numbered(lines: Sequence[str], first: int, *, max_chars: int = 2_000) -> list[str]:
    """Lines, without endings, as read_file shows them: `12|text`, numbers aligned, long lines cut with a notice."""
    width = len(str(first + len(lines) - 1))
    return [f"{number:>{width}}|{cut(line, max_chars)}" for number, line in enumerate(lines, first)]


def cut(line: str, max_chars: int) -> str:
    """The line, or its beginning and a notice of how long it is."""
    if len(line) <= max_chars:
        return line
    return f"{line[:max_chars]} [cut: this line has {len(line):,} characters]"
