"""The text after a command's name, read as words and options; the same from the shell's line and the command line.

A quote counts only where a word begins with it and the same quote ends a word, so "don't" and `it's` need no care.
"""

import re
import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.commands.matching import nearest
from clio.errors import UsageError

# A backslash counts only between double quotes, and only before one of the two: Windows' paths stay what they are.
_TOKEN = LatePattern(r""""((?:[^"\\]|\\.)*)"(?!\S)|'((?:[^']|'"'"')*)'(?!\S)|(\S+)""", re.DOTALL)
_ESCAPED = LatePattern(r'\\(["\\])')


class Given(Struct, frozen=True, kw_only=True):
    """What was given.

    words: unquoted. typed: the same with what stood between and around them, without the options.
    text: as typed, for free text; quotes round the whole of it are taken off.
    options: the value given last by the option's name; "" for a switch. many: all values of those that may repeat.
    """

    words: tuple[str, ...] = ()
    typed: str = ""
    text: str = ""
    options: dict[str, str] = {}
    many: dict[str, tuple[str, ...]] = {}


def read(text: str, *, switches: Iterable[str] = (), valued: Iterable[str] = (), repeated: Iterable[str] = ()) -> Given:
    """Read an argument. Options may stand anywhere before `--`, as `--name value` or `--name=value`.

    switches, valued: the options' names with their dashes. repeated: those with a value that may stand several times.
    Raises UsageError for an unknown one, or one without value.
    """
    repeated = tuple(repeated)
    known = dict.fromkeys(switches, False) | dict.fromkeys((*valued, *repeated), True)
    many: dict[str, tuple[str, ...]] = {}
    kept: list[re.Match[str]] = []
    options: dict[str, str] = {}
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        word = token[3]
        if word is None or not word.startswith("--"):
            kept.append(token)
            continue
        if word == "--":
            kept.extend(tokens)
            break
        name, equals, value = word.partition("=")
        takes = _known(name, known)
        if takes and not equals:
            following = next(tokens, None)
            if following is None:
                raise UsageError(f"{name} needs a value")
            value = _plain(following)
        elif equals and not takes:
            raise UsageError(f"{name} takes no value")
        options[name] = value
        if name in repeated:
            many[name] = (*many.get(name, ()), value)
    words = tuple(map(_plain, kept))
    typed = _as_typed(text, kept)
    return Given(words=words, typed=typed, text=words[0] if len(words) == 1 else typed, options=options, many=many)


def join(arguments: Sequence[str]) -> str:
    """The arguments of a process as one text that `read` takes apart into the same ones."""
    return " ".join(shlex.quote(argument) if _needs_quotes(argument) else argument for argument in arguments)


def _known(name: str, known: dict[str, bool]) -> bool:
    """Whether the option takes a value."""
    if name in known:
        return known[name]
    if not known:
        raise UsageError(f"There is no option {name!r} here; after -- everything is text")
    raise UsageError(f"There is no option {name!r} here; {nearest(name, known)}")


def _plain(token: re.Match[str]) -> str:
    if token[1] is not None:
        return _ESCAPED.sub(r"\1", token[1])
    return token[3] if token[2] is None else token[2].replace("'\"'\"'", "'")


def _as_typed(text: str, kept: Sequence[re.Match[str]]) -> str:
    """The kept words with what stood between them, where nothing was taken out there."""
    parts: list[str] = []
    for number, token in enumerate(kept):
        if number:
            between = text[kept[number - 1].end() : token.start()]
            parts.append(" " if between.strip() else between)
        parts.append(token[0])
    return "".join(parts)


def _needs_quotes(argument: str) -> bool:
    return not argument or argument[0] in "\"'" or any(character.isspace() for character in argument)
