"""The text after a command's name: words and options, or free text; and the name the user may have meant."""

import re
import shlex
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from clio.errors import UsageError
from clio.text.fuzzy import nearest_name

ELSEWHERE: dict[str, str] = {
    "add": "@path in a message",
    "bug": "clio doctor, outside",
    "compact": "/session trim",
    "config": "clio config show, outside",
    "doctor": "clio doctor, outside",
    "forget": "/memory forget",
    "history": "/session list",
    "init": "clio init, outside",
    "mode": "/approve",
    "new": "/session new",
    "permissions": "/approve",
    "reasoning": "/effort",
    "remember": "/memory remember",
    "reset": "/session new",
    "resume": "/session list",
    "run": "!command",
    "settings": "clio config show, outside",
    "status": "/session show",
    "think": "/effort",
    "tokens": "/context",
    "usage": "/cost",
}
"""What other agents' commands are called here; never the name of a command that exists."""
_MANY = 4


def nearest(word: str, known: Iterable[str], prefix: str = "", otherwise: str = "") -> str:
    """The end of a sentence that helps on: "did you mean 'x'?", or the whole choice. `prefix` goes before each.

    A beginning that only a few names share gives all of them. otherwise: said in place of a long choice.
    """
    names, typed = list(known), word.lower()
    starts = [name for name in names if typed and name.startswith(typed)]
    near = nearest_name(typed, names)
    best = starts if 0 < len(starts) <= _MANY else [near] if near else []
    if best:
        *others, last = (repr(prefix + name) for name in best)
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return otherwise or "choose one of " + ", ".join(prefix + name for name in names)


# A backslash counts only between double quotes, and only before one of the two: Windows' paths stay what they are.
_TOKEN = re.compile(r""""((?:[^"\\]|\\.)*)"(?!\S)|'((?:[^']|'"'"')*)'(?!\S)|(\S+)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')


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


_WORD = re.compile(r"""--[\w-]+="[^"]*"(?!\S)|"(?:[^"\\]|\\.)*"(?!\S)|'(?:[^']|'"'"')*'(?!\S)|\S+""", re.DOTALL)


class Text(Struct, frozen=True, kw_only=True):
    """What was given. has_text: whether there was a text; '""' is one, and empty.

    options: all values of an option in the order they were given, by its name with the dashes.
    """

    heads: tuple[str, ...] = ()
    text: str = ""
    has_text: bool = False
    options: dict[str, tuple[str, ...]] = {}

    def one(self, option: str) -> str | None:
        """The value of an option that has one; None without it. Raises UsageError where it was given twice."""
        values = self.options.get(option, ())
        if len(values) > 1:
            raise UsageError(f"{option} is given {len(values)} times, and can be given once")
        return values[0] if values else None


def read_text(argument: str, *, heads: int = 0, valued: Collection[str] = ()) -> Text:
    """At most `heads` words, then text. Known options stand before or behind the text, as `--name value` or `=value`.

    An option inside of the text, or an unknown one, is text; so is all that stands behind "--". Quotes around the whole
    text are taken off, so that a text that was one word of a process comes as it was; quotes inside of it stay.
    Raises UsageError for a known option without a value.
    """
    words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(argument)]
    given: list[tuple[str, str]] = []
    head: list[str] = []
    ends_at = len(words)
    place = 0
    while place < len(words):
        word = words[place][0]
        if word == "--":
            place += 1
            break
        name, equals, value = word.partition("=")
        if name in valued:
            place += 1
            if not equals:
                value = words[place][0] if place < len(words) else _needs(name)
                place += 1
            given.append((name, plain(value)))
        elif len(head) < heads:
            head.append(plain(word))
            place += 1
        else:
            ends_at = _before_options(words, place, valued, given)
            break
    while len(head) < heads and place < ends_at:
        head.append(plain(words[place][0]))
        place += 1
    kept = words[place:ends_at]
    return Text(
        heads=tuple(head),
        text=plain(kept[0][0]) if len(kept) == 1 else argument[kept[0][1] : kept[-1][2]] if kept else "",
        has_text=bool(kept),
        options={name: tuple(value for key, value in given if key == name) for name, _ in given},
    )


def plain(word: str) -> str:
    """A word without the quotes around it."""
    return read(word).text if word[:1] in ("'", '"') else word


def as_number(raw: str, option: str, *, low: float, high: float) -> float:
    """A number a person wrote, "80%" being 0.8. Raises UsageError where it is none from `low` to `high`."""
    digits, percent, _ = raw.strip().partition("%")
    try:
        value = float(digits) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UsageError(f"{option} takes a number from {low:g} to {high:g}, not {raw!r}")
    return value


def count_of(raw: str, what: str) -> int:
    """A whole number of at least 1. Raises UsageError."""
    if not (raw.isascii() and raw.isdigit() and int(raw[:12]) > 0 and len(raw) <= 12):
        raise UsageError(f"{what} takes a whole number of at least 1, not {raw!r}")
    return int(raw)


def _before_options(
    words: list[tuple[str, int, int]], first: int, valued: Collection[str], given: list[tuple[str, str]]
) -> int:
    """Where the options behind the text begin; they are put into `given`."""
    end, found = len(words), list[tuple[str, str]]()
    while end > first:
        name, equals, value = words[end - 1][0].partition("=")
        if equals and name in valued:
            found.append((name, plain(value)))
            end -= 1
        elif end - 1 > first and words[end - 2][0] in valued:
            found.append((words[end - 2][0], plain(words[end - 1][0])))
            end -= 2
        elif name in valued:
            _needs(name)
        else:
            break
    given += reversed(found)
    return end


def _needs(name: str) -> str:
    raise UsageError(f"{name} needs a value behind it")
