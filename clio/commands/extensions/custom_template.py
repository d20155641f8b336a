"""The text of a custom command with the words a person wrote after its name put in. Pure.

`$ARGUMENTS` is all of them, `$1` to `$9` are single ones, quoted as in a shell; a backslash before the dollar sign
keeps it. `` !`git diff` `` is a command whose output is put in; what stands in a ``` fence is not run.
"""

import re
import shlex
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.context.message_parts import find_mentions

_FENCED = LatePattern(r"^```.*?(?:^```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_SHELL = LatePattern(r"(?<![\w`!\\])!`([^`\n]+)`")
_PLACE = LatePattern(r"\\(\$)|\$(ARGUMENTS\b|[1-9](?!\d))")
_INLINE_CHARS = 200


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a template: text, or a command to run. The words are not put in yet."""

    text: str
    is_command: bool = False


def pieces(template: str) -> Iterator[Piece]:
    """The template taken apart, in order."""
    fences = [found.span() for found in _FENCED.finditer(template)]
    end = 0
    for found in _SHELL.finditer(template):
        if any(start <= found.start() < stop for start, stop in fences):
            continue
        yield Piece(text=template[end : found.start()])
        yield Piece(text=found[1].strip(), is_command=True)
        end = found.end()
    yield Piece(text=template[end:])


def commands_of(template: str) -> tuple[str, ...]:
    """The commands it runs, as they are written."""
    return tuple(piece.text for piece in pieces(template) if piece.is_command)


def fill(text: str, argument: str) -> str:
    """A text with the words in their places; a place nobody wrote a word for becomes empty."""
    words = split_words(argument)
    return _PLACE.sub(lambda found: found[1] or _value(found[2], argument, words), text)


def fill_command(command: str, argument: str) -> str:
    """A command with the words in their places, quoted so that none of them becomes a part of the command."""
    words = split_words(argument)

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[0]
        quote = _open_quote(command[: found.start()])
        if quote == "'":
            return _value(found[2], argument, words).replace("'", "'\"'\"'")
        if quote == '"':
            return re.sub(r'([\\"$`])', r"\\\1", _value(found[2], argument, words))
        if found[2] == "ARGUMENTS":
            return shlex.join(words)
        return shlex.quote(_value(found[2], argument, words))

    return _PLACE.sub(value, command)


def put_output(output: str) -> str:
    """A command's output as it stands in the text: one line as it is, more in a fence.

    Nothing in it names a file with "@": it is what a program printed, not what the person wrote.
    """
    text = output.strip("\n")
    if "\n" not in text and len(text) <= _INLINE_CHARS and not find_mentions(text):
        return text
    inert = "\n".join(f" {line}" if line.startswith("```") else line for line in text.split("\n"))
    return f"\n```\n{inert}\n```\n"


def split_words(argument: str) -> tuple[str, ...]:
    """The words, quoted as in a shell; a quote that is never closed is a letter like any."""
    try:
        return tuple(shlex.split(argument))
    except ValueError:
        return tuple(argument.split())


def join(parts: Iterable[str]) -> str:
    """The parts as one text, without blank lines at its ends."""
    return "".join(parts).strip("\n")


def _value(place: str, argument: str, words: tuple[str, ...]) -> str:
    if place == "ARGUMENTS":
        return argument
    number = int(place) - 1
    return words[number] if number < len(words) else ""


def _open_quote(text: str) -> str:
    """The quotation mark that is open at the end of a beginning of a command; "" where none is."""
    quote, escaped = "", False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
    return quote
