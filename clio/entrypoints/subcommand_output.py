"""What a sub-command prints: results as plain text that fits the terminal, or as one JSON document."""

import os
import sys
import textwrap
from contextlib import suppress

import msgspec
from msgspec import structs

from clio.commands.command import CommandResult
from clio.text.lazy_regex import LazyRegex
from clio.ui.markup.table import table_lines
from clio.ui.output import Output
from clio.ui.plain import clean, clean_line, inert_json
from clio.ui.theme import detect_terminal

_CODE = LazyRegex(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)")
_PIPE_WIDTH = 100_000
"""A line that goes to a program or a file is never cut."""
_BAR_WIDTH = 60


def print_result(result: CommandResult, text: str, *, aloud: bool = False) -> None:
    """Print a result in the order a conversation shows it. text: its sentences, as they are to be read here.

    aloud: for a screen reader, where this is a terminal.
    """
    if aloud and sys.stdout.isatty():
        from clio.ui.reader.results import spoken_result
        from clio.ui.reader.spoken import broken

        lines = spoken_result(structs.replace(result, text=text, ok=True))
        Output(sys.stdout).write("".join(f"{broken(line, _width() - 1)}\n" for line in lines))
        return
    width = _width()
    output = Output(sys.stdout)
    if result.bar is not None:
        from clio.ui.bar import bar_rows

        rows = bar_rows(result.bar, min(width, _BAR_WIDTH))
        output.write(
            "\n".join([clean_line(result.bar.title), *("".join(part for part, _ in row) for row in rows)]) + "\n"
        )
    if text:
        output.write(_wrapped(clean(text), width) + "\n")
    if result.verbatim:
        output.write(clean(result.verbatim).rstrip("\n") + "\n")
    if result.table is not None:
        heading, lines = table_lines(result.table, width)
        apart = [""] if text or result.verbatim else []
        output.write("\n".join([*apart, *([_faint(heading)] if heading else []), *lines]) + "\n")


def print_json(result: CommandResult) -> None:
    """Print a result's data as one JSON document; its words where it has no data."""
    data = result.data if result.data is not None else {"text": result.verbatim or without_marks(result.text)}
    text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode("utf-8")
    sys.stdout.buffer.write(inert_json(text).encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


def ask(question: str) -> str | None:
    """The user's answer; None where no user can answer, "q" where they give up.

    What was typed before the question is no answer, and is dropped: no prompt follows that could get it.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        if sys.platform != "win32":
            import termios

            with suppress(termios.error):  # the terminal is gone, as reading will find
                termios.tcflush(sys.stdin, termios.TCIFLUSH)
        return input(question)
    except EOFError:
        sys.stdout.write("\n")
        return "q"


def say(sentence: str) -> None:
    """A sentence about what happens, beside what was asked for."""
    sys.stderr.write(clean(sentence) + "\n")


def without_marks(text: str) -> str:
    """Markdown without the marks around code, which a terminal of its own would show as they are."""
    return _CODE.sub(r"\2", text)


def _wrapped(text: str, width: int) -> str:
    lines = (textwrap.wrap(line, width, break_on_hyphens=False, break_long_words=False) for line in text.splitlines())
    return "\n".join("\n".join(line) for line in lines)


def _faint(heading: str) -> str:
    terminal = detect_terminal(os.environ, is_tty=sys.stdout.isatty())
    return f"\x1b[2m{heading}\x1b[0m" if terminal.escapes else heading


def _width() -> int:
    """The terminal's columns; COLUMNS in the environment is not believed."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return _PIPE_WIDTH
