"""Print messages outside a conversation: wrapped between words on a terminal, unchanged in a pipe or a file."""

import os
import re
import sys

from clio.text.formatting import begin_lower
from clio.ui.painter import count_cells

TYPE_CHECKING = False  # same effect as typing's, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_COLUMN_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_TOKEN = re.compile(r"[^\S\n]*(?:\[[^][\n]{1,30}\]\S*|\S+)")  # an argument in brackets counts as one word
_LIST_MARKER = re.compile(r"\s*(?:[-*•] |\d+\. )?")
_MIN_LAST_COLUMN = 24  # in cells; a narrower last column is not wrapped below itself
_ERROR_PREFIX, _ERROR_INDENT = "clio: ", 2


def print_text(text: str, stream: "TextIO | None" = None) -> None:
    """Print the text and a newline, on standard output by default."""
    stream = stream or sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return
    stream.write(wrap_for_stream(text, stream) + "\n")
    stream.flush()


_HELP_HEADING = re.compile(r"^[^\W\d_][^\n:]*:(?= |$)", re.MULTILINE)
_BOLD, _NOT_BOLD = "\x1b[1m", "\x1b[22m"


def print_help(text: str) -> None:
    """Print a help text on standard output; on a terminal its headings are bold."""
    stream = sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return
    text = wrap_for_stream(text.rstrip("\n"), stream)
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        text = _HELP_HEADING.sub(lambda heading: f"{_BOLD}{heading[0]}{_NOT_BOLD}", text)
    stream.write(text + "\n")
    stream.flush()


def print_error(sentence: str) -> None:
    """Print a sentence on standard error, after the name of the program and in lower case."""
    stream = sys.stderr
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw
        return
    stream.write(wrap_for_stream(_ERROR_PREFIX + begin_lower(sentence), stream, hanging_indent=_ERROR_INDENT) + "\n")
    stream.flush()


def wrap_for_stream(text: str, stream: "TextIO", *, hanging_indent: int = 0) -> str:
    """Return the text as it is printed on this stream; see `wrap_text`."""
    columns = get_terminal_width(stream)
    return text if columns is None else wrap_text(text, columns, hanging_indent=hanging_indent)


def get_terminal_width(stream: "TextIO") -> int | None:
    """Return the columns of the terminal; None for a pipe or a file. The variable COLUMNS is ignored."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or 80) if stream.isatty() else None
    except (OSError, ValueError):
        return None


def wrap_text(text: str, width: int, *, hanging_indent: int = 0) -> str:
    """Wrap each line between words; a word that is wider, such as a path, stays whole, so that it can be copied.

    Args:
        width: columns of the terminal.
        hanging_indent: indentation of a line's rows after the first; a line with its own indentation, bullet or columns
            is indented by these instead.

    In a line with several columns, only the last one is wrapped, below its own beginning. If it would be too narrow,
    the gaps between the columns are reduced to two spaces.
    """
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line, width, hanging_indent))


def _wrap_line(line: str, width: int, hanging_indent: int) -> list[str]:
    if count_cells(line) <= width:
        return [line]
    marker = _LIST_MARKER.match(line)
    assert marker is not None
    marker_length = len(marker[0])
    gaps = list(_COLUMN_GAP.finditer(line, marker_length))
    if gaps:
        last_column_start, last_column = count_cells(line[: gaps[-1].end()]), line[gaps[-1].end() :]
        if width - last_column_start >= max(_MIN_LAST_COLUMN, *map(count_cells, last_column.split())):
            return _fill(line, width, last_column_start)
        line, marker_length = line[:marker_length] + _COLUMN_GAP.sub("  ", line[marker_length:]), marker_length + 2
    elif marker_length and not marker[0].strip():
        marker_length += 2
    return _fill(line, width, min(max(marker_length, hanging_indent), width // 2))


def _fill(line: str, width: int, indent: int) -> list[str]:
    """Return the rows of one line; those after the first are indented by `hang` cells."""
    rows: list[str] = []
    row = ""
    for token in _TOKEN.findall(line):
        word = token.lstrip() if row or rows else token
        if row and count_cells(row + token) <= width:
            row += token
            continue
        for number, piece in enumerate(_break_alternatives(word, width - indent)):
            blank = token[: len(token) - len(word)] if row and not number else ""
            if row.strip() and count_cells(row + blank + piece) > width:
                rows.append(row)
                row = ""
            row = row + blank + piece if row else (" " * indent if rows else "") + piece
    return [*rows, row]


def _break_alternatives(word: str, width: int) -> list[str]:
    """Return a word in one piece; alternatives such as "a|b|c" that are wider than a row in several."""
    return re.findall(r"[^|]*\|+|[^|]+", word) if count_cells(word) > width and "|" in word else [word]


_STREAM_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_STREAM_MARKER = re.compile(r"[-*+•]|\d{1,9}[.)]")


class WordWrapper:
    """Wraps Markdown between words while it arrives; otherwise the text stays as it is.

    Code, tables and words wider than a row are not wrapped, so that they can be copied. However the text is split into
    deltas, the rows are the same.

    width: returns the columns of the terminal.
    """

    def __init__(self, width: "Callable[[], int]") -> None:
        self._width = width
        self._unfinished = ""  # the last token, which may go on
        self._is_code = False
        self._begin_line()

    def feed(self, text: str) -> str:
        """Return what can be printed after this text: all but a last word that may go on."""
        tokens = _STREAM_TOKEN.findall(self._unfinished + text)
        self._unfinished = tokens.pop() if tokens and tokens[-1] != "\n" else ""
        return "".join(map(self._place, tokens))

    def finish(self) -> str:
        """Return the rest; the object can then wrap another text."""
        rest = self._place(self._unfinished) if self._unfinished else ""
        self._unfinished, self._is_code = "", False
        self._begin_line()
        return rest

    def _begin_line(self) -> None:
        self._column = self._indent = 0
        self._blank = ""  # before the next word, which may begin a row instead
        self._is_empty, self._is_verbatim = True, self._is_code

    def _place(self, token: str) -> str:
        if token == "\n":
            fits = self._is_verbatim or self._column + count_cells(self._blank) <= self._width()
            blank = self._blank if fits else ""
            self._begin_line()
            return f"{blank}\n"
        if token.isspace():
            self._blank += token
            return ""
        blank, self._blank = self._blank, ""
        if self._is_empty:
            self._begin_words(token, len(blank))
        cells = count_cells(blank) + count_cells(token)
        if not self._is_verbatim and self._column > self._indent and self._column + cells > self._width():
            self._column = self._indent + count_cells(token)
            return f"\n{' ' * self._indent}{token}"
        self._column += cells
        return blank + token

    def _begin_words(self, first: str, indent: int) -> None:
        """Take the first word of a line, which tells what the line is."""
        if first.startswith(("```", "~~~")):
            self._is_code, self._is_verbatim = not self._is_code, True
        elif not self._is_code:
            is_item = _STREAM_MARKER.fullmatch(first) is not None
            self._is_verbatim = first.startswith("|") or (indent >= 4 and not is_item)
            self._indent = indent + (len(first) + 1 if is_item else 0)
        self._is_empty = False
